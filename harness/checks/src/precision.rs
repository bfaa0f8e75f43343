//! An operator runs in the precision that the graph or the variant asks for: `precision-fallback`.
//!
//! A graph asks for it if the data and the weights of a convolution come out of `DequantizeLinear`, and of any other operator for which
//! the description of a backend promises it. The description states whether the backend runs such operators quantized; a backend
//! that simulates quantization on floats is as right. Every layer that the backend reports is checked, and a note says how it ran.
//!
//! In graphs of 32-bit floats, convolutions run on the types of floats that the variant allows, and on the one that it requires.

use std::collections::BTreeMap;

use twinfer_case::{
    Case, ChosenPrecision, Condition, Divergence, Effect, Fallback, FallbackReason, FallbackValues,
    LayerInfo, Note, Observation, Quantization, QuantizedExecution, VariantInfo,
};
use twinfer_onnx::{DataType, Graph, Node, Op};

use crate::{Evidence, report::Report};

/// What the layers of an observation show of `case`, of which values were not compared.
pub fn fallbacks(case: &Case, info: &VariantInfo, observation: &Observation) -> (Vec<Divergence>, Vec<Note>) {
    let evidence = Evidence {
        case,
        variant: &info.variant,
        description: &info.description,
        references: &[],
        observation,
        repeat: None,
        fresh: None,
    };
    let mut report = Report::new(&info.variant);
    check(&evidence, false, &mut report);
    report.into_parts()
}

/// Checks the layers of the observation. `compared` is whether every run was compared with golden.
pub fn check(evidence: &Evidence<'_>, compared: bool, report: &mut Report<'_>) {
    let graph = &evidence.case.graph;
    let asked: Vec<&Node> = graph.nodes.iter().filter(|node| is_asked(evidence, node)).collect();
    let Some(precision) = &evidence.observation.precision else {
        if !asked.is_empty() && evidence.description.quantization == Quantization::Simulates {
            report.note(Note::QuantizedExecution(QuantizedExecution::Simulated));
        }
        return;
    };
    let ways = asked.iter().filter_map(|node| way(graph, precision, node));
    if let Some(way) = ways.reduce(|one, other| if one == other { one } else { QuantizedExecution::Mixed }) {
        report.note(Note::QuantizedExecution(way));
    }
    let values = match (report.has_wrong_values(), compared) {
        (true, _) => FallbackValues::Changed,
        (false, true) => FallbackValues::Kept,
        (false, false) => FallbackValues::NotCompared,
    };
    let mut fallbacks: BTreeMap<(Fallback, Option<&str>), Vec<&Node>> = BTreeMap::new();
    let is_broken = |node: &&&Node| {
        is_promised(evidence, node) && way(graph, precision, node) == Some(QuantizedExecution::Simulated)
    };
    for node in asked.iter().filter(is_broken) {
        let (reason, rule) = reason(evidence, precision, node);
        let fallback = Fallback { operator: node.op.op_type().to_owned(), reason, values };
        fallbacks.entry((fallback, rule)).or_default().push(node);
    }
    for node in graph.nodes.iter().filter(|node| is_convolution(&node.op) && !asked.contains(node)) {
        if let Some(reason) = float_reason(evidence, precision, node) {
            let fallback = Fallback { operator: node.op.op_type().to_owned(), reason, values };
            fallbacks.entry((fallback, None)).or_default().push(node);
        }
    }
    for ((fallback, rule), nodes) in fallbacks {
        let detail = detail(evidence, precision, &fallback, &nodes);
        report.falls_back(fallback, rule.map(str::to_owned), detail);
    }
}

/// Whether the graph asks the backend to run this node quantized.
fn is_asked(evidence: &Evidence<'_>, node: &Node) -> bool {
    let graph = &evidence.case.graph;
    Condition::QuantizedOperands.holds_at(graph, node)
        || evidence.description.quantization_promise(graph, node).is_some()
}

