//! What a finding is recognized by, and which provisional signatures may belong to one finding.

use std::iter;

use twinfer_case::{Case, CaseOutcome, Cause, Finding, Kind, Signature, Trigger};
use twinfer_golden::{Combination, Hypothesis};
use twinfer_triggers::{DescribedNode, describe, describe_runs, satisfies};

use crate::{
    BrokenBy,
    classes::{are_inside, classes},
    provisional::Provisional,
    symptom::are_of_values,
};

/// What distinguishes a finding from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The signature of the finding's minimal case.
    pub signature: Signature,
    /// The [classes](crate::classes) of the finding's minimal case; of a segment if that is wrong only inside its case.
    pub classes: Vec<String>,
    /// Where the finding's minimal case breaks a rule; `None` if its graph is valid or breaks another rule first.
    pub broken_by: Option<BrokenBy>,
    /// What repeats of the minimal case came to if the finding varies; empty for any other finding.
    pub outcomes: Vec<CaseOutcome>,
    /// The condition under which the finding shows, if it is known.
    pub trigger: Option<Trigger>,
    /// The names of what explains the finding if no mutant of its signature does, alternatives of which one holds: edits of golden, or wider
    /// listed mutants.
    pub edits: Vec<String>,
    /// The mutants of the signature that other cases have refuted since: they explain nothing.
    pub refuted: Vec<String>,
    /// What the nodes of the finding's minimal case are like.
    pub nodes: Vec<DescribedNode>,
}

impl Identity {
    /// How `finding`, whose minimal case is `case`, is recognized.
    pub fn of(finding: &Finding, case: &Case) -> Self {
        let outcomes =
            finding.outcomes.iter().filter(|_| finding.kind.varies()).map(|one| one.outcome.clone());
        Self {
            outcomes: outcomes.collect(),
            trigger: finding.trigger.clone(),
            refuted: finding.refuted.clone(),
            edits: finding
                .diagnosis
                .iter()
                .filter(|name| !named(&finding.signature).contains(name))
                .cloned()
                .collect(),
            ..Self::of_case(finding.current_signature(), case)
        }
    }

    /// How a finding with this signature and this minimal case is recognized before its trigger is known.
    pub fn of_case(signature: Signature, case: &Case) -> Self {
        let (outcomes, edits, refuted) = (Vec::new(), Vec::new(), Vec::new());
        let classes = match &signature.cause {
            Cause::Graph(inside) if are_inside(inside) => inside.clone(),
            _ => classes(case),
        };
        let (broken_by, nodes) = (BrokenBy::of(case), describe(case));
        Self { signature, classes, broken_by, outcomes, trigger: None, edits, refuted, nodes }
    }

