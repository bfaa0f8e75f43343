use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    BackendVersion, CaseHash, CaseOutcome, Cause, Culprit, Diagnosis, Disagreement, Divergence, Kind,
    Provenance, RepeatedOutcome, Shown, Signature, Stage, Trigger, Variant,
};

/// The version of the finding format that this crate writes.
pub const FINDING_FORMAT: u32 = 1;

/// How many times as large an unexplained error is another one: the largest difference varies with the inputs.
const MUCH_LARGER: f64 = 4.0;

/// A minimized, confirmed divergence: `finding.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// [`FINDING_FORMAT`].
    pub format: u32,
    /// What identifies the bug.
    pub signature: Signature,
    /// The kind of the divergence.
    pub kind: Kind,
    /// The stage of the divergence.
    pub stage: Stage,
    /// The names of the mutants that reproduce the output; empty if none does.
    pub diagnosis: Vec<String>,
    /// The minimal graph in one line, preceded by the rule that it breaks if it should have been refused.
    pub graph: String,
    /// Every divergence of the minimal case, the one that gave the signature first.
    pub divergences: Vec<Divergence>,
    /// The variants and versions that showed the finding, in order of discovery.
    pub seen_in: Vec<Sighting>,
    /// Whether only variants with [poisoned memory](crate::MemoryMode::Poison) showed the finding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_poisoned: bool,
    /// Whether the outputs of the case do not show the finding: a segment is wrong, but only inside the whole case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_inside: bool,
    /// The size of the case that first showed the finding.
    pub before: CaseSize,
    /// The size of the minimal case.
    pub after: CaseSize,
    /// Whether the time budget ended the minimization before it was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The hash of the minimal case.
    pub case: CaseHash,
    /// Where the first case came from; `None` if no generator made it.
    pub provenance: Option<Provenance>,
    /// For a state-dependent divergence: the cases that the worker ran before, in order.
    pub preceding: Vec<CaseHash>,
    /// What repeats of the case came to, sorted: one outcome if the finding is stable. Empty if nothing was repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<RepeatedOutcome>,
    /// The condition under which the finding shows; `None` if experiments found none, or were not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The names of mutants that reproduce the minimal case by accident: other cases that show the finding refute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<String>,
    /// Where the checked model is wrong in the cases that show the finding: the names of nodes, of a value for nodes without names, and of the
    /// outputs if no segment is to blame or backends disagree, sorted. Empty if no model was checked, and if something explains the finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_at: Vec<String>,
    /// The largest difference at each of these places, from golden or between backends that disagree. One is missing if there is no largest: a shape
    /// differed there, a difference was not finite, or no segment is to blame.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differences: BTreeMap<String, f64>,
    /// A variant that shows the finding and shows it no more with fewer options, found by leaving them out; `None` if nobody tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_options: Option<Variant>,
}

impl Finding {
    /// Whether `shown`, a finding of a later run, is this finding on the same case. Only `shown` says what the case shows now.
    /// An unstable finding also recurs as a stable one whose outcome it lists, and an unexplained one as one that a later version explains.
    pub fn recurs_as(&self, shown: &Self) -> bool {
        let is_listed = || shown.outcomes.iter().all(|one| self.lists(&one.outcome));
        self.case == shown.case
            && (self.signature == shown.signature
                || self.signature == shown.signature.without_check()
                || self.is_explained_by(shown)
                || !shown.outcomes.is_empty() && is_listed())
    }

    /// The signature as this version of twinfer gives it: earlier ones left out the check that failed.
    pub fn current_signature(&self) -> Signature {
        let check = self.divergences.first().and_then(Divergence::failed_check);
        self.signature.clone().with_check(check.as_deref())
    }

    /// Whether nothing but an explanation distinguishes `shown` from this finding, which has none.
    fn is_explained_by(&self, shown: &Self) -> bool {
        let without_cause = Signature { cause: self.signature.cause.clone(), ..shown.signature.clone() };
        matches!((&self.signature.cause, &shown.signature.cause), (Cause::Graph(_), Cause::Diagnosis(_)))
            && self.signature == without_cause
    }

