//! The layers of an engine, from its inspector or from the log of its build.

mod build_log;

use std::borrow::Cow;

use nvinfer::{Engine, LayerInformationFormat, Result};
use serde::{Deserialize, Deserializer};
use tracing::debug;
use twinfer_case::LayerInfo;
use twinfer_onnx::DataType;

pub use self::build_log::BuildLog;

/// The layers of an engine that was built with detailed profiling verbosity; `None` if the inspector says nothing
/// that can be read.
pub fn layers(engine: &Engine<'_>) -> Result<Option<Vec<LayerInfo>>> {
    let json = engine.create_inspector()?.engine_information(LayerInformationFormat::Json)?;
    Ok(read(&json))
}

/// Layers are read one by one: releases differ in what a kind of layer has, and an odd one must not hide the others.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    layers: Vec<serde_json::Value>,
}

/// A layer with the attributes that at least one release reports.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Layer {
    name: String,
    #[serde(default, rename = "LayerType")]
    operator: String,
    #[serde(default)]
    inputs: Vec<Binding>,
    #[serde(default)]
    outputs: Vec<Binding>,
    /// Since TensorRT 10, what a layer of its compiler reads besides its inputs; the kernel comes first.
    #[serde(default)]
    constants: Vec<Binding>,
    #[serde(default)]
    weights: Option<Weights>,
    #[serde(default)]
    tactic_name: Option<String>,
    #[serde(default)]
    metadata: String,
}

#[derive(Default, Deserialize)]
struct Binding {
    /// Format and type in one string, as TensorRT 8 reports them.
    #[serde(default, rename = "Format/Datatype")]
    format: String,
    /// The type alone, as later releases report it.
    #[serde(default, rename = "Datatype")]
    data_type: String,
    #[serde(default, rename = "Dimensions", deserialize_with = "extents")]
    extents: Vec<u64>,
}

#[derive(Deserialize)]
struct Weights {
    #[serde(default, rename = "Type")]
    data_type: String,
}

fn read(json: &str) -> Option<Vec<LayerInfo>> {
    let inspected: Inspected = serde_json::from_str(&escaped(json))
        .inspect_err(|error| debug!(error = error.to_string(), "what the inspector says cannot be read"))
        .ok()?;
    let is_empty = inspected.layers.is_empty();
    let layers = inspected.layers.into_iter().filter_map(|layer| serde_json::from_value(layer).ok());
    let layers: Vec<LayerInfo> = layers.map(|layer: Layer| layer.into()).collect();
    (is_empty || !layers.is_empty()).then_some(layers)
}

/// JSON with control characters as it escapes them: names of fused nodes stand between such characters, which need not be escaped.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_illegal = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    if !json.contains(is_illegal) {
        return Cow::Borrowed(json);
    }
    let escape = |c: char| if is_illegal(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() };
    Cow::Owned(json.chars().map(escape).collect())
}

impl Binding {
    fn dtype(&self) -> Option<DataType> {
        named(&self.data_type).or_else(|| in_format(&self.format))
    }
}

/// The extents that are numbers: what cannot be read must not hide the layer.
fn extents<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<u64>, D::Error> {
    let extents = serde_json::Value::deserialize(deserializer)?;
    Ok(extents.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect())
}

impl Layer {
    /// The type of the kernel: as reported, or inferred from the operands of the compiler's convolutions. These do not say which
    /// one is the kernel, and an addend that was fused may stand before it: their extents do. Where no operand has those of
    /// a kernel, one of the type of the data is taken for it, since data and kernel have one type, and the second operand
    /// where there is none.
    fn kernel_type(&self) -> Option<DataType> {
        if let Some(weights) = &self.weights {
            return named(&weights.data_type);
        }
        if !matches!(self.operator.as_str(), "correlation" | "deconv") {
            return None;
        }
        let (data, others) = self.inputs.split_first()?;
        if let Some(kernel) = self.kernel(data, others.iter().chain(&self.constants)) {
            return kernel.dtype();
        }
        let mut others = others.iter().chain(&self.constants).filter_map(Binding::dtype);
        let first = others.next()?;
        let data = data.dtype()?;
        Some(if others.any(|other| other == data) { data } else { first })
    }

    /// The first operand with the extents of a kernel between the data and the output; one with those of the output, as an
    /// addend has, only where there is no other.
    fn kernel<'b>(&self, data: &Binding, operands: impl Iterator<Item = &'b Binding>) -> Option<&'b Binding> {
        let output = &self.outputs.first()?.extents;
        let (read, written) = (*data.extents.get(1)?, *output.get(1)?);
        // [M, C/group, k…] of a convolution, [C, M/group, k…] of a deconvolution
        let (first, second) = if self.operator == "deconv" { (read, written) } else { (written, read) };
        let is_kernel = |operand: &&Binding| match operand.extents[..] {
            [one, other, _, ..] => {
                operand.extents.len() == output.len() && one == first && other > 0 && second % other == 0
            }
            _ => false,
        };
        operands.filter(is_kernel).min_by_key(|operand| operand.extents == *output)
    }
}

impl From<Layer> for LayerInfo {
    fn from(layer: Layer) -> Self {
        let types = |bindings: &[Binding]| bindings.iter().filter_map(Binding::dtype).collect();
        let by_metadata = onnx_nodes(&layer.metadata);
        Self {
            inputs: types(&layer.inputs),
            outputs: types(&layer.outputs),
            weights: layer.kernel_type(),
            nodes: if by_metadata.is_empty() { fused_names(&layer.name) } else { by_metadata },
            operator: layer.operator,
            tactic: layer.tactic_name.filter(|name| !name.is_empty()),
            placement: None,
            name: layer.name,
        }
    }
}