/// Whether the backend promises to run this node, whose operands are dequantized, on quantized operands.
fn is_promised(evidence: &Evidence<'_>, node: &Node) -> bool {
    if !is_convolution(&node.op) {
        return evidence.description.quantization_promise(&evidence.case.graph, node).is_some();
    }
    match evidence.description.quantization {
        Quantization::Unstated | Quantization::Simulates => false,
        Quantization::FusesOperands => true,
        Quantization::FusesPairs => is_quantized_again(&evidence.case.graph, node),
    }
}

/// Whether the node's result goes to `QuantizeLinear` and nowhere else.
fn is_quantized_again(graph: &Graph, node: &Node) -> bool {
    let Some(result) = node.outputs.first() else { return false };
    let mut readers = graph.readers(result).peekable();
    readers.peek().is_some()
        && readers.all(|reader| matches!(reader.op, Op::QuantizeLinear(_)))
        && graph.outputs.iter().all(|output| output.name != *result)
}

/// How a node ran, judged by the layers that cover it; `None` if none of them tells.
fn way(graph: &Graph, precision: &ChosenPrecision, node: &Node) -> Option<QuantizedExecution> {
    let layers: Vec<&LayerInfo> =
        covering(precision, &node.name).filter(|layer| !layer.inputs.is_empty()).collect();
    let is_fused = if is_convolution(&node.op) {
        convolves_quantized(&layers)
    } else {
        reads_quantized(graph, node, &layers)
    };
    is_fused.map(|is_fused| if is_fused { QuantizedExecution::Fused } else { QuantizedExecution::Simulated })
}

/// Whether one of the layers of a convolution has quantized data, and quantized weights if any layer reports weights.
fn convolves_quantized(layers: &[&LayerInfo]) -> Option<bool> {
    let has_weights = layers.iter().any(|layer| layer.weights.is_some());
    let mut typed = layers.iter().filter(|layer| layer.weights.is_some() == has_weights).peekable();
    typed.peek()?;
    Some(typed.any(|layer| has_quantized_input(layer) && layer.weights.is_none_or(is_quantized)))
}

/// Whether one of the layers of a node without weights has quantized data. A layer that quantizes the data itself does not tell what
/// it computes with.
fn reads_quantized(graph: &Graph, node: &Node, layers: &[&LayerInfo]) -> Option<bool> {
    if layers.iter().any(|layer| has_quantized_input(layer)) {
        return Some(true);
    }
    let quantizers: Vec<&Node> =
        node.inputs.iter().filter_map(|operand| quantizer_before(graph, operand)).collect();
    let quantizes =
        |layer: &LayerInfo| quantizers.iter().any(|quantizer| layer.nodes.contains(&quantizer.name));
    layers.iter().any(|layer| !quantizes(layer)).then_some(false)
}

/// The `QuantizeLinear` whose result is dequantized to give an operand.
fn quantizer_before<'g>(graph: &'g Graph, operand: &str) -> Option<&'g Node> {
    let dequantizer = graph.producer(operand)?;
    graph.producer(dequantizer.input(0)?)
}

fn has_quantized_input(layer: &LayerInfo) -> bool {
    layer.inputs.iter().copied().any(is_quantized)
}

const fn is_quantized(dtype: DataType) -> bool {
    matches!(dtype, DataType::Int8 | DataType::Uint8)
}

fn covering<'p>(precision: &'p ChosenPrecision, node: &str) -> impl Iterator<Item = &'p LayerInfo> {
    precision.layers.iter().filter(move |layer| layer.nodes.iter().any(|covered| covered == node))
}

const fn is_convolution(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::ConvTranspose(_))
}

