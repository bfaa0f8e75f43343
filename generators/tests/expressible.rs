//! What the intermediate representation can express and the generators never draw: nothing, except for a stated reason.
//!
//! The operators and their attributes are asked of the representation itself, so that what is added there has to be drawn or
//! explained here. To see how often each is drawn: `cargo test -p twinfer-generators --test expressible -- --nocapture`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use twinfer_case::Case;
use twinfer_generators::{Distribution, Family};
use twinfer_onnx::{DataType, Dim, Graph, MAX_OPSET, MIN_OPSET, Node, Op};

const CASES: u64 = 5000;

/// The inputs of each operator: how many ONNX requires, and how many there are; of Concat the first two.
const INPUTS: [(&str, usize, usize); 21] = [
    ("Add", 2, 2),
    ("AveragePool", 1, 1),
    ("BatchNormalization", 5, 5),
    ("Clip", 1, 3),
    ("Concat", 1, 2),
    ("Constant", 0, 0),
    ("Conv", 2, 3),
    ("ConvInteger", 2, 4),
    ("ConvTranspose", 2, 3),
    ("DequantizeLinear", 2, 3),
    ("GlobalAveragePool", 1, 1),
    ("HardSwish", 1, 1),
    ("Identity", 1, 1),
    ("LeakyRelu", 1, 1),
    ("MaxPool", 1, 1),
    ("Mul", 2, 2),
    ("QLinearConv", 8, 9),
    ("QuantizeLinear", 2, 3),
    ("Relu", 1, 1),
    ("Sigmoid", 1, 1),
    ("Transpose", 1, 1),
];

const SOURCES: [&str; 4] = ["fed", "initializer", "Constant", "computed"];

/// What is never drawn: the names, and why.
const NEVER: &[(&[&str], &str)] = &[
    (
        &[
            "AveragePool: input 0 Constant",
            "AveragePool: input 0 initializer",
            "BatchNormalization: input 0 Constant",
            "BatchNormalization: input 0 initializer",
            "Clip: input 0 Constant",
            "Clip: input 0 initializer",
            "Concat: input 0 Constant",
            "Concat: input 0 initializer",
            "Concat: input 1 Constant",
            "Concat: input 1 initializer",
            "Conv: input 0 Constant",
            "Conv: input 0 initializer",
            "ConvInteger: input 0 Constant",
            "ConvInteger: input 0 initializer",
            "ConvTranspose: input 0 Constant",
            "ConvTranspose: input 0 initializer",
            "GlobalAveragePool: input 0 Constant",
            "GlobalAveragePool: input 0 initializer",
            "HardSwish: input 0 Constant",
            "HardSwish: input 0 initializer",
            "LeakyRelu: input 0 Constant",
            "LeakyRelu: input 0 initializer",
            "MaxPool: input 0 Constant",
            "MaxPool: input 0 initializer",
            "Mul: input 0 Constant",
            "Mul: input 0 initializer",
            "Mul: input 1 Constant",
            "Mul: input 1 initializer",
            "QLinearConv: input 0 Constant",
            "QLinearConv: input 0 initializer",
            "Relu: input 0 Constant",
            "Relu: input 0 initializer",
            "Sigmoid: input 0 Constant",
            "Sigmoid: input 0 initializer",
            "Transpose: input 0 Constant",
            "Transpose: input 0 initializer",
        ],
        "no family computes on constants alone, which backends fold",
    ),
    (
        &[
            "BatchNormalization: input 1 computed",
            "BatchNormalization: input 1 fed",
            "BatchNormalization: input 2 computed",
            "BatchNormalization: input 2 fed",
            "BatchNormalization: input 3 computed",
            "BatchNormalization: input 3 fed",
            "BatchNormalization: input 4 computed",
            "BatchNormalization: input 4 fed",
            "Clip: input 1 computed",
            "Clip: input 1 fed",
            "Clip: input 2 computed",
            "Clip: input 2 fed",
            "ConvInteger: input 1 computed",
            "ConvInteger: input 1 fed",
            "ConvInteger: input 2 fed",
            "ConvInteger: input 3 fed",
            "DequantizeLinear: input 1 fed",
            "DequantizeLinear: input 2 fed",
            "QLinearConv: input 1 fed",
            "QLinearConv: input 2 fed",
            "QLinearConv: input 3 computed",
            "QLinearConv: input 3 fed",
            "QLinearConv: input 4 fed",
            "QLinearConv: input 5 fed",
            "QLinearConv: input 6 fed",
            "QLinearConv: input 7 fed",
            "QLinearConv: input 8 computed",
            "QLinearConv: input 8 fed",
            "QuantizeLinear: input 1 fed",
            "QuantizeLinear: input 2 fed",
        ],
        "models store them: only weights and biases are fed, and only scales and zero points computed",
    ),
    (&["Concat: input 1 left out"], "not yet: Concat of one value"),
    (&["Identity: input 0 computed"], "not yet: Identity is drawn in front of parameters alone"),
    (
        &["AveragePool: input 0 fed", "GlobalAveragePool: input 0 fed", "MaxPool: input 0 fed"],
        "a block computes before it pools",
    ),
    (&["MaxPool: storage_order written"], "it has no effect with one output"),
    (&["BatchNormalization: training_mode written"], "not yet: its default is never written"),
    (
        &["operator set 7", "operator set 8", "operator set 9", "operator set 10"],
        "golden judges them in models of users; there are hardly new ones, and TensorRT upgrades them",
    ),
    (
        &["extents of inputs: not declared", "extents of outputs: not declared"],
        "ONNX's checker demands shapes of the inputs and outputs of a model",
    ),
    (
        &[
            "input of the graph: BOOL",
            "output of the graph: BOOL",
            "input of the graph: INT64",
            "output of the graph: INT64",
        ],
        "no operator of convolutions or quantizers takes the type",
    ),
    (
        &["requested: BOOL", "requested: INT32", "requested: INT64", "requested: INT8", "requested: UINT8"],
        "the request is the type of floats",
    ),
    (
        &[
            "input of the graph: BFLOAT16",
            "input of the graph: DOUBLE",
            "output of the graph: BFLOAT16",
            "output of the graph: DOUBLE",
            "requested: BFLOAT16",
            "requested: DOUBLE",
        ],
        "ONNX Runtime's CPU provider has no BFLOAT16 convolution and TensorRT no DOUBLE: a campaign would drown in refusals",
    ),
];

