use std::sync::{Arc, Mutex, PoisonError};

use twinfer_case::LayerInfo;

use super::{Binding, Layer};

/// What opens the message in which a builder lists the layers of the engine that it built.
const OPENING: &str = "Layers:\n";

/// The most bytes that are kept of that message.
const MAX_BYTES: usize = 1 << 20;

/// Keeps what a builder logs of the layers of its latest engine; shared with the library's callback.
///
/// TensorRT-RTX 1.7 logs, at its highest verbosity, a line a layer with the attributes that an inspector gives as JSON:
/// `Name: …, LayerType: …, Inputs: [ { Name: …, Dimensions: […], …, Datatype: Int8, Format: … }], …, Metadata: …`.
#[derive(Clone, Default)]
pub struct BuildLog(Arc<Mutex<Option<String>>>);

impl BuildLog {
    /// Takes a line of the log; callable from any thread.
    pub fn push(&self, text: &str) {
        if text.starts_with(OPENING) && text.len() <= MAX_BYTES {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        }
    }

    /// Forgets what was logged so far.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The layers that were logged since the last call.
    pub fn take(&self) -> Option<Vec<LayerInfo>> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let layers: Vec<_> = text.lines().filter_map(layer).map(LayerInfo::from).collect();
        (!layers.is_empty()).then_some(layers)
    }
}

/// A line that describes a layer.
fn layer(line: &str) -> Option<Layer> {
    let (name, rest) = line.strip_prefix("Name: ")?.split_once(", LayerType: ")?;
    let operator = rest.split_once(',').map_or(rest, |(operator, _)| operator);
    let (rest, metadata) = rest.split_once(", Metadata: ").unwrap_or((rest, ""));
    let (rest, tactic) = rest.split_once(", TacticName: ").unwrap_or((rest, ""));
    Some(Layer {
        name: name.to_owned(),
        operator: operator.trim().to_owned(),
        inputs: bindings(rest, "Inputs"),
        outputs: bindings(rest, "Outputs"),
        constants: bindings(rest, "Constants"),
        weights: None,
        tactic_name: tactic.split(',').next().map(str::to_owned),
        metadata: metadata.to_owned(),
    })
}

/// The tensors in the list that is called `list`: `Inputs: [ { … }, { … }]`.
fn bindings(line: &str, list: &str) -> Vec<Binding> {
    let opening = format!(", {list}: [ ");
    let Some((_, behind)) = line.split_once(&opening) else { return Vec::new() };
    let listed = behind.split_once("}]").map_or(behind, |(listed, _)| listed);
    listed
        .split("{ Name: ")
        .skip(1)
        .map(|tensor| Binding {
            data_type: field(tensor, "Datatype").to_owned(),
            extents: extents(tensor),
            ..Binding::default()
        })
        .collect()
}

/// `Dimensions: [1,8,6,6]`; an extent that is no number is left out.
fn extents(tensor: &str) -> Vec<u64> {
    let list = tensor.split_once(", Dimensions: [").and_then(|(_, behind)| behind.split_once(']'));
    list.map_or_else(Vec::new, |(list, _)| list.split(',').filter_map(|extent| extent.parse().ok()).collect())
}

fn field<'a>(tensor: &'a str, name: &str) -> &'a str {
    let value = tensor.split_once(&format!(", {name}: ")).map_or("", |(_, behind)| behind);
    value.split([',', ' ', '}']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    /// As TensorRT-RTX 1.7.1 logs the engine of a quantized convolution without a GPU.
    const CONVOLUTION: &str = include_str!("rtx-1.7.1-qdq-conv.log");
    /// The same of a quantized deconvolution, which it runs on floats.
    const DECONVOLUTION: &str = include_str!("rtx-1.7.1-qdq-deconv.log");

    #[test]
    fn extents_are_read_with_the_types() {
        let bindings = bindings(CONVOLUTION.lines().nth(2).unwrap(), "Constants");
        assert_eq!(bindings[0].extents, [8, 8, 3, 3]);
    }

    fn layers(text: &str) -> Vec<LayerInfo> {
        let log = BuildLog::default();
        log.push("Graph construction completed");
        log.push(text);
        log.push("I/O Tensors:");
        log.take().unwrap()
    }

    #[test]
    fn a_logged_convolution_has_int8_operands_and_its_nodes() {
        let layers = layers(CONVOLUTION);
        let operators: Vec<_> = layers.iter().map(|layer| layer.operator.as_str()).collect();
        assert_eq!(operators, ["kgen", "correlation", "kgen"]);
        let conv = &layers[1];
        assert_eq!((&conv.inputs[..], conv.weights), (&[DataType::Int8][..], Some(DataType::Int8)));
        assert_eq!(conv.outputs, [DataType::Float]);
        assert_eq!(conv.nodes, ["conv", "dq_xd", "dq_w"]);
        assert_eq!(conv.tactic.as_deref(), Some("__myelin_CASK_STUB"));
        assert_eq!((&layers[0].outputs[..], layers[0].weights), (&[DataType::Int8][..], None));
    }

    #[test]
    fn a_logged_deconvolution_has_float_operands() {
        let layers = layers(DECONVOLUTION);
        let deconv = layers.iter().find(|layer| layer.operator == "deconv").unwrap();
        assert_eq!(deconv.inputs, [DataType::Float, DataType::Float]);
        assert_eq!((deconv.weights, &deconv.nodes[..]), (Some(DataType::Float), &["conv".to_owned()][..]));
    }

    #[test]
    fn what_is_taken_once_is_gone_and_other_text_is_no_layer() {
        let log = BuildLog::default();
        log.push(CONVOLUTION);
        assert!(log.take().is_some() && log.take().is_none());
        log.push("Layers:\nnothing of the kind\nName: half a line");
        assert!(log.take().is_none());
        log.push("Layers: 3");
        assert!(log.take().is_none());
    }
}
