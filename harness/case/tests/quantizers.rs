//! Conditions on quantizers and on the convolutions between them.

use twinfer_case::Condition;
use twinfer_onnx::{
    Conv, ConvTranspose, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op, QuantizeLinear,
    Tensor, TensorData, ValueInfo,
};

fn node(name: &str, op: Op, inputs: &[&str], output: &str) -> Node {
    Node {
        name: name.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    }
}

fn initializer(name: &str, shape: &[usize], data: TensorData) -> Initializer {
    Initializer { name: name.to_owned(), tensor: Tensor { shape: shape.to_vec(), data } }
}

fn scales(count: usize) -> TensorData {
    TensorData::Float(vec![0.5; count])
}

/// A grouped convolution of 8 channels into 6 in two groups, quantized on every side, its weights with a scale a channel.
fn convolution() -> Graph {
    let conv = Op::Conv(Conv { group: Some(2), ..Conv::default() });
    let of_weights = Some(0);
    Graph {
        opset: 17,
        inputs: vec![ValueInfo {
            name: "x".to_owned(),
            dtype: DataType::Float,
            shape: Some([1, 8, 4].map(Dim::Fixed).to_vec()),
        }],
        initializers: vec![
            initializer("s", &[], scales(1)),
            initializer("z", &[], TensorData::Int8(vec![0])),
            initializer("w", &[6, 4, 1], TensorData::Float(vec![1.0; 24])),
            initializer("w_s", &[6], scales(6)),
            initializer("w_z", &[6], TensorData::Int8(vec![0; 6])),
            initializer("b", &[6], TensorData::Float(vec![1.0; 6])),
        ],
        nodes: vec![
            node("q_x", Op::QuantizeLinear(QuantizeLinear::default()), &["x", "s", "z"], "xq"),
            node("dq_x", Op::DequantizeLinear(DequantizeLinear::default()), &["xq", "s", "z"], "xd"),
            node("q_w", Op::QuantizeLinear(QuantizeLinear { axis: of_weights }), &["w", "w_s", "w_z"], "wq"),
            node(
                "dq_w",
                Op::DequantizeLinear(DequantizeLinear { axis: of_weights }),
                &["wq", "w_s", "w_z"],
                "wd",
            ),
            node("conv", conv, &["xd", "wd"], "c"),
            node("q_y", Op::QuantizeLinear(QuantizeLinear::default()), &["c", "s", "z"], "y"),
        ],
        outputs: Vec::new(),
    }
}

fn node_mut<'g>(graph: &'g mut Graph, name: &str) -> &'g mut Node {
    graph.nodes.iter_mut().find(|node| node.name == name).expect("the node is there")
}

fn set(graph: &mut Graph, name: &str, data: TensorData) {
    let found = graph.initializers.iter_mut().find(|initializer| initializer.name == name);
    found.expect("the initializer is there").tensor.data = data;
}

#[test]
fn operands_are_quantized_if_both_are_dequantized() {
    let of = |graph: &Graph| {
        (Condition::QuantizedOperands.holds(graph), Condition::AnyQuantizedOperand.holds(graph))
    };
    let mut graph = convolution();
    assert_eq!(of(&graph), (true, true));
    node_mut(&mut graph, "conv").inputs[1] = "w".to_owned();
    assert_eq!(of(&graph), (false, true));
    node_mut(&mut graph, "conv").inputs[0] = "x".to_owned();
    assert_eq!(of(&graph), (false, false));
    let mut graph = convolution();
    node_mut(&mut graph, "conv").inputs[0] = "x".to_owned();
    assert_eq!(of(&graph), (false, true));
}

#[test]
fn channels_per_group_are_counted_through_quantized_weights() {
    let holds = |graph: &Graph, count| Condition::ChannelsPerGroupNotMultipleOf(count).holds(graph);
    let mut graph = convolution();
    // three are written, four are read
    assert!(holds(&graph, 4) && holds(&graph, 3) && !holds(&graph, 1));
    node_mut(&mut graph, "conv").op =
        Op::ConvTranspose(ConvTranspose { group: Some(2), ..ConvTranspose::default() });
    // the same shape read as [C, M / group]: three are read, four are written
    assert!(holds(&graph, 4) && holds(&graph, 3));
    node_mut(&mut graph, "conv").op = Op::Conv(Conv { group: Some(6), ..Conv::default() });
    assert!(holds(&graph, 2) && holds(&graph, 4));
    node_mut(&mut graph, "conv").op = Op::Conv(Conv { group: Some(0), ..Conv::default() });
    assert!(!holds(&graph, 4), "no group, no channels");
}

