//! Special values: what golden settles holds in every order of summation, and what it leaves open depends on it.
//!
//! The other side is a backend of a few lines: 32- and 16-bit floats of the processor, in a shuffled order, with products fused or not.

mod support;

use half::f16;
use proptest::{prelude::*, test_runner::RngSeed};
use support::one_node;
use twinfer_golden::{Agreement, Algorithms, Arithmetic, Evaluation, evaluate, evaluate_as};
use twinfer_onnx::{
    BatchNormalization, Conv, ConvTranspose, DataType, Graph, Initializer, MaxPool, Node, Op, QuantizeLinear,
    Tensor, TensorData,
};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
const MAX: f32 = f32::MAX;

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(values.to_vec()) }
}

/// A graph of one operator whose first input has this shape, with the other inputs constant.
fn graph(op: Op, shape: &[usize], constants: &[Tensor]) -> Graph {
    let (mut graph, _) = one_node(op, shape, &[1], 1);
    graph.inputs.truncate(1);
    graph.inputs[0].dtype = DataType::Float;
    graph.nodes[0].inputs.truncate(1);
    graph.outputs[0].shape = None;
    if matches!(graph.nodes[0].op, Op::QuantizeLinear(_)) {
        graph.outputs[0].dtype = DataType::Int8;
    }
    for (place, tensor) in constants.iter().enumerate() {
        let name = format!("constant{place}");
        graph.nodes[0].inputs.push(name.clone());
        graph.initializers.push(Initializer { name, tensor: tensor.clone() });
    }
    graph.initializers.retain(|initializer| initializer.name.starts_with("constant"));
    graph
}

fn evaluated(op: Op, x: &Tensor, constants: &[Tensor]) -> Evaluation {
    evaluate(&graph(op, &x.shape, constants), std::slice::from_ref(x)).expect("valid")
}

/// Each element of the only output: its value, or `None` if it is open.
fn elements(evaluation: &Evaluation) -> Vec<Option<f64>> {
    let output = &evaluation.outputs[0];
    let element = |(value, bound): (&f64, &f64)| (*bound < f64::INFINITY).then_some(*value);
    output.values.iter().zip(&output.bound).map(element).collect()
}

fn entries(evaluation: &Evaluation) -> Vec<&str> {
    evaluation.open.iter().map(|entry| entry.name).collect()
}

#[expect(clippy::float_cmp, reason = "equal is equal")]
fn same(one: &[Option<f64>], other: &[Option<f64>]) -> bool {
    let equal = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
        (Some(one), Some(other)) => one == other || one.is_nan() && other.is_nan(),
        (one, other) => one.is_none() && other.is_none(),
    };
    one.len() == other.len() && one.iter().zip(other).all(equal)
}

#[track_caller]
fn gives(evaluation: &Evaluation, expected: &[Option<f32>], rules: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|value| value.map(f64::from)).collect();
    assert!(same(&elements(evaluation), &expected), "{:?}", evaluation.outputs[0]);
    assert_eq!(entries(evaluation), rules);
    assert!(evaluation.unspecified.is_empty(), "single elements leave the rest judged");
}

#[test]
fn windows_are_decided_one_by_one() {
    let x = floats(&[1, 1, 4], &[1.0, INF, -2.0, 3.0]);
    let w = floats(&[1, 1, 2], &[1.0, -1.0]);
    gives(&evaluated(Op::Conv(Conv::default()), &x, &[w]), &[Some(-INF), Some(INF), Some(-5.0)], &[]);
    let padded = Conv { pads: Some(vec![1, 1]), ..Conv::default() };
    let w = floats(&[1, 1, 3], &[INF, 1.0, 1.0]);
    let x = floats(&[1, 1, 3], &[1.0, 0.0, -1.0]);
    let rules = ["padding-times-non-finite"];
    gives(&evaluated(Op::Conv(padded), &x, &[w]), &[None, Some(INF), Some(NAN)], &rules);
}

#[test]
fn gaps_of_a_deconvolution_meet_no_weight() {
    let op = ConvTranspose { strides: Some(vec![2]), ..ConvTranspose::default() };
    let finite = floats(&[1, 1, 1], &[2.0]);
    let x = floats(&[1, 1, 2], &[NAN, 3.0]);
    let result = evaluated(Op::ConvTranspose(op.clone()), &x, &[finite]);
    gives(&result, &[Some(NAN), Some(0.0), Some(6.0)], &[]);
    let infinite = floats(&[1, 1, 1], &[INF]);
    let result = evaluated(Op::ConvTranspose(op), &floats(&[1, 1, 2], &[1.0, 3.0]), &[infinite]);
    gives(&result, &[Some(INF), None, Some(INF)], &["padding-times-non-finite"]);
}

