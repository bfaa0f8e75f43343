use std::sync::Arc;

use twinfer_case::{Divergence, EncodedCase, Observation, VariantInfo, VariantRecord};

use crate::{
    Evidence, Judgement,
    diagnosis::{DiagnosisInput, explain},
    evidence::RunReference,
    judge,
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
    pub references: Vec<RunReference>,
    /// What the variant did.
    pub observation: Observation,
    /// What the checks conclude, every divergence with its diagnosis.
    pub judgement: Judgement,
}

impl Evaluated {
    /// Runs the checks on the observations of the variant of `info`, and diagnoses the divergences.
    pub fn new(
        info: &VariantInfo,
        encoded: Arc<EncodedCase>,
        references: Vec<RunReference>,
        answers: impl Into<Answers>,
    ) -> Self {
        let Answers { observation, repeat, fresh } = answers.into();
        let mut judgement = judge(&Evidence {
            case: &encoded.case,
            variant: &info.variant,
            description: &info.description,
            references: &references,
            observation: &observation,
            repeat: repeat.as_ref(),
            fresh: fresh.as_ref(),
        });
        let input = DiagnosisInput {
            encoded: &encoded,
            references: &references,
            observation: &observation,
            arithmetic: info.description.arithmetic,
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

/// The record for the journal of what a variant did, and of what the checks conclude.
pub fn record(info: &VariantInfo, observation: &Observation, judgement: Judgement) -> VariantRecord {
    VariantRecord {
        variant: info.variant.clone(),
        stage: observation.stage,
        verdict: judgement.verdict,
        notes: judgement.notes,
        compared: judgement.compared,
        timings: observation.timings.clone(),
    }
}