#[test]
fn output_channels_are_axis_0_of_conv_and_1_of_deconv_kernels() {
    let mut graph = convolution();
    assert!(!Condition::KernelScalesOffOutputChannels.holds(&graph));
    node_mut(&mut graph, "conv").op = Op::ConvTranspose(ConvTranspose::default());
    assert!(Condition::KernelScalesOffOutputChannels.holds(&graph));
    node_mut(&mut graph, "dq_w").op = Op::DequantizeLinear(DequantizeLinear { axis: Some(-2) });
    assert!(!Condition::KernelScalesOffOutputChannels.holds(&graph));
    node_mut(&mut graph, "dq_w").op = Op::DequantizeLinear(DequantizeLinear { axis: None });
    assert!(!Condition::KernelScalesOffOutputChannels.holds(&graph), "the default is axis 1");
    set(&mut graph, "w_s", scales(1));
    node_mut(&mut graph, "dq_w").op = Op::DequantizeLinear(DequantizeLinear { axis: Some(0) });
    assert!(!Condition::KernelScalesOffOutputChannels.holds(&graph), "one scale lies along no axis");
}

#[test]
fn types_are_those_of_zero_points_and_uint8_without_one() {
    let of = |graph: &Graph, dtype| Condition::QuantizedAs(dtype).holds(graph);
    let mut graph = convolution();
    assert!(of(&graph, DataType::Int8) && !of(&graph, DataType::Uint8));
    assert!(!Condition::AbsentZeroPoint.holds(&graph));
    node_mut(&mut graph, "q_x").inputs.truncate(2);
    node_mut(&mut graph, "dq_x").inputs.truncate(2);
    assert!(of(&graph, DataType::Uint8) && Condition::AbsentZeroPoint.holds(&graph));
    assert!(Condition::RequantizedAsOtherType.holds(&graph), "uint8 goes in, int8 comes out");
    node_mut(&mut graph, "q_y").inputs.truncate(2);
    assert!(!Condition::RequantizedAsOtherType.holds(&graph));
}

#[test]
fn an_int32_bias_is_quantized_and_a_float_one_is_not() {
    let mut graph = convolution();
    assert!(!Condition::FloatBias.holds(&graph));
    node_mut(&mut graph, "conv").inputs.push("b".to_owned());
    assert!(Condition::FloatBias.holds(&graph));
    set(&mut graph, "b", TensorData::Int32(vec![1; 6]));
    let dequantize = Op::DequantizeLinear(DequantizeLinear { axis: Some(0) });
    graph.nodes.insert(0, node("dq_b", dequantize, &["b", "s"], "bd"));
    node_mut(&mut graph, "conv").inputs[2] = "bd".to_owned();
    assert!(!Condition::FloatBias.holds(&graph));
    assert!(Condition::QuantizedAs(DataType::Int32).holds(&graph));
}

#[test]
fn a_bias_is_added_where_an_add_gives_it() {
    let mut graph = convolution();
    node_mut(&mut graph, "conv").inputs.push("b".to_owned());
    assert!(!Condition::AddedBias.holds(&graph), "nothing computes it");
    graph.nodes.insert(0, node("add_b", Op::Add, &["b1", "b2"], "b"));
    assert!(Condition::AddedBias.holds(&graph));
    node_mut(&mut graph, "conv").inputs.truncate(2);
    assert!(!Condition::AddedBias.holds(&graph), "the sum is no bias");
}

#[test]
fn deconvolution_output_channels_are_summed_over_groups() {
    let graph = |op: Op, shape: [usize; 3]| {
        let data = TensorData::Float(vec![1.0; shape.iter().product()]);
        let initializers = vec![initializer("w", &shape, data)];
        Graph { initializers, nodes: vec![node("conv", op, &["x", "w"], "y")], ..convolution() }
    };
    let conv = |group| Op::Conv(Conv { group: Some(group), ..Conv::default() });
    let deconv = |group| Op::ConvTranspose(ConvTranspose { group: Some(group), ..ConvTranspose::default() });
    let is_one = |op, shape| Condition::OneOutputChannel.holds(&graph(op, shape));
    assert!(is_one(conv(1), [1, 4, 3]) && is_one(deconv(1), [4, 1, 3]));
    assert!(!is_one(conv(1), [4, 1, 3]) && !is_one(deconv(1), [1, 4, 3]));
    assert!(!is_one(deconv(2), [4, 1, 3]), "two groups of one channel each");
}