#[test]
fn what_can_be_expressed_is_drawn_or_explained() {
    let drawn = drawn();
    let expressible = expressible();
    for fact in &expressible {
        println!("{:>6} {fact}", drawn.get(fact).copied().unwrap_or(0));
    }
    let is_explained = |fact: &String| NEVER.iter().any(|(names, _)| names.contains(&fact.as_str()));
    let missing: Vec<_> =
        expressible.iter().filter(|fact| !drawn.contains_key(*fact) && !is_explained(fact)).collect();
    assert!(missing.is_empty(), "neither drawn nor explained: {missing:#?}");
}

#[test]
fn reasons_concern_what_is_never_drawn() {
    let drawn = drawn();
    let expressible = expressible();
    for (name, reason) in
        NEVER.iter().flat_map(|(names, reason)| names.iter().map(move |name| (*name, reason)))
    {
        assert!(expressible.contains(name), "{name}, {reason}: nothing has this name");
        assert!(!drawn.contains_key(name), "{name}, {reason}: it is drawn");
    }
}

/// Everything that a case can have or lack, by name.
fn expressible() -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for name in operators() {
        facts.insert(name.clone());
        for attribute in optional_attributes(&name) {
            facts.extend(["written", "absent"].map(|form| format!("{name}: {attribute} {form}")));
        }
        let (required, inputs) = inputs(&name);
        for input in 0..inputs {
            facts.extend(SOURCES.map(|source| format!("{name}: input {input} {source}")));
        }
        facts.extend((required..inputs).map(|input| format!("{name}: input {input} left out")));
    }
    facts.extend((MIN_OPSET..=MAX_OPSET).map(|opset| format!("operator set {opset}")));
    facts.extend(types().map(|dtype| format!("input of the graph: {dtype}")));
    facts.extend(types().map(|dtype| format!("output of the graph: {dtype}")));
    facts.extend(types().map(|dtype| format!("requested: {dtype}")));
    facts.extend(["TF32 allowed", "TF32 forbidden"].map(str::to_owned));
    for count in ["inputs of the graph", "outputs of the graph", "runs"] {
        facts.extend(["one", "several"].map(|form| format!("{count}: {form}")));
    }
    facts.extend(["fixed", "symbolic", "not declared"].map(|form| format!("extents of inputs: {form}")));
    facts.extend(["fixed", "symbolic", "not declared"].map(|form| format!("extents of outputs: {form}")));
    facts
}

