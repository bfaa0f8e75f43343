//! Minimization of generated cases that fail by a planted predicate.

use twinfer_case::{Case, Expectation, Regime, Request, Run, TensorSource};
use twinfer_generators::{Distribution, Family};
use twinfer_golden::{Mutant, evaluate_with};
use twinfer_minimize::{Complexity, Minimized, minimize};
use twinfer_onnx::{
    ConvTranspose, DataType, DequantizeLinear, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo,
    infer_shapes,
};

const LIMIT: usize = 4000;

/// The first cases of a family that `fails` holds for.
fn failing(family: Family, count: usize, fails: impl Fn(&Case) -> bool) -> Vec<Case> {
    failing_of(Distribution::Baseline, family, count, fails)
}

fn failing_of(
    distribution: Distribution,
    family: Family,
    count: usize,
    fails: impl Fn(&Case) -> bool,
) -> Vec<Case> {
    let stream = family.stream(distribution, 11);
    let found: Vec<_> =
        (0..20_000).map(|index| stream.case(index)).filter(|case| fails(case)).take(count).collect();
    assert_eq!(found.len(), count, "the family seldom fails");
    found
}

fn minimal(case: &Case, fails: impl Fn(&Case) -> bool) -> Minimized {
    let first = |candidates: &[Case]| candidates.iter().position(&fails);
    let minimized = minimize(case, LIMIT, 16, first).expect("a generated case is small");
    assert!(fails(&minimized.case), "the minimal case no longer fails");
    assert!(minimized.complete, "{} candidates were not enough", minimized.tried);
    minimized
}

fn input_elements(case: &Case) -> usize {
    case.runs[0].inputs.iter().map(|source| source.shape().iter().product::<usize>()).sum()
}

fn deconvs(case: &Case) -> impl Iterator<Item = (&Node, &ConvTranspose)> {
    case.graph.nodes.iter().filter_map(|node| match &node.op {
        Op::ConvTranspose(deconv) => Some((node, deconv)),
        _ => None,
    })
}

fn is_computed(case: &Case, name: &str) -> bool {
    case.graph.nodes.iter().any(|node| node.outputs[0] == name)
}

fn has_asymmetric_pads(case: &Case) -> bool {
    deconvs(case).any(|(_, deconv)| {
        deconv.pads.as_ref().is_some_and(|pads| {
            let (begin, end) = pads.split_at(pads.len() / 2);
            begin != end
        })
    })
}

#[test]
fn asymmetric_pads_minimize_to_one_node_and_few_elements() {
    for case in failing(Family::Deconv, 8, has_asymmetric_pads) {
        let minimized = minimal(&case, has_asymmetric_pads);
        let graph = &minimized.case.graph;
        assert_eq!(graph.nodes.len(), 1, "{graph:#?}");
        assert_eq!(graph.initializers.len(), 1, "{graph:#?}");
        assert_eq!(minimized.case.runs.len(), 1);
        assert!(input_elements(&minimized.case) <= 2, "{:#?}", minimized.case);
    }
}

#[test]
fn grouped_computed_weight_without_kernel_shape_is_kept() {
    let fails = |case: &Case| {
        deconvs(case).any(|(node, deconv)| {
            deconv.group.unwrap_or(1) > 1
                && deconv.kernel_shape.is_none()
                && is_computed(case, &node.inputs[1])
        })
    };
    for case in failing(Family::Deconv, 5, fails) {
        let minimized = minimal(&case, fails);
        let (node, deconv) = deconvs(&minimized.case).next().expect("it fails");
        let graph = &minimized.case.graph;
        assert_eq!(graph.nodes.len(), 2, "{graph:#?}");
        assert_eq!(graph.producer(&node.inputs[1]).unwrap().op, Op::Identity, "whatever computed it");
        assert_eq!(node.inputs.len(), 2);
        assert_eq!(*deconv, ConvTranspose { group: Some(2), ..ConvTranspose::default() });
        assert_eq!(minimized.case.runs[0].inputs[0].shape(), [1, 2, 1]);
    }
}