/// The type in a format such as `Thirty-two wide channel vectorized row major Int8 format`, or `Row major linear FP32`.
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

/// The names that a release without metadata fuses into a layer's own, such as `w + dequantize_w + conv`; not all of them
/// are nodes. A layer that TensorRT adds has none.
fn fused_names(name: &str) -> Vec<String> {
    if name.contains(' ') && !name.contains(" + ") {
        return Vec::new();
    }
    name.split(" + ").map(without_suffix).filter(|part| !part.contains(' ')).map(str::to_owned).collect()
}

/// Parsers before TensorRT 10 give the layer of a quantizer a name with this at its end.
fn without_suffix(name: &str) -> &str {
    let name = name.trim();
    ["_quantize_scale_node", "_dequantize_scale_node"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
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
    fn separators_that_are_not_escaped_are_read_too() {
        let json = "{\"Layers\": [{\"Name\": \"conv + relu\",\n \"Metadata\": \"[ONNX Layer: conv]\u{1e}[ONNX Layer: relu]\"}]}";
        let [layer] = &read(json).unwrap()[..] else { panic!("one layer") };
        assert_eq!(layer.nodes, ["conv", "relu"]);
    }

    #[test]
    fn layers_by_name_only_are_not_taken_for_layers() {
        assert_eq!(read(r#"{"Layers": ["conv"], "Bindings": []}"#), None);
        assert_eq!(read("no JSON"), None);
    }

    #[test]
    fn an_odd_layer_does_not_hide_the_others() {
        let json = r#"{"Layers": ["odd", {"Name": "conv", "Inputs": 3}, {"Name": "relu"}]}"#;
        let [layer] = &read(json).unwrap()[..] else { panic!("one layer can be read") };
        assert_eq!((layer.name.as_str(), &layer.nodes[..]), ("relu", &["relu".to_owned()][..]));
    }

    #[test]
    fn a_type_that_stands_beside_the_format_is_read_too() {
        let json = r#"{"Layers": [{"Name": "conv_myl0_1", "LayerType": "correlation",
            "Inputs": [{"Name": "x", "Datatype": "Int8", "Dimensions": ["odd"], "Format": "(NHWC) Channel major format"}],
            "Constants": [{"Name": "k", "Datatype": "Int8"}, {"Name": "scale", "Datatype": "Float"}],
            "Outputs": [{"Name": "y", "Datatype": "Float"}], "Metadata": "[ONNX Layer: conv]"}]}"#;
        let [layer] = &read(json).unwrap()[..] else { panic!("one layer") };
        assert_eq!((&layer.inputs[..], layer.weights), (&[DataType::Int8][..], Some(DataType::Int8)));
    }

    #[test]
    fn an_addend_that_is_fused_is_not_taken_for_the_kernel() {
        // as TensorRT-RTX 1.7.1 reports a quantized convolution with a residual
        let layer = |inputs: &[&str], constants: &[&str]| {
            let bindings = |types: &[&str]| {
                let binding = |name: &&str| Binding { data_type: (*name).to_owned(), ..Binding::default() };
                types.iter().map(binding).collect()
            };
            let (inputs, constants) = (bindings(inputs), bindings(constants));
            Layer { operator: "correlation".to_owned(), inputs, constants, ..Layer::default() }
        };
        assert_eq!(layer(&["Int8", "Float"], &["Int8", "Float"]).kernel_type(), Some(DataType::Int8));
        assert_eq!(layer(&["Int8", "Int8"], &["Float"]).kernel_type(), Some(DataType::Int8));
        assert_eq!(layer(&["Int8", "Float"], &["Float"]).kernel_type(), Some(DataType::Float));
        assert_eq!(layer(&["Float", "Float"], &[]).kernel_type(), Some(DataType::Float));
        assert_eq!(layer(&["Int8"], &[]).kernel_type(), None);
    }

    #[test]
    fn an_addend_of_the_data_type_does_not_hide_another_kernel() {
        let binding = |data_type: &str, extents: &[u64]| Binding {
            data_type: data_type.to_owned(),
            extents: extents.to_vec(),
            ..Binding::default()
        };
        let layer = |operator: &str, kernel: Binding, addend: Binding| Layer {
            operator: operator.to_owned(),
            inputs: vec![binding("Int8", &[1, 8, 6, 6]), addend],
            constants: vec![kernel, binding("Float", &[1, 4, 1, 1])],
            outputs: vec![binding("Float", &[1, 4, 6, 6])],
            ..Layer::default()
        };
        let addend = || binding("Int8", &[1, 4, 6, 6]);
        let conv = layer("correlation", binding("Float", &[4, 8, 1, 1]), addend());
        assert_eq!(conv.kernel_type(), Some(DataType::Float));
        let grouped = layer("correlation", binding("Int8", &[4, 2, 1, 1]), binding("Float", &[1, 4, 6, 6]));
        assert_eq!(grouped.kernel_type(), Some(DataType::Int8));
        let deconv = layer("deconv", binding("Float", &[8, 4, 1, 1]), addend());
        assert_eq!(deconv.kernel_type(), Some(DataType::Float));
    }

    #[test]
    fn names_stand_in_for_metadata_that_a_release_does_not_have() {
        assert_eq!(
            fused_names("w + dequantize_w_dequantize_scale_node + conv"),
            ["w", "dequantize_w", "conv"]
        );
        assert_eq!(fused_names("conv"), ["conv"]);
        assert!(fused_names("Reformatting CopyNode for Input Tensor 0 to conv").is_empty());
        assert!(fused_names("(Unnamed Layer* 0) [Shuffle]").is_empty());
    }
}
