use nvinfer::NetworkDefinition;
use serde::{Deserialize, Serialize};

/// The names of a network's inputs and outputs, in the order of the graph; an engine may have another.
#[derive(Serialize, Deserialize)]
pub struct Names {
    pub inputs: Vec<String>,
    /// The graph's outputs, and behind them the [`intermediates`](Self::intermediates).
    pub outputs: Vec<String>,
    /// The values inside the graph that the network returns.
    pub intermediates: Vec<String>,
}

impl Names {
    /// The names of a network of which the values in `marked` are marked as outputs besides those of the graph.
    pub fn of(network: &NetworkDefinition<'_>, marked: &[String]) -> nvinfer::Result<Self> {
        let names = |tensors: Vec<nvinfer::Tensor<'_>>| tensors.iter().map(nvinfer::Tensor::name).collect();
        let inputs: nvinfer::Result<_> = names(network.inputs()?);
        let outputs: nvinfer::Result<Vec<String>> = names(network.outputs()?);
        let outputs = outputs?;
        let intermediates = outputs.iter().filter(|name| marked.contains(name)).cloned().collect();
        Ok(Self { inputs: inputs?, outputs, intermediates })
    }
}
