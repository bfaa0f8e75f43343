//! *Judges* compare what the variants did with a case with what they should have done, in any order.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use twinfer_case::{CaseRecord, JOURNAL_FORMAT, Note, VariantRecord};
use twinfer_checks::{Answers, Evaluated, RunReference, disagreement};
use twinfer_triage::{Origin, Scrutiny, Suspect};
use twinfer_workers::{Observed, TriageWorkers};

use crate::{
    CampaignError,
    escalation_policy::EscalationPolicy,
    stage_event::{EventSender, StageEvent},
    stages::{Escalation, ExecutedCase, JudgedCase, PreparedCase},
};

/// Judges cases.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    pub variants: &'a [TriageWorkers],
    pub escalation: &'a EscalationPolicy<'a>,
    /// One case in this many is also run in a fresh worker; 0 for none.
    pub fresh_every: u64,
    pub scrutiny: Scrutiny,
}

impl Judge<'_> {
    /// Judges until there are no more cases.
    pub fn run(self, cases: &Receiver<ExecutedCase>, events: &EventSender) {
        for case in cases {
            events.send(match self.judge(case) {
                Ok((judged, escalation)) => StageEvent::Judged(Box::new(judged), escalation.map(Box::new)),
                Err(error) => StageEvent::Failed(error),
            });
        }
    }

    fn judge(self, executed: ExecutedCase) -> Result<(JudgedCase, Option<Escalation>), CampaignError> {
        let disagreements = self.disagreements(&executed);
        let ExecutedCase { prepared, observed } = executed;
        let may_escalate = self.escalation.may_escalate(prepared.case.task.hash);
        let first = observed.first().filter(|(first, _)| may_escalate && first.variant == 0);
        let first = first.map(|(first, _)| first.observation.clone());
        let (mut variants, mut suspects) = (Vec::with_capacity(self.variants.len()), Vec::new());
        for ((observed, repeat), disagreement) in observed.into_iter().zip(disagreements) {
            let (mut record, found) = self.judge_variant(&prepared, observed, repeat)?;
            record.notes.extend(disagreement.map(Note::Differs));
            variants.push(record);
            suspects.extend(found.into_iter().map(Arc::new));
        }
        let PreparedCase { index, case, references, left_out, is_final, .. } = prepared;
        for (place, condition) in left_out.iter().enumerate() {
            let variant = &self.variants[place].info().variant;
            let left_out = condition.iter().map(|one| VariantRecord::left_out(variant.clone(), one.clone()));
            variants.splice(place..place, left_out);
        }
        let micros = variants.iter().map(VariantRecord::micros).sum();
        let record = CaseRecord {
            format: JOURNAL_FORMAT,
            index,
            case: case.task.hash,
            provenance: case.case.provenance.clone(),
            variants,
            findings: Vec::new(),
            masks: Vec::new(),
            reduced: Vec::new(),
            waits: false,
            open: Vec::new(),
            macs: case.macs,
        };
        let mut rungs = self.escalation.rungs((index, case.task.hash), &suspects, micros);
        rungs.retain(|rung| self.is_above_one_that_ran(*rung, &left_out));
        let escalation = first.filter(|_| !rungs.is_empty()).map(|first| Escalation {
            index,
            case,
            references,
            first,
            is_only_poisoned: rungs.iter().all(|rung| self.escalation.is_poisoned(*rung)),
            rungs,
        });
        Ok((JudgedCase { index, record, is_final, suspects, resolved: Vec::new() }, escalation))
    }

    fn judge_variant(
        self,
        prepared: &PreparedCase,
        observed: Observed,
        repeat: Option<Observed>,
    ) -> Result<(VariantRecord, Vec<Suspect>), CampaignError> {
        let workers = &self.variants[observed.variant];
        let fresh = if is_sampled(observed.index, self.fresh_every) {
            Some(workers.observe_fresh(&prepared.case.task)?)
        } else {
            None
        };
        let references = self.references(prepared, &observed);
        let answers = Answers {
            observation: observed.observation,
            repeat: repeat.map(|repeat| repeat.observation),
            fresh,
        };
        let case = Arc::clone(&prepared.case);
        let mut evaluated = Evaluated::new(workers.info(), case, references, answers);
        let triageable = self.scrutiny.apply(workers, &mut evaluated)?;
        let record = evaluated.record(workers.info());
        let Observed { index, variant, ref preceding, .. } = observed;
        let origin = Origin { index, variant, preceding };
        Ok((record, Suspect::all(workers.info(), origin, evaluated, triageable)))
    }

    /// Whether the variant below a rung has run the case.
    fn is_above_one_that_ran(self, rung: usize, left_out: &[Option<String>]) -> bool {
        let base = self.variants[rung].info().rung_of.as_ref();
        let place = self.variants.iter().position(|workers| Some(&workers.info().variant) == base);
        place.and_then(|place| left_out.get(place)).is_none_or(Option::is_none)
    }

    /// What golden computes for the variant of `observed`.
    fn references(self, prepared: &PreparedCase, observed: &Observed) -> Arc<[RunReference]> {
        prepared.references.of(self.variants[observed.variant].info().description.arithmetic)
    }

    /// For each variant, how it differs from the first one on a case that golden cannot decide.
    fn disagreements(self, ExecutedCase { prepared, observed }: &ExecutedCase) -> Vec<Option<String>> {
        let Some((first, _)) = observed.first().filter(|(first, _)| first.variant == 0) else {
            return vec![None; observed.len()];
        };
        let disagreement = |(other, _): &(Observed, Option<Observed>)| {
            let other = Some(other).filter(|other| other.variant != first.variant)?;
            let references = [other, first].map(|one| self.references(prepared, one));
            let [of_other, of_first] = &references;
            let detail = disagreement((of_other, &other.observation), (of_first, &first.observation))?;
            Some(format!("from {}: {detail}", self.variants[first.variant].info().variant))
        };
        observed.iter().map(disagreement).collect()
    }
}

/// Whether the case at `index` belongs to a sample of one in `every`. The first case does not unless all do: at the start of a campaign, fresh
/// workers are needed for the first findings.
const fn is_sampled(index: u64, every: u64) -> bool {
    every > 0 && (index + 1).is_multiple_of(every)
}