    /// Whether both are the same bug: they show the same mistake, or the minimal case of each satisfies the trigger of
    /// the other and shows what the other does.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.shows_mistake_of(other) || self.is_triggered_like(other)
    }

    /// Whether both show the same mistake: one signature, one explanation, or one condition that fails in a parser.
    pub(crate) fn shows_mistake_of(&self, other: &Self) -> bool {
        self.signature == other.signature
            || self.matches(&other.unrefuted_signature())
            || self.is_refused_like(&other.signature)
            || self.is_explained_like(other)
            || self.makes_mistake_of(other)
            || self.accepts_like(&other.signature, other.broken_by.as_ref())
    }

    /// Whether a parser refuses a model with this signature because the condition fails that fails for the finding.
    fn is_refused_like(&self, signature: &Signature) -> bool {
        self.signature.condition().is_some() && is_alike(&self.signature, signature)
    }

    /// Whether a backend that accepts an invalid graph, as the finding says, does the same here: the same rule is broken, by the same
    /// operator or outside any node.
    fn accepts_like(&self, signature: &Signature, broken_by: Option<&BrokenBy>) -> bool {
        self.signature.kind == Kind::AcceptsInvalid
            && is_alike(&self.signature, signature)
            && broken_by.is_some()
            && self.broken_by.as_ref() == broken_by
    }

    /// Whether edits, or wider listed mutants, explain one of both, and one of them may explain the other too.
    fn is_explained_like(&self, other: &Self) -> bool {
        let is_composed = !self.edits.is_empty() || !other.edits.is_empty();
        let is_common = |name: &String| other.explanations().contains(name);
        is_composed
            && is_alike(&self.signature, &other.signature)
            && self.explanations().iter().any(is_common)
    }

    /// Whether listed mutants explain both: those of one are among those of the other, of which every further one makes the mistake of one of
    /// these in other quantizers. What a case without QuantizeLinear does not tell apart is no evidence of another bug.
    fn makes_mistake_of(&self, other: &Self) -> bool {
        let (Cause::Diagnosis(own), Cause::Diagnosis(others)) =
            (&self.signature.cause, &other.signature.cause)
        else {
            return false;
        };
        let is_variant = |own: &[String], others: &[String]| {
            differ_in_quantizers(own, others) || differ_in_quantizers(others, own)
        };
        self.edits.is_empty()
            && other.edits.is_empty()
            && is_alike(&self.signature, &other.signature)
            && is_variant(&self.unrefuted(own), &other.unrefuted(others))
            && self.admits(&other.nodes)
            && other.admits(&self.nodes)
    }

    /// The `mutants` that no other case has refuted; all of them if every one is refuted.
    fn unrefuted(&self, mutants: &[String]) -> Vec<String> {
        let left: Vec<_> = mutants.iter().filter(|mutant| !self.refuted.contains(mutant)).cloned().collect();
        if left.is_empty() { mutants.to_vec() } else { left }
    }

    /// The signature without mutants that explain nothing.
    fn unrefuted_signature(&self) -> Signature {
        let mut signature = self.signature.clone();
        if let Cause::Diagnosis(mutants) = &mut signature.cause {
            *mutants = self.unrefuted(mutants);
        }
        signature
    }

    /// The names of what explains the finding, alternatives of which one holds.
    pub(crate) fn explanations(&self) -> Vec<String> {
        match &self.signature.cause {
            Cause::Diagnosis(mutants) if self.edits.is_empty() => self.unrefuted(mutants),
            _ => self.edits.clone(),
        }
    }

    fn is_triggered_like(&self, other: &Self) -> bool {
        let are_explained = !self.explanations().is_empty() && !other.explanations().is_empty();
        let are_explained_apart =
            are_explained && self.explanations() != other.explanations() && !self.is_explained_like(other);
        let are_unexplained =
            matches!((&self.signature.cause, &other.signature.cause), (Cause::Graph(_), Cause::Graph(_)));
        // an edit is right about nearly all cases that show something under its condition
        let are_explained_once = self.edits.is_empty() != other.edits.is_empty();
        let is_same_core = || self.is_contained_in(&other.classes) || other.is_contained_in(&self.classes);
        let are_sufficient = || self.is_sufficiently_triggered() && other.is_sufficiently_triggered();
        is_alike(&self.signature, &other.signature)
            && !are_explained_apart
            && (are_sufficient()
                || are_explained_once && self.is_triggered_by_the_facts_of(other)
                || are_unexplained && is_same_core())
            && self.triggers(&other.nodes)
            && other.triggers(&self.nodes)
    }

    /// Whether both show under the very same condition, and not always.
    fn is_triggered_by_the_facts_of(&self, other: &Self) -> bool {
        let triggers = self.trigger.as_ref().zip(other.trigger.as_ref());
        triggers.is_some_and(|(one, other)| {
            !one.facts.is_empty() && (&one.operator, &one.facts) == (&other.operator, &other.facts)
        })
    }

    /// Whether the trigger is known, and nearly all cases that satisfy it show the finding.
    fn is_sufficiently_triggered(&self) -> bool {
        self.trigger.as_ref().is_some_and(Trigger::is_sufficient)
    }

    /// Whether cases that satisfy the trigger and diverge as the finding does show the finding: nearly all that satisfy it do, or an edit is
    /// right about nearly all that do.
    fn is_told_by_trigger(&self) -> bool {
        let has_facts = self.trigger.as_ref().is_some_and(|trigger| !trigger.facts.is_empty());
        self.is_sufficiently_triggered() || has_facts && !self.edits.is_empty()
    }

    /// Whether nodes like these satisfy the trigger; false if it is not known.
    fn triggers(&self, nodes: &[DescribedNode]) -> bool {
        self.trigger.as_ref().is_some_and(|trigger| satisfies(nodes, trigger))
    }

    /// Whether nodes like these satisfy the trigger, or it is not known.
    pub(crate) fn admits(&self, nodes: &[DescribedNode]) -> bool {
        self.trigger.as_ref().is_none_or(|trigger| satisfies(nodes, trigger))
    }

    /// Whether what explains the finding, or the error that it shows, tells it from others: not if it is of values that nothing explains.
    pub(crate) fn is_told_apart(&self) -> bool {
        let is_of_outputs = |kind: &Kind| {
            matches!(
                kind,
                Kind::WrongValues | Kind::WrongShape | Kind::UnwrittenOutput | Kind::PrecisionFallback
            )
        };
        let mut kinds =
            iter::once(&self.signature.kind).chain(self.outcomes.iter().flat_map(|outcome| &outcome.kinds));
        !(matches!(self.signature.cause, Cause::Graph(_)) && kinds.any(is_of_outputs))
    }

    /// Whether `case`, which diverges as the finding does, shows the finding: it satisfies the trigger or, if that tells too little, has all
    /// classes of the minimal case.
    pub fn is_shown_by(&self, case: &Case) -> bool {
        match &self.trigger {
            Some(trigger) if self.is_told_by_trigger() => satisfies(&describe_runs(case), trigger),
            _ => self.is_contained_in(&classes(case)),
        }
    }

    /// Whether a minimal case with this signature shows the finding.
    pub fn matches(&self, signature: &Signature) -> bool {
        self.signature == *signature
            || self.lists(signature) && signature.cause == self.signature.cause
            || !matches!(signature.cause, Cause::Graph(_)) && self.is_likely(&signature.clone().into())
    }

    /// Whether `classes`, those of some case, include all classes of the finding's minimal case.
    pub fn is_contained_in(&self, classes: &[String]) -> bool {
        self.classes.iter().all(|class| classes.contains(class))
    }

    /// Whether a divergence with this signature is one of the outcomes of a finding that varies.
    fn lists(&self, signature: &Signature) -> bool {
        let is_outcome = |outcome: &CaseOutcome| {
            outcome.kinds.contains(&signature.kind) && outcome.error == signature.without_condition().error
        };
        self.signature.backend == signature.backend && self.outcomes.iter().any(is_outcome)
    }

    /// Whether a case that looks like this most likely shows the finding.
    pub(crate) fn is_likely(&self, provisional: &Provisional) -> bool {
        let Provisional { signature, nodes, broken_by } = provisional;
        if self.signature.kind == Kind::Unstable && self.lists(signature) {
            return matches!(&signature.cause, Cause::Graph(present) if self.is_contained_in(present));
        }
        if self.signature.kind == Kind::AcceptsInvalid {
            return self.accepts_like(signature, broken_by.as_ref());
        }
        if self.is_refused_like(signature) {
            return true;
        }
        is_alike(&self.signature, signature)
            && match (&self.signature.cause, &signature.cause) {
                (Cause::Graph(_), Cause::Graph(_) | Cause::Diagnosis(_)) if self.is_told_by_trigger() => {
                    self.triggers(nodes)
                }
                (Cause::Graph(_), Cause::Graph(present)) => self.is_contained_in(present),
                (Cause::Diagnosis(known), Cause::Diagnosis(possible)) => {
                    are_among(&self.unrefuted(known), possible)
                }
                (Cause::Fallback { diagnosis: known, .. }, Cause::Fallback { diagnosis: possible, .. }) => {
                    is_same_fallback(&self.signature.cause, &signature.cause)
                        && known.is_empty() == possible.is_empty()
                        && are_among(known, possible)
                }
                _ => false,
            }
    }
}

