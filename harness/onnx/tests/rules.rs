//! Every rule is broken by some graph, and by nothing less.

use std::collections::BTreeSet;

use twinfer_onnx::{
    AutoPad, AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DataType, Dim, Graph, Initializer,
    LeakyRelu, MAX_RANK, MaxPool, Node, Op, QuantizeLinear, Rule, Tensor, TensorData, Transpose, ValueInfo,
    infer_shapes,
};

/// A graph with float inputs named A, B, C … of the given shapes, one node and an output Y.
struct Sample {
    graph: Graph,
    shapes: Vec<Vec<usize>>,
}

fn sample(op: Op, shapes: &[&[usize]]) -> Sample {
    let names: Vec<String> =
        (b'A'..).map(|letter| char::from(letter).to_string()).take(shapes.len()).collect();
    let value = |name: &String| ValueInfo { name: name.clone(), dtype: DataType::Float, shape: None };
    let graph = Graph {
        opset: 22,
        inputs: names.iter().map(value).collect(),
        initializers: vec![],
        nodes: vec![Node { name: "node".to_owned(), op, inputs: names, outputs: vec!["Y".to_owned()] }],
        outputs: vec![value(&"Y".to_owned())],
    };
    Sample { graph, shapes: shapes.iter().map(|shape| shape.to_vec()).collect() }
}

impl Sample {
    fn with(mut self, change: impl FnOnce(&mut Graph)) -> Self {
        change(&mut self.graph);
        self
    }

    fn broken(&self) -> Option<Rule> {
        infer_shapes(&self.graph, &self.shapes).err().map(|violation| violation.rule)
    }

    fn output(&self) -> Vec<usize> {
        infer_shapes(&self.graph, &self.shapes).expect("valid").outputs()[0].shape.clone()
    }
}

fn conv(op: Conv) -> Sample {
    sample(Op::Conv(op), &[&[2, 4, 5, 6], &[6, 2, 3, 2], &[6]])
}

fn grouped() -> Conv {
    Conv { group: Some(2), ..Conv::default() }
}

fn deconv(op: ConvTranspose) -> Sample {
    sample(Op::ConvTranspose(op), &[&[2, 4, 5, 6], &[4, 3, 3, 2], &[6]])
}

fn grouped_transposed() -> ConvTranspose {
    ConvTranspose { group: Some(2), ..ConvTranspose::default() }
}

fn pool(op: MaxPool) -> Sample {
    sample(Op::MaxPool(op), &[&[1, 2, 5]])
}

fn average(op: AveragePool) -> Sample {
    sample(Op::AveragePool(AveragePool { kernel_shape: vec![2], ..op }), &[&[1, 2, 5]])
}

fn transpose(perm: &[i64]) -> Sample {
    sample(Op::Transpose(Transpose { perm: Some(perm.to_vec()) }), &[&[2, 3, 4]])
}

fn clip(bound: &[usize]) -> Sample {
    sample(Op::Clip, &[&[2, 3], bound, bound])
}

fn quantize(scale: &[usize], zero_point: &[usize]) -> Sample {
    sample(Op::QuantizeLinear(QuantizeLinear::default()), &[&[2, 4, 5], scale, zero_point])
        .with(|graph| graph.inputs[2].dtype = DataType::Int8)
        .with(|graph| graph.outputs[0].dtype = DataType::Int8)
}

fn conv_integer(zero_point: &[usize]) -> Sample {
    sample(Op::ConvInteger(grouped()), &[&[2, 4, 5, 6], &[6, 2, 3, 2], &[], zero_point]).with(|graph| {
        graph.inputs.iter_mut().for_each(|input| input.dtype = DataType::Int8);
        graph.outputs[0].dtype = DataType::Int32;
    })
}

fn q_linear_conv(w_scale: &[usize]) -> Sample {
    let parameter: &[usize] = &[];
    let shapes: [&[usize]; 9] =
        [&[2, 4, 5, 6], parameter, parameter, &[6, 2, 3, 2], w_scale, w_scale, parameter, parameter, &[6]];
    sample(Op::QLinearConv(grouped()), &shapes).with(|graph| {
        for place in [0, 2, 3, 5, 7] {
            graph.inputs[place].dtype = DataType::Int8;
        }
        graph.inputs[8].dtype = DataType::Int32;
        graph.outputs[0].dtype = DataType::Int8;
    })
}

fn normalize(parameter: &[usize]) -> Sample {
    let op = Op::BatchNormalization(BatchNormalization::default());
    sample(op, &[&[2, 4, 5], &[4], &[4], &[4], parameter])
}

fn concat(axis: i64, second: &[usize]) -> Sample {
    sample(Op::Concat(Concat { axis }), &[&[2, 3], second])
}