    /// Whether `shown`, a finding of a later run on the same case, is a divergence that this finding lists behind its own.
    pub fn lists_beside(&self, shown: &Self) -> bool {
        let is_listed = |lead: &Divergence| self.divergences.iter().skip(1).any(|one| one.is_like(lead));
        self.case == shown.case && shown.divergences.first().is_some_and(is_listed)
    }

    /// Whether the finding is about wrong outputs or values inside that nothing explains.
    pub fn is_unexplained(&self) -> bool {
        matches!(self.signature.cause, Cause::Graph(_))
            && self.divergences.first().is_some_and(Divergence::concerns_values)
    }

    /// Whether only the place where it shows tells the finding from others of its signature: nothing explains it, or backends disagree.
    pub fn is_told_by_place(&self) -> bool {
        self.is_unexplained() || self.disagreement().is_some()
    }

    /// How outputs of backends disagree, if that is the finding.
    pub fn disagreement(&self) -> Option<&Disagreement> {
        self.divergences.first()?.disagreement.as_ref()
    }

    /// Whether both have the same signature or, if the outputs of backends disagree, the same two do, in either order.
    pub fn is_alike(&self, other: &Self) -> bool {
        let pair = |finding: &Self| {
            let with = finding.disagreement()?.with.backend.clone();
            Some(BTreeSet::from([finding.signature.backend.clone(), with]))
        };
        match pair(self).zip(pair(other)) {
            Some((own, others)) => {
                let (backend, error) = (self.signature.backend.clone(), self.signature.error.clone());
                own == others && self.signature == Signature { backend, error, ..other.signature.clone() }
            }
            None => self.current_signature() == other.current_signature(),
        }
    }

    /// Whether this shows the error of `other`, which has its signature, as far as signatures leave that open: the same explains both beyond the
    /// mutants of the signature, or nothing does, the error is not much larger, and it shows under the same conditions.
    pub fn shows_error_of(&self, other: &Self) -> bool {
        match self.signature.cause {
            Cause::Graph(_) if self.diagnosis.is_empty() != other.diagnosis.is_empty() => false,
            Cause::Graph(_) => {
                !self.is_explained_apart(other)
                    && !self.is_much_larger_than(other)
                    && (!self.diagnosis.is_empty() || self.shows_where(other))
            }
            Cause::Diagnosis(_) | Cause::Fallback { .. } => true,
        }
    }

    /// Whether its culprit is wrong under the conditions under which that of `other` is, as far as that is known. What single nodes do not account for is
    /// another error than theirs, and so is what shows at a node only inside the model.
    fn shows_where(&self, other: &Self) -> bool {
        let culprit = |finding: &Self| finding.divergences.first().and_then(|lead| lead.culprit.clone());
        match (culprit(self), culprit(other)) {
            (Some(own), Some(others)) if own.shown == Shown::Whole && others.shown == Shown::Whole => {
                own.nodes == others.nodes
            }
            (Some(Culprit { shown: Shown::Whole, .. }), _) => false,
            (Some(own), Some(others)) => own.shown != Shown::InPlace || others.shown != Shown::Alone,
            _ => true,
        }
    }

    /// Whether both are explained, and by nothing in common.
    pub fn is_explained_apart(&self, other: &Self) -> bool {
        let are_explained = !self.diagnosis.is_empty() && !other.diagnosis.is_empty();
        are_explained && !self.diagnosis.iter().any(|name| other.diagnosis.contains(name))
    }

    /// Whether nothing explains both, and the largest difference is [much](MUCH_LARGER) larger than in `other`.
    pub fn is_much_larger_than(&self, other: &Self) -> bool {
        let own = self.detailed_diagnosis().map(Diagnosis::largest_difference);
        self.diagnosis.is_empty()
            && other.diagnosis.is_empty()
            && own.is_some_and(|own| other.is_much_smaller_than(own))
    }

    /// Whether a difference of this size is [much](MUCH_LARGER) larger than the largest of the finding, as far as that is known.
    pub fn is_much_smaller_than(&self, difference: f64) -> bool {
        let largest = self.detailed_diagnosis().map(Diagnosis::largest_difference);
        largest.is_some_and(|largest| difference > MUCH_LARGER * largest)
    }

