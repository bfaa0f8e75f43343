use twinfer_onnx::{DataType, DecodeError, Dim, Graph, Tensor, ValueInfo};

use crate::{Case, Expectation, GeneratedInputs, Recipe, Regime, Request, Run, TensorSource};

/// The extent of every symbolic axis in the inputs of a graph that accepts none of those that are generated.
const SYMBOLIC_EXTENT: usize = 2;

impl Request {
    /// FP32 or, where the first input is of another type, that.
    pub fn for_inputs(inputs: &[ValueInfo]) -> Self {
        let precision = inputs.first().map_or(DataType::Float, |input| input.dtype);
        Self { precision, tf32: false }
    }
}

impl Case {
    /// A valid graph with one run of [generated inputs](GeneratedInputs) of each kind: small integers, standard normal values and, if an
    /// input is quantized, values up to both ends of the quantizer's range and beyond. Symbolic extents are the smallest of 2, 4, … 64 with
    /// which most windows have several positions.
    pub fn of_graph(graph: Graph) -> Self {
        let runs = GeneratedInputs::default().runs_of_each_kind(&graph);
        Self {
            request: Request::for_inputs(&graph.inputs),
            runs: runs.unwrap_or_else(|_| vec![unchecked_run(&graph)]),
            graph,
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    /// [The case](Self::of_graph) of an ONNX model in memory: `std::fs::read("model.onnx")?`.
    ///
    /// An error if the bytes are no ONNX model, or one with an operator that golden does not know.
    pub fn from_onnx(model: &[u8]) -> Result<Self, DecodeError> {
        Graph::decode(model).map(Self::of_graph)
    }

    /// The same case with one run of these inputs, a tensor for each input of the graph in its order.
    #[must_use]
    pub fn with_inputs(self, inputs: Vec<Tensor>) -> Self {
        self.with_runs(vec![inputs])
    }

    /// The same case with these runs, one after the other in one session.
    #[must_use]
    pub fn with_runs(self, runs: Vec<Vec<Tensor>>) -> Self {
        let run = |inputs: Vec<Tensor>| Run { inputs: inputs.into_iter().map(TensorSource::Data).collect() };
        Self { runs: runs.into_iter().map(run).collect(), ..self }
    }
}

/// A run of standard normal inputs of a graph that is invalid, which is for others to say.
fn unchecked_run(graph: &Graph) -> Run {
    let input = |(index, info): (usize, &ValueInfo)| {
        let extent = |dim: &Dim| match dim {
            Dim::Fixed(extent) => *extent,
            Dim::Symbolic(_) => SYMBOLIC_EXTENT,
        };
        TensorSource::Recipe(Recipe {
            dtype: info.dtype,
            shape: info.shape.iter().flatten().map(extent).collect(),
            regime: Regime::Gaussian,
            seed: index as u64,
        })
    };
    Run { inputs: graph.inputs.iter().enumerate().map(input).collect() }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Initializer, Node, Op, QuantizeLinear};

    use super::*;

    /// A graph that quantizes an image with a scale of 1/2, or only copies it.
    fn graph(is_quantized: bool) -> Graph {
        let dims = ["N", "C", "H", "W"].map(|name| Dim::Symbolic(name.to_owned()));
        let value =
            |name: &str, dtype| ValueInfo { name: name.to_owned(), dtype, shape: Some(dims.to_vec()) };
        let (op, inputs) = if is_quantized {
            (Op::QuantizeLinear(QuantizeLinear::default()), vec!["x".to_owned(), "s".to_owned()])
        } else {
            (Op::Identity, vec!["x".to_owned()])
        };
        let scale = Tensor::from_f64(DataType::Float, Vec::new(), &[0.5]).unwrap();
        Graph {
            opset: 17,
            inputs: vec![value("x", DataType::Float)],
            initializers: vec![Initializer { name: "s".to_owned(), tensor: scale }],
            nodes: vec![Node { name: "node".to_owned(), op, inputs, outputs: vec!["y".to_owned()] }],
            outputs: vec![value("y", if is_quantized { DataType::Uint8 } else { DataType::Float })],
        }
    }

    #[test]
    fn model_gets_runs_of_each_kind() {
        assert_eq!(Case::of_graph(graph(false)).runs.len(), 2);
        let case = Case::from_onnx(&graph(true).encode()).unwrap();
        assert_eq!(case.runs.len(), 4);
        let is_of_range = |run: &Run| matches!(run.inputs[..], [TensorSource::Data(_)]);
        assert_eq!(case.runs.iter().map(is_of_range).collect::<Vec<_>>(), [false, false, true, true]);
    }

    #[test]
    fn invalid_graph_is_a_case_all_the_same() {
        let mut invalid = graph(false);
        invalid.nodes[0].inputs[0] = "nowhere".to_owned();
        assert_eq!(Case::of_graph(invalid).runs.len(), 1);
    }
}
