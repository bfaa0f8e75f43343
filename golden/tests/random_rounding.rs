//! Errors such as rounding makes, drawn at random.

use twinfer_golden::{Arithmetic, evaluate_as, evaluate_rounding_randomly};
use twinfer_onnx::{Conv, DataType, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

/// `depth` convolutions of eight channels, each with as many equal terms as cancel nothing.
fn chain(depth: usize) -> Graph {
    let value = |name: String| ValueInfo { name, dtype: DataType::Float, shape: None };
    let weights = Tensor { shape: vec![8, 8, 1], data: TensorData::Float(vec![0.123; 64]) };
    let node = |link: usize| Node {
        name: format!("conv{link}"),
        op: Op::Conv(Conv::default()),
        inputs: vec![format!("v{link}"), "w".to_owned()],
        outputs: vec![format!("v{}", link + 1)],
    };
    Graph {
        opset: 17,
        inputs: vec![value("v0".to_owned())],
        initializers: vec![Initializer { name: "w".to_owned(), tensor: weights }],
        nodes: (0..depth).map(node).collect(),
        outputs: vec![value(format!("v{depth}"))],
    }
}

fn outputs(graph: &Graph, seed: Option<u64>) -> Vec<f64> {
    let input = Tensor { shape: vec![1, 8, 1], data: TensorData::Float(vec![1.1; 8]) };
    let inputs = [input];
    let evaluation = match seed {
        Some(seed) => evaluate_rounding_randomly(graph, &inputs, Arithmetic::STRICT, seed),
        None => evaluate_as(graph, &inputs, Arithmetic::STRICT, &[]),
    };
    evaluation.expect("a valid graph").outputs[0].values.clone()
}

#[test]
fn equal_seeds_give_equal_errors() {
    let graph = chain(4);
    assert_eq!(outputs(&graph, Some(1)), outputs(&graph, Some(1)));
    assert_ne!(outputs(&graph, Some(1)), outputs(&graph, Some(2)));
}

#[test]
fn errors_are_random_and_within_the_bound() {
    for depth in [1, 8] {
        let graph = chain(depth);
        let exact = outputs(&graph, None);
        let input = Tensor { shape: vec![1, 8, 1], data: TensorData::Float(vec![1.1; 8]) };
        let bound =
            evaluate_as(&graph, &[input], Arithmetic::STRICT, &[]).expect("valid").outputs[0].bound[0];
        for seed in 0..20 {
            let deviation = (outputs(&graph, Some(seed))[0] - exact[0]).abs();
            assert!(0.0 < deviation && deviation < bound, "{depth} {seed}: {deviation:e} {bound:e}");
        }
    }
}
