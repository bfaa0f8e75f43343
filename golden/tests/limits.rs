//! A graph that somebody else made takes no more time and memory than golden's limits say.

use std::time::{Duration, Instant};

use twinfer_golden::{Arithmetic, Limits, Unknown, evaluate, evaluate_within};
use twinfer_onnx::{
    Concat, Conv, DataType, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo, element_count,
};

/// Far more than any of these graphs takes, and far less than what a missing limit costs.
const PATIENCE: Duration = Duration::from_secs(20);

fn zeros(shape: &[usize]) -> Tensor {
    let count = element_count(shape).expect("it fits");
    Tensor { shape: shape.to_vec(), data: TensorData::Float(vec![0.0; count]) }
}

fn value(name: String) -> ValueInfo {
    ValueInfo { name, dtype: DataType::Float, shape: None }
}

/// A chain of nodes of one operator, each fed with the value before and with the initializers of these shapes.
fn chain(op: &Op, nodes: usize, initializers: &[&[usize]]) -> Graph {
    let names: Vec<_> = (0..initializers.len()).map(|index| format!("w{index}")).collect();
    let named = names.iter().zip(initializers);
    let node = |index: usize| Node {
        name: format!("n{index}"),
        op: op.clone(),
        inputs: [vec![format!("x{index}")], names.clone()].concat(),
        outputs: vec![format!("x{}", index + 1)],
    };
    Graph {
        opset: 17,
        inputs: vec![value("x0".to_owned())],
        initializers: named
            .map(|(name, shape)| Initializer { name: name.clone(), tensor: zeros(shape) })
            .collect(),
        nodes: (0..nodes).map(node).collect(),
        outputs: vec![value(format!("x{nodes}"))],
    }
}

fn is_too_large(graph: &Graph, input: &[usize], limits: Limits) -> bool {
    let evaluated = evaluate_within(graph, &[zeros(input)], Arithmetic::default(), &[], limits);
    matches!(evaluated, Err(Unknown::TooLarge { .. }))
}

#[test]
fn all_values_together_are_limited_and_not_each_by_itself() {
    let limits = Limits { elements: 1000, ..Limits::default() };
    assert!(!is_too_large(&chain(&Op::Relu, 9, &[]), &[1, 100], limits));
    assert!(is_too_large(&chain(&Op::Relu, 10, &[]), &[1, 100], limits));
}

#[test]
fn all_work_together_is_limited_and_not_that_of_each_node() {
    let conv = |nodes| chain(&Op::Conv(Conv::default()), nodes, &[&[1, 1, 1]]);
    let limits = Limits { multiply_accumulates: 90, ..Limits::default() };
    assert!(!is_too_large(&conv(9), &[1, 1, 10], limits));
    assert!(is_too_large(&conv(10), &[1, 1, 10], limits));
}

#[test]
fn extents_beside_a_zero_are_limited_too() {
    let add = chain(&Op::Add, 1, &[&[1, 1]]);
    assert!(is_too_large(&add, &[1 << 25, 0], Limits::default()));
    assert!(!is_too_large(&add, &[1 << 10, 0], Limits::default()));
}

#[test]
fn groups_without_channels_take_no_time() {
    let conv = Conv { group: Some(1 << 30), ..Conv::default() };
    let started = Instant::now();
    let graph = chain(&Op::Conv(conv), 1, &[&[0, 0, 1]]);
    let evaluation = evaluate(&graph, &[zeros(&[1 << 12, 0, 1])]).expect("an empty result");
    assert_eq!(evaluation.outputs[0].shape, [1 << 12, 0, 1]);
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn parts_without_elements_take_no_time() {
    let mut graph = chain(&Op::Concat(Concat { axis: 1 }), 1, &[&[1 << 20, 0]]);
    let empty = graph.nodes[0].inputs[1].clone();
    graph.nodes[0].inputs.extend(std::iter::repeat_n(empty, 1 << 17));
    let started = Instant::now();
    assert!(evaluate(&graph, &[zeros(&[1 << 20, 1])]).is_ok());
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn a_long_chain_is_walked_once() {
    let nodes = 1 << 15;
    let started = Instant::now();
    assert!(evaluate(&chain(&Op::Relu, nodes, &[]), &[zeros(&[1])]).is_ok());
    assert!(started.elapsed() < PATIENCE);
}