    /// Whether time was up before the finding was confirmed and repeated: it holds a case as it ran in the campaign.
    pub const fn is_unfinished(&self) -> bool {
        self.cut_short && self.outcomes.is_empty()
    }

    /// Whether this finding is unstable and `outcome` is one of its outcomes.
    pub fn lists(&self, outcome: &CaseOutcome) -> bool {
        self.kind == Kind::Unstable && self.outcomes.iter().any(|one| one.outcome == *outcome)
    }

    /// Takes what explains a finding beyond the mutants of its signature for its diagnosis: edits of golden, or wider mutants. The signature
    /// stays.
    pub fn explain_by(&mut self, composed: Option<&Diagnosis>) {
        let lead = self.divergences.first_mut().and_then(|divergence| divergence.diagnosis.as_mut());
        if let Some((diagnosis, composed)) = lead.zip(composed) {
            diagnosis.mutants.clone_from(&composed.mutants);
            diagnosis.residual = composed.residual;
            diagnosis.possible.clear();
            self.diagnosis = composed.mutant_names().map(str::to_owned).collect();
        }
    }

    /// Whether this is one outcome of a finding that varies: repeats may have missed that this varies too. The case has all that shows the
    /// other, if that is unstable, and otherwise exactly that.
    pub fn is_outcome_of(&self, varying: &Self) -> bool {
        let is_core = match (&varying.signature.cause, &self.signature.cause) {
            (Cause::Graph(core), Cause::Graph(classes)) if varying.kind == Kind::Unstable => {
                core.iter().all(|class| classes.contains(class))
            }
            (Cause::Graph(core), Cause::Graph(classes)) => varying.kind.varies() && core == classes,
            _ => false,
        };
        let is_listed =
            |one: &RepeatedOutcome| varying.outcomes.iter().any(|other| other.outcome == one.outcome);
        is_core
            && varying.signature.backend == self.signature.backend
            && !self.outcomes.is_empty()
            && self.outcomes.iter().all(is_listed)
    }

    /// Records that the finding was seen once more; false if it had been seen there before.
    pub fn add_sighting(&mut self, sighting: Sighting) -> bool {
        let is_new = !self.seen_in.contains(&sighting);
        if is_new {
            self.only_poisoned &= sighting.variant.is_poisoned();
            self.seen_in.push(sighting);
        }
        is_new
    }

    /// The names in [`wrong_at`](Self::wrong_at) and those of the culprits, which older findings have instead.
    pub fn places(&self) -> BTreeSet<&str> {
        let culprits = self.divergences.iter().filter_map(|divergence| divergence.culprit.as_ref());
        let listed = self.wrong_at.iter().map(String::as_str);
        listed.chain(culprits.flat_map(Culprit::places).flatten()).collect()
    }

    /// Whether it lists a place by one of its names.
    pub fn is_wrong_at(&self, place: &BTreeSet<String>) -> bool {
        let listed = self.places();
        place.iter().any(|name| listed.contains(name.as_str()))
    }

    /// Whether `difference` is [much](MUCH_LARGER) larger than the largest that the finding lists for this place, as far as it lists one.
    pub fn is_much_smaller_at(&self, place: &BTreeSet<String>, difference: f64) -> bool {
        let listed = self.listed_differences();
        let largest = place.iter().filter_map(|name| listed.get(name.as_str())).copied().reduce(f64::max);
        largest.is_some_and(|largest| difference > MUCH_LARGER * largest)
    }

    /// The [differences](Self::differences) by place, with those of the culprits at other places, which findings of campaigns have instead.
    fn listed_differences(&self) -> BTreeMap<&str, f64> {
        let culprits = self.divergences.iter().filter_map(|divergence| divergence.culprit.as_ref());
        let of_culprits = culprits.flat_map(Culprit::differences).flat_map(|(place, difference)| {
            place.into_iter().filter_map(move |name| Some((name, difference?)))
        });
        let of_culprits = of_culprits.filter(|(name, _)| !self.wrong_at.iter().any(|listed| listed == name));
        let mut listed: BTreeMap<&str, f64> = BTreeMap::new();
        let own = self.differences.iter().map(|(name, difference)| (name.as_str(), *difference));
        for (name, difference) in of_culprits.chain(own) {
            let largest = listed.entry(name).or_insert(difference);
            *largest = largest.max(difference);
        }
        listed
    }

