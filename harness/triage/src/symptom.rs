use std::collections::BTreeSet;

use twinfer_case::{
    Blame, Cause, Diagnosis, Divergence, EncodedCase, Expectation, Fallback, Kind, Outcome, Signature, Stage,
    VariantInfo,
};
use twinfer_checks::Evaluated;

use crate::{
    causes::{follows, leads},
    classes::{classes, classes_inside, operators},
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
    /// The [check](Divergence::failed_check) that fails in the backend.
    check: Option<String>,
    /// The checks that failed for one case, if they were several: which one fails depends on what a worker ran before.
    varying: BTreeSet<String>,
    /// Mutants that are no explanation, whatever they reproduce; none of them is in `diagnosis`.
    ignored: Ignored,
    /// The classes of the segment that is wrong, if it is wrong only inside the whole case, whose outputs do not show it.
    inside: Option<Vec<String>>,
}

/// Mutants that are no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ignored {
    /// These mutants: other cases show that they reproduce a case by accident.
    Refuted(Vec<String>),
    /// All of them: what a larger case does not show, a smaller one shows by accident.
    All(Vec<String>),
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
        let check = divergence.failed_check();
        let (varying, ignored) = (BTreeSet::new(), Ignored::Refuted(Vec::new()));
        Self { stage, kind, blame, fallback, diagnosis, error, check, varying, ignored, inside: None }
    }

    /// The symptom of `divergence`, of a segment that is wrong only inside the case of `evaluated`, whose outputs do not show it. The classes of
    /// the segment identify it, as nothing smaller than the case shows it.
    pub(crate) fn inside(divergence: &Divergence, evaluated: &Evaluated) -> Self {
        let culprit = divergence.culprit.as_ref();
        let inside = culprit.map(|culprit| classes_inside(&evaluated.encoded.case, culprit));
        Self { inside, ..Self::of(divergence, evaluated) }
    }

    /// Whether only judging segments inside the whole case shows it.
    pub(crate) const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// The symptom without mutants that reproduce the case by accident.
    #[must_use]
    pub fn without(mut self, refuted: &[String]) -> Self {
        let (Ignored::Refuted(known) | Ignored::All(known)) = &mut self.ignored;
        known.extend(refuted.iter().filter(|mutant| self.diagnosis.contains(mutant)).cloned());
        let ignored = self.ignored.clone();
        self.ignoring(ignored)
    }

    /// The symptom whichever mutants explain it, or those of smaller cases.
    #[must_use]
    pub(crate) fn without_explanations(self) -> Self {
        let (Ignored::Refuted(refuted) | Ignored::All(refuted)) = self.ignored.clone();
        self.ignoring(Ignored::All(refuted))
    }

    /// The symptom of `evaluated`, which shows this one, with every mutant that explains it.
    #[must_use]
    pub(crate) fn with_explanations(self, evaluated: &Evaluated) -> Self {
        let explained = Self { ignored: Ignored::Refuted(Vec::new()), ..self.clone() };
        explained.recurring_in(evaluated).unwrap_or(self)
    }

    fn ignoring(mut self, ignored: Ignored) -> Self {
        match &ignored {
            Ignored::Refuted(refuted) => self.diagnosis.retain(|mutant| !refuted.contains(mutant)),
            Ignored::All(_) => self.diagnosis.clear(),
        }
        if self.diagnosis.is_empty() && self.kind == Kind::PrecisionFallback && self.fallback.is_none() {
            self.kind = Kind::WrongValues;
        }
        Self { ignored, ..self }
    }

    /// The symptom of the divergence of `evaluated` that is of this kind, whichever mutants explain it and whichever error it
    /// gives; `None` if none of its causes shows as this kind.
    pub fn recurring_in(&self, evaluated: &Evaluated) -> Option<Self> {
        let divergences = evaluated.divergences();
        let lead = leads(divergences).into_iter().find(|lead| self.matches(&divergences[*lead]))?;
        let recurring = Self::of(&divergences[lead], evaluated).ignoring(self.ignored.clone());
        Some(Self { inside: self.inside.clone(), varying: self.varying.clone(), ..recurring })
    }

    /// The symptom of a case that came to `again` when it ran once more: another check that failed then is as good.
    #[must_use]
    pub(crate) fn varying_as(mut self, again: &Evaluated) -> Self {
        let other = self.recurring_in(again).filter(|other| self.fails_otherwise(other));
        self.varying.extend(other.into_iter().flat_map(|other| [self.check.clone(), other.check]).flatten());
        self
    }

    /// The symptom of a case simpler than one with this symptom, if it shows the same bug, and shows it as clearly: it is of the
    /// same kind with the same error, or one that the larger case shows too, and no mutants explain it but those that explain the larger case. `None` otherwise. A
    /// case that no mutant explains may become an explained one.
    ///
    /// So a minimal case alone determines its signature: whoever runs it again finds the same mutants.
    pub fn shared_with(&self, evaluated: &Evaluated) -> Option<Self> {
        let simpler = self.recurring_in(evaluated)?;
        let is_as_clear = self.diagnosis.is_empty()
            || !simpler.diagnosis.is_empty()
                && simpler.diagnosis.iter().all(|mutant| self.diagnosis.contains(mutant));
        let is_same_error = self.error == simpler.error && self.has_shown(&simpler);
        (is_as_clear && is_same_error).then_some(simpler)
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
        Self { kind, fallback: None, diagnosis: Vec::new(), check: None, ..self }
    }

    fn matches(&self, divergence: &Divergence) -> bool {
        (divergence.kind == self.kind
            || divergence.fallback.is_none() && are_of_values(divergence.kind, self.kind))
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
        let classes = || self.inside.clone().unwrap_or_else(|| classes(&encoded.case));
        if self.kind == Kind::Unstable {
            return Signature::unstable(info.variant.backend.clone(), classes());
        }
        let cause = match (self.kind, &self.fallback) {
            // such a case cannot be minimized, so its attributes mean nothing
            (Kind::Nondeterministic, _) => Cause::Graph(operators(&encoded.case)),
            (_, Some(fallback)) => Cause::of_fallback(fallback, self.diagnosis.clone()),
            _ if self.diagnosis.is_empty() => Cause::Graph(classes()),
            _ => Cause::Diagnosis(self.diagnosis.clone()),
        };
        Signature {
            backend: info.variant.backend.clone(),
            stage: self.stage,
            kind: self.kind,
            cause,
            error: self.error.clone(),
        }
        .with_check(self.check.as_deref())
    }

    /// Whether a check fails in the backend in `other` that is none of this symptom.
    pub(crate) fn fails_otherwise(&self, other: &Self) -> bool {
        self.check.is_some() && other.check.is_some() && !self.has_shown(other)
    }

    /// Whether the same check fails in the backend in `other`, or one that varies with this one.
    fn has_shown(&self, other: &Self) -> bool {
        self.check == other.check || other.check.as_ref().is_some_and(|check| self.varying.contains(check))
    }

    /// The place of the divergence of this kind among `divergences`; 0 if none is.
    pub fn place_among(&self, divergences: &[Divergence]) -> usize {
        divergences.iter().position(|divergence| self.matches(divergence)).unwrap_or(0)
    }

    /// The divergences of a case with this symptom: the one with the symptom first, each with only those mutants that explain
    /// that one.
    pub fn narrowed(&self, divergences: &[Divergence]) -> Vec<Divergence> {
        let mut divergences = divergences.to_vec();
        if !divergences.is_empty() {
            let place = self.place_among(&divergences);
            divergences[..=place].rotate_right(1);
        }
        for (place, divergence) in divergences.iter_mut().enumerate() {
            if place == 0 && divergence.fallback.is_none() && are_of_values(divergence.kind, self.kind) {
                divergence.kind = self.kind;
            }
            let narrowed =
                divergence.diagnosis.take().map(|diagnosis| diagnosis.narrowed_to(&self.diagnosis));
            divergence.diagnosis = narrowed;
        }
        divergences
    }

    /// The names of the mutants that reproduce the case by accident.
    pub fn refuted(&self) -> &[String] {
        let (Ignored::Refuted(refuted) | Ignored::All(refuted)) = &self.ignored;
        refuted
    }

    /// The names of the mutants that explain the divergence; empty if none does.
    pub fn diagnosis(&self) -> &[String] {
        &self.diagnosis
    }
}