/// The names of the two mistakes that the first of these explanations is made of, if each explanation is made of two that are `known` as
/// explanations of others: another alternative may be a mistake that is not.
pub fn known_parts(explanations: &[String], known: &[String]) -> Option<[String; 2]> {
    let parts = |name: &String| Some(Hypothesis::from_name(name)?.parts()?.map(|part| part.to_string()));
    let is_known =
        |name: &String| parts(name).is_some_and(|parts| parts.iter().all(|part| known.contains(part)));
    explanations.first().filter(|_| explanations.iter().all(is_known)).and_then(parts)
}

/// Whether two findings, each with its minimal case, are the same bug.
pub fn is_same_bug((one, minimal): &(Finding, Case), (other, other_minimal): &(Finding, Case)) -> bool {
    Identity::of(one, minimal).is_same_as(&Identity::of(other, other_minimal))
}

/// Whether each of the mutants `known` is one of those that are `possible`, or makes the mistake of one of them in both directions.
fn are_among(known: &[String], possible: &[String]) -> bool {
    let is_one_way = |possible: &String, known: &String| {
        let listed = Combination::from_name(possible).zip(Combination::from_name(known));
        listed.is_some_and(|(possible, known)| possible.is_one_way_of(&known))
    };
    let is_possible = |known: &String| possible.iter().any(|one| one == known || is_one_way(one, known));
    known.iter().all(is_possible)
}