    /// Lists places where the model is wrong by their names, each with the largest difference there; `None` if there is no largest.
    pub fn list_places(&mut self, places: impl IntoIterator<Item = (String, Option<f64>)>) {
        let mut names: BTreeSet<_> = self.wrong_at.drain(..).collect();
        for (name, difference) in places {
            let is_listed = names.contains(&name);
            match (difference, self.differences.get_mut(&name)) {
                (None, _) => _ = self.differences.remove(&name),
                (Some(difference), Some(largest)) => *largest = largest.max(difference),
                (Some(_), None) if is_listed => {}
                (Some(difference), None) => _ = self.differences.insert(name.clone(), difference),
            }
            names.insert(name);
        }
        self.wrong_at = names.into_iter().collect();
    }

    /// Lists the [places](Self::places) of this finding and of `other`.
    pub fn list_places_of(&mut self, other: &Self) {
        let listed = |finding: &Self| -> Vec<_> {
            let differences = finding.listed_differences();
            let places = finding.places().into_iter();
            places.map(|name| (name.to_owned(), differences.get(name).copied())).collect()
        };
        let both = [listed(self), listed(other)].concat();
        self.wrong_at.clear();
        self.differences.clear();
        self.list_places(both);
    }

    /// Whether `variant` showed the finding.
    pub fn is_seen_in(&self, variant: &Variant) -> bool {
        self.seen_in.iter().any(|seen| seen.variant == *variant)
    }

    /// The diagnosis with its residual; `None` if neither values nor shapes were compared, if the finding is a fallback beside wrong values, or
    /// if an older twinfer stored only the names of the mutants.
    pub fn detailed_diagnosis(&self) -> Option<&Diagnosis> {
        let is_beside = |lead: &Divergence| lead.fallback.is_some() && !lead.concerns_values();
        if self.divergences.first().is_some_and(is_beside) {
            return None;
        }
        self.divergences.iter().find_map(|divergence| divergence.diagnosis.as_ref())
    }
}

/// A variant that shows a finding, with the backend's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
}