/// What is wrong with the type of floats on which a convolution runs, given what the variant allows and requires and what its graph says;
/// `None` if nothing is, or if nobody says.
fn float_reason(evidence: &Evidence<'_>, precision: &ChosenPrecision, node: &Node) -> Option<FallbackReason> {
    let asked = evidence.description.float_precision.as_ref()?;
    // a graph that names a narrow type anywhere allows it everywhere
    if evidence.case.request.precision != DataType::Float || has_quantizers(&evidence.case.graph) {
        return None;
    }
    let mut types = covering(precision, &node.name).filter_map(float_type).peekable();
    types.peek()?;
    let (allowed, required) = (&asked.allowed, asked.required);
    let mut reasons = types.filter_map(|dtype| {
        let is_allowed = dtype == DataType::Float || allowed.contains(&dtype) || required == Some(dtype);
        if is_allowed {
            required.filter(|required| *required != dtype).map(|_| FallbackReason::NotObeyed)
        } else {
            Some(FallbackReason::NotAllowed)
        }
    });
    reasons.next()
}

fn has_quantizers(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| matches!(node.op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_)))
}

/// The type of floats on which a layer with weights runs.
fn float_type(layer: &LayerInfo) -> Option<DataType> {
    let is_float =
        |dtype: &DataType| matches!(dtype, DataType::Float | DataType::Float16 | DataType::Bfloat16);
    layer.weights.filter(is_float)
}

/// Why a node fell back, and the rule by which the backend documents the fallback, if there is one.
fn reason<'e>(
    evidence: &'e Evidence<'_>,
    precision: &ChosenPrecision,
    node: &Node,
) -> (FallbackReason, Option<&'e str>) {
    let graph = &evidence.case.graph;
    if covering(precision, &node.name).any(|layer| layer.placement.is_some()) {
        return (FallbackReason::Placement, None);
    }
    for limitation in evidence.description.limitations_at(graph, node) {
        if let Effect::Fallback(reason) = limitation.effect {
            return (reason, Some(&limitation.rule));
        }
    }
    let operands = if is_convolution(&node.op) { 2 } else { node.inputs.len() };
    let is_apart =
        node.inputs.iter().take(operands).any(|operand| is_computed_apart(graph, precision, node, operand));
    (if is_apart { FallbackReason::NotFused } else { FallbackReason::Unknown }, None)
}

/// Whether the `DequantizeLinear` that gives an operand is covered by layers that do not cover the node.
fn is_computed_apart(graph: &Graph, precision: &ChosenPrecision, node: &Node, operand: &str) -> bool {
    let Some(producer) = graph.producer(operand) else { return false };
    let mut layers = covering(precision, &producer.name).peekable();
    layers.peek().is_some() && layers.all(|layer| !layer.nodes.contains(&node.name))
}

fn detail(
    evidence: &Evidence<'_>,
    precision: &ChosenPrecision,
    fallback: &Fallback,
    nodes: &[&Node],
) -> String {
    let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    let mut layers = nodes.iter().flat_map(|node| covering(precision, &node.name));
    if matches!(fallback.reason, FallbackReason::NotAllowed | FallbackReason::NotObeyed) {
        let given = layers.find_map(float_type);
        let given = given.map_or_else(|| "another type".to_owned(), |dtype| dtype.to_string());
        let (why, values) = (fallback.reason.clause(), fallback.values.clause());
        return format!("{} {} runs on {given}: {why}; {values}", fallback.operator, names.join(", "));
    }
    let given = layers
        .flat_map(|layer| layer.weights.iter().chain(&layer.inputs))
        .find(|dtype| !is_quantized(**dtype));
    let given = given.map_or_else(|| "another type".to_owned(), ToString::to_string);
    let (why, values) = (fallback.reason.clause(), fallback.values.clause());
    let promises =
        nodes.iter().filter_map(|node| evidence.description.quantization_promise(&evidence.case.graph, node));
    let promised =
        promises.map(|promise| format!(" as {} promises", promise.rule)).next().unwrap_or_default();
    // recordings compare this text, so its spelling stays
    format!(
        "{} {} runs on {given}, not quantized{promised}: {why}; {values}",
        fallback.operator,
        names.join(", ")
    )
}