#[test]
fn two_shapes_stay_where_two_shapes_are_what_fails() {
    let fails =
        |case: &Case| case.runs.iter().any(|run| run.inputs[0].shape() != case.runs[0].inputs[0].shape());
    for case in failing(Family::Conv, 10, fails) {
        let minimized = minimal(&case, fails);
        assert_eq!(minimized.case.runs.len(), 2);
        assert_eq!(minimized.case.graph.nodes.len(), 1);
    }
}

#[test]
fn output_shape_cropping_odd_rest_stays_valid_when_minimized() {
    let crops_an_odd_rest = |case: &Case| {
        let shapes: Vec<_> = case.runs[0].inputs.iter().map(|source| source.shape().to_vec()).collect();
        let inferred = infer_shapes(&case.graph, &shapes).expect("candidates are valid");
        deconvs(case).any(|(node, deconv)| {
            let extents = |input: usize| &inferred.get(&node.inputs[input]).expect("is defined").shape[2..];
            let geometry = deconv.geometry(extents(0), extents(1)).expect("candidates are valid");
            let odd = |axis: &twinfer_onnx::Axis| {
                axis.pad_end >= 0 && (axis.pad_begin as isize + axis.pad_end) % 2 == 1
            };
            deconv.output_shape.is_some() && geometry.axes.iter().any(odd)
        })
    };
    for case in failing(Family::Deconv, 8, crops_an_odd_rest) {
        let minimized = minimal(&case, crops_an_odd_rest);
        assert_eq!(minimized.case.graph.nodes.len(), 1, "{:#?}", minimized.case.graph);
        assert!(input_elements(&minimized.case) <= 2, "{:#?}", minimized.case);
    }
}

#[test]
fn values_come_down_to_single_ones() {
    let fails = |case: &Case| {
        case.graph.initializers.iter().any(|found| found.tensor.to_f64().iter().any(|x| *x < 0.0))
    };
    let case = &failing(Family::Conv, 1, fails)[0];
    let minimized = minimal(case, fails).case;
    let nonzero = |values: Vec<f64>| values.iter().filter(|value| **value != 0.0).count();
    let parameters: usize =
        minimized.graph.initializers.iter().map(|found| nonzero(found.tensor.to_f64())).sum();
    let fed: usize = minimized.runs[0]
        .inputs
        .iter()
        .map(|source| nonzero(source.tensor().expect("is data").to_f64()))
        .sum();
    assert_eq!((parameters, fed), (1, 0), "{minimized:#?}");
}

#[test]
fn single_element_that_fails_is_kept_wherever_it_lies() {
    let fed = |case: &Case| case.runs[0].inputs[0].tensor().expect("a small tensor").to_f64();
    let ends_alone = |case: &Case| {
        let values = fed(case);
        let last = values.last();
        last.is_some_and(|last| last.fract() != 0.0)
            && values.iter().filter(|value| Some(*value) == last).count() == 1
    };
    for case in failing(Family::Conv, 8, ends_alone) {
        let last = fed(&case).last().copied();
        let minimized = minimal(&case, |candidate| fed(candidate).iter().any(|value| Some(*value) == last));
        assert_eq!(input_elements(&minimized.case), 1, "{:#?}", minimized.case);
    }
}

#[test]
fn normalization_alone_minimizes_to_one_float_channel() {
    let fails =
        |case: &Case| case.graph.nodes.iter().any(|node| matches!(node.op, Op::BatchNormalization(_)));
    let half = |case: &Case| case.request.precision == DataType::Float16;
    for case in failing(Family::Conv, 3, |case| fails(case) && half(case)) {
        let minimized = minimal(&case, fails);
        assert_eq!(minimized.case.request.precision, DataType::Float);
        assert_eq!(
            (minimized.case.graph.nodes.len(), input_elements(&minimized.case)),
            (1, 1),
            "{:#?}",
            minimized.case
        );
    }
}