/// Whether `all` mutants are `some` of them and others that make the mistake of one of these in other quantizers.
fn differ_in_quantizers(some: &[String], all: &[String]) -> bool {
    let is_variant = |one: &String, other: &String| {
        let listed = Combination::from_name(one).zip(Combination::from_name(other));
        listed.is_some_and(|(one, other)| one.differs_in_quantizers_from(&other))
    };
    let is_some_or_variant = |one: &String| some.iter().any(|other| one == other || is_variant(one, other));
    some.iter().all(|one| all.contains(one)) && all.iter().all(is_some_or_variant)
}

/// The mutants that a signature names.
fn named(signature: &Signature) -> &[String] {
    match &signature.cause {
        Cause::Diagnosis(mutants) | Cause::Fallback { diagnosis: mutants, .. } => mutants,
        Cause::Graph(_) => &[],
    }
}

/// Whether two cases with these provisional signatures may reduce to one finding.
pub fn may_be_same_finding(one: &Signature, other: &Signature) -> bool {
    is_alike(one, other)
        && match (&one.cause, &other.cause) {
            (Cause::Diagnosis(one), Cause::Diagnosis(other)) => {
                one.iter().any(|mutant| other.contains(mutant))
            }
            (Cause::Fallback { .. }, Cause::Fallback { .. }) => is_same_fallback(&one.cause, &other.cause),
            (Cause::Graph(_), Cause::Graph(_)) => true,
            _ => false,
        }
}

/// Whether a divergence with the signature `upper` on a rung may be the divergence with the signature `lower` below, on the
/// same case. Mutants may explain it on one of the two only.
pub fn may_repeat_on_rung(lower: &Signature, upper: &Signature) -> bool {
    let is_explained_once = matches!(
        (&lower.cause, &upper.cause),
        (Cause::Graph(_), Cause::Diagnosis(_)) | (Cause::Diagnosis(_), Cause::Graph(_))
    );
    may_be_same_finding(lower, upper) || is_alike(lower, upper) && is_explained_once
}

/// Whether two signatures differ at most in their causes.
pub fn is_alike(one: &Signature, other: &Signature) -> bool {
    one.backend == other.backend
        && one.stage == other.stage
        && (one.kind == other.kind || is_of_values(one) && is_of_values(other))
        && one.error == other.error
}

/// Whether the signature is of wrong values, which an explanation may have made a precision fallback.
const fn is_of_values(signature: &Signature) -> bool {
    are_of_values(signature.kind, signature.kind) && !matches!(signature.cause, Cause::Fallback { .. })
}

