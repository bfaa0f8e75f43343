//! Run directories with a finding.

use std::path::{Path, PathBuf};

use twinfer_case::{
    Case, EncodedCase, Expectation, Observation, Outcome, Request, Run, RunOutput, Stage, TensorSource,
};
use twinfer_onnx::{ConvTranspose, DataType, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};
use twinfer_store::{Observed, findings_of, write_finding};

use crate::fixture;

/// A model of a `ConvTranspose` and a Relu around an Add, with these names for its input, weights and output.
pub fn deconvolution(input: &str, weights: &str, output: &str) -> Graph {
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    let node = |op, inputs: &[&str], output: &str| Node {
        name: format!("node of {output}"),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    };
    let op = ConvTranspose { group: Some(1), pads: Some(vec![1, 0]), ..ConvTranspose::default() };
    Graph {
        opset: 22,
        inputs: vec![value(input)],
        initializers: vec![Initializer {
            name: weights.to_owned(),
            tensor: Tensor::new(vec![1, 1, 2], TensorData::Float(vec![0.5, -2.0])).unwrap(),
        }],
        nodes: vec![
            node(Op::ConvTranspose(op), &[input, weights], "t"),
            node(Op::Relu, &["t"], "r"),
            node(Op::Add, &["t", "r"], output),
        ],
        outputs: vec![value(output)],
    }
}

/// A model whose every name contains `name`.
pub fn named(name: &str) -> Graph {
    deconvolution(&format!("{name} 1"), &format!("{name} 2"), &format!("{name} 3"))
}

/// Stores the first finding of the fixture in `run` with this model and these outputs, and returns its folder.
pub fn with_finding(run: &Path, graph: &Graph, expected: &Tensor, actual: &Tensor) -> PathBuf {
    let finding = fixture::findings().remove(0);
    let input = Tensor::new(vec![1, 1, 3], TensorData::Float(vec![1.0, 2.0, 3.0])).unwrap();
    let case = Case {
        graph: graph.clone(),
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    };
    let encoded = EncodedCase::encode(case).unwrap();
    let output = RunOutput { outputs: vec![actual.clone()], intermediates: Vec::new() };
    let observation = Observation { runs: vec![output], ..Observation::new(Stage::Execute, Outcome::Ok) };
    let run_info = fixture::run();
    let observed = Observed { info: &run_info.variants[1], library: None, observation: &observation };
    let folder = findings_of(run).join(finding.signature.slug());
    write_finding(&folder, &finding, (&encoded, &[Some(vec![expected.clone()])]), observed).unwrap();
    folder
}
