use twinfer_case::{
    Blame, Cause, Divergence, Expectation, Kind, Observation, Outcome, Signature, Stage, VariantInfo,
};

use crate::{
    crew::Tried,
    describe::{classes, error_code, operators},
    diagnosis::diagnose,
    prepared::Prepared,
};

/// What a smaller case, or the same case run again, must still show to show the same bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symptom {
    stage: Stage,
    kind: Kind,
    blame: Blame,
    diagnosis: Vec<String>,
    error: Option<String>,
}

impl Symptom {
    /// That of the first of the divergences that `observation` of the case led to.
    pub fn of(divergence: &Divergence, prepared: &Prepared, observation: &Observation) -> Self {
        let diagnosis = match divergence.kind {
            Kind::WrongValues | Kind::WrongShape => diagnose(prepared, observation),
            _ => Vec::new(),
        };
        let error = match (&observation.outcome, &prepared.case.expectation) {
            (Outcome::Rejected(reason) | Outcome::Failed(reason), _) => error_code(reason),
            (Outcome::Crashed(status), _) => Some(status.clone()),
            (Outcome::Ok, Expectation::Invalid(rule)) => Some(rule.clone()),
            (Outcome::Ok, Expectation::Valid) | (Outcome::TimedOut, _) => None,
        };
        let Divergence { stage, kind, blame, .. } = *divergence;
        Self { stage, kind, blame, diagnosis, error }
    }

    /// Whether one of the divergences of `tried` is of this kind, whatever explains it.
    pub fn recurs_in(&self, tried: &Tried) -> bool {
        tried.divergences().iter().any(|divergence| self.resembles(divergence))
    }

    /// The symptom of a case and of a simpler one, if the simpler one may show the same bug: of this kind with the same
    /// error, and explained by what explains both. A case that nothing explained may become explained.
    pub fn shared_with(&self, tried: &Tried) -> Option<Self> {
        let divergence = tried.divergences().iter().find(|divergence| self.resembles(divergence))?;
        let mut simpler = Self::of(divergence, &tried.prepared, &tried.observation);
        if !self.diagnosis.is_empty() {
            simpler.diagnosis.retain(|mutant| self.diagnosis.contains(mutant));
            if simpler.diagnosis.is_empty() {
                return None;
            }
        }
        (self.error == simpler.error).then_some(simpler)
    }

    /// The same, once it turned out to be of another kind.
    pub fn renamed(self, kind: Kind) -> Self {
        Self { kind, diagnosis: Vec::new(), ..self }
    }

    fn resembles(&self, divergence: &Divergence) -> bool {
        divergence.kind == self.kind && divergence.stage == self.stage && divergence.blame == self.blame
    }

    /// The signature of a case with this symptom.
    pub fn signature(&self, info: &VariantInfo, prepared: &Prepared) -> Signature {
        let cause = match self.kind {
            // such a case cannot be minimised: attributes would tell nothing
            Kind::Nondeterministic => Cause::Graph(operators(&prepared.case)),
            _ if self.diagnosis.is_empty() => Cause::Graph(classes(&prepared.case)),
            _ => Cause::Diagnosis(self.diagnosis.clone()),
        };
        Signature {
            backend: info.variant.backend.clone(),
            stage: self.stage,
            kind: self.kind,
            cause,
            error: self.error.clone(),
        }
    }

    /// The mutants of golden that explain it.
    pub fn diagnosis(&self) -> &[String] {
        &self.diagnosis
    }
}