#[test]
fn dequantized_inputs_are_stored_unless_quantized_before() {
    let stored = |graph: &Graph, dtype| Condition::StoredAs(dtype).holds(graph);
    let mut graph = convolution();
    assert!(!stored(&graph, DataType::Int8), "its quantizers take floats");
    set(&mut graph, "b", TensorData::Int32(vec![1; 6]));
    let dequantize = Op::DequantizeLinear(DequantizeLinear { axis: Some(0) });
    graph.nodes.insert(0, node("dq_b", dequantize, &["b", "s"], "bd"));
    assert!(stored(&graph, DataType::Int32) && !stored(&graph, DataType::Uint8));
    node_mut(&mut graph, "dq_b").inputs[0] = graph.inputs[0].name.clone();
    graph.inputs[0].dtype = DataType::Uint8;
    assert!(stored(&graph, DataType::Uint8));
}

#[test]
fn float_weights_count_only_beside_dequantized_data() {
    let mut graph = convolution();
    assert!(!Condition::FloatWeights.holds(&graph));
    node_mut(&mut graph, "conv").inputs[1] = "w".to_owned();
    assert!(Condition::FloatWeights.holds(&graph));
    node_mut(&mut graph, "conv").inputs[0] = "x".to_owned();
    assert!(!Condition::FloatWeights.holds(&graph));
}

#[test]
fn zero_points_and_scales_are_read_if_they_are_known() {
    let mut graph = convolution();
    assert!(!Condition::NonzeroZeroPoint.holds(&graph) && !Condition::ComputedScale.holds(&graph));
    set(&mut graph, "z", TensorData::Int8(vec![3]));
    assert!(Condition::NonzeroZeroPoint.holds(&graph));
    node_mut(&mut graph, "dq_w").inputs[1] = "xd".to_owned();
    node_mut(&mut graph, "dq_w").inputs[2] = "xq".to_owned();
    assert!(Condition::ComputedScale.holds(&graph) && Condition::ComputedZeroPoint.holds(&graph));
}

#[test]
fn per_axis_scales_of_inputs_differ_from_those_of_constants() {
    let mut graph = convolution();
    assert!(!Condition::PerAxisActivation.holds(&graph));
    node_mut(&mut graph, "q_x").inputs[1] = "w_s".to_owned();
    assert!(Condition::PerAxisActivation.holds(&graph));
}

#[test]
fn nodes_in_a_circle_are_no_graph_and_do_no_harm() {
    let mut graph = convolution();
    node_mut(&mut graph, "q_w").inputs[0] = "wd".to_owned();
    assert!(!Condition::ChannelsPerGroupNotMultipleOf(4).holds(&graph));
}

#[test]
fn constants_are_seen_behind_identities() {
    let mut graph = convolution();
    let several = Condition::All(vec![
        Condition::Operator("DequantizeLinear".to_owned()),
        Condition::ConstantOfSeveral(2),
        Condition::ConstantOfType(2, DataType::Int8),
    ]);
    assert!(several.holds(&graph));
    node_mut(&mut graph, "dq_w").inputs[2] = "z".to_owned();
    assert!(!several.holds(&graph));
    node_mut(&mut graph, "dq_w").inputs[2] = "computed".to_owned();
    graph.nodes.insert(0, node("identity", Op::Identity, &["w_z"], "computed"));
    assert!(several.holds(&graph));
}

/// An addition between quantizers of one scale, zero point and type.
fn addition() -> Graph {
    let mut graph = convolution();
    let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
    graph.nodes = vec![
        node("q_x", Op::QuantizeLinear(QuantizeLinear::default()), &["x", "s", "z"], "xq"),
        node("dq_a", dequantize(), &["xq", "s", "z"], "a"),
        node("dq_b", dequantize(), &["stored", "s_b", "z"], "b"),
        node("add", Op::Add, &["a", "b"], "c"),
        node("q_y", Op::QuantizeLinear(QuantizeLinear::default()), &["c", "s", "z"], "y"),
    ];
    graph.initializers.push(initializer("s_b", &[], scales(1)));
    let shape = Some(vec![Dim::Fixed(4)]);
    graph.inputs.push(ValueInfo { name: "stored".to_owned(), dtype: DataType::Int8, shape });
    graph
}