fn relu() -> Sample {
    sample(Op::Relu, &[&[2, 3]])
}

#[test]
fn valid_graphs_break_nothing() {
    assert_eq!(conv(grouped()).output(), [2, 6, 3, 5]);
    assert_eq!(deconv(grouped_transposed()).output(), [2, 6, 7, 7]);
    assert_eq!(pool(MaxPool { kernel_shape: vec![2], ..MaxPool::default() }).output(), [1, 2, 4]);
    assert_eq!(quantize(&[4], &[4]).output(), [2, 4, 5]);
    assert_eq!(quantize(&[], &[]).output(), [2, 4, 5]);
    assert_eq!(conv_integer(&[6]).output(), [2, 6, 3, 5]);
    assert_eq!(q_linear_conv(&[6]).output(), [2, 6, 3, 5]);
    assert_eq!(q_linear_conv(&[1]).output(), [2, 6, 3, 5]);
    assert_eq!(normalize(&[4]).output(), [2, 4, 5]);
    assert_eq!(concat(-1, &[2, 4]).output(), [2, 7]);
    assert_eq!(sample(Op::Add, &[&[2, 1], &[3]]).output(), [2, 3]);
    assert_eq!(sample(Op::Mul, &[&[2, 1], &[3]]).output(), [2, 3]);
    assert_eq!(average(AveragePool::default()).output(), [1, 2, 4]);
    assert_eq!(sample(Op::GlobalAveragePool, &[&[2, 3, 4, 5]]).output(), [2, 3, 1, 1]);
    assert_eq!(transpose(&[1, 2, 0]).output(), [3, 4, 2]);
    assert_eq!(sample(Op::Transpose(Transpose::default()), &[&[2, 3, 4]]).output(), [4, 3, 2]);
    for op in [Op::HardSwish, Op::LeakyRelu(LeakyRelu::default()), Op::Sigmoid] {
        assert_eq!(sample(op, &[&[2, 3]]).output(), [2, 3]);
    }
    assert_eq!(clip(&[]).output(), [2, 3]);
    assert_eq!(clip(&[]).with(|graph| graph.nodes[0].inputs[1].clear()).output(), [2, 3]);
    assert_eq!(sample(Op::Clip, &[&[2, 3]]).output(), [2, 3]);
}

