use std::sync::Arc;

use twinfer_case::{
    Algorithms, CaseOutcome, Divergence, EncodedCase, Note, Observation, VariantInfo, VariantRecord, Verdict,
};

use crate::{
    Evidence, Judgement,
    determinism::runs_differ,
    diagnosis::{DiagnosisInput, explain},
    evidence::RunReference,
    judge,
    oracle::references_for,
};

/// The observations of one variant on one case.
pub struct Answers {
    /// The observation in a worker that may have run other cases.
    pub observation: Observation,
    /// The observation when the same worker ran the case a second time; `None` if it did not.
    pub repeat: Option<Observation>,
    /// The observation in a worker that has run no other case; `None` if there was none.
    pub fresh: Option<Observation>,
}

/// A case with what one variant did, and what the checks conclude.
#[derive(Clone)]
pub struct Evaluated {
    /// The case.
    pub encoded: Arc<EncodedCase>,
    /// What golden computes, run by run; empty for an invalid case.
    pub references: Arc<[RunReference]>,
    /// What the variant did.
    pub observation: Observation,
    /// What the checks conclude, every divergence with its diagnosis.
    pub judgement: Judgement,
}

impl Evaluated {
    /// Runs the checks on the observations of the variant of `info`, and diagnoses the divergences.
    ///
    /// What diverges from `references`, which hold for direct algorithms, is judged once more by the bounds of all algorithms
    /// that the backend may use for this engine.
    pub fn new(
        info: &VariantInfo,
        encoded: Arc<EncodedCase>,
        references: impl Into<Arc<[RunReference]>>,
        answers: impl Into<Answers>,
    ) -> Self {
        let (mut references, answers) = (references.into(), answers.into());
        let judge_by = |references: &[RunReference]| {
            judge(&Evidence {
                case: &encoded.case,
                variant: &info.variant,
                description: &info.description,
                references,
                observation: &answers.observation,
                repeat: answers.repeat.as_ref(),
                fresh: answers.fresh.as_ref(),
            })
        };
        let mut judgement = judge_by(&references);
        let arithmetic = answers.observation.arithmetic(info.description.arithmetic);
        if arithmetic.algorithms != Algorithms::Direct && has_wrong_outputs(&judgement, &answers.observation)
        {
            references = references_for(&encoded, arithmetic).into();
            judgement = judge_by(&references);
            if judgement.verdict == Verdict::Conforms && arithmetic.algorithms == Algorithms::Any {
                judgement.notes.push(Note::Transforms);
            }
        }
        let observation = answers.observation;
        let input = DiagnosisInput {
            encoded: &encoded,
            references: &references,
            observation: &observation,
            arithmetic,
            description: &info.description,
        };
        explain(&mut judgement, &input);
        Self { encoded, references, observation, judgement }
    }

    /// The same case with another observation.
    #[must_use]
    pub fn with(&self, info: &VariantInfo, observation: Observation) -> Self {
        Self::new(info, Arc::clone(&self.encoded), self.references.clone(), observation)
    }

    /// What the case came to, as far as repeats of it are compared.
    pub fn outcome(&self) -> CaseOutcome {
        CaseOutcome::of(&self.observation, self.divergences())
    }

    /// Whether the outputs of every run are those of `other`, as far as golden allows two results to differ.
    pub fn has_values_of(&self, other: &Self) -> bool {
        let runs = self.observation.runs.iter().zip(&other.observation.runs).zip(self.references.iter());
        let agree = |((one, other), reference): ((&_, &_), &RunReference)| match reference {
            Ok(evaluation) => runs_differ((evaluation, evaluation), one, other).is_none(),
            Err(_) => true,
        };
        self.observation.runs.len() == other.observation.runs.len() && runs.into_iter().all(agree)
    }

    /// The record of the observation for the journal.
    pub fn record(&self, info: &VariantInfo) -> VariantRecord {
        record(info, &self.observation, self.judgement.clone())
    }

    /// The divergences; empty if the verdict is another one.
    pub fn divergences(&self) -> &[Divergence] {
        self.judgement.verdict.divergences()
    }
}

impl From<Observation> for Answers {
    fn from(observation: Observation) -> Self {
        Self { observation, repeat: None, fresh: None }
    }
}

/// Whether something diverges that bounds may explain: the outputs of a variant that executed the case.
fn has_wrong_outputs(judgement: &Judgement, observation: &Observation) -> bool {
    !observation.runs.is_empty() && !judgement.verdict.divergences().is_empty()
}

/// The most bytes that a record keeps of what a backend reported.
const MAX_MESSAGE: usize = 1024;

/// The record for the journal of what a variant did, and of what the checks conclude.
pub fn record(info: &VariantInfo, observation: &Observation, judgement: Judgement) -> VariantRecord {
    VariantRecord {
        variant: info.variant.clone(),
        stage: observation.stage,
        outcome: Some(observation.outcome.shortened(MAX_MESSAGE)),
        verdict: judgement.verdict,
        notes: judgement.notes,
        compared: judgement.compared,
        timings: observation.timings.clone(),
    }
}
