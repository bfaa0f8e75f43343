//! What ONNX Runtime made of a graph: the optimized model that it writes while it makes a session.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::PathBuf,
};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use twinfer_case::LayerInfo;
use twinfer_onnx::{DataType, MAX_MODEL_BYTES, Outline, OutlineNode};

/// A file in memory for the model of one session after the other; it ends with the process.
pub struct OptimizedModel(File);

impl OptimizedModel {
    pub fn create() -> std::io::Result<Self> {
        let file: OwnedFd = memfd_create("twinfer-optimized-model", MemfdFlags::CLOEXEC)?;
        Ok(Self(file.into()))
    }

    /// Where ONNX Runtime writes the next model; what was there is dropped.
    pub fn path(&self) -> std::io::Result<PathBuf> {
        ftruncate(&self.0, 0)?;
        Ok(format!("/proc/self/fd/{}", self.0.as_raw_fd()).into())
    }

    /// The layers of the model that was written; `None` if there is none that can be read.
    pub fn layers(&self) -> Option<Vec<LayerInfo>> {
        let length = self.0.metadata().ok()?.len().min(MAX_MODEL_BYTES as u64);
        let mut bytes = vec![0; length as usize];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        let outline = Outline::decode(&bytes).ok()?;
        (!outline.nodes.is_empty()).then(|| layers(&outline))
    }
}

/// Whether a model has quantizers, as far as its bytes show: both operators' names end like this.
pub fn mentions_quantizers(model: &[u8]) -> bool {
    const NAME: &[u8] = b"uantizeLinear";
    model.windows(NAME.len()).any(|window| window == NAME)
}

/// One layer a node, in the order in which the nodes run.
fn layers(outline: &Outline) -> Vec<LayerInfo> {
    let mut types = outline.types.clone();
    let constants: HashSet<&str> = outline.initializers.iter().map(String::as_str).collect();
    outline
        .nodes
        .iter()
        .map(|node| {
            let given = given_type(node, &types);
            for output in &node.outputs {
                if let Some(dtype) = given {
                    types.entry(output.clone()).or_insert(dtype);
                }
            }
            layer(node, &types, &constants)
        })
        .collect()
}

fn layer(node: &OutlineNode, types: &HashMap<String, DataType>, constants: &HashSet<&str>) -> LayerInfo {
    let typed = |names: &mut dyn Iterator<Item = &String>| {
        names.filter_map(|name| types.get(name).copied()).collect()
    };
    let mut computed = node.inputs.iter().filter(|input| !constants.contains(input.as_str()));
    LayerInfo {
        name: node.name.clone(),
        operator: node.op_type.clone(),
        inputs: typed(&mut computed),
        outputs: typed(&mut node.outputs.iter()),
        weights: kernel(node).and_then(|name| types.get(name).copied()),
        tactic: None,
        placement: None,
        nodes: vec![original_name(&node.name).to_owned()],
    }
}

/// The weights among the inputs of a convolution, by the operators that ONNX Runtime turns one into.
fn kernel(node: &OutlineNode) -> Option<&String> {
    let index = match node.op_type.as_str() {
        "Conv" | "ConvTranspose" | "FusedConv" | "NhwcFusedConv" | "ConvInteger" => 1,
        "QLinearConv" => 3,
        _ => return None,
    };
    node.inputs.get(index)
}

/// The type that a node gives its output, where the model does not say: the one that it casts to, that of the output's zero
/// point where it quantizes, of the scale where it dequantizes, and otherwise that of its first input.
fn given_type(node: &OutlineNode, types: &HashMap<String, DataType>) -> Option<DataType> {
    let index = match node.op_type.as_str() {
        "Cast" => return node.to,
        "QuantizeLinear" if node.inputs.get(2).is_none_or(String::is_empty) => return Some(DataType::Uint8),
        "QuantizeLinear" => 2,
        "ConvInteger" | "MatMulInteger" => return Some(DataType::Int32),
        "QLinearConv" | "QLinearAdd" | "QLinearMatMul" => 7,
        "DequantizeLinear" | "QLinearConcat" => 1,
        _ => 0,
    };
    node.inputs.get(index).and_then(|name| types.get(name)).copied()
}

