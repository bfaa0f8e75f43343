//! Every edit changes what golden computes for some graph of its operator.

#[path = "support/nodes.rs"]
mod nodes;

use nodes::one_node;
use twinfer_golden::{
    Agreement, Arithmetic, Edit, Evaluation, Hypothesis, Limits, Mutant, Operator, evaluate, evaluate_edited,
};
use twinfer_onnx::{Concat, DataType, Graph, Node, Op, Tensor, TensorData, ValueInfo};

/// Graphs that are drawn for each operator at most.
const GRAPHS: u64 = 3000;

/// Edits that no drawn graph shows, by the beginning of their names, with the reason.
const SILENT: [(&str, &str); 3] = [
    ("qlinearconv-input-scale-exchanged-with-weight-scale", "only their product is used"),
    ("qlinearconv-rounded-half", "a sum times scales is a tie only to within its error bound"),
    ("qlinearconv-saturates-int32", "no sum of products is so large"),
];

/// Whether an edit gives outputs that golden does not allow.
fn differs(golden: &Evaluation, edited: &Evaluation) -> bool {
    golden.outputs.iter().zip(&edited.outputs).any(|(golden, edited)| {
        let values = || edited.values.iter().enumerate();
        golden.shape != edited.shape
            || values().any(|(place, value)| matches!(golden.compare(place, *value), Agreement::Wrong(_)))
    })
}

/// Whether the edit is a listed mutant in one operator, which `mutants.rs` tests.
fn is_listed(edit: Edit) -> bool {
    let name = edit.to_string();
    let slug = edit.operator().name().to_lowercase();
    Mutant::ALL.iter().any(|mutant| name.starts_with(&format!("{slug}-{}", mutant.name())))
}

#[test]
fn every_edit_changes_some_graph_of_its_operator() {
    let mut unseen = Vec::new();
    for operator in Operator::ALL {
        let mut silent: Vec<Edit> =
            Edit::of(*operator).into_iter().filter(|edit| !is_listed(*edit)).collect();
        for seed in 0..GRAPHS {
            if silent.is_empty() {
                break;
            }
            let (graph, x) = one_node(*operator, seed);
            let inputs = [x];
            let Ok(golden) = evaluate(&graph, &inputs) else { continue };
            let is_silent = |edit: &Edit| {
                let (arithmetic, limits) = (Arithmetic::default(), Limits::default());
                let edited =
                    evaluate_edited(&graph, &inputs, arithmetic, Hypothesis::Composed(*edit), None, limits);
                !edited.is_ok_and(|edited| differs(&golden, &edited))
            };
            silent.retain(is_silent);
        }
        unseen.extend(silent.iter().map(ToString::to_string));
    }
    let has_reason = |name: &String| SILENT.iter().any(|(beginning, _reason)| name.starts_with(beginning));
    unseen.retain(|name| !has_reason(name));
    assert!(unseen.is_empty(), "{} edits change nothing:\n{}", unseen.len(), unseen.join("\n"));
}

#[test]
fn names_of_edits_are_unique_and_found() {
    for operator in Operator::ALL {
        let edits = Edit::of(*operator);
        let mut names: Vec<String> = edits.iter().map(ToString::to_string).collect();
        let middle = edits.len() / 2;
        assert_eq!(Edit::from_name(&names[middle]), Some(edits[middle]));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), edits.len(), "{}", operator.name());
    }
    assert_eq!(Edit::from_name("bias-dropped"), None, "it is a mutant");
}

