//! What the quantized families are for: mistakes in quantization show, and what backends are known to fail on occurs.

use std::collections::BTreeSet;

use twinfer_case::{Case, TensorSource};
use twinfer_generators::{Distribution, Family};
use twinfer_golden::{Mutant, evaluate, evaluate_with};
use twinfer_onnx::{DataType, DequantizeLinear, Graph, Node, Op, Tensor};

const QUANTIZED: [Family; 3] = [Family::QdqConv, Family::QdqDeconv, Family::Block];

fn cases(family: Family, count: u64) -> impl Iterator<Item = Case> {
    let stream = family.stream(Distribution::Baseline, 11);
    (0..count).map(move |index| stream.case(index))
}

/// Whether the mutant changes an output beyond its bound in some run.
fn shows(case: &Case, mutant: Mutant) -> bool {
    let tensor = |source: &TensorSource| source.tensor().expect("a generated tensor is small").into_owned();
    case.runs.iter().any(|run| {
        let inputs: Vec<_> = run.inputs.iter().map(tensor).collect();
        let right = evaluate(&case.graph, &inputs).expect("golden knows generated graphs");
        let wrong = evaluate_with(&case.graph, &inputs, Some(mutant)).expect("shapes stay as they are");
        right.outputs.iter().zip(&wrong.outputs).any(|(right, wrong)| {
            let mut values = right.values.iter().zip(&wrong.values).zip(&right.bound);
            values.any(|((right, wrong), bound)| (right - wrong).abs() > *bound)
        })
    })
}

/// What a case has, by the names that the tests ask for.
fn features(case: &Case) -> BTreeSet<&'static str> {
    let graph = &case.graph;
    let mut features = BTreeSet::new();
    let dequantizers = graph.nodes.iter().filter_map(|node| Some((node, dequantizer(node)?)));
    if dequantizers.clone().next().is_some() {
        features.insert("quantized");
        if dequantizers.clone().all(|(node, _)| is_symmetric(graph, node)) {
            features.insert("symmetric");
        }
    }
    for (node, _) in dequantizers {
        if initializer(graph, &node.inputs[1]).len() > 1 {
            features.insert("several scales");
            // along an axis of extent 1 there is but the first scale, which is another mutant
            let extents = shape_of_weights(graph, node);
            let other = usize::from(scale_axis(node, extents.len()) == 0);
            if extents.get(other).is_some_and(|extent| *extent > 1) {
                features.insert("several scales and two axes for them");
            }
        }
        if node.inputs.get(2).is_some_and(|name| initializer(graph, name).to_f64().iter().any(|x| *x != 0.0))
        {
            features.insert("zero point");
        }
        if graph
            .producer(&node.inputs[0])
            .is_some_and(|quantizer| graph.initializer(&quantizer.inputs[0]).is_some())
        {
            features.insert("weights through both");
        }
    }
    for node in &graph.nodes {
        let Some(window) = node.op.window() else { continue };
        let Some(weights) = graph.producer(&node.inputs[1]) else { continue };
        let (Some(attributes), true) = (dequantizer(weights), features.contains("symmetric")) else {
            continue;
        };
        if window.group() > 1 {
            features.insert("symmetric in groups");
        }
        if window.kernel_shape.is_none() && graph.producer(&weights.inputs[0]).is_some() {
            features.insert("kernel_shape from weights through both");
        }
        let scales = initializer(graph, &weights.inputs[1]).len();
        let outputs = shape_of_weights(graph, weights)[1];
        let is_axis_0 = attributes.axis.is_some_and(|axis| axis == 0 || axis < -2);
        if window.transposed && window.group() == 1 && is_axis_0 && scales > 1 && scales != outputs {
            features.insert("deconvolution with scales along axis 0");
        }
    }
    features
}

/// The axis of a dequantizer's scales, counted from the front.
fn scale_axis(node: &Node, rank: usize) -> usize {
    let axis = dequantizer(node).and_then(|attributes| attributes.axis).unwrap_or(1);
    axis.rem_euclid(rank as i64) as usize
}

fn dequantizer(node: &Node) -> Option<&DequantizeLinear> {
    match &node.op {
        Op::DequantizeLinear(attributes) => Some(attributes),
        _ => None,
    }
}

fn is_symmetric(graph: &Graph, node: &Node) -> bool {
    let zero_point = node.inputs.get(2).map(|name| initializer(graph, name));
    let is_signed = match zero_point {
        Some(zero_point) => zero_point.dtype() != DataType::Uint8,
        None => {
            graph.initializer(&node.inputs[0]).is_some()
                && initializer(graph, &node.inputs[0]).dtype() != DataType::Uint8
        }
    };
    is_signed && zero_point.is_none_or(|zero_point| zero_point.to_f64().iter().all(|x| *x == 0.0))
}

fn shape_of_weights(graph: &Graph, dequantizer: &Node) -> Vec<usize> {
    let integers = &dequantizer.inputs[0];
    let stored = graph.producer(integers).map_or(integers, |quantizer| &quantizer.inputs[0]);
    initializer(graph, stored).shape.clone()
}

fn initializer<'a>(graph: &'a Graph, name: &str) -> &'a Tensor {
    graph.initializer(name).expect("parameters of quantizers are initializers")
}

#[test]
fn mistakes_in_quantization_show_where_they_are_made() {
    // at least so many in a hundred of the cases that have what the mistake is made in
    let mistakes = [
        (Mutant::WeightsUnquantized, "weights through both", 65),
        (Mutant::ActivationsUnquantized, "quantized", 85),
        (Mutant::ScaleOnOtherAxis, "several scales and two axes for them", 78),
        (Mutant::FirstScaleForAll, "several scales", 78),
        (Mutant::ZeroPointIgnored, "zero point", 35),
        (Mutant::RoundedHalfAway, "quantized", 30),
        (Mutant::Truncated, "quantized", 80),
        (Mutant::Wrapped, "quantized", 28),
    ];
    for (mutant, feature, percent) in mistakes {
        let with: Vec<_> = QUANTIZED
            .into_iter()
            .flat_map(|family| cases(family, 150))
            .filter(|case| features(case).contains(feature))
            .collect();
        let shown = with.iter().filter(|case| shows(case, mutant)).count();
        println!("{} shows in {shown} of {} cases, {feature}", mutant.name(), with.len());
        assert!(with.len() >= 50 && shown * 100 >= with.len() * percent, "{}", mutant.name());
    }
}

#[test]
fn what_backends_are_known_to_fail_on_is_not_rare() {
    // at least so many in a hundred
    let wanted = [
        (Family::QdqConv, "symmetric", 60),
        (Family::QdqDeconv, "symmetric", 60),
        (Family::Block, "symmetric", 45),
        (Family::QdqConv, "symmetric in groups", 8),
        (Family::QdqDeconv, "symmetric in groups", 8),
        (Family::QdqConv, "kernel_shape from weights through both", 6),
        (Family::QdqDeconv, "deconvolution with scales along axis 0", 12),
        (Family::Block, "kernel_shape from weights through both", 6),
    ];
    for (family, feature, percent) in wanted {
        let found = cases(family, 2000).filter(|case| features(case).contains(feature)).count();
        println!("{family}: {found} of 2000 {feature}");
        assert!(found >= 20 * percent, "{family}: {found} of 2000 {feature}");
    }
}