/// How large a case is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSize {
    /// Number of operators.
    pub nodes: usize,
    /// Elements of all inputs of the first run.
    pub input_elements: usize,
    /// Elements of all initializers.
    pub initializer_elements: usize,
    /// Number of runs.
    pub runs: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Circumstance, Ending, NamedNode, ReproducingMutant};

    /// A finding that lists these places, each with the largest difference there.
    fn wrong_at_places(places: &[(&str, Option<f64>)]) -> Finding {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let mut finding: Finding = serde_json::from_str(stored).unwrap();
        finding.list_places(places.iter().map(|(name, difference)| ((*name).to_owned(), *difference)));
        finding
    }

    #[test]
    fn difference_without_bound_at_a_place_covers_those_of_any_size() {
        let with = wrong_at_places;
        let listed = |known: &[_], adopted: &[_]| {
            let mut known = with(known);
            known.list_places_of(&with(adopted));
            (known.wrong_at, known.differences.into_values().collect::<Vec<_>>())
        };
        let conv = || vec!["conv".to_owned()];
        assert_eq!(listed(&[("conv", Some(1.0))], &[("conv", Some(3.0))]), (conv(), vec![3.0]));
        assert_eq!(listed(&[("conv", Some(1.0))], &[("conv", None)]), (conv(), vec![]));
        assert_eq!(listed(&[("conv", None)], &[("conv", Some(1.0))]), (conv(), vec![]));
        let place = BTreeSet::from(["conv".to_owned()]);
        assert!(with(&[("conv", Some(1.0))]).is_much_smaller_at(&place, f64::INFINITY));
        let mut unbounded = with(&[("conv", Some(1.0)), ("conv", None)]);
        assert!(!unbounded.is_much_smaller_at(&place, f64::INFINITY));
        unbounded.divergences[0].culprit = Some(Culprit {
            nodes: vec![NamedNode::new("conv", "Conv", "y")],
            inputs: Vec::new(),
            output: "y".to_owned(),
            shown: Shown::Alone,
            difference: Some(1.0),
            behind: Vec::new(),
        });
        assert!(!unbounded.is_much_smaller_at(&place, f64::INFINITY), "the culprit's is one of them");
    }

    #[test]
    fn what_experiments_show_explains_a_finding_and_keeps_its_signature() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let mut finding: Finding = serde_json::from_str(stored).unwrap();
        let mutant = |name: &str| ReproducingMutant { name: name.to_owned(), clause: "it is".to_owned() };
        let diagnosis =
            |mutants| Diagnosis { mutants, residual: Some(0.0), unexplained: None, ..Diagnosis::default() };
        let (composed, signature) = (diagnosis(vec![mutant("conv-bias-negated")]), finding.signature.clone());
        finding.explain_by(Some(&composed));
        assert!(finding.diagnosis.is_empty(), "there are no values to explain");
        finding.divergences[0].diagnosis = Some(diagnosis(Vec::new()));
        finding.explain_by(Some(&composed));
        assert_eq!(
            (&finding.diagnosis[..], &finding.signature),
            (&["conv-bias-negated".to_owned()][..], &signature)
        );
        finding.explain_by(None);
        assert_eq!(finding.diagnosis, ["conv-bias-negated"], "it stays explained");
        finding.explain_by(Some(&diagnosis(vec![mutant("conv-bias-halved")])));
        assert_eq!(finding.diagnosis, ["conv-bias-halved"], "it is explained better");
    }

    #[test]
    fn error_of_another_explanation_or_size_is_another() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let finding = |mutants: &[&str], largest: f64| {
            let mut finding: Finding = serde_json::from_str(stored).unwrap();
            finding.diagnosis = mutants.iter().map(|&mutant| mutant.to_owned()).collect();
            let diagnosis = Diagnosis {
                mutants: Vec::new(),
                residual: None,
                unexplained: Some(largest),
                ..Diagnosis::default()
            };
            finding.divergences[0].diagnosis = Some(diagnosis);
            finding
        };
        for (known, shown, is_same) in [
            (finding(&[], 1.0), finding(&[], 3.0), true),
            (finding(&[], 1.0), finding(&[], 0.01), true),
            (finding(&[], 1.0), finding(&[], 5.0), false),
            (finding(&[], 1.0), finding(&["conv-bias-negated"], 1.0), false),
            (finding(&["conv-bias-negated"], 1.0), finding(&[], 1.0), false),
            (finding(&["conv-bias-negated"], 1.0), finding(&["conv-bias-halved"], 1.0), false),
            (finding(&["conv-bias-negated", "b"], 1.0), finding(&["conv-bias-negated"], 9.0), true),
        ] {
            assert_eq!(shown.shows_error_of(&known), is_same, "{:?} {:?}", known.diagnosis, shown.diagnosis);
        }
    }

    #[test]
    fn disagreement_of_two_backends_is_alike_in_either_order() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let finding = |backend: &str, with: Option<&str>| {
            let mut finding: Finding = serde_json::from_str(stored).unwrap();
            let disagreement =
                with.map(|with| Disagreement { with: with.parse().unwrap(), outputs: Vec::new() });
            finding.signature.backend = backend.parse().unwrap();
            finding.signature.error = disagreement.as_ref().map(|one| one.with.backend.to_string());
            finding.divergences[0].disagreement = disagreement;
            finding
        };
        let known = finding("trt", Some("ort:cpu,opt=off"));
        assert!(finding("trt", Some("ort:cpu")).is_alike(&known));
        assert!(finding("ort:cpu", Some("trt")).is_alike(&known));
        assert!(!finding("trt", Some("trt-api")).is_alike(&known), "another backend may be wrong");
        assert!(!finding("trt-api", Some("ort:cpu")).is_alike(&known));
        assert!(!finding("trt", None).is_alike(&known), "a refusal is another bug");
        assert!(!known.is_alike(&finding("trt", None)));
        let mut of_another_kind = finding("ort:cpu", Some("trt"));
        of_another_kind.signature.kind = Kind::WrongValues;
        assert!(!of_another_kind.is_alike(&known));
    }

    #[test]
    fn finding_seen_without_poison_is_not_only_poisoned() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let sighting = |variant: &str| Sighting { variant: variant.parse().unwrap(), version: "1".into() };
        let poisoned = sighting("trt,memory=poison-nan");
        let mut finding: Finding = serde_json::from_str(stored).unwrap();
        (finding.only_poisoned, finding.seen_in) = (true, vec![poisoned.clone()]);
        assert!(!finding.add_sighting(poisoned));
        assert!(finding.add_sighting(sighting("trt,memory=poison-large")));
        assert!(finding.only_poisoned);
        assert!(finding.add_sighting(sighting("trt,memory=keep")));
        assert!(finding.add_sighting(sighting("trt-api,memory=poison-nan")));
        assert!(!finding.only_poisoned);
        let read: Finding = serde_json::from_str(&serde_json::to_string(&finding).unwrap()).unwrap();
        assert_eq!(read, finding);
    }

    #[test]
    fn stable_finding_may_be_one_outcome_of_one_that_varies() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let outcome =
            |ended, kind| CaseOutcome { stage: Stage::Parse, ended, error: None, kinds: vec![kind] };
        let (rejected, crashed) =
            (outcome(Ending::Rejected, Kind::RejectsValid), outcome(Ending::Crashed, Kind::Crash));
        let finding = |kind, classes: &[&str], outcomes: &[&CaseOutcome]| {
            let mut finding: Finding = serde_json::from_str(stored).unwrap();
            let times = |outcome: &&CaseOutcome| RepeatedOutcome {
                outcome: (*outcome).clone(),
                times: BTreeMap::from([(Circumstance::Fresh, 10)]),
            };
            finding.signature.cause = Cause::Graph(classes.iter().map(|&class| class.to_owned()).collect());
            (finding.kind, finding.outcomes) = (kind, outcomes.iter().map(times).collect());
            finding
        };
        let unstable = finding(Kind::Unstable, &["DequantizeLinear"], &[&rejected, &crashed]);
        let larger = finding(Kind::RejectsValid, &["Conv", "DequantizeLinear"], &[&rejected]);
        assert!(larger.is_outcome_of(&unstable));
        assert!(!larger.is_outcome_of(&larger), "it does not vary");
        let other = outcome(Ending::Failed, Kind::BuildFailure);
        assert!(!finding(Kind::BuildFailure, &["DequantizeLinear"], &[&other]).is_outcome_of(&unstable));
        assert!(!finding(Kind::RejectsValid, &["Conv"], &[&rejected]).is_outcome_of(&unstable));
        assert!(!finding(Kind::RejectsValid, &["DequantizeLinear"], &[]).is_outcome_of(&unstable));
        let by_state = finding(Kind::StateDependent, &["DequantizeLinear"], &[&rejected, &crashed]);
        assert!(finding(Kind::RejectsValid, &["DequantizeLinear"], &[&rejected]).is_outcome_of(&by_state));
        assert!(!larger.is_outcome_of(&by_state), "it may show for another reason");
    }

    #[test]
    fn places_are_listed_with_the_largest_difference() {
        let finding = wrong_at_places;
        let mut listed = finding(&[("c5", Some(0.1)), ("c3", Some(2.0)), ("c5", Some(0.4)), ("y", None)]);
        listed.list_places_of(&finding(&[("c3", Some(1.0)), ("c7", Some(3.0))]));
        assert_eq!(listed.wrong_at, ["c3", "c5", "c7", "y"]);
        let differences = [("c3", 2.0), ("c5", 0.4), ("c7", 3.0)];
        assert_eq!(listed.differences, differences.map(|(name, size)| (name.to_owned(), size)).into());
    }

    #[test]
    fn finding_recurs_as_one_that_a_later_version_explains() {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let unexplained: Finding = serde_json::from_str(stored).unwrap();
        let mut explained = unexplained.clone();
        explained.signature.cause = Cause::Diagnosis(vec!["bias-dropped".to_owned()]);
        assert!(unexplained.recurs_as(&explained));
        assert!(!explained.recurs_as(&unexplained), "what explained it no longer does");
        explained.signature.kind = Kind::WrongShape;
        assert!(!unexplained.recurs_as(&explained));
    }
}