fn samples() -> Vec<(Rule, Sample)> {
    let one = Some(vec![1, 1]);
    let dims = |extents: &[usize]| Some(extents.iter().map(|extent| Dim::Fixed(*extent)).collect());
    vec![
        (Rule::OpsetKnown, relu().with(|graph| graph.opset = 6)),
        (Rule::OpsetKnown, relu().with(|graph| graph.opset = 27)),
        (
            Rule::AttributeKnown,
            quantize(&[], &[]).with(|graph| {
                graph.opset = 11;
                graph.nodes[0].op = Op::QuantizeLinear(QuantizeLinear { axis: Some(1) });
            }),
        ),
        (Rule::ValueDefined, relu().with(|graph| graph.nodes[0].inputs[0] = "Z".into())),
        (Rule::ValueDefined, relu().with(|graph| graph.outputs[0].name = "Z".into())),
        (Rule::SingleAssignment, relu().with(|graph| graph.nodes[0].outputs[0] = "A".into())),
        (
            Rule::SingleAssignment,
            relu().with(|graph| {
                let tensor = Tensor::new(vec![], TensorData::Float(vec![0.0])).expect("a scalar");
                graph.initializers.push(Initializer { name: "A".to_owned(), tensor });
            }),
        ),
        (Rule::InputCount, conv(grouped()).with(|graph| graph.nodes[0].inputs.truncate(1))),
        (Rule::InputCount, conv(grouped()).with(|graph| graph.nodes[0].inputs[1].clear())),
        (Rule::OutputCount, relu().with(|graph| graph.nodes[0].outputs.push("Z".to_owned()))),
        (Rule::DeclaredInput, relu().with(|graph| graph.inputs[0].shape = dims(&[2, 4]))),
        (
            Rule::DeclaredInput,
            relu().with(|graph| {
                let symbol = Dim::Symbolic("n".to_owned());
                graph.inputs[0].shape = Some(vec![symbol.clone(), symbol]);
            }),
        ),
        (Rule::DeclaredOutput, relu().with(|graph| graph.outputs[0].shape = dims(&[2, 4]))),
        (Rule::DeclaredOutput, relu().with(|graph| graph.outputs[0].dtype = DataType::Int8)),
        (
            Rule::ElementType,
            relu().with(|graph| {
                graph.opset = 13;
                graph.inputs[0].dtype = DataType::Int8;
            }),
        ),
        (Rule::SameElementType, conv(grouped()).with(|graph| graph.inputs[1].dtype = DataType::Float16)),
        (Rule::DataRank, sample(Op::Conv(Conv::default()), &[&[1, 1], &[1, 1]])),
        (Rule::WeightRank, sample(Op::Conv(Conv::default()), &[&[1, 1, 3], &[1, 1, 3, 3]])),
        (Rule::GroupPositive, conv(Conv { group: Some(0), ..Conv::default() })),
        (Rule::InputChannels, conv(Conv { group: Some(1), ..Conv::default() })),
        (Rule::InputChannels, sample(Op::ConvTranspose(ConvTranspose::default()), &[&[1, 2, 3], &[3, 1, 1]])),
        (
            Rule::GroupDividesChannels,
            conv(Conv { group: Some(3), ..Conv::default() }).with_shapes(&[2, 6, 5, 6], &[4, 2, 3, 2]),
        ),
        (Rule::GroupDividesChannels, deconv(ConvTranspose { group: Some(3), ..ConvTranspose::default() })),
        (Rule::BiasShape, conv(grouped()).with_bias(&[4])),
        (Rule::BiasShape, deconv(grouped_transposed()).with_bias(&[3])),
        (Rule::AttributeLength, conv(Conv { strides: Some(vec![1]), ..grouped() })),
        (Rule::AttributeLength, conv(Conv { pads: one.clone(), ..grouped() })),
        (Rule::KernelShape, conv(Conv { kernel_shape: Some(vec![2, 3]), ..grouped() })),
        (Rule::KernelPositive, pool(MaxPool { kernel_shape: vec![0], ..MaxPool::default() })),
        (Rule::StridesPositive, conv(Conv { strides: Some(vec![1, 0]), ..grouped() })),
        (Rule::DilationsPositive, conv(Conv { dilations: Some(vec![0, 1]), ..grouped() })),
        (Rule::PadsNonNegative, conv(Conv { pads: Some(vec![0, 0, 0, -1]), ..grouped() })),
        (
            Rule::PadsExcludeAutoPad,
            conv(Conv { auto_pad: Some(AutoPad::Valid), pads: Some(vec![0; 4]), ..grouped() }),
        ),
        (Rule::OutputPadding, deconv(ConvTranspose { output_padding: one.clone(), ..grouped_transposed() })),
        (
            Rule::OutputShapePositive,
            deconv(ConvTranspose { output_shape: Some(vec![7, 0]), ..grouped_transposed() }),
        ),
        (Rule::OutputExtent, conv(Conv { dilations: Some(vec![3, 1]), ..grouped() })),
        (Rule::OutputExtent, deconv(ConvTranspose { pads: Some(vec![4, 0, 3, 0]), ..grouped_transposed() })),
        (Rule::Broadcast, sample(Op::Add, &[&[2, 3], &[2]])),
        (Rule::ParameterShape, normalize(&[5])),
        (Rule::AxisRange, concat(2, &[2, 3])),
        (Rule::AxisRange, concat(-3, &[2, 3])),
        (Rule::ConcatExtents, concat(0, &[2, 4])),
        (Rule::Flag, pool(MaxPool { ceil_mode: Some(2), kernel_shape: vec![2], ..MaxPool::default() })),
        (Rule::ScaleShape, quantize(&[5], &[5])),
        (Rule::ScaleShape, q_linear_conv(&[2])),
        (Rule::ElementType, q_linear_conv(&[6]).with(|graph| graph.inputs[8].dtype = DataType::Float)),
        (Rule::ZeroPointShape, quantize(&[4], &[])),
        (Rule::ZeroPointShape, conv_integer(&[2])),
        (Rule::ElementType, conv_integer(&[]).with(|graph| graph.inputs[0].dtype = DataType::Float)),
        (Rule::UniqueNames, relu().with(|graph| graph.outputs.push(graph.outputs[0].clone()))),
        (Rule::UniqueNames, relu().with(|graph| graph.nodes.push(graph.nodes[0].clone()))),
        (Rule::OpsetKnown, quantize(&[], &[]).with(|graph| graph.opset = 9)),
        (Rule::AttributeKnown, old_pool(9, |op| op.ceil_mode = Some(1))),
        (Rule::AttributeKnown, old_pool(9, |op| op.dilations = Some(vec![1, 1]))),
        (Rule::AttributeKnown, old_pool(7, |op| op.storage_order = Some(0))),
        (Rule::SizeLimit, sample(Op::Relu, &[&[1 << 20, 1 << 20]])),
        (Rule::SizeLimit, sample(Op::Relu, &[&[0, 1 << 20, 1 << 20]])),
        (Rule::SizeLimit, sample(Op::Relu, &[&[1; MAX_RANK + 1]])),
    ]
}