#[test]
fn computed_parameters_fold_if_the_output_must_stay() {
    let is_constant =
        |case: &Case, node: &Node| node.inputs.iter().all(|name| case.graph.initializer(name).is_some());
    let sums =
        |case: &Case| case.graph.nodes.iter().any(|node| node.op == Op::Add && is_constant(case, node));
    // where sums are exact, so that a folded one is the same
    let exact = |case: &Case| match &case.runs[0].inputs[0] {
        TensorSource::Recipe(recipe) => matches!(recipe.regime, Regime::Exact { .. }),
        TensorSource::Data(_) => false,
    };
    for case in failing(Family::Conv, 2, |case| sums(case) && exact(case)) {
        let output = first_output(&case);
        let minimized = minimal(&case, |candidate| first_output(candidate) == output);
        let left =
            minimized.case.graph.nodes.iter().filter(|node| is_constant(&minimized.case, node)).count();
        assert_eq!(left, 0, "{:#?}", minimized.case.graph);
    }
}

#[test]
fn swapped_pads_minimize_to_one_node_and_few_elements() {
    let fails = |case: &Case| first_output(case) != output_of(case, Some(Mutant::PadsSwapped));
    for case in failing(Family::Deconv, 5, fails) {
        let minimized = minimal(&case, fails);
        assert_eq!(minimized.case.graph.nodes.len(), 1, "{:#?}", minimized.case.graph);
        assert!(input_elements(&minimized.case) <= 2, "{:#?}", minimized.case);
        assert!(minimized.tried < 500, "{} candidates", minimized.tried);
    }
}

#[test]
fn scales_on_wrong_axis_minimize_to_few_channels() {
    let fails = |case: &Case| first_output(case) != output_of(case, Some(Mutant::ScaleOnOtherAxis));
    for case in failing(Family::QdqConv, 5, fails) {
        let minimized = minimal(&case, fails);
        let graph = &minimized.case.graph;
        assert!(graph.nodes.len() <= 3, "{graph:#?}");
        let constants = graph.initializers.iter().map(|initializer| initializer.tensor.len());
        assert!(constants.sum::<usize>() <= 12, "{graph:#?}");
    }
}

/// What golden makes of the first run.
fn first_output(case: &Case) -> Vec<f64> {
    output_of(case, None)
}

fn output_of(case: &Case, mutant: Option<Mutant>) -> Vec<f64> {
    let tensor = |source: &TensorSource| source.tensor().expect("is small").into_owned();
    let inputs: Vec<_> = case.runs[0].inputs.iter().map(tensor).collect();
    let evaluation = evaluate_with(&case.graph, &inputs, mutant).expect("golden knows generated graphs");
    evaluation.outputs.into_iter().flat_map(|output| output.values).collect()
}

#[test]
fn every_candidate_is_sound_and_simpler_than_its_case() {
    let each = |family: Family| Distribution::ALL.map(|distribution| family.stream(distribution, 5));
    for stream in Family::ALL.into_iter().flat_map(each) {
        for index in 0..15 {
            let case = stream.case(index);
            let mut complexity = Complexity::of(&minimize(&case, 0, 1, |_| None).expect("is small").case);
            // accepting everything visits the largest steps that passes take
            let accept = |candidates: &[Case]| {
                let candidate = &candidates[0];
                let smaller = Complexity::of(candidate);
                assert!(smaller < complexity, "{candidate:#?}");
                complexity = smaller;
                assert!(!candidate.graph.nodes.is_empty() && !candidate.runs.is_empty());
                assert_as_expected(candidate);
                Some(0)
            };
            minimize(&case, LIMIT, 1, accept).expect("is small");
        }
    }
}

fn assert_as_expected(case: &Case) {
    for run in &case.runs {
        assert!(run.inputs.iter().all(|source| matches!(source, TensorSource::Data(_))));
        let shapes: Vec<_> = run.inputs.iter().map(|source| source.shape().to_vec()).collect();
        let found = match infer_shapes(&case.graph, &shapes) {
            Ok(_) => Expectation::Valid,
            Err(violation) => Expectation::Invalid(violation.rule.name().to_owned()),
        };
        assert_eq!(found, case.expectation, "{case:#?}");
    }
}

