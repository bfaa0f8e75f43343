use twinfer_onnx::{DataType, DecodeError, Dim, Graph, Tensor, ValueInfo};

use crate::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};

/// The extent of every symbolic axis in the inputs that are generated for a model.
const SYMBOLIC_EXTENT: usize = 2;

impl Case {
    /// A valid graph with one run of standard normal inputs, in which every symbolic extent is 2. A conforming backend computes it in
    /// FP32 or, where tensors are of other types, in theirs.
    pub fn of_graph(graph: Graph) -> Self {
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
        let inputs = graph.inputs.iter().enumerate().map(input).collect();
        Self {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs }],
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
