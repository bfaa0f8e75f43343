//! A case at each stage of a campaign, in the order in which it passes them.

use std::sync::Arc;

use twinfer_case::{CaseRecord, EncodedCase, Note, Observation, Variant, VariantRecord};
use twinfer_checks::CaseReferences;
use twinfer_triage::Suspect;
use twinfer_workers::{Observed, TriageWorkers};

/// A case with its reference.
pub struct PreparedCase {
    /// The case's index in the campaign.
    pub index: u64,
    pub case: Arc<EncodedCase>,
    /// What golden computes.
    pub references: CaseReferences,
    /// Whether it runs twice.
    pub repeated: bool,
    /// By variant that runs every case: the condition for which it leaves the case out, which is predicted to hang.
    pub left_out: Vec<Option<String>>,
    /// Whether what earlier blocks come to changes nothing about that.
    pub is_final: bool,
}

/// A case with everything that its verdicts depend on.
pub struct ExecutedCase {
    pub prepared: PreparedCase,
    /// By variant that ran it: the observation, and that of the second run if there was one.
    pub observed: Vec<(Observed, Option<Observed>)>,
}

/// A case with its verdicts. Those that diverge are not confirmed yet.
pub struct JudgedCase {
    /// The case's index in the campaign.
    pub index: u64,
    /// What the journal will say of it; findings are added as suspects are resolved.
    pub record: CaseRecord,
    /// Whether what earlier blocks come to does not change which variants leave the case out.
    pub is_final: bool,
    /// What diverges, by variant and cause, in order, and is not resolved yet.
    pub suspects: Vec<Arc<Suspect>>,
    /// The suspects before them, each with the index of the finding that it shows.
    pub resolved: Vec<(Arc<Suspect>, usize)>,
}

impl JudgedCase {
    /// The finding that the case showed at a weaker option, if `suspect` is the same divergence at a stronger one.
    pub fn shown_below(&self, suspect: &Suspect) -> Option<usize> {
        self.resolved.iter().find(|(lower, _)| suspect.repeats(lower)).map(|(_, finding)| *finding)
    }

    /// Forgets what the case came to on variants that leave it out, each with the condition for which it does, and on the rungs above them. If
    /// that is the first variant, nothing is said of differences from it.
    pub fn leave_out(&mut self, left_out: Vec<Option<String>>, variants: &[TriageWorkers]) {
        let compares_with_none = left_out.first().is_some_and(Option::is_some);
        for (place, condition) in left_out.into_iter().enumerate() {
            let Some(condition) = condition else { continue };
            let variant = &variants[place].info().variant;
            let is_above = |rung: &Variant| {
                let mut infos = variants.iter().map(TriageWorkers::info).filter(|info| info.variant == *rung);
                infos.any(|info| {
                    info.rung_of.as_ref() == Some(variant) || compares_with_none && info.rung_of.is_some()
                })
            };
            self.record.variants.retain(|record| !is_above(&record.variant));
            self.suspects.retain(|suspect| {
                let suspected = &variants[suspect.variant].info().variant;
                suspected != variant && !is_above(suspected)
            });
            self.record.open.retain(|open| open != variant && !is_above(open));
            self.record.variants[place] = VariantRecord::left_out(variant.clone(), condition);
        }
        if compares_with_none {
            let is_difference = |note: &Note| matches!(note, Note::Differs(_));
            self.record.variants.iter_mut().for_each(|one| one.notes.retain(|note| !is_difference(note)));
        }
    }

    /// Records that a suspect of `variant` is not decided.
    pub fn leave_open(&mut self, variant: &Variant) {
        if !self.record.open.contains(variant) {
            self.record.open.push(variant.clone());
        }
    }

    /// What the journal says of it until it is decided.
    pub fn open_record(&self, variants: &[TriageWorkers]) -> CaseRecord {
        let mut open: Vec<_> =
            self.suspects.iter().map(|suspect| variants[suspect.variant].info().variant.clone()).collect();
        open.dedup();
        let (findings, masks, reduced) = (Vec::new(), Vec::new(), Vec::new());
        CaseRecord { open, waits: true, findings, masks, reduced, ..self.record.clone() }
    }

    /// Adds what it showed at stronger options.
    pub fn complete(&mut self, Escalated { records, suspects, .. }: Escalated) {
        self.record.variants.extend(records);
        self.suspects.extend(suspects);
    }
}

/// A case that is to run at stronger options.
pub struct Escalation {
    /// The case's index in the campaign.
    pub index: u64,
    pub case: Arc<EncodedCase>,
    /// What golden computes.
    pub references: CaseReferences,
    /// What the campaign's first variant did, with which others are compared if golden cannot decide.
    pub first: Observation,
    /// The rungs that it runs on, as indices of variants, in order.
    pub rungs: Vec<usize>,
    /// Whether all of them are rungs of poisoned memory.
    pub is_only_poisoned: bool,
}

/// What a case showed at stronger options.
pub struct Escalated {
    /// The case's index in the campaign.
    pub index: u64,
    /// One per rung.
    pub records: Vec<VariantRecord>,
    /// What diverges, by rung and cause, in order.
    pub suspects: Vec<Arc<Suspect>>,
}
