//! What an engine says of its layers.

use nvinfer::{Engine, LayerInformationFormat, Result};
use serde::Deserialize;
use twinfer_case::LayerInfo;
use twinfer_onnx::DataType;

/// The layers of an engine that was built with detailed profiling verbosity; `None` if the inspector says nothing
/// that can be read.
pub fn layers(engine: &Engine<'_>) -> Result<Option<Vec<LayerInfo>>> {
    let json = engine.create_inspector()?.engine_information(LayerInformationFormat::Json)?;
    Ok(read(&json))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Layer {
    name: String,
    #[serde(default, rename = "LayerType")]
    operator: String,
    #[serde(default)]
    inputs: Vec<Binding>,
    #[serde(default)]
    outputs: Vec<Binding>,
    #[serde(default)]
    weights: Option<Weights>,
    #[serde(default)]
    tactic_name: Option<String>,
    #[serde(default)]
    metadata: String,
}

#[derive(Deserialize)]
struct Binding {
    #[serde(default, rename = "Format/Datatype")]
    format: String,
}

#[derive(Deserialize)]
struct Weights {
    #[serde(rename = "Type")]
    data_type: String,
}

fn read(json: &str) -> Option<Vec<LayerInfo>> {
    let inspected: Inspected = serde_json::from_str(json).ok()?;
    Some(inspected.layers.into_iter().map(LayerInfo::from).collect())
}

impl From<Layer> for LayerInfo {
    fn from(layer: Layer) -> Self {
        let types =
            |bindings: &[Binding]| bindings.iter().filter_map(|binding| in_format(&binding.format)).collect();
        Self {
            operator: layer.operator,
            inputs: types(&layer.inputs),
            outputs: types(&layer.outputs),
            weights: layer.weights.and_then(|weights| named(&weights.data_type)),
            tactic: layer.tactic_name.filter(|name| !name.is_empty()),
            placement: None,
            nodes: onnx_nodes(&layer.metadata),
            name: layer.name,
        }
    }
}

/// The type at the end of a format such as `Thirty-two wide channel vectorized row major Int8 format`, or `Row major
/// linear FP32`.
fn in_format(format: &str) -> Option<DataType> {
    format.split_whitespace().find_map(named)
}

fn named(name: &str) -> Option<DataType> {
    Some(match name {
        "FP32" | "Float" => DataType::Float,
        "FP16" | "Half" => DataType::Float16,
        "BF16" | "BFloat16" => DataType::Bfloat16,
        "Int8" | "INT8" => DataType::Int8,
        "UInt8" | "UINT8" => DataType::Uint8,
        "Int32" | "INT32" => DataType::Int32,
        "Int64" | "INT64" => DataType::Int64,
        "Bool" | "BOOL" => DataType::Bool,
        _ => return None,
    })
}

/// The node names in metadata such as `[ONNX Layer: conv]\u{1e}[ONNX Layer: relu]`.
fn onnx_nodes(metadata: &str) -> Vec<String> {
    metadata
        .split("[ONNX Layer: ")
        .skip(1)
        .filter_map(|part| part.split_once(']').map(|(name, _)| name.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_int8_convolution_shows_int8_inputs_and_weights() {
        let json = r#"{"Layers": [{
            "Name": "w + q + conv", "LayerType": "CaskConvolution",
            "Inputs": [{"Name": "x_q", "Format/Datatype": "Thirty-two wide channel vectorized row major Int8 format"}],
            "Outputs": [{"Name": "y", "Format/Datatype": "Row major linear FP32"}],
            "Weights": {"Type": "Int8", "Count": 64}, "TacticName": "sm80_xmma_fprop", "Metadata":
            "[ONNX Layer: dequantize_x]\u001e[ONNX Layer: conv]"}], "Bindings": ["x", "y"]}"#;
        let [layer] = &read(json).unwrap()[..] else { panic!("one layer") };
        assert_eq!((&layer.inputs[..], &layer.outputs[..]), (&[DataType::Int8][..], &[DataType::Float][..]));
        assert_eq!(layer.weights, Some(DataType::Int8));
        assert_eq!(layer.nodes, ["dequantize_x", "conv"]);
        assert_eq!(layer.tactic.as_deref(), Some("sm80_xmma_fprop"));
    }

    #[test]
    fn layers_by_name_only_are_not_taken_for_layers() {
        assert_eq!(read(r#"{"Layers": ["conv"], "Bindings": []}"#), None);
        assert_eq!(read("no JSON"), None);
    }
}
