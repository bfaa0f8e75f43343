//! *Escalation* is being run again on the rungs above a variant. Which cases climb is decided when they are judged.

mod time_share;

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex, PoisonError},
};

use twinfer_case::{Percent, Signature, Summary, VariantInfo};
use twinfer_triage::{Catalog, Dedup, Suspect};

use self::time_share::{Reason, Spent, TimeShare};

/// Decides which cases climb.
pub struct EscalationPolicy<'a> {
    rule: Option<Rule<'a>>,
    seed: u64,
    /// By variant that every case runs on: the rungs above it, the weakest first, as places among the variants.
    ladders: Vec<Vec<usize>>,
}

/// Which cases climb.
pub enum Rule<'a> {
    /// A function of the case alone: one in `every`, and suspects of nothing that was known before the campaign.
    Sample { every: u64, known: Catalog },
    /// What time allows: suspects of nothing that is known by now, then others.
    Time { governor: Mutex<TimeShare>, claims: &'a Dedup },
}

impl<'a> Rule<'a> {
    /// One in `every`, and suspects of nothing that is `known`.
    pub fn sample(every: NonZeroU64, known: &Catalog) -> Self {
        Self::Sample { every: every.get(), known: known.clone() }
    }

    /// What `percent` of the backends' time allows after what `summary` counts, `most` cases at once.
    pub fn time(percent: Percent, most: u64, summary: &Summary, claims: &'a Dedup) -> Self {
        let governor = TimeShare::new(percent.fraction(), most, spent(summary));
        Self::Time { governor: Mutex::new(governor), claims }
    }
}

impl<'a> EscalationPolicy<'a> {
    /// No case climbs where there is no rule.
    pub fn new(rule: Option<Rule<'a>>, seed: u64, variants: &[VariantInfo]) -> Self {
        Self { rule, seed, ladders: ladders(variants) }
    }

    /// The rungs that the case at `index` climbs to, which took `micros` on the variants that every case runs on.
    pub fn rungs(&self, index: u64, suspects: &[Arc<Suspect>], micros: u64) -> Vec<usize> {
        match &self.rule {
            None => Vec::new(),
            Some(Rule::Sample { every, known }) => {
                let is_new = |provisional: &Signature| known.find_likely(provisional).is_none();
                if self.draw(index).is_multiple_of(*every) {
                    self.all()
                } else {
                    self.above(suspects, is_new)
                }
            }
            Some(Rule::Time { governor, claims }) => {
                let above = self.above(suspects, |provisional| !claims.is_known(provisional));
                let mut governor = governor.lock().unwrap_or_else(PoisonError::into_inner);
                let number = self.draw(index) as f64 / u64::MAX as f64;
                // decided before the case's own time counts, so that long cases are not drawn more often
                let rungs = if !above.is_empty() && governor.admits(Reason::Suspect) {
                    above
                } else if governor.admits(Reason::Drawn(number)) {
                    self.all()
                } else {
                    Vec::new()
                };
                governor.judged(micros);
                rungs
            }
        }
    }

    /// Counts a climb that took this long.
    pub fn climbed(&self, micros: u64) {
        if let Some(Rule::Time { governor, .. }) = &self.rule {
            governor.lock().unwrap_or_else(PoisonError::into_inner).climbed(micros);
        }
    }

    fn all(&self) -> Vec<usize> {
        self.ladders.concat()
    }

    /// The rungs above the variants of those suspects that are new.
    fn above(&self, suspects: &[Arc<Suspect>], is_new: impl Fn(&Signature) -> bool) -> Vec<usize> {
        let mut new: Vec<_> = suspects
            .iter()
            .filter(|suspect| is_new(&suspect.provisional))
            .map(|suspect| suspect.variant)
            .collect();
        new.dedup();
        new.into_iter().flat_map(|variant| &self.ladders[variant]).copied().collect()
    }

    /// A number that depends on the seed and the case's place.
    fn draw(&self, index: u64) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ladder").update(&self.seed.to_le_bytes()).update(&index.to_le_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The places of the rungs above each variant that is none.
fn ladders(variants: &[VariantInfo]) -> Vec<Vec<usize>> {
    let bases = variants.iter().filter(|info| info.rung_of.is_none());
    let rungs = |base: &VariantInfo| {
        let is_above = |(place, info): (usize, &VariantInfo)| {
            (info.rung_of.as_ref() == Some(&base.variant)).then_some(place)
        };
        variants.iter().enumerate().filter_map(is_above).collect()
    };
    bases.map(rungs).collect()
}

/// What the journal of an earlier part says.
fn spent(summary: &Summary) -> Spent {
    let (rungs, bases): (Vec<_>, Vec<_>) =
        summary.variants.iter().partition(|variant| variant.rung_of.is_some());
    Spent {
        below: bases.iter().map(|variant| variant.micros).sum(),
        above: rungs.iter().map(|variant| variant.micros).sum(),
        cases: summary.cases,
        climbs: rungs.iter().map(|variant| variant.cases()).max().unwrap_or(0),
    }
}