#[test]
fn clauses_say_what_an_edit_changes() {
    let clauses: Vec<_> = [
        "add-addend-channel-next",
        "batchnormalization-scale-after-bias",
        "concat-inputs-reversed",
        "conv-bias-negated-in-last-of-group",
        "conv-output-channels-last",
        "conv-weight-position-reversed",
        "convtranspose-strides-exchanged-with-dilations-on-last-axis",
        "dequantizelinear-zero-point-after-scaling",
        "maxpool-pads-begin-one-more-with-shape",
        "quantizelinear-rounded-half-up-after-zero-point",
        "quantizelinear-axis-last",
        "quantizelinear-rounded-before-scaling",
        "quantizelinear-saturated-before-zero-point",
        "dequantizelinear-axis-reversed",
        "add-second-or-broadcast-input-ignored-in-second-half-of-channel",
        "add-operands-in-half",
        "concat-last-input-batch-first",
        "conv-operands-in-half",
        "conv-channel-sums-in-bfloat16",
        "conv-products-in-tf32",
        "conv-pads-in-pairs",
        "conv-pads-even",
        "conv-weight-input-channel-without-last-of-several",
        "convtranspose-minus-one-outside",
        "convtranspose-previous-between-strides",
        "convtranspose-next-between-strides",
        "convtranspose-odd-position-at-other-end",
        "convtranspose-output-shape-and-padding",
        "convtranspose-strides-largest-with-shape",
        "dequantizelinear-input-above-lowest",
        "dequantizelinear-input-in-16-bits",
        "maxpool-mean-with-padding",
        "maxpool-largest-magnitude",
        "quantizelinear-rounded-half-to-odd",
        "quantizelinear-saturates-at-lowest-of-other-sign",
        "quantizelinear-saturates-at-minus-highest",
        "quantizelinear-wraps-below-lowest",
        "averagepool-count-include-pad-ignored",
        "averagepool-kernel-shape-one-more",
        "averagepool-computed-as-maxpool",
        "clip-lower-bound-exchanged-with-upper-bound",
        "clip-upper-bound-unused",
        "clip-bounds-in-seven-digits",
        "clip-lower-bound-last",
        "globalaveragepool-divided-by-last-extent",
        "hardswish-computed-as-sigmoid",
        "leakyrelu-alpha-default",
        "leakyrelu-computed-as-relu",
        "transpose-perm-inverted",
        "transpose-perm-ignored",
    ]
    .map(|name| Edit::from_name(name).map_or_else(|| name.to_owned(), Edit::clause))
    .to_vec();
    insta::assert_snapshot!(clauses.join("\n"));
}

/// What Concat gives for inputs of these elements with a mistake.
fn joined(inputs: &[&[f32]], mistake: &str) -> Vec<f64> {
    let names: Vec<_> = (0..inputs.len()).map(|place| format!("x{place}")).collect();
    let value = |name: &String| ValueInfo { name: name.clone(), dtype: DataType::Float, shape: None };
    let graph = Graph {
        opset: 17,
        inputs: names.iter().map(value).collect(),
        initializers: Vec::new(),
        nodes: vec![Node {
            name: "concat".to_owned(),
            op: Op::Concat(Concat { axis: 0 }),
            inputs: names.clone(),
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value(&"y".to_owned())],
    };
    let tensor = |data: &&[f32]| Tensor { shape: vec![data.len()], data: TensorData::Float(data.to_vec()) };
    let inputs: Vec<_> = inputs.iter().map(tensor).collect();
    let mistake = Hypothesis::from_name(mistake).expect("it is an edit, or a pair of them");
    let (arithmetic, limits) = (Arithmetic::default(), Limits::default());
    let given = evaluate_edited(&graph, &inputs, arithmetic, mistake, None, limits);
    given.expect("a valid graph").outputs[0].values.clone()
}

#[test]
fn other_inputs_are_joined_as_far_as_the_output_reaches() {
    let mistake = "concat-inputs-last-but-one-for-last";
    assert_eq!(joined(&[&[1.0], &[2.0, 3.0], &[4.0]], mistake), [1.0, 2.0, 3.0, 2.0]);
    assert_eq!(joined(&[&[1.0], &[2.0], &[3.0, 4.0]], mistake), [1.0, 2.0, 3.0, 4.0], "too few to join");
    assert_eq!(joined(&[&[1.0], &[2.0, 3.0]], "concat-inputs-exchanged-in-pairs"), [2.0, 3.0, 1.0]);
}

#[test]
fn pair_of_edits_makes_both_changes_in_their_order() {
    let exchanged = "concat-inputs-exchanged-in-pairs";
    assert_eq!(joined(&[&[1.0], &[2.0]], exchanged), [2.0, 1.0]);
    assert_eq!(joined(&[&[1.0], &[2.0]], &format!("concat-input-negated+{exchanged}")), [2.0, -1.0]);
    assert_eq!(joined(&[&[1.0], &[2.0]], &format!("{exchanged}+concat-input-negated")), [-2.0, 1.0]);
}