#[test]
fn transforms_spread_what_is_not_finite() {
    let x = floats(&[1, 1, 8], &[NAN, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let w = floats(&[1, 1, 3], &[1.0; 3]);
    let graph = graph(Op::Conv(Conv::default()), &x.shape, &[w]);
    for algorithms in [Algorithms::DirectConvolutions, Algorithms::Any] {
        let arithmetic = Arithmetic::default().with(algorithms);
        let evaluation = evaluate_as(&graph, std::slice::from_ref(&x), arithmetic, &[]).expect("valid");
        assert!(elements(&evaluation).iter().all(Option::is_none));
        assert_eq!(entries(&evaluation), ["transformed-non-finite"]);
    }
}

#[test]
fn relu_and_pooling_are_open_for_nan_alone() {
    let x = floats(&[1, 1, 4], &[NAN, INF, -INF, 1.0]);
    gives(&evaluated(Op::Relu, &x, &[]), &[None, Some(INF), Some(0.0), Some(1.0)], &["relu-of-nan"]);
    let pool = MaxPool { kernel_shape: vec![2], ..MaxPool::default() };
    gives(&evaluated(Op::MaxPool(pool), &x, &[]), &[None, Some(INF), Some(1.0)], &["max-pool-of-nan"]);
}

#[test]
fn sums_and_moves_follow_ieee() {
    let x = floats(&[6], &[INF, INF, NAN, MAX, MAX, -0.0]);
    let y = floats(&[6], &[1.0, -INF, 1.0, MAX, -MAX, -0.0]);
    let sums = [Some(INF), Some(NAN), Some(NAN), Some(INF), None, Some(0.0)];
    let rules = ["overflow-inside-graph", "overflow-in-some-order"];
    gives(&evaluated(Op::Add, &x, &[y]), &sums, &rules);
    let moved = evaluated(Op::Identity, &floats(&[3], &[NAN, -INF, -0.0]), &[]);
    gives(&moved, &[Some(NAN), Some(-INF), Some(-0.0)], &[]);
    assert_eq!(moved.outputs[0].compare(2, 0.0), Agreement::Wrong(0.0), "the sign of a moved zero counts");
}

#[test]
fn quantizers_saturate_infinities_and_leave_nan_open() {
    let x = floats(&[5], &[INF, -INF, NAN, MAX, 1.0]);
    let scale = Tensor { shape: vec![], data: TensorData::Float(vec![1e-3]) };
    let zero_point = Tensor { shape: vec![], data: TensorData::Int8(vec![3]) };
    let quantized = evaluated(Op::QuantizeLinear(QuantizeLinear { axis: None }), &x, &[scale, zero_point]);
    let expected = [Some(127.0), Some(-128.0), None, Some(127.0), Some(127.0)];
    gives(&quantized, &expected, &["quantize-nan"]);
}

/// A node that reads `input` and gives `output`.
fn behind(op: Op, input: &str, output: &str) -> Node {
    Node { name: output.to_owned(), op, inputs: vec![input.to_owned()], outputs: vec![output.to_owned()] }
}

#[test]
fn overflow_inside_of_the_graph_is_open_behind_it() {
    let mut graph = graph(Op::Conv(Conv::default()), &[1, 1, 2], &[floats(&[1, 1, 1], &[2.0])]);
    let first = graph.nodes[0].outputs[0].clone();
    let pool = MaxPool { kernel_shape: vec![2], ..MaxPool::default() };
    graph.nodes.push(behind(Op::MaxPool(pool), &first, "pooled"));
    graph.nodes.push(behind(Op::Conv(Conv::default()), "pooled", "Z"));
    graph.nodes[2].inputs.push("constant0".to_owned());
    graph.outputs[0].name = "pooled".to_owned();
    let x = floats(&[1, 1, 2], &[MAX, 0.1]);
    gives(
        &evaluate(&graph, std::slice::from_ref(&x)).expect("valid"),
        &[Some(INF)],
        &["overflow-inside-graph"],
    );
    graph.outputs[0].name = "Z".to_owned();
    gives(&evaluate(&graph, &[x]).expect("valid"), &[None], &["overflow-inside-graph"]);
}

#[test]
fn factors_folded_into_a_sum_may_overflow_its_terms() {
    let x = floats(&[1, 2, 1], &[MAX / 2.0, -INF]);
    let normalized = |scale: f32| {
        let mut graph = graph(Op::Conv(Conv::default()), &x.shape, &[floats(&[1, 2, 1], &[1.0, 1.0])]);
        let parameters = [scale, 0.0, 0.0, 1.0].map(|one| floats(&[1], &[one]));
        for (place, tensor) in parameters.into_iter().enumerate() {
            graph.initializers.push(Initializer { name: format!("parameter{place}"), tensor });
        }
        let op = BatchNormalization { epsilon: Some(0.0), ..BatchNormalization::default() };
        let convolved = graph.nodes[0].outputs[0].clone();
        let mut node = behind(Op::BatchNormalization(op), &convolved, "Z");
        node.inputs.extend((0..4).map(|place| format!("parameter{place}")));
        graph.nodes.push(node);
        graph.outputs[0].name = "Z".to_owned();
        evaluate(&graph, std::slice::from_ref(&x)).expect("valid")
    };
    gives(&normalized(3.0), &[None], &["overflow-in-some-order"]);
    gives(&normalized(0.5), &[Some(-INF)], &[]);
}

#[test]
fn normalization_is_open_for_channels_alone() {
    let x = floats(&[1, 3, 2], &[INF, 1.0, NAN, 1.0, 1.0, 1.0]);
    let three = |values: [f32; 3]| floats(&[3], &values);
    let parameters = [three([-1.0, 1.0, 1.0]), three([0.0; 3]), three([0.0; 3]), three([1.0, 1.0, -1.0])];
    let op =
        Op::BatchNormalization(BatchNormalization { epsilon: Some(0.0), ..BatchNormalization::default() });
    let expected = [Some(-INF), Some(-1.0), Some(NAN), Some(1.0), None, None];
    gives(&evaluated(op, &x, &parameters), &expected, &["batch-normalization-variance-not-positive"]);
}

/// A special number, or one of moderate size.
fn term() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -4.0..4.0f64,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0]),
        1 => prop::sample::select(vec![1.0, -1.0, 0.5, -0.5, 0.1]).prop_map(|share| share * f64::from(MAX)),
    ]
}