/// The name of the node that a node was made of: ONNX Runtime numbers the copies that it makes, `conv_token_3`.
pub fn original_name(name: &str) -> &str {
    match name.rsplit_once("_token_") {
        Some((original, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => original,
        _ => name.strip_suffix("_nchwc").unwrap_or(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, op_type: &str, inputs: &[&str], output: &str) -> OutlineNode {
        OutlineNode {
            name: name.to_owned(),
            op_type: op_type.to_owned(),
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
            to: None,
        }
    }

    /// As ONNX Runtime 1.31.1 optimizes a quantized convolution.
    fn fused() -> Outline {
        let constants =
            [("s", DataType::Float), ("z", DataType::Uint8), ("w", DataType::Int8), ("w_z", DataType::Int8)];
        let conv = ["t", "s", "z", "w", "s", "w_z", "s", "z"];
        Outline {
            nodes: vec![
                node("q_x", "QuantizeLinear", &["x", "s", "z"], "q"),
                node("Transpose", "Transpose", &["q"], "t"),
                node("conv_token_3", "QLinearConv", &conv, "c"),
                node("dq_y", "DequantizeLinear", &["c", "s", "z"], "y"),
            ],
            types: [("x", DataType::Float), ("y", DataType::Float)]
                .into_iter()
                .chain(constants)
                .map(|(name, dtype)| (name.to_owned(), dtype))
                .collect(),
            initializers: constants.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn types_follow_from_zero_points_and_from_what_goes_in() {
        let layers = layers(&fused());
        let conv = &layers[2];
        assert_eq!((conv.operator.as_str(), &conv.nodes[..]), ("QLinearConv", &["conv".to_owned()][..]));
        assert_eq!((&conv.inputs[..], conv.weights), (&[DataType::Uint8][..], Some(DataType::Int8)));
        assert_eq!(
            (&conv.outputs[..], &layers[3].outputs[..]),
            (&[DataType::Uint8][..], &[DataType::Float][..])
        );
    }

    #[test]
    fn a_cast_gives_what_it_casts_to_and_not_what_goes_in() {
        let cast = |to| OutlineNode { to, ..node("cast", "Cast", &["q"], "f") };
        let outputs = |to| {
            let conv = node("conv", "Conv", &["f", "w"], "c");
            let quantized = node("q_x", "QuantizeLinear", &["x", "s", "z"], "q");
            let layers = layers(&Outline { nodes: vec![quantized, cast(to), conv], ..fused() });
            layers[2].inputs.clone()
        };
        assert_eq!(outputs(Some(DataType::Float)), [DataType::Float]);
        assert_eq!(outputs(None), [], "a type that is not known is not guessed");
    }

    #[test]
    fn a_model_is_read_back_from_memory_and_an_earlier_one_is_not() {
        let model = OptimizedModel::create().unwrap();
        std::fs::write(model.path().unwrap(), b"no model").unwrap();
        assert_eq!(model.layers(), None);
        let _ = model.path().unwrap();
        assert_eq!(model.0.metadata().unwrap().len(), 0);
    }

    #[test]
    fn quantizers_are_seen_in_the_bytes_of_a_model() {
        assert!(mentions_quantizers(b"\x12DequantizeLinear") && mentions_quantizers(b"QuantizeLinear"));
        assert!(!mentions_quantizers(b"ConvTranspose"));
    }

    #[test]
    fn numbers_of_copies_are_no_part_of_a_name() {
        assert_eq!(
            ["conv_token_3", "conv", "a_token_b", "conv_nchwc"].map(original_name),
            ["conv", "conv", "a_token_b", "conv"]
        );
    }
}