#[test]
fn the_result_does_not_depend_on_the_size_of_a_batch() {
    for case in failing(Family::Deconv, 5, has_asymmetric_pads) {
        let by_batch = |batch| {
            minimize(&case, LIMIT, batch, |candidates| candidates.iter().position(has_asymmetric_pads))
                .expect("is small")
        };
        let one = by_batch(1);
        assert_eq!(one, by_batch(7));
        assert_eq!(one, by_batch(64));
    }
}

#[test]
fn no_more_candidates_are_tried_than_allowed() {
    let case = &failing(Family::Deconv, 1, has_asymmetric_pads)[0];
    let mut tried = 0;
    let minimized = minimize(case, 10, 4, |candidates| {
        tried += candidates.len();
        None
    })
    .expect("is small");
    assert_eq!((tried, minimized.tried, minimized.complete), (10, 10, false));
}

#[test]
fn invalid_case_keeps_breaking_its_rule_and_loses_the_rest() {
    let fails = |case: &Case| case.expectation == Expectation::Invalid("strides-positive".to_owned());
    for case in failing(Family::Invalid, 5, fails) {
        let minimized = minimal(&case, |_| true);
        assert_eq!(minimized.case.graph.nodes.len(), 1, "{:#?}", minimized.case.graph);
        assert_as_expected(&minimized.case);
    }
}

#[test]
fn facts_that_do_not_matter_are_removed() {
    let is_constant = |node: &Node| matches!(node.op, Op::Constant(_));
    let has_facts = |case: &Case| {
        let graph = &case.graph;
        let is_larger = graph.inputs.len() > 1 || graph.outputs.len() > 1;
        is_larger || case.request.tf32 || graph.nodes.iter().any(is_constant)
    };
    for family in [Family::Conv, Family::QdqDeconv] {
        let stream = family.stream(Distribution::Full, 12);
        for case in (0..2000).map(|index| stream.case(index)).filter(has_facts).take(30) {
            let convolves = |case: &Case| case.graph.nodes.iter().any(|node| node.op.is_convolution());
            let found = minimal(&case, convolves).case;
            assert!(!has_facts(&found), "{found:#?}");
        }
    }
}

