//! Values inside a network that it returns besides its outputs.

use nvinfer::NetworkDefinition;

/// Marks the values called `names` as outputs, in the order of the network's layers. A name that no value has, because the parser
/// removed it, is left out.
pub fn mark(network: &NetworkDefinition<'_>, names: &[String]) -> nvinfer::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    for layer in network.layers()? {
        for index in 0..layer.output_count()? {
            let value = layer.output(index)?;
            if names.contains(&value.name()?) && !value.is_network_output()? {
                network.mark_output(value)?;
            }
        }
    }
    Ok(())
}
