use twinfer_case::{Axes, Ending, Expectation, Fact, Quantity, Relation, Request, Stage, Tally};
use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

use super::*;
use crate::Provisional;

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
    assert!(!alone.is_same_as(&explained(&case(1, 4), &["scale-along-axis-1"])), "a case tells them apart");
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

/// A bug that other mutants explain may show under the same condition.
#[test]
fn explained_case_is_an_unexplained_finding_by_a_refuted_mutant() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let refuted = names(&["truncated"]);
    let finding = Identity { refuted, ..identity(&case(1, 4), &["Conv"], 1) };
    let explained = |mutants: &[&str]| Provisional {
        signature: Signature { cause: Cause::Diagnosis(names(mutants)), ..finding.signature.clone() },
        nodes: finding.nodes.clone(),
        broken_by: None,
    };
    assert!(finding.is_likely(&explained(&["truncated"])), "by accident");
    assert!(!finding.is_likely(&explained(&["bias-dropped"])));
    assert!(!finding.is_likely(&explained(&["truncated", "bias-dropped"])));
    let edited = Identity { edits: names(&["conv-bias-ignored"]), ..finding.clone() };
    assert!(
        edited.is_likely(&explained(&["bias-dropped"])),
        "an edit is right about what satisfies the trigger"
    );
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
        Identity { classes, ..Identity::of_case(signature.with_check(Some(condition)), case) }
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
    let unnamed = Identity { signature: other.signature.without_check(), ..refused(&case(2, 2), &[], "") };
    assert!(!one.is_same_as(&unnamed) && !one.is_likely(&provisional(&unnamed)));
}

/// At one place, a backend may fail for several reasons.
#[test]
fn refusals_at_one_place_are_told_apart_by_their_graphs() {
    let unbuilt = |classes: &[&str], place: &str| {
        let error = Some("buildSerializedNetwork".to_owned());
        let signature = Signature { error, ..signature(Kind::BuildFailure, classes) };
        let classes = classes.iter().map(|&class| class.to_owned()).collect();
        Identity { classes, ..Identity::of_case(signature.with_check(Some(place)), &case(1, 4)) }
    };
    let look = |identity: &Identity| Provisional {
        signature: identity.signature.clone(),
        nodes: identity.nodes.clone(),
        broken_by: None,
    };
    let one = unbuilt(&["Conv"], "at computeCosts in optimizer.cpp");
    assert!(one.is_likely(&look(&unbuilt(&["Conv", "group"], "at computeCosts in optimizer.cpp"))));
    assert!(!one.is_likely(&look(&unbuilt(&["Relu"], "at computeCosts in optimizer.cpp"))));
    let other = unbuilt(&["Conv", "group"], "at values in weightsPtr.h");
    assert!(!one.is_likely(&look(&other)) && !one.is_same_as(&other));
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
    let signature = Signature { cause: Cause::Graph(Vec::new()), ..of_another_operator.signature.clone() };
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