/// The names of all operators: those that reading an unknown one lists.
fn operators() -> Vec<String> {
    let error = serde_json::from_value::<Op>(json!({"op_type": ""})).expect_err("no operator has this name");
    let text = error.to_string();
    text.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// How many inputs an operator requires, and how many it has.
fn inputs(name: &str) -> (usize, usize) {
    let found = INPUTS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, required, all)| (*required, *all)).expect("the inputs of every operator are listed")
}

/// The attributes of an operator that may be absent.
fn optional_attributes(name: &str) -> Vec<String> {
    let required =
        json!({"op_type": name, "axis": 1, "kernel_shape": [1], "shape": [], "data": {"INT32": [1]}});
    let optional = json!({"op_type": name});
    let read = |value: Value| serde_json::from_value::<Op>(value);
    let op = read(optional).or_else(|_| read(required)).expect("attributes that are required are given");
    let written = serde_json::to_value(&op).expect("an operator is data");
    let attributes = written.as_object().into_iter().flatten();
    attributes.filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect()
}

fn types() -> impl Iterator<Item = &'static str> {
    DataType::ALL.into_iter().map(DataType::name)
}

/// How many of the cases of all valid families have each fact.
fn drawn() -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for family in Family::VALID {
        let stream = family.stream(Distribution::Full, 7);
        for index in 0..CASES {
            for fact in facts(&stream.case(index)) {
                *counts.entry(fact).or_default() += 1;
            }
        }
    }
    counts
}

fn facts(case: &Case) -> BTreeSet<String> {
    let graph = &case.graph;
    let mut facts: BTreeSet<String> =
        graph.nodes.iter().flat_map(|node| facts_of_node(graph, node)).collect();
    facts.insert(format!("operator set {}", graph.opset));
    facts.insert(format!("requested: {}", case.request.precision.name()));
    facts.insert(format!("TF32 {}", if case.request.tf32 { "allowed" } else { "forbidden" }));
    facts.extend(graph.inputs.iter().map(|input| format!("input of the graph: {}", input.dtype.name())));
    facts.extend(graph.outputs.iter().map(|output| format!("output of the graph: {}", output.dtype.name())));
    for (name, count) in [
        ("inputs of the graph", graph.inputs.len()),
        ("outputs of the graph", graph.outputs.len()),
        ("runs", case.runs.len()),
    ] {
        facts.insert(format!("{name}: {}", if count > 1 { "several" } else { "one" }));
    }
    for (name, values) in [("inputs", &graph.inputs), ("outputs", &graph.outputs)] {
        facts.extend(
            values
                .iter()
                .flat_map(|value| extents(value.shape.as_deref()))
                .map(|form| format!("extents of {name}: {form}")),
        );
    }
    facts
}

fn extents(shape: Option<&[Dim]>) -> Vec<&'static str> {
    let form = |dim: &Dim| match dim {
        Dim::Fixed(_) => "fixed",
        Dim::Symbolic(_) => "symbolic",
    };
    shape.map_or_else(|| vec!["not declared"], |dims| dims.iter().map(form).collect())
}

fn facts_of_node(graph: &Graph, node: &Node) -> Vec<String> {
    let name = node.op.op_type();
    let mut facts = vec![name.to_owned()];
    let written = serde_json::to_value(&node.op).expect("an operator is data");
    for attribute in optional_attributes(name) {
        let form = if written[&attribute].is_null() { "absent" } else { "written" };
        facts.push(format!("{name}: {attribute} {form}"));
    }
    facts.extend(
        (0..inputs(name).1)
            .map(|input| format!("{name}: input {input} {}", source(graph, node.input(input)))),
    );
    facts
}

fn source(graph: &Graph, name: Option<&str>) -> &'static str {
    let Some(name) = name else { return "left out" };
    match graph.producer(name).map(|node| &node.op) {
        Some(Op::Constant(_)) => "Constant",
        Some(_) => "computed",
        None if graph.input(name).is_some() => "fed",
        None => "initializer",
    }
}