/// The sum of the products in this order, every operation rounded, or each product fused with its addition.
fn dot(products: &[(f32, f32)], is_fused: bool) -> f32 {
    products.iter().fold(0.0, |sum, (x, w)| if is_fused { x.mul_add(*w, sum) } else { sum + x * w })
}

fn halves_of(sums: &[(f32, f32)]) -> f32 {
    let half = |x: f32| f16::from_f32(x).to_f32();
    half(sums.iter().fold(0.0, |sum, (x, w)| half(sum + half(x * w))))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("TWINFER_SPECIAL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000),
        rng_seed: RngSeed::Fixed(21),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_order_of_special_terms_agrees(
        products in prop::collection::vec((term(), term()), 1..8),
        orders in prop::collection::vec(any::<prop::sample::Index>(), 24),
        in_halves: bool,
    ) {
        let dtype = if in_halves { DataType::Float16 } else { DataType::Float };
        let scale = if in_halves { 65504.0 / f64::from(MAX) } else { 1.0 };
        let scaled = |x: f64| if x.abs() > 1e30 && x.is_finite() { x * scale } else { x };
        let tensor = |values: Vec<f64>| {
            Tensor::from_f64(dtype, vec![1, values.len(), 1], &values).expect("as many values")
        };
        let x = tensor(products.iter().map(|product| scaled(product.0)).collect());
        let w = tensor(products.iter().map(|product| scaled(product.1)).collect());
        let mut graph = graph(Op::Conv(Conv::default()), &x.shape, std::slice::from_ref(&w));
        graph.inputs[0].dtype = dtype;
        graph.outputs[0].dtype = dtype;
        let reference = evaluate(&graph, std::slice::from_ref(&x)).expect("valid").outputs.remove(0);
        let mut terms: Vec<_> =
            x.to_f64().into_iter().zip(w.to_f64()).map(|(x, w)| (x as f32, w as f32)).collect();
        for order in orders {
            let (first, other) = (order.index(terms.len()), terms.len() - 1);
            terms.swap(first, other);
            terms.rotate_left(1);
            let sums = if in_halves {
                let wide = f16::from_f32(dot(&terms, false)).to_f32();
                [halves_of(&terms), wide]
            } else {
                [dot(&terms, false), dot(&terms, true)]
            };
            for sum in sums {
                let agreement = reference.compare(0, f64::from(sum));
                prop_assert!(!matches!(agreement, Agreement::Wrong(_)), "{sum} {reference:?} {terms:?}");
            }
        }
    }
}