/// A `DequantizeLinear` of constants alone, of 3 × 2 elements with a scale for each row.
fn constant_dequantizer() -> Case {
    let initializer = |name: &str, shape: &[usize], data| Initializer {
        name: name.to_owned(),
        tensor: Tensor { shape: shape.to_vec(), data },
    };
    let node = Node {
        name: "dequantize".to_owned(),
        op: Op::DequantizeLinear(DequantizeLinear { axis: Some(0) }),
        inputs: vec!["x".to_owned(), "scale".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    Case {
        graph: Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: vec![
                initializer("x", &[3, 2], TensorData::Int8(vec![5; 6])),
                initializer("scale", &[3], TensorData::Float(vec![0.5; 3])),
            ],
            nodes: vec![node],
            outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
        },
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: Vec::new() }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

#[test]
fn node_of_constants_alone_is_cut_along_its_axes() {
    let minimized = minimal(&constant_dequantizer(), |case| {
        matches!(case.graph.nodes.as_slice(), [Node { op: Op::DequantizeLinear(_), .. }])
    });
    let shapes: Vec<_> =
        minimized.case.graph.initializers.iter().map(|one| one.tensor.shape.clone()).collect();
    assert_eq!(shapes, [vec![1, 1], vec![1]]);
}

/// A finding that does not depend on values, such as another precision, must not end outside of what ONNX defines.
#[test]
fn scales_stay_positive_whatever_the_values() {
    let is_quantized =
        |case: &Case| case.graph.nodes.iter().any(|node| matches!(node.op, Op::QuantizeLinear(_)));
    let scales = |case: &Case| {
        let quantizers = case
            .graph
            .nodes
            .iter()
            .filter(|node| matches!(node.op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_)));
        let names: Vec<_> = quantizers.map(|node| node.inputs[1].clone()).collect();
        let stated = case.graph.initializers.iter().filter(|one| names.contains(&one.name));
        stated.flat_map(|one| one.tensor.to_f64()).collect::<Vec<_>>()
    };
    for case in failing(Family::QdqConv, 6, is_quantized) {
        let minimized = minimal(&case, is_quantized).case;
        let scales = scales(&minimized);
        assert!(
            !scales.is_empty() && scales.iter().all(|scale| *scale > 0.0),
            "{scales:?} in {minimized:#?}"
        );
    }
}

/// A backend that is wrong about bounds in order must not end as one that is wrong about others, or the other way around.
#[test]
fn bounds_of_clip_stay_in_order_or_out_of_it() {
    let bounds = |case: &Case| -> Vec<(f64, f64)> {
        let clips = case.graph.nodes.iter().filter(|node| matches!(node.op, Op::Clip));
        let bound = |name: &str| case.graph.initializer(name).map_or(f64::NAN, |one| one.to_f64()[0]);
        clips.filter_map(|clip| Some((bound(clip.input(1)?), bound(clip.input(2)?)))).collect()
    };
    // zeros are simpler than any other bounds, and in order
    let is_clipped = |case: &Case| bounds(case).iter().any(|(lower, _)| *lower != 0.0);
    for is_ordered in [true, false] {
        let are_wanted = |case: &Case| {
            is_clipped(case) && bounds(case).iter().all(|(lower, upper)| (lower <= upper) == is_ordered)
        };
        for case in failing_of(Distribution::Full, Family::Conv, 2, are_wanted) {
            let minimized = minimal(&case, is_clipped).case;
            assert!(are_wanted(&minimized), "{is_ordered}: {minimized:#?}");
        }
    }
}

#[test]
fn extents_that_must_be_alike_shrink_together() {
    let is_square = |shape: &[usize]| shape.len() == 4 && shape[2] == shape[3] && shape[2] > 1;
    let weights = |case: &Case| -> Vec<Vec<usize>> {
        let names: Vec<_> = deconvs(case).map(|(node, _)| node.inputs[1].clone()).collect();
        let stated = case.graph.initializers.iter().filter(|one| names.contains(&one.name));
        stated.map(|one| one.tensor.shape.clone()).collect()
    };
    let has_large_square = |case: &Case| weights(case).iter().any(|shape| is_square(shape) && shape[2] > 2);
    let fails = |case: &Case| weights(case).iter().any(|shape| is_square(shape));
    for case in failing(Family::Deconv, 8, has_large_square) {
        let minimized = minimal(&case, fails).case;
        assert_eq!(weights(&minimized), [[1, 1, 2, 2]], "{:#?}", minimized.graph);
    }
}

#[test]
fn channels_that_must_be_a_multiple_of_4_come_down_to_4() {
    let channels = |case: &Case| case.runs[0].inputs[0].shape()[1];
    let is_multiple = |case: &Case| channels(case).is_multiple_of(4);
    for case in failing(Family::Conv, 8, |case| channels(case) == 12) {
        let minimized = minimal(&case, is_multiple).case;
        assert_eq!(channels(&minimized), 4, "{:#?}", minimized.graph);
    }
}

#[test]
fn inputs_of_concat_are_fed_and_shrink_together() {
    let joins = |case: &Case| {
        let nodes = case.graph.nodes.iter();
        nodes.filter(|node| matches!(node.op, Op::Concat(_))).any(|node| {
            let inputs: std::collections::BTreeSet<_> = node.inputs.iter().collect();
            inputs.len() > 2
        })
    };
    let is_computed_twice = |case: &Case| {
        let nodes = case.graph.nodes.iter();
        let mut concats = nodes.filter(|node| matches!(node.op, Op::Concat(_)));
        joins(case)
            && concats.any(|node| node.inputs.iter().filter(|input| is_computed(case, input)).count() > 1)
    };
    for case in failing(Family::Block, 8, is_computed_twice) {
        let minimized = minimal(&case, joins).case;
        assert_eq!(minimized.graph.nodes.len(), 1, "{:#?}", minimized.graph);
        let constant: usize = minimized.graph.initializers.iter().map(|one| one.tensor.len()).sum();
        assert_eq!(input_elements(&minimized) + constant, 3, "{:#?}", minimized.graph);
    }
}
