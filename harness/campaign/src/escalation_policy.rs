//! *Escalation* runs a case again on the rungs above a variant. Which cases are escalated is decided when they are judged.

mod poison_sample;
mod time_share;

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex, PoisonError},
};

use twinfer_case::{CaseHash, Percent, Summary, VariantInfo, VariantSummary};
use twinfer_triage::{Catalog, Dedup, Provisional, Suspect};

use self::{
    poison_sample::PoisonSample,
    time_share::{Reason, Spent, TimeShare},
};

/// Decides which cases are escalated.
pub struct EscalationPolicy<'a> {
    rule: Option<Rule<'a>>,
    seed: u64,
    /// By variant that runs every case: the rungs of the ladder above it, the weakest first, as indices of variants.
    ladders: Vec<Vec<usize>>,
    /// `None` if no case runs with poisoned memory.
    poison: Option<PoisonSample>,
}

/// Which cases are escalated.
pub enum Rule<'a> {
    /// One in `every`, and suspects that resemble no finding known before the campaign: a function of the case alone.
    Sample { every: u64, known: Catalog },
    /// As many as time allows: suspects that resemble no finding known by now, then others.
    Time { share: Mutex<TimeShare>, dedup: &'a Dedup },
}

impl<'a> Rule<'a> {
    /// One case in `every`, and suspects that resemble no finding in `known`.
    pub fn sample(every: NonZeroU64, known: &Catalog) -> Self {
        Self::Sample { every: every.get(), known: known.clone() }
    }

    /// As many cases as `percent` of the backends' time allows, `most` of them at once. `summary` counts the time spent so far.
    pub fn time(percent: Percent, most: u64, summary: &Summary, dedup: &'a Dedup) -> Self {
        let share = TimeShare::new(percent.fraction(), most, spent(summary));
        Self::Time { share: Mutex::new(share), dedup }
    }
}

impl<'a> EscalationPolicy<'a> {
    /// A policy that escalates cases by this rule, none without one, and one case in `poison_every` to poisoned rungs.
    pub fn new(
        rule: Option<Rule<'a>>,
        poison_every: Option<NonZeroU64>,
        seed: u64,
        variants: &[VariantInfo],
    ) -> Self {
        let poison = poison_every.map(|every| PoisonSample::new(every, variants));
        Self { rule, seed, ladders: ladders(variants), poison }
    }

    /// Whether the case may run again, on what is known before it is judged.
    pub fn may_escalate(&self, case: CaseHash) -> bool {
        self.rule.is_some() || self.poison.as_ref().is_some_and(|sample| sample.rungs(case).next().is_some())
    }

    /// The rungs on which the case at `index` runs again. It took `micros` µs on the variants that run every case.
    pub fn rungs(
        &self,
        (index, case): (u64, CaseHash),
        suspects: &[Arc<Suspect>],
        micros: u64,
    ) -> Vec<usize> {
        let mut rungs = self.of_ladder(index, suspects, micros);
        rungs.extend(self.poison.iter().flat_map(|sample| sample.rungs(case)));
        rungs
    }

    fn of_ladder(&self, index: u64, suspects: &[Arc<Suspect>], micros: u64) -> Vec<usize> {
        match &self.rule {
            None => Vec::new(),
            Some(Rule::Sample { every, known }) => {
                let is_new = |provisional: &Provisional| known.find_likely(provisional).is_none();
                if self.draw(index).is_multiple_of(*every) {
                    self.all()
                } else {
                    self.above(suspects, is_new)
                }
            }
            Some(Rule::Time { share, dedup }) => {
                let above = self.above(suspects, |provisional| !dedup.is_known(provisional));
                let mut share = share.lock().unwrap_or_else(PoisonError::into_inner);
                let number = self.draw(index) as f64 / u64::MAX as f64;
                // decided before the case's own time counts, so that long cases are not drawn more often
                let rungs = if !above.is_empty() && share.admits(Reason::Suspect) {
                    above
                } else if share.admits(Reason::Drawn(number)) {
                    self.all()
                } else {
                    Vec::new()
                };
                share.judged(micros);
                rungs
            }
        }
    }

    /// Whether a rung is one of poisoned memory.
    pub fn is_poisoned(&self, rung: usize) -> bool {
        self.poison.as_ref().is_some_and(|sample| sample.contains(rung))
    }

    /// Counts an escalation, by rung the µs that it took. Poisoned rungs take no part of the ladder's time.
    pub fn escalated(&self, micros: &[(usize, u64)]) {
        let of_ladder: Vec<_> = micros.iter().filter(|(rung, _)| !self.is_poisoned(*rung)).collect();
        if let Some(Rule::Time { share, .. }) = &self.rule
            && !of_ladder.is_empty()
        {
            let micros = of_ladder.into_iter().map(|(_, micros)| micros).sum();
            share.lock().unwrap_or_else(PoisonError::into_inner).escalated(micros);
        }
    }

    fn all(&self) -> Vec<usize> {
        self.ladders.concat()
    }

    /// The rungs above the variants of those suspects that are new.
    fn above(&self, suspects: &[Arc<Suspect>], is_new: impl Fn(&Provisional) -> bool) -> Vec<usize> {
        let mut new: Vec<_> = suspects
            .iter()
            .filter(|suspect| is_new(&suspect.provisional))
            .map(|suspect| suspect.variant)
            .collect();
        new.dedup();
        new.into_iter().flat_map(|variant| &self.ladders[variant]).copied().collect()
    }

    /// A number that depends on the seed and the case's index.
    fn draw(&self, index: u64) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ladder").update(&self.seed.to_le_bytes()).update(&index.to_le_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The indices of the rungs of the ladder above each variant that is not a rung itself.
fn ladders(variants: &[VariantInfo]) -> Vec<Vec<usize>> {
    let bases = variants.iter().filter(|info| info.rung_of.is_none());
    let rungs = |base: &VariantInfo| {
        let is_above = |(place, info): (usize, &VariantInfo)| {
            let is_above = info.rung_of.as_ref() == Some(&base.variant);
            (is_above && info.variant.poison_of(&base.variant).is_none()).then_some(place)
        };
        variants.iter().enumerate().filter_map(is_above).collect()
    };
    bases.map(rungs).collect()
}

/// What an earlier part of the campaign spent, by its journal.
fn spent(summary: &Summary) -> Spent {
    let is_of_ladder = |rung: &VariantSummary| {
        rung.rung_of.as_ref().is_some_and(|base| rung.variant.poison_of(base).is_none())
    };
    let all = summary.variants.iter();
    let rungs: Vec<_> = all.clone().filter(|variant| is_of_ladder(variant)).collect();
    let bases: Vec<_> = all.filter(|variant| variant.rung_of.is_none()).collect();
    Spent {
        below: bases.iter().map(|variant| variant.micros).sum(),
        above: rungs.iter().map(|variant| variant.micros).sum(),
        cases: summary.cases,
        escalations: rungs.iter().map(|variant| variant.cases()).max().unwrap_or(0),
    }
}