/// Whether both kinds are of wrong values: an explanation alone, which may be refuted, makes a precision fallback of them unless a layer
/// reports one.
pub(crate) const fn are_of_values(one: Kind, other: Kind) -> bool {
    matches!(one, Kind::WrongValues | Kind::PrecisionFallback)
        && matches!(other, Kind::WrongValues | Kind::PrecisionFallback)
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Case, Description, FallbackReason, FallbackValues, Observation, ReproducingMutant, Request, Verdict,
    };
    use twinfer_checks::Judgement;
    use twinfer_onnx::{DataType, Graph};

    use super::*;

    fn divergence(kind: Kind) -> Divergence {
        let variant = "trt".parse().expect("a variant");
        Divergence::new(variant, Stage::Execute, kind, Blame::Variant, String::new())
    }

    fn explained_by(mutants: &[&str]) -> Divergence {
        let mutant = |name: &&str| ReproducingMutant { name: (*name).to_owned(), clause: String::new() };
        let mutants = mutants.iter().map(mutant).collect();
        let diagnosis = Some(Diagnosis { mutants, ..Diagnosis::default() });
        Divergence { diagnosis, ..divergence(Kind::WrongValues) }
    }

    fn evaluated(divergences: Vec<Divergence>) -> Evaluated {
        let graph = Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        let case = Case {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: Vec::new(),
            expectation: Expectation::Valid,
            provenance: None,
        };
        let verdict = Verdict::Diverges(divergences);
        Evaluated {
            encoded: EncodedCase::encode(case).expect("a small case"),
            references: Vec::new().into(),
            observation: Observation::new(Stage::Execute, Outcome::Ok),
            judgement: Judgement { verdict, notes: Vec::new(), compared: true },
        }
    }

    /// The mutants of the symptom that a case explained by `larger` shares with one explained by `simpler`.
    fn shared(larger: &[&str], simpler: &[&str]) -> Option<Vec<String>> {
        let (larger, simpler) =
            (evaluated(vec![explained_by(larger)]), evaluated(vec![explained_by(simpler)]));
        let symptom = Symptom::of(&larger.divergences()[0], &larger);
        Some(symptom.shared_with(&simpler)?.diagnosis().to_vec())
    }

    #[test]
    fn simpler_case_is_explained_by_no_further_mutant() {
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let (dropped, steps) = ("bias-dropped", "bias-in-product-steps");
        assert_eq!(shared(&[dropped, steps], &[steps]), names(&[steps]));
        assert_eq!(shared(&[steps], &[dropped, steps]), None, "it distinguishes less");
        assert_eq!(shared(&[steps], &[]), None, "it is unexplained");
        assert_eq!(shared(&[], &[dropped, steps]), names(&[dropped, steps]));
    }

    #[test]
    fn unstable_signature_depends_on_no_outcome() {
        let variant = "trt".parse().expect("a variant");
        let description = Description::new("TensorRT", "8.6", Stage::Execute);
        let info = VariantInfo { variant, description, rung_of: None };
        let signature = |kind, outcome: Outcome| {
            let mut evaluated = evaluated(vec![divergence(kind)]);
            evaluated.observation.outcome = outcome;
            let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated).with_kind(Kind::Unstable);
            symptom.signature(&info, &evaluated.encoded)
        };
        let refused = signature(Kind::RejectsValid, Outcome::rejected("UNSUPPORTED_NODE: no"));
        assert_eq!(refused, signature(Kind::BuildFailure, Outcome::failed("NO_ENGINE: none")));
        assert_eq!(refused, signature(Kind::WrongValues, Outcome::Ok));
        assert_eq!(refused.to_string(), "trt unstable");
    }

    #[test]
    fn values_that_follow_from_a_fallback_are_another_symptom() {
        let values = evaluated(vec![explained_by(&["weights-unquantized"])]);
        let symptom = Symptom::of(&values.divergences()[0], &values);
        let fallback = Fallback {
            operator: "Conv".to_owned(),
            reason: FallbackReason::NotFused,
            values: FallbackValues::Changed,
        };
        let fallback = Divergence { fallback: Some(fallback), ..divergence(Kind::PrecisionFallback) };
        let following = evaluated(vec![fallback, explained_by(&["weights-unquantized"])]);
        assert!(symptom.recurring_in(&values).is_some());
        assert!(symptom.recurring_in(&following).is_none());
    }

    #[test]
    fn values_that_no_mutant_explains_any_more_are_no_fallback() {
        let in_half = || Divergence { kind: Kind::PrecisionFallback, ..explained_by(&["sums-in-half"]) };
        let evaluated = evaluated(vec![in_half()]);
        let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated);
        assert_eq!(symptom.kind(), Kind::PrecisionFallback);
        let refuted = symptom.without(&["sums-in-half".to_owned()]);
        assert_eq!((refuted.kind(), refuted.diagnosis()), (Kind::WrongValues, &[][..]));
        assert_eq!(refuted.recurring_in(&evaluated), Some(refuted.clone()), "it stays refuted");
        assert_eq!(refuted.narrowed(evaluated.divergences())[0].kind, Kind::WrongValues);
    }

    #[test]
    fn smaller_case_is_not_explained_by_accident() {
        let (larger, smaller) =
            (evaluated(vec![explained_by(&[])]), evaluated(vec![explained_by(&["truncated"])]));
        let symptom = Symptom::of(&larger.divergences()[0], &larger).without_explanations();
        let shared = symptom.shared_with(&smaller).expect("it shows the same");
        assert_eq!(shared.diagnosis(), [""; 0]);
        assert_eq!(
            shared.with_explanations(&smaller).diagnosis(),
            ["truncated"],
            "experiments may support it"
        );
    }
}