/// Whether both causes are the same precision fallback; the mutants that explain its values are not compared.
fn is_same_fallback(one: &Cause, other: &Cause) -> bool {
    let fallback = |cause: &Cause| match cause {
        Cause::Fallback { operator, reason, changes_values, .. } => {
            Some((operator.clone(), *reason, *changes_values))
        }
        _ => None,
    };
    fallback(one).is_some() && fallback(one) == fallback(other)
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Axes, Ending, Expectation, Fact, Quantity, Relation, Request, Stage, Tally};
    use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

    use super::*;

    /// A Conv of 4 channels in this many groups, with a weight of the extents that `inputs` per group give.
    fn case(group: usize, inputs: usize) -> Case {
        let tensor =
            |shape: Vec<usize>| Tensor { data: TensorData::Float(vec![1.0; shape.iter().product()]), shape };
        let conv = Op::Conv(Conv { group: Some(group as i64), ..Conv::default() });
        let node = Node {
            name: "conv".to_owned(),
            op: conv,
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        };
        let input = ValueInfo {
            name: "x".to_owned(),
            dtype: DataType::Float,
            shape: Some([1, 4, 3].map(Dim::Fixed).to_vec()),
        };
        let x = twinfer_case::TensorSource::Data(tensor(vec![1, 4, 3]));
        let is_valid = 4 / group == inputs;
        let broken = || Expectation::Invalid("input-channels".to_owned());
        let expectation = if is_valid { Expectation::Valid } else { broken() };
        Case {
            graph: Graph {
                opset: 17,
                inputs: vec![input],
                initializers: vec![Initializer { name: "w".to_owned(), tensor: tensor(vec![4, inputs, 2]) }],
                nodes: vec![node],
                outputs: Vec::new(),
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![twinfer_case::Run { inputs: vec![x] }],
            expectation,
            provenance: None,
        }
    }

    fn signature(kind: Kind, classes: &[&str]) -> Signature {
        let backend = "trt".parse().expect("a backend");
        let cause = Cause::Graph(classes.iter().map(|&class| class.to_owned()).collect());
        Signature { backend, stage: Stage::Execute, kind, cause, error: None }
    }

    /// The finding of `case`, which shows where a group has more input channels than this.
    fn identity(case: &Case, classes: &[&str], inputs_above: i64) -> Identity {
        let fact = Fact::Number(Axes::Some, Quantity::GroupInputs, Relation::Above, inputs_above);
        let (operator, tally) = ("Conv".to_owned(), Tally::default());
        let trigger = Trigger { operator, facts: vec![fact], satisfying: tally, missing: tally, shown: None };
        let signature = signature(Kind::WrongValues, classes);
        Identity { trigger: Some(trigger), ..Identity::of_case(signature, case) }
    }

    #[test]
    fn findings_that_satisfy_each_others_triggers_are_one() {
        let (dense, grouped) =
            (identity(&case(1, 4), &["Conv"], 1), identity(&case(2, 2), &["Conv", "group"], 1));
        assert!(dense.is_same_as(&grouped) && grouped.is_same_as(&dense));
        let narrower = identity(&case(1, 4), &["Conv"], 3);
        assert!(!narrower.is_same_as(&grouped), "a group of two does not satisfy it");
        let unknown = Identity { trigger: None, ..grouped.clone() };
        assert!(!dense.is_same_as(&unknown), "it may show for another reason");
    }

    #[test]
    fn refuted_mutant_of_a_signature_does_not_count() {
        let explained = |mutants: &[&str], refuted: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
            let cause = Cause::Diagnosis(names(mutants));
            let signature = Signature { cause, ..signature(Kind::WrongValues, &[]) };
            Identity { refuted: names(refuted), ..Identity::of_case(signature, &case(1, 4)) }
        };
        let (one, other) = ("scale-along-axis-1", "dequantized-along-axis-1");
        let open = explained(&[one, other], &[]);
        assert!(open.is_same_as(&explained(&[other], &[])), "either may be right");
        let decided = explained(&[one, other], &[other]);
        assert!(decided.is_same_as(&open) && open.is_same_as(&decided), "a later run does not know it yet");
        assert!(decided.is_same_as(&explained(&[one], &[])));
        let undecided = explained(&[other], &[]);
        assert!(!decided.is_same_as(&undecided) && !undecided.is_same_as(&decided), "another mistake");
        let all = explained(&[one], &[one]);
        assert!(all.is_same_as(&explained(&[one], &[])), "nothing else is left");
    }

    #[test]
    fn insufficient_triggers_make_findings_of_one_core_one() {
        let sometimes = |identity: Identity| {
            let trigger = identity
                .trigger
                .clone()
                .map(|trigger| Trigger { satisfying: Tally { diverging: 20, cases: 60 }, ..trigger });
            Identity { trigger, ..identity }
        };
        let finding = |case: &Case, classes: &[&str]| {
            let own = classes.iter().map(|&class| class.to_owned()).collect();
            sometimes(Identity { classes: own, ..identity(case, classes, 1) })
        };
        let (dense, grouped) = (finding(&case(1, 4), &["Conv"]), finding(&case(2, 2), &["Conv", "group"]));
        assert!(dense.is_same_as(&grouped) && grouped.is_same_as(&dense));
        let padded = finding(&case(1, 4), &["Conv", "pads"]);
        assert!(!padded.is_same_as(&grouped), "each has what the other lacks");
        let diagnosis = Cause::Diagnosis(vec!["bias-dropped".to_owned()]);
        let explained =
            Identity { signature: Signature { cause: diagnosis, ..dense.signature.clone() }, ..dense };
        assert!(!explained.is_same_as(&grouped), "only one is explained");
    }

    #[test]
    fn explanation_holds_for_what_shows_under_the_same_insufficient_condition() {
        let sometimes = |case: &Case, classes: &[&str], inputs_above: i64| {
            let finding = identity(case, classes, inputs_above);
            let trigger = finding
                .trigger
                .clone()
                .map(|trigger| Trigger { satisfying: Tally { diverging: 20, cases: 60 }, ..trigger });
            let classes = classes.iter().map(|&class| class.to_owned()).collect();
            Identity { classes, trigger, ..finding }
        };
        let padded = sometimes(&case(1, 4), &["Conv", "pads"], 1);
        let grouped = sometimes(&case(2, 2), &["Conv", "group"], 1);
        let explained =
            |finding: &Identity, edit: &str| Identity { edits: vec![edit.to_owned()], ..finding.clone() };
        let padded = explained(&padded, "conv-bias-negated");
        assert!(padded.is_same_as(&grouped) && grouped.is_same_as(&padded));
        assert!(!padded.is_same_as(&sometimes(&case(2, 2), &["Conv", "group"], 0)), "the conditions differ");
        let provisional = |finding: &Identity| Provisional {
            signature: finding.signature.clone(),
            nodes: finding.nodes.clone(),
            broken_by: None,
        };
        assert!(padded.is_likely(&provisional(&grouped)), "it is not investigated again");
        assert!(!grouped.is_likely(&provisional(&padded)), "nothing explains it");
        let other = explained(&grouped, "conv-bias-halved");
        assert!(!padded.is_same_as(&other), "two bugs");
    }

    #[test]
    fn findings_that_one_edit_explains_are_one() {
        let explained = |case: &Case, classes: &[&str], edits: &[&str]| Identity {
            edits: edits.iter().map(|&edit| edit.to_owned()).collect(),
            ..Identity::of_case(signature(Kind::WrongValues, classes), case)
        };
        let one = explained(&case(1, 4), &["Conv"], &["conv-bias-negated", "conv-bias-absolute"]);
        assert!(one.is_same_as(&explained(&case(2, 2), &["Conv", "group"], &["conv-bias-negated"])));
        assert!(!one.is_same_as(&explained(&case(2, 2), &["Conv", "group"], &["conv-bias-halved"])));
        assert!(!one.is_same_as(&explained(&case(2, 2), &["Conv", "group"], &[])));
        let listed = |mutant: &str| {
            let cause = Cause::Diagnosis(vec![mutant.to_owned()]);
            Identity::of_case(Signature { cause, ..signature(Kind::WrongValues, &["Conv"]) }, &case(2, 2))
        };
        let wider = explained(&case(1, 4), &["Conv"], &["same-swapped"]);
        assert!(wider.is_same_as(&listed("same-swapped")) && listed("same-swapped").is_same_as(&wider));
        assert!(!wider.is_same_as(&listed("pads-swapped")));
        let one_way = |mutant: &str| Identity { edits: wider.edits.clone(), ..listed(mutant) };
        let (upper, lower) = (one_way("same-upper-as-lower"), one_way("same-lower-as-upper"));
        assert!(upper.is_same_as(&lower) && upper.is_same_as(&wider), "one mistake in both directions");
        assert!(!listed("same-upper-as-lower").is_same_as(&listed("same-lower-as-upper")), "two mistakes");
    }

    #[test]
    fn mistake_in_one_direction_is_known_as_one_in_both() {
        let explained = |mutant: &str| {
            let cause = Cause::Diagnosis(vec![mutant.to_owned()]);
            Identity::of_case(Signature { cause, ..signature(Kind::WrongValues, &["Conv"]) }, &case(1, 4))
        };
        let (both, one_way) = (explained("same-swapped"), explained("same-lower-as-upper"));
        assert!(both.matches(&one_way.signature));
        assert!(!one_way.matches(&both.signature), "it does not show that");
        assert!(!both.matches(&explained("scale-along-axis-0").signature));
    }

    #[test]
    fn mistake_of_other_quantizers_is_the_same_bug_where_a_case_does_not_tell() {
        let explained = |case: &Case, mutants: &[&str]| {
            let cause = Cause::Diagnosis(mutants.iter().map(|&mutant| mutant.to_owned()).collect());
            Identity::of_case(Signature { cause, ..signature(Kind::WrongValues, &["Conv"]) }, case)
        };
        let alone = explained(&case(2, 2), &["dequantized-along-axis-1"]);
        let ambiguous = explained(&case(1, 4), &["scale-along-axis-1", "dequantized-along-axis-1"]);
        assert!(alone.is_same_as(&ambiguous) && ambiguous.is_same_as(&alone));
        assert!(
            !alone.is_same_as(&explained(&case(1, 4), &["scale-along-axis-1"])),
            "a case tells them apart"
        );
        let of_another = explained(&case(1, 4), &["first-scale-for-all", "dequantized-along-axis-1"]);
        assert!(!of_another.is_same_as(&alone), "the alternative may be another bug");
        let trigger = identity(&case(1, 4), &["Conv"], 3).trigger;
        assert!(!Identity { trigger, ..ambiguous }.is_same_as(&alone), "a group of two does not satisfy it");
    }

    #[test]
    fn one_outcome_of_a_finding_that_varies_is_that_finding() {
        let outcome = |kinds| CaseOutcome { stage: Stage::Execute, ended: Ending::Ok, error: None, kinds };
        let varying = Identity {
            outcomes: vec![outcome(Vec::new()), outcome(vec![Kind::WrongValues])],
            ..Identity::of_case(signature(Kind::StateDependent, &["Conv"]), &case(1, 4))
        };
        let stable = |kind, classes| Identity::of_case(signature(kind, classes), &case(1, 4));
        assert!(varying.is_same_as(&stable(Kind::WrongValues, &["Conv"])));
        assert!(!varying.is_same_as(&stable(Kind::WrongShape, &["Conv"])), "no repeat came to it");
        let grouped = signature(Kind::WrongValues, &["Conv", "group"]);
        assert!(!varying.matches(&grouped), "it may show for another reason");
        assert!(!varying.is_likely(&grouped.into()), "values are wrong for many reasons");
    }

    #[test]
    fn case_that_satisfies_the_trigger_most_likely_shows_the_finding() {
        let finding = identity(&case(1, 4), &["Conv", "pads"], 1);
        let provisional = |case: &Case| Provisional {
            signature: signature(Kind::WrongValues, &["Conv"]),
            nodes: describe(case),
            broken_by: None,
        };
        assert!(finding.is_likely(&provisional(&case(2, 2))));
        assert!(!finding.is_likely(&provisional(&case(4, 1))));
        assert!(finding.is_shown_by(&case(2, 2)) && !finding.is_shown_by(&case(4, 1)));
        assert!(finding.admits(&describe(&case(2, 2))) && !finding.admits(&describe(&case(4, 1))));
        assert!(Identity { trigger: None, ..finding }.admits(&describe(&case(4, 1))));
    }

    #[test]
    fn finding_shows_in_a_run_that_satisfies_the_trigger() {
        let fact = Fact::Number(Axes::Some, Quantity::Batch, Relation::Above, 1);
        let finding = identity(&case(1, 4), &["Conv"], 1);
        let trigger = finding.trigger.clone().map(|trigger| Trigger { facts: vec![fact], ..trigger });
        let finding = Identity { trigger, ..finding };
        let mut batched = case(1, 4);
        assert!(!finding.is_shown_by(&batched));
        batched.graph.inputs[0].shape = None;
        let x = Tensor { data: TensorData::Float(vec![1.0; 24]), shape: vec![2, 4, 3] };
        batched.runs.push(twinfer_case::Run { inputs: vec![twinfer_case::TensorSource::Data(x)] });
        assert!(finding.is_shown_by(&batched));
    }

    #[test]
    fn models_that_fail_one_condition_of_a_parser_are_one_finding() {
        let refused = |case: &Case, classes: &[&str], condition: &str| {
            let error = Some("kINVALID_NODE".to_owned());
            let signature = Signature { error, ..signature(Kind::RejectsValid, classes) };
            let classes = classes.iter().map(|&class| class.to_owned()).collect();
            Identity { classes, ..Identity::of_case(signature.with_condition(Some(condition)), case) }
        };
        let provisional = |identity: &Identity| Provisional {
            signature: identity.signature.clone(),
            nodes: identity.nodes.clone(),
            broken_by: None,
        };
        let one = refused(&case(1, 4), &["Add", "Conv"], "dims == 2");
        let alike = refused(&case(2, 2), &["Conv", "Identity", "group"], "dims == 2");
        assert!(one.is_same_as(&alike) && alike.is_same_as(&one) && one.is_likely(&provisional(&alike)));
        let other = refused(&case(2, 2), &["Add", "Conv"], "scale > 0");
        assert!(!one.is_same_as(&other), "another reason, with the same graph");
        assert!(!one.is_likely(&provisional(&other)), "it has all classes of the finding");
        let unnamed =
            Identity { signature: other.signature.without_condition(), ..refused(&case(2, 2), &[], "") };
        assert!(!one.is_same_as(&unnamed) && !one.is_likely(&provisional(&unnamed)));
    }

    #[test]
    fn graphs_that_break_one_rule_by_one_operator_are_one_finding() {
        let accepted = |case: &Case, classes: &[&str], rule: &str| {
            let error = Some(rule.to_owned());
            let signature = Signature { error, ..signature(Kind::AcceptsInvalid, classes) };
            Identity::of_case(signature, case)
        };
        let one = accepted(&case(1, 3), &["Conv"], "input-channels");
        assert!(one.is_same_as(&accepted(&case(2, 3), &["Conv", "group"], "input-channels")));
        assert!(!one.is_same_as(&accepted(&case(2, 3), &["Conv", "group"], "group-positive")));
        let of_another_operator =
            Identity { broken_by: Some(BrokenBy::Operator("ConvTranspose")), ..one.clone() };
        let signature =
            Signature { cause: Cause::Graph(Vec::new()), ..of_another_operator.signature.clone() };
        let of_another_operator = Identity { signature, ..of_another_operator };
        assert!(!one.is_same_as(&of_another_operator), "another operator breaks it");
    }

    #[test]
    fn operators_that_break_no_rule_make_no_other_finding() {
        let accepted = |case: &Case| {
            let error = Some("input-channels".to_owned());
            Identity::of_case(Signature { error, ..signature(Kind::AcceptsInvalid, &["Conv"]) }, case)
        };
        let (alone, mut followed) = (case(1, 3), case(1, 3));
        let relu = |input: &str| Node {
            name: format!("relu of {input}"),
            op: Op::Relu,
            inputs: vec![input.to_owned()],
            outputs: vec![format!("relu of {input}")],
        };
        followed.graph.nodes.push(relu("y"));
        let (one, other) = (accepted(&alone), accepted(&followed));
        assert!(one.is_same_as(&other));
        let provisional = Provisional {
            signature: other.signature.clone(),
            nodes: describe(&followed),
            broken_by: BrokenBy::of(&followed),
        };
        assert!(one.is_likely(&provisional), "it is not investigated");
        let undefined = |mut case: Case| {
            case.expectation = Expectation::Invalid("value-defined".to_owned());
            case.graph.nodes.insert(0, relu("nothing"));
            let error = Some("value-defined".to_owned());
            Identity::of_case(Signature { error, ..signature(Kind::AcceptsInvalid, &["Conv"]) }, &case)
        };
        assert!(undefined(alone).is_same_as(&undefined(followed)), "no operator breaks it");
    }
}