/// Graphs of operators that are neighbors of convolutions.
fn samples_of_neighbors() -> Vec<(Rule, Sample)> {
    vec![
        (Rule::Flag, average(AveragePool { count_include_pad: Some(2), ..AveragePool::default() })),
        (Rule::BoundShape, clip(&[1])),
        (Rule::SameElementType, clip(&[]).with(|graph| graph.inputs[2].dtype = DataType::Float16)),
        (Rule::Permutation, transpose(&[0, 1])),
        (Rule::Permutation, transpose(&[0, 1, 1])),
        (Rule::Permutation, transpose(&[0, 1, 3])),
        (Rule::Permutation, transpose(&[0, 1, -1])),
        (Rule::Permutation, transpose(&[0, 1, 2, 3])),
        (Rule::DataRank, sample(Op::GlobalAveragePool, &[&[2, 3]])),
        (
            Rule::ElementType,
            average(AveragePool::default()).with(|graph| graph.inputs[0].dtype = DataType::Int8),
        ),
        (Rule::OpsetKnown, clip(&[]).with(|graph| graph.opset = 10)),
        (Rule::OpsetKnown, sample(Op::HardSwish, &[&[2]]).with(|graph| graph.opset = 13)),
        (
            Rule::AttributeKnown,
            average(AveragePool { dilations: Some(vec![1]), ..AveragePool::default() })
                .with(|graph| graph.opset = 18),
        ),
    ]
}

/// A pooling in an old operator set.
fn old_pool(opset: i64, change: impl FnOnce(&mut MaxPool)) -> Sample {
    let mut op = MaxPool { kernel_shape: vec![2, 2], ..MaxPool::default() };
    change(&mut op);
    sample(Op::MaxPool(op), &[&[1, 1, 4, 4]]).with(|graph| graph.opset = opset)
}

#[test]
fn operator_sets_seven_to_ten_are_valid() {
    for opset in 7..11 {
        assert_eq!(old_pool(opset, |_| {}).broken(), None, "{opset}");
        for op in [conv(grouped()), deconv(grouped_transposed()), relu()] {
            assert_eq!(op.with(|graph| graph.opset = opset).broken(), None, "{opset}");
        }
    }
    assert_eq!(old_pool(8, |op| op.storage_order = Some(0)).broken(), None);
    assert_eq!(old_pool(10, |op| op.ceil_mode = Some(1)).broken(), None);
    assert_eq!(relu().with(|graph| graph.opset = 6).broken(), Some(Rule::OpsetKnown));
}

#[test]
fn nodes_without_a_name_are_not_named_twice() {
    let unnamed = relu().with(|graph| {
        graph.nodes[0].name.clear();
        let next = Node {
            inputs: graph.nodes[0].outputs.clone(),
            outputs: vec!["Z".to_owned()],
            ..graph.nodes[0].clone()
        };
        graph.nodes.push(next);
    });
    assert_eq!(unnamed.broken(), None);
}

impl Sample {
    fn with_shapes(mut self, x: &[usize], w: &[usize]) -> Self {
        self.shapes[0] = x.to_vec();
        self.shapes[1] = w.to_vec();
        self
    }

    fn with_bias(mut self, bias: &[usize]) -> Self {
        self.shapes[2] = bias.to_vec();
        self
    }
}

#[test]
fn each_rule_is_reported_by_its_name() {
    for (rule, sample) in samples().into_iter().chain(samples_of_neighbors()) {
        assert_eq!(sample.broken(), Some(rule), "{:?}", sample.graph);
    }
}

#[test]
fn no_rule_goes_without_a_graph_that_breaks_it() {
    let samples = samples().into_iter().chain(samples_of_neighbors());
    let broken: BTreeSet<_> = samples.map(|(rule, _)| rule).collect();
    let unbroken: Vec<_> = Rule::ALL.iter().filter(|rule| !broken.contains(rule)).collect();
    assert_eq!(unbroken, [&Rule::Flag; 0]);
}

#[test]
fn equal_symbols_of_inputs_and_outputs_stand_for_equal_extents() {
    let symbolic = |names: [&str; 2]| Some(names.map(|name| Dim::Symbolic(name.to_owned())).to_vec());
    let named = |input, output| {
        relu().with(|graph| {
            graph.inputs[0].shape = symbolic(input);
            graph.outputs[0].shape = symbolic(output);
        })
    };
    assert_eq!(named(["n", ""], ["n", ""]).broken(), None);
    assert_eq!(named(["n", ""], ["", "m"]).broken(), None);
    assert_eq!(named(["n", ""], ["", "n"]).broken(), Some(Rule::DeclaredOutput));
}
