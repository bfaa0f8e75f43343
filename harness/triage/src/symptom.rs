use twinfer_case::{
    Blame, Cause, Diagnosis, Divergence, EncodedCase, Expectation, Fallback, Kind, Outcome, Signature, Stage,
    VariantInfo,
};
use twinfer_checks::Evaluated;

use crate::{
    causes::follows,
    classes::{classes, operators},
};

/// What a smaller case, or the same case when it runs again, must show to show the same bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symptom {
    stage: Stage,
    kind: Kind,
    blame: Blame,
    fallback: Option<Fallback>,
    diagnosis: Vec<String>,
    error: Option<String>,
}

impl Symptom {
    /// The symptom of `divergence`, one of the divergences of `evaluated`. The mutants that explain values which follow from it
    /// explain it too.
    pub fn of(divergence: &Divergence, evaluated: &Evaluated) -> Self {
        let following = evaluated.divergences().iter().filter(|other| follows(divergence, other));
        let mut diagnoses = [divergence].into_iter().chain(following);
        let diagnosis = diagnoses.find_map(|divergence| divergence.diagnosis.as_ref());
        let mutants = diagnosis.into_iter().flat_map(Diagnosis::mutant_names);
        let error = match (&evaluated.observation.outcome, &evaluated.encoded.case.expectation) {
            (Outcome::Rejected(error) | Outcome::Failed(error), _) => error.code().map(str::to_owned),
            (Outcome::Crashed(status), _) => Some(status.clone()),
            (Outcome::Ok, Expectation::Invalid(rule)) => Some(rule.clone()),
            (Outcome::Ok, Expectation::Valid) | (Outcome::TimedOut, _) => None,
        };
        let Divergence { stage, kind, blame, .. } = *divergence;
        let (fallback, diagnosis) = (divergence.fallback.clone(), mutants.map(str::to_owned).collect());
        Self { stage, kind, blame, fallback, diagnosis, error }
    }

    /// Whether one of the divergences of `evaluated` is of this kind, whichever mutants explain it.
    pub fn recurs_in(&self, evaluated: &Evaluated) -> bool {
        evaluated.divergences().iter().any(|divergence| self.matches(divergence))
    }

    /// The symptom that a case has in common with a simpler one, if the simpler one may show the same bug: it is of the same
    /// kind with the same error, and a mutant that explained the case explains the simpler one. A case that no mutant
    /// explained may become explained.
    pub fn shared_with(&self, evaluated: &Evaluated) -> Option<Self> {
        let divergence = evaluated.divergences().iter().find(|divergence| self.matches(divergence))?;
        let mut simpler = Self::of(divergence, evaluated);
        if !self.diagnosis.is_empty() {
            simpler.diagnosis.retain(|mutant| self.diagnosis.contains(mutant));
            if simpler.diagnosis.is_empty() {
                return None;
            }
        }
        (self.error == simpler.error).then_some(simpler)
    }

    /// The kind of the divergence.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The stage in which the divergence shows.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The symptom with another kind, which a confirmation showed, and without a fallback or a diagnosis.
    #[must_use]
    pub(crate) fn with_kind(self, kind: Kind) -> Self {
        Self { kind, fallback: None, diagnosis: Vec::new(), ..self }
    }

    /// The symptom with only those mutants of its diagnosis that are `known` to explain it; unchanged if none is.
    #[must_use]
    pub fn explained_by(mut self, known: &[String]) -> Self {
        if self.diagnosis.iter().any(|mutant| known.contains(mutant)) {
            self.diagnosis.retain(|mutant| known.contains(mutant));
        }
        self
    }

    fn matches(&self, divergence: &Divergence) -> bool {
        divergence.kind == self.kind
            && divergence.stage == self.stage
            && divergence.blame == self.blame
            && match (&divergence.fallback, &self.fallback) {
                (Some(one), Some(other)) => one.is_like(other),
                (None, None) => true,
                _ => false,
            }
    }

    /// The signature of a case with this symptom.
    pub fn signature(&self, info: &VariantInfo, encoded: &EncodedCase) -> Signature {
        let cause = match (self.kind, &self.fallback) {
            // such a case cannot be minimized, so its attributes mean nothing
            (Kind::Nondeterministic, _) => Cause::Graph(operators(&encoded.case)),
            (_, Some(fallback)) => Cause::of_fallback(fallback, self.diagnosis.clone()),
            _ if self.diagnosis.is_empty() => Cause::Graph(classes(&encoded.case)),
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

    /// The place of the divergence of this kind among `divergences`; 0 if none is.
    pub fn place_among(&self, divergences: &[Divergence]) -> usize {
        divergences.iter().position(|divergence| self.matches(divergence)).unwrap_or(0)
    }

    /// The divergences of a minimal case with this symptom: the one with the symptom first, each with only those mutants that
    /// explain the larger cases too.
    pub fn narrowed(&self, divergences: &[Divergence]) -> Vec<Divergence> {
        let mut divergences = divergences.to_vec();
        if !divergences.is_empty() {
            let place = self.place_among(&divergences);
            divergences[..=place].rotate_right(1);
        }
        for divergence in &mut divergences {
            let narrowed =
                divergence.diagnosis.take().map(|diagnosis| diagnosis.narrowed_to(&self.diagnosis));
            divergence.diagnosis = narrowed;
        }
        divergences
    }

    /// The names of the mutants that explain the divergence; empty if none does.
    pub fn diagnosis(&self) -> &[String] {
        &self.diagnosis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_mutants_narrow_the_diagnosis_unless_none_remains() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let symptom = Symptom {
            stage: Stage::Execute,
            kind: Kind::WrongValues,
            blame: Blame::Variant,
            fallback: None,
            diagnosis: names(&["bias-dropped", "bias-in-product-steps"]),
            error: None,
        };
        for (known, remaining) in [
            (&["bias-in-product-steps", "wrapped"][..], &["bias-in-product-steps"][..]),
            (&["wrapped"][..], &["bias-dropped", "bias-in-product-steps"][..]),
        ] {
            assert_eq!(symptom.clone().explained_by(&names(known)).diagnosis(), names(remaining));
        }
    }
}
