//! The test that every backend must pass: a small deconvolution with a known answer, twice in one warm backend.
//!
//! A backend whose library is not installed is skipped, and the test says so.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use twinfer_backend::{OpenError, open};
use twinfer_case::{Case, Expectation, Outcome, Request, Run, Stage, Task, TensorSource, Variant};
use twinfer_onnx::{
    ConvTranspose, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo,
};

/// Input [1, 2, 3], all-ones kernel of 2, stride 2, `output_padding` 1: [1, 1, 2, 2, 3, 3, 0].
fn deconvolution() -> Case {
    let value = |name: &str, extents: &[usize]| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(extents.iter().copied().map(Dim::Fixed).collect()),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &[1, 1, 3])],
        initializers: vec![Initializer {
            name: "w".to_owned(),
            tensor: Tensor { shape: vec![1, 1, 2], data: TensorData::Float(vec![1.0, 1.0]) },
        }],
        nodes: vec![Node {
            name: "deconv".to_owned(),
            op: Op::ConvTranspose(ConvTranspose {
                strides: Some(vec![2]),
                output_padding: Some(vec![1]),
                ..ConvTranspose::default()
            }),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y", &[1, 1, 7])],
    };
    let input = Tensor { shape: vec![1, 1, 3], data: TensorData::Float(vec![1.0, 2.0, 3.0]) };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }; 2],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

fn passes_the_smoke_test(variant: &str) {
    let variant: Variant = variant.parse().unwrap();
    let mut backend = match open(&variant) {
        Ok(backend) => backend,
        Err(error @ (OpenError::Library(_) | OpenError::Provider { .. })) => {
            eprintln!("skipped: {variant}: {error}");
            return;
        }
        Err(error) => panic!("{variant}: {error}"),
    };
    let task = Task::of(&deconvolution()).unwrap();
    for _ in 0..2 {
        let mut stages = Vec::new();
        let observation = backend.run(&task, &mut |stage| stages.push(stage));
        assert_eq!(observation.outcome, Outcome::Ok);
        assert_eq!(observation.stage, *stages.last().unwrap());
        if backend.describe().reaches == Stage::Execute {
            let expected = Tensor {
                shape: vec![1, 1, 7],
                data: TensorData::Float(vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0]),
            };
            assert_eq!(observation.runs.len(), 2);
            assert!(observation.runs.iter().all(|run| run.outputs == [expected.clone()]), "{observation:?}");
        }
    }
}

#[test]
fn golden_passes_the_smoke_test() {
    passes_the_smoke_test("golden");
}

#[test]
fn ort_cpu_passes_the_smoke_test() {
    passes_the_smoke_test("ort:cpu,opt=off");
}

#[test]
fn an_option_that_a_backend_does_not_have_is_refused_by_name() {
    let refused = open(&"golden,opt=off".parse().unwrap()).err().unwrap();
    assert_eq!(refused.to_string(), r#"golden has no option "opt""#);
    let refused = open(&"ort:cpu,opt=fast".parse().unwrap()).err().unwrap();
    assert_eq!(refused.to_string(), "option opt=fast: the value is one of off, basic, all");
}
