//! Values inside a graph that backends return besides its outputs.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod installed;

use installed::opened;
use twinfer_backend::{Backend, open};
use twinfer_case::{
    Case, Expectation, NamedTensor, Observation, Outcome, Request, Run, Stage, Task, TensorSource,
};
use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(values.to_vec()) }
}

/// Twice the input, of which `y` keeps what is positive; and `unused`, three times the input, on which no output depends.
fn case() -> Case {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some([1, 1, 3, 3].map(Dim::Fixed).to_vec()),
    };
    let node = |name: &str, op: Op, inputs: &[&str], output: &str| Node {
        name: name.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    };
    let weight = |name: &str, value: f32| Initializer {
        name: name.to_owned(),
        tensor: floats(&[1, 1, 1, 1], &[value]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: vec![weight("two", 2.0), weight("three", 3.0)],
        nodes: vec![
            node("double", Op::Conv(Conv::default()), &["x", "two"], "doubled"),
            node("keep", Op::Relu, &["doubled"], "y"),
            node("triple", Op::Conv(Conv::default()), &["x", "three"], "unused"),
        ],
        outputs: vec![value("y")],
    };
    let input = floats(&[1, 1, 3, 3], &[1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0]);
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

fn observe(backend: &mut dyn Backend, names: &[&str]) -> Observation {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    backend.run(&Task::of(&case()).unwrap().observing(names), &mut |_| {})
}

fn returns_what_is_asked_for(backend: &mut dyn Backend) {
    let observation = observe(backend, &["unused", "doubled"]);
    assert_eq!(observation.outcome, Outcome::Ok);
    assert_eq!(observation.inferred_shapes.unwrap_or_else(|| vec![vec![1, 1, 3, 3]]), [[1, 1, 3, 3]]);
    let shape = [1, 1, 3, 3];
    let named =
        |name: &str, values: &[f32]| NamedTensor { name: name.to_owned(), tensor: floats(&shape, values) };
    let run = &observation.runs[0];
    assert_eq!(run.outputs, [floats(&shape, &[2.0, 0.0, 4.0, 0.0, 6.0, 0.0, 8.0, 0.0, 10.0])]);
    let mut intermediates = run.intermediates.clone();
    intermediates.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(
        intermediates,
        [
            named("doubled", &[2.0, -2.0, 4.0, -4.0, 6.0, -6.0, 8.0, -8.0, 10.0]),
            named("unused", &[3.0, -3.0, 6.0, -6.0, 9.0, -9.0, 12.0, -12.0, 15.0]),
        ]
    );
}

#[test]
fn golden_returns_intermediates() {
    returns_what_is_asked_for(&mut *open(&"golden".parse().unwrap()).unwrap());
}

#[test]
fn onnx_runtime_returns_intermediates() {
    let Some(mut backend) = opened("ort:cpu") else { return };
    returns_what_is_asked_for(&mut *backend);
    assert_eq!(observe(&mut *backend, &[]).runs[0].intermediates, []);
}

/// Without a GPU, TensorRT-RTX goes as far as the build, which drops a convolution that nothing depends on.
#[test]
fn network_with_marked_values_is_built() {
    let Some(mut backend) = opened("trt-rtx") else { return };
    if backend.describe().reaches != Stage::Build {
        return;
    }
    let mut has_triple = |names: &[&str]| {
        let observation = observe(&mut *backend, names);
        assert_eq!((observation.stage, observation.outcome), (Stage::Build, Outcome::Ok));
        assert_eq!(observation.inferred_shapes, Some(vec![vec![1, 1, 3, 3]]));
        let layers = observation.precision.map(|precision| precision.layers).unwrap_or_default();
        layers.iter().any(|layer| layer.name.contains("triple"))
    };
    assert!(!has_triple(&[]));
    assert!(has_triple(&["unused", "doubled"]));
}
