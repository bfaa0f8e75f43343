//! Channels in front of and behind operators without weights: the one that fails survives alone.

use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
use twinfer_golden::evaluate;
use twinfer_minimize::minimize;
use twinfer_onnx::{
    AveragePool, Concat, Conv, DataType, Graph, Initializer, LeakyRelu, Node, Op, Tensor, TensorData,
    Transpose, ValueInfo,
};

const CHANNELS: usize = 4;
/// The channel of the first convolution that fails.
const FAILING: usize = 2;
/// What the first convolution gives there, and nowhere else.
const MARK: f32 = 3.0;
const LIMIT: usize = 4000;

fn tensor(shape: &[usize], values: Vec<f32>) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(values) }
}

fn initializer(name: &str, tensor: Tensor) -> Initializer {
    Initializer { name: name.to_owned(), tensor }
}

fn node(name: &str, op: Op, inputs: &[&str]) -> Node {
    let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
    Node { name: name.to_owned(), op, inputs, outputs: vec![name.to_owned()] }
}

fn value(name: &str) -> ValueInfo {
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None }
}

/// Weights of a 1×1 convolution that keeps every channel, times `factor` of the channel.
fn diagonal(factor: impl Fn(usize) -> f32) -> Tensor {
    let entry = |place: usize| {
        let (output, input) = (place / CHANNELS, place % CHANNELS);
        if output == input { factor(output) } else { 0.0 }
    };
    tensor(&[CHANNELS, CHANNELS, 1, 1], (0..CHANNELS * CHANNELS).map(entry).collect())
}

/// A convolution whose channel [`FAILING`] is other than the rest, then `between`, which reads it as `first` and gives `between`, then
/// what is `behind`.
fn case(between: Vec<Node>, behind: Vec<Node>) -> Case {
    let convolution = node("first", Op::Conv(Conv::default()), &["x", "w"]);
    let nodes: Vec<Node> = std::iter::once(convolution).chain(between).chain(behind).collect();
    let output = nodes.last().expect("a node").outputs[0].clone();
    let weights = diagonal(|channel| if channel == FAILING { MARK } else { 1.0 });
    Case {
        graph: Graph {
            opset: 17,
            inputs: vec![value("x")],
            initializers: vec![
                initializer("w", weights),
                initializer("v", diagonal(|_| 1.0)),
                initializer("low", tensor(&[], vec![-1.0])),
                initializer("high", tensor(&[], vec![6.0])),
            ],
            nodes,
            outputs: vec![value(&output)],
        },
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run {
            inputs: vec![TensorSource::Data(tensor(&[1, CHANNELS, 2, 2], vec![1.0; CHANNELS * 4]))],
        }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

fn outputs(case: &Case) -> Vec<f64> {
    let fed = |source: &TensorSource| source.tensor().expect("is small").into_owned();
    let inputs: Vec<_> = case.runs[0].inputs.iter().map(fed).collect();
    let evaluation = evaluate(&case.graph, &inputs).expect("golden knows these operators");
    evaluation.outputs.into_iter().flat_map(|output| output.values).collect()
}

fn counted(case: &Case, op_type: &str) -> usize {
    case.graph.nodes.iter().filter(|node| node.op.op_type() == op_type).count()
}

/// Asserts that the minimal case of what gives the largest output, with as many convolutions and `op_type` behind the first, has one
/// channel and one position everywhere.
fn assert_channel_survives_alone(case: &Case, op_type: &str, convolutions: usize) {
    let largest = |case: &Case| outputs(case).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let marked = largest(case);
    let fails = |candidate: &Case| {
        counted(candidate, op_type) >= 1
            && counted(candidate, "Conv") == convolutions
            && candidate.graph.nodes[0].inputs.last().is_some_and(|weights| weights == "w")
            && (largest(candidate) - marked).abs() < 1e-9
    };
    assert!(fails(case), "{op_type}: {marked}");
    let first = |candidates: &[Case]| candidates.iter().position(fails);
    let minimal = minimize(case, LIMIT, 16, first).expect("the case is small").case;
    let extents = minimal.graph.initializers.iter().filter(|one| ["v", "w"].contains(&one.name.as_str()));
    for weights in extents {
        assert_eq!(weights.tensor.len(), 1, "{op_type}: {}", minimal.graph);
    }
    let fed = minimal.runs[0].inputs[0].shape();
    assert_eq!(fed.iter().product::<usize>(), 1, "{op_type}: {}", minimal.graph);
}

/// Each operator, once as what reads `first`; of what it takes besides data, the initializers of [`case`].
fn operators() -> Vec<Node> {
    let pool = AveragePool { kernel_shape: vec![1, 1], ..AveragePool::default() };
    vec![
        node("between", Op::Clip, &["first", "low", "high"]),
        node("between", Op::LeakyRelu(LeakyRelu::default()), &["first"]),
        node("between", Op::Sigmoid, &["first"]),
        node("between", Op::HardSwish, &["first"]),
        node("between", Op::AveragePool(pool), &["first"]),
        node("between", Op::GlobalAveragePool, &["first"]),
    ]
}

#[test]
fn the_failing_channel_survives_alone_behind_each_operator() {
    for operator in operators() {
        let op_type = operator.op.op_type();
        assert_channel_survives_alone(&case(vec![operator], Vec::new()), op_type, 1);
    }
}

#[test]
fn channels_between_two_convolutions_shrink_through_each_operator() {
    for operator in operators() {
        let op_type = operator.op.op_type();
        let second = node("second", Op::Conv(Conv::default()), &["between", "v"]);
        assert_channel_survives_alone(&case(vec![operator], vec![second]), op_type, 2);
    }
}

#[test]
fn channels_are_followed_through_permutations() {
    for perm in [Some(vec![0, 2, 3, 1]), Some(vec![1, 0, 3, 2]), None] {
        let transpose = node("between", Op::Transpose(Transpose { perm }), &["first"]);
        assert_channel_survives_alone(&case(vec![transpose], Vec::new()), "Transpose", 1);
    }
}

#[test]
fn channels_are_followed_into_the_values_that_are_joined() {
    for axis in [1, -3] {
        let joined = node("joined", Op::Concat(Concat { axis }), &["x", "between", "x"]);
        let relu = node("between", Op::Relu, &["first"]);
        assert_channel_survives_alone(&case(vec![relu], vec![joined]), "Concat", 1);
    }
}
