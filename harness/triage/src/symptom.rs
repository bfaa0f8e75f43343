use twinfer_case::{
    Blame, Cause, Diagnosis, Divergence, EncodedCase, Expectation, Fallback, Kind, Outcome, Signature, Stage,
    VariantInfo,
};
use twinfer_checks::Evaluated;

use crate::{
    causes::follows,
    classes::{classes, operators},
};

/// What a smaller case, or the same case run again, must still show to show the same bug.
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
    /// That of one of the divergences of `evaluated`. What explains the values that follow from it explains it too.
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

    /// Whether one of the divergences of `evaluated` is of this kind, whatever explains it.
    pub fn recurs_in(&self, evaluated: &Evaluated) -> bool {
        evaluated.divergences().iter().any(|divergence| self.resembles(divergence))
    }

    /// The symptom of a case and of a simpler one, if the simpler one may show the same bug: of this kind with the same
    /// error, and explained by what explains both. A case that nothing explained may become explained.
    pub fn shared_with(&self, evaluated: &Evaluated) -> Option<Self> {
        let divergence = evaluated.divergences().iter().find(|divergence| self.resembles(divergence))?;
        let mut simpler = Self::of(divergence, evaluated);
        if !self.diagnosis.is_empty() {
            simpler.diagnosis.retain(|mutant| self.diagnosis.contains(mutant));
            if simpler.diagnosis.is_empty() {
                return None;
            }
        }
        (self.error == simpler.error).then_some(simpler)
    }

    /// What kind of divergence it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The stage in which it shows.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The same, once it turned out to be of another kind.
    #[must_use]
    pub fn renamed(self, kind: Kind) -> Self {
        Self { kind, fallback: None, diagnosis: Vec::new(), ..self }
    }

    /// The same, explained by those mutants alone that are `known` to; by all where none is.
    #[must_use]
    pub fn explained_by(mut self, known: &[String]) -> Self {
        if self.diagnosis.iter().any(|mutant| known.contains(mutant)) {
            self.diagnosis.retain(|mutant| known.contains(mutant));
        }
        self
    }

    fn resembles(&self, divergence: &Divergence) -> bool {
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
            // such a case cannot be minimised: attributes would tell nothing
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

    /// Where a divergence of this kind stands among others; first where there is none.
    pub fn place_among(&self, divergences: &[Divergence]) -> usize {
        divergences.iter().position(|divergence| self.resembles(divergence)).unwrap_or(0)
    }

    /// The divergences of a case with this symptom, that one first, explained by nothing that did not explain the larger ones
    /// too.
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

    /// The mutants of golden that explain it.
    pub fn diagnosis(&self) -> &[String] {
        &self.diagnosis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_explains_it_what_is_known_to_counts_and_all_where_none_is() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let symptom = Symptom {
            stage: Stage::Execute,
            kind: Kind::WrongValues,
            blame: Blame::Variant,
            fallback: None,
            diagnosis: names(&["bias-dropped", "bias-in-product-steps"]),
            error: None,
        };
        for (known, left) in [
            (&["bias-in-product-steps", "wrapped"][..], &["bias-in-product-steps"][..]),
            (&["wrapped"][..], &["bias-dropped", "bias-in-product-steps"][..]),
        ] {
            assert_eq!(symptom.clone().explained_by(&names(known)).diagnosis(), names(left));
        }
    }
}
