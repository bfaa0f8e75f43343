//! *Judges* compare what the variants did with a case with what they should have done, ahead of the committer.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use twinfer_case::{CaseRecord, JOURNAL_FORMAT, Note, VariantRecord};
use twinfer_checks::{Answers, Evaluated, disagreement};
use twinfer_triage::Suspect;
use twinfer_workers::{Observed, TriageWorkers};

use crate::{
    CampaignError,
    escalation_policy::EscalationPolicy,
    escalation_thread::Escalation,
    generator::PreparedCase,
    stage_event::{EventSender, StageEvent},
};

/// A case with everything that its verdicts depend on.
pub struct ExecutedCase {
    pub referenced: PreparedCase,
    /// By variant: the observation, and that of the second run where there was one.
    pub observed: Vec<(Observed, Option<Observed>)>,
}

/// A case with its verdicts, of which those that diverge are not confirmed yet.
pub struct JudgedCase {
    /// The case's place in the campaign.
    pub index: u64,
    /// Without findings.
    pub record: CaseRecord,
    /// What diverges, by variant and cause, in order.
    pub suspects: Vec<Arc<Suspect>>,
    /// Those before them, each with the place of the finding that it shows.
    pub concluded: Vec<(Arc<Suspect>, usize)>,
    /// Whether it is on its way up, and there may be more suspects.
    pub climbs: bool,
}

/// Judges cases in any order.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    pub crews: &'a [TriageWorkers],
    pub climbing: &'a EscalationPolicy<'a>,
    /// One case in this many is also run in a fresh worker; 0 for none.
    pub fresh_every: u64,
}

impl Judge<'_> {
    /// Judges until there are no more cases.
    pub fn run(self, cases: &Receiver<ExecutedCase>, deliverer: &EventSender) {
        for complete in cases {
            deliverer.send(match self.judge(complete) {
                Ok((judged, climb)) => StageEvent::JudgedCase(Box::new(judged), climb.map(Box::new)),
                Err(error) => StageEvent::Failed(error),
            });
        }
    }

    fn judge(self, complete: ExecutedCase) -> Result<(JudgedCase, Option<Escalation>), CampaignError> {
        let differences = self.differences(&complete);
        let ExecutedCase { referenced, observed } = complete;
        let first = observed.first().map(|(first, _)| first.observation.clone());
        let (mut variants, mut suspects) = (Vec::with_capacity(self.crews.len()), Vec::new());
        for ((observed, repeat), difference) in observed.into_iter().zip(differences) {
            let (mut record, found) = self.judge_variant(&referenced, observed, repeat)?;
            record.notes.extend(difference.map(Note::Differs));
            variants.push(record);
            suspects.extend(found.into_iter().map(Arc::new));
        }
        let PreparedCase { index, prepared, references, .. } = referenced;
        let micros = variants.iter().map(VariantRecord::micros).sum();
        let record = CaseRecord {
            format: JOURNAL_FORMAT,
            case: prepared.task.hash,
            provenance: prepared.case.provenance.clone(),
            variants,
            findings: Vec::new(),
            masks: Vec::new(),
            open: Vec::new(),
            macs: prepared.macs(),
        };
        let rungs = self.climbing.rungs(index, &suspects, micros);
        let climb = first.filter(|_| !rungs.is_empty());
        let climb = climb.map(|first| Escalation { index, prepared, references, first, rungs });
        Ok((JudgedCase { index, record, suspects, concluded: Vec::new(), climbs: climb.is_some() }, climb))
    }

    fn judge_variant(
        self,
        referenced: &PreparedCase,
        observed: Observed,
        repeat: Option<Observed>,
    ) -> Result<(VariantRecord, Vec<Suspect>), CampaignError> {
        let crew = &self.crews[observed.variant];
        let fresh = if is_sampled(observed.index, self.fresh_every) {
            Some(crew.observe_fresh(&referenced.prepared.task)?)
        } else {
            None
        };
        let answers = Answers {
            observation: observed.observation,
            repeat: repeat.map(|repeat| repeat.observation),
            fresh,
        };
        let (prepared, references) = (Arc::clone(&referenced.prepared), referenced.references.clone());
        let tried = Evaluated::new(crew.info(), prepared, references, answers);
        let record = tried.record(crew.info());
        let place = (observed.index, observed.variant);
        Ok((record, Suspect::all(crew.info(), place, tried, &observed.preceding)))
    }

    /// For each variant, in what way it differs from the first one on a case that golden cannot decide.
    fn differences(self, ExecutedCase { referenced, observed }: &ExecutedCase) -> Vec<Option<String>> {
        let Some((first, _)) = observed.first() else { return Vec::new() };
        let difference = |(other, _): &(Observed, Option<Observed>)| {
            let other = Some(other).filter(|other| other.variant != first.variant)?;
            let detail = disagreement(&referenced.references, &other.observation, &first.observation)?;
            Some(format!("from {}: {detail}", self.crews[first.variant].info().variant))
        };
        observed.iter().map(difference).collect()
    }
}

/// Whether the case at `index` belongs to a sample of one in `every`.
const fn is_sampled(index: u64, every: u64) -> bool {
    every > 0 && index.is_multiple_of(every)
}
