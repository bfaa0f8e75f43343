use std::sync::Arc;

use twinfer_case::{Divergence, EncodedCase, Observation, VariantInfo, VariantRecord};

use crate::{
    Evidence, Judgement,
    diagnosis::{Outcome, explain},
    evidence::RunReference,
    judge,
};

/// What a variant answered for one case.
pub struct Answers {
    /// In a worker that may have run other cases.
    pub observation: Observation,
    /// When the same worker ran the case a second time; `None` if it did not.
    pub repeat: Option<Observation>,
    /// In a worker that has run nothing else; `None` if there was none.
    pub fresh: Option<Observation>,
}

/// A case with what one variant did with it, and what the checks conclude.
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
    /// Runs the checks on what the variant of `info` answered, and diagnoses what diverges.
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
        let outcome = Outcome {
            encoded: &encoded,
            references: &references,
            observation: &observation,
            arithmetic: info.description.arithmetic,
            description: &info.description,
        };
        explain(&mut judgement, &outcome);
        Self { encoded, references, observation, judgement }
    }

    /// The same case with another observation of it.
    #[must_use]
    pub fn with(&self, info: &VariantInfo, observation: Observation) -> Self {
        Self::new(info, Arc::clone(&self.encoded), self.references.clone(), observation)
    }

    /// The journal's record of it.
    pub fn record(&self, info: &VariantInfo) -> VariantRecord {
        record(info, &self.observation, self.judgement.clone())
    }

    /// What diverges; empty for every other verdict.
    pub fn divergences(&self) -> &[Divergence] {
        self.judgement.verdict.divergences()
    }
}

impl From<Observation> for Answers {
    fn from(observation: Observation) -> Self {
        Self { observation, repeat: None, fresh: None }
    }
}

/// The journal's record of what a variant did, and of what the checks conclude.
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