fn holds_at_add(condition: &Condition, graph: &Graph) -> bool {
    let add = graph.nodes.iter().find(|node| node.name == "add").expect("an addition");
    condition.holds_at(graph, add)
}

#[test]
fn nodes_between_quantizers_have_one_on_every_side() {
    let holds = |graph: &Graph| holds_at_add(&Condition::BetweenQuantizers, graph);
    assert!(holds(&addition()));
    let mut graph = addition();
    node_mut(&mut graph, "add").inputs[1] = "x".to_owned();
    assert!(!holds(&graph), "one operand is a float");
    let mut graph = addition();
    node_mut(&mut graph, "dq_b").inputs[0] = "xq".to_owned();
    assert!(!holds(&graph), "both operands are one value");
    let mut graph = addition();
    graph.inputs.retain(|input| input.name != "stored");
    graph.initializers.push(initializer("stored", &[4], TensorData::Int8(vec![1; 4])));
    assert!(!holds(&graph), "an operand is a constant");
    let mut graph = addition();
    graph.nodes.push(node("relu", Op::Relu, &["c"], "r"));
    assert!(!holds(&graph), "the result is read as a float too");
    let mut graph = addition();
    graph.outputs = vec![ValueInfo { name: "c".to_owned(), dtype: DataType::Float, shape: None }];
    assert!(!holds(&graph), "the result is an output of the graph");
    let mut graph = addition();
    graph.initializer_mut("s_b").expect("a scale").shape = vec![1];
    assert!(!holds(&graph), "an operand has a scale along an axis");
    let mut graph = addition();
    graph.initializers.retain(|initializer| initializer.name != "s_b");
    assert!(!holds(&graph), "a scale is computed");
}

#[test]
fn quantizers_on_all_sides_may_be_alike_or_not() {
    let holds = |graph: &Graph| holds_at_add(&Condition::RequantizedAlike, graph);
    assert!(holds(&addition()));
    let mut graph = addition();
    set(&mut graph, "s_b", TensorData::Float(vec![0.25]));
    assert!(!holds(&graph), "another scale");
    let mut graph = addition();
    graph.initializers.push(initializer("z_y", &[], TensorData::Int8(vec![1])));
    node_mut(&mut graph, "q_y").inputs[2] = "z_y".to_owned();
    assert!(!holds(&graph), "another zero point");
    set(&mut graph, "z_y", TensorData::Uint8(vec![0]));
    assert!(!holds(&graph), "another type");
    assert!(holds_at_add(&Condition::RequantizedAsOtherType, &graph));
    assert!(!holds_at_add(&Condition::RequantizedAsOtherType, &addition()));
}

#[test]
fn constants_are_as_good_as_initializers() {
    let mut graph = convolution();
    let dequantizer = Op::DequantizeLinear(DequantizeLinear::default());
    graph.initializers.push(initializer("bias", &[6], TensorData::Int32(vec![1; 6])));
    graph.nodes.insert(4, node("dq_b", dequantizer, &["bias", "s"], "bd"));
    let mut constants = graph.clone();
    let moved = std::mem::take(&mut constants.initializers).into_iter();
    let moved = moved.map(|Initializer { name, tensor }| node(&name, Op::Constant(tensor), &[], &name));
    constants.nodes.splice(0..0, moved.collect::<Vec<_>>());
    for condition in [
        Condition::StoredAs(DataType::Int32),
        Condition::QuantizedAs(DataType::Int32),
        Condition::ChannelsPerGroupNotMultipleOf(4),
        Condition::QuantizedOperands,
    ] {
        assert!(condition.holds(&graph), "{condition:?}");
        assert!(condition.holds(&constants), "{condition:?} of Constants");
    }
    for condition in [
        Condition::ComputedScale,
        Condition::ComputedZeroPoint,
        Condition::PerAxisActivation,
        Condition::StoredAs(DataType::Uint8),
    ] {
        assert!(!condition.holds(&graph), "{condition:?}");
        assert!(!condition.holds(&constants), "{condition:?} of Constants");
    }
}
