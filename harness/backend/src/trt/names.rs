use nvinfer::NetworkDefinition;

/// The names of a network's inputs and outputs, in the order of the graph; an engine may have another.
pub struct Names {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

impl Names {
    pub fn of(network: &NetworkDefinition<'_>) -> nvinfer::Result<Self> {
        let names = |tensors: Vec<nvinfer::Tensor<'_>>| tensors.iter().map(nvinfer::Tensor::name).collect();
        let inputs: nvinfer::Result<_> = names(network.inputs()?);
        Ok(Self { inputs: inputs?, outputs: names(network.outputs()?)? })
    }
}
