//! Describes the nodes of a case.

use std::{collections::HashSet, iter};

use twinfer_case::{Case, Property, Quantity, Regime, Run, TensorSource};
use twinfer_onnx::{
    AutoPad, Axis, DataType, DequantizeLinear, Dim, Graph, Node, Op, QuantizeLinear, Shapes, Tensor, Window,
    infer_shapes, resolve_axis,
};

use crate::DescribedNode;

/// What every node of a case is like in its first run, in the order of the graph. Of a case that is not valid, only the operator of the
/// node that breaks a rule is known; nothing if no node does.
pub fn describe(case: &Case) -> Vec<DescribedNode> {
    case.runs.first().map(|run| described(case, run)).unwrap_or_default()
}

/// What every node of a case is like in each of its runs, those of the first run first; runs of the same shapes are alike.
pub fn describe_runs(case: &Case) -> Vec<DescribedNode> {
    let shapes = |run: &Run| run.inputs.iter().map(|source| source.shape().to_vec()).collect::<Vec<_>>();
    let mut seen = HashSet::new();
    let different = case.runs.iter().filter(|run| seen.insert(shapes(run)));
    different.flat_map(|run| described(case, run)).collect()
}

fn described(case: &Case, run: &Run) -> Vec<DescribedNode> {
    let extents: Vec<_> = run.inputs.iter().map(|source| source.shape().to_vec()).collect();
    let Ok(shapes) = infer_shapes(&case.graph, &extents) else {
        return offending(&case.graph, &extents).map(named).into_iter().collect();
    };
    let of_case: Vec<_> = properties_of_case(case).collect();
    let described = |node: &Node| {
        let mut description =
            Description { graph: &case.graph, shapes: &shapes, node, described: named(node) };
        description.described.properties.extend(&of_case);
        description.number(Quantity::Opset, case.graph.opset);
        description.describe();
        description.described
    };
    case.graph.nodes.iter().map(described).collect()
}

/// The first node that breaks a rule.
fn offending<'a>(graph: &'a Graph, extents: &[Vec<usize>]) -> Option<&'a Node> {
    let breaks = |count: &usize| {
        let nodes = graph.nodes[..*count].to_vec();
        infer_shapes(&Graph { nodes, outputs: Vec::new(), ..graph.clone() }, extents).is_err()
    };
    let counts: Vec<_> = (0..=graph.nodes.len()).collect();
    let sound = counts.partition_point(|count| !breaks(count));
    graph.nodes.get(sound.checked_sub(1)?)
}

/// A node that is being described.
struct Description<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes<'a>,
    node: &'a Node,
    described: DescribedNode,
}

fn named(node: &Node) -> DescribedNode {
    DescribedNode { operator: node.op.op_type().to_owned(), ..DescribedNode::default() }
}

fn properties_of_case(case: &Case) -> impl Iterator<Item = Property> {
    let is_symbolic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    let shapes = || case.graph.inputs.iter().map(|input| input.shape.as_ref());
    let is_dynamic = shapes().any(|shape| shape.is_none_or(|shape| shape.iter().any(is_symbolic)));
    let is_special = case.runs.iter().flat_map(|run| &run.inputs).any(has_special_values)
        || case.graph.initializers.iter().any(|initializer| is_special(&initializer.tensor));
    [
        (case.runs.len() > 1, Property::SeveralRuns),
        (is_dynamic, Property::Dynamic),
        (is_special, Property::SpecialValues),
    ]
    .into_iter()
    .filter_map(|(holds, property)| holds.then_some(property))
}

fn has_special_values(source: &TensorSource) -> bool {
    match source {
        TensorSource::Data(tensor) => is_special(tensor),
        TensorSource::Recipe(recipe) => recipe.regime == Regime::Special,
    }
}

fn is_special(tensor: &Tensor) -> bool {
    tensor.to_f64().iter().any(|value| !value.is_finite())
}

impl<'a> Description<'a> {
    fn describe(&mut self) {
        self.describe_data();
        self.describe_readers();
        match &self.node.op {
            Op::Conv(op) => self.describe_convolution(&op.window()),
            Op::ConvTranspose(op) => self.describe_convolution(&op.window()),
            Op::MaxPool(op) => {
                let extents = self.extents(0).unwrap_or_default();
                if let Ok(geometry) = op.geometry(extents.get(2..).unwrap_or_default()) {
                    self.describe_axes(&geometry.axes);
                }
                self.set(op.ceil_mode == Some(1), Property::CeilMode);
                self.describe_auto_pad(op.auto_pad.unwrap_or(AutoPad::NotSet));
            }
            Op::QuantizeLinear(QuantizeLinear { axis }) | Op::DequantizeLinear(DequantizeLinear { axis }) => {
                self.describe_quantizer(*axis);
            }
            Op::Concat(op) => {
                self.number(Quantity::Inputs, self.node.inputs.len() as i64);
                self.describe_axis(Some(op.axis));
                self.set(op.axis < 0, Property::NegativeAxis);
                let differs = (1..self.node.inputs.len()).any(|input| self.extents(input) != self.extents(0));
                self.set(differs, Property::Broadcast);
            }
            Op::BatchNormalization(op) => {
                self.set(op.epsilon.is_some(), Property::EpsilonSet);
                self.set(op.momentum.is_some(), Property::MomentumSet);
            }
            Op::Add => {
                let operands = [self.extents(0), self.extents(1)];
                self.set(operands[0] != operands[1], Property::Broadcast);
                let result = self.node.outputs.first().and_then(|output| self.shapes.get(output));
                let is_smaller = operands[0].as_deref() != result.map(|result| &result.shape[..]);
                self.set(is_smaller, Property::FirstBroadcast);
                let is_constant = |name: &String| self.graph.initializer(name).is_some();
                self.set(self.node.inputs.iter().any(is_constant), Property::ConstantOperand);
            }
            _ => {}
        }
    }

    /// The shape and the type of what the node reads, and where that comes from.
    fn describe_data(&mut self) {
        let extents = self.extents(0).unwrap_or_default();
        self.number(Quantity::Rank, extents.len() as i64);
        if let Some(&batch) = extents.first() {
            self.number(Quantity::Batch, batch as i64);
        }
        if let Some(&channels) = extents.get(1) {
            self.number(Quantity::Channels, channels as i64);
        }
        let result = self.node.outputs.first().and_then(|output| self.shapes.get(output));
        if let Some(&channels) = result.and_then(|result| result.shape.get(1)) {
            self.number(Quantity::OutputChannels, channels as i64);
        }
        let float = [self.dtype(0), result.map(|result| result.dtype)];
        self.set(float.contains(&Some(DataType::Float16)), Property::Float16);
        self.set(float.contains(&Some(DataType::Bfloat16)), Property::Bfloat16);
        if let Some(spatial) = extents.get(2..).filter(|spatial| !spatial.is_empty()) {
            self.number(Quantity::SpatialAxes, spatial.len() as i64);
            let each = spatial.iter().map(|&extent| extent as i64).collect();
            self.described.quantities.insert(Quantity::Extent, each);
        }
        let Some(data) = self.node.input(0) else { return };
        self.set(self.graph.initializer(data).is_some(), Property::InitializerData);
        self.set(self.graph.input(data).is_some(), Property::GraphInputData);
        for producer in self.producers() {
            match producer.op {
                Op::Conv(_) => self.set(true, Property::AfterConv),
                Op::ConvTranspose(_) => self.set(true, Property::AfterConvTranspose),
                Op::Relu => self.set(true, Property::AfterRelu),
                Op::QuantizeLinear(_) => self.set(true, Property::AfterQuantize),
                _ => {}
            }
        }
        let source = source(self.graph, data);
        self.set(self.graph.initializer(source).is_some(), Property::OfConstant);
        self.set(self.graph.input(source).is_some(), Property::OfGraphInput);
    }

    /// What becomes of the result.
    fn describe_readers(&mut self) {
        let Some(result) = self.node.outputs.first() else { return };
        self.set(self.graph.outputs.iter().any(|output| output.name == *result), Property::GraphOutput);
        for reader in self.graph.readers(result) {
            match reader.op {
                Op::Relu => self.set(true, Property::BeforeRelu),
                Op::Add => self.set(true, Property::BeforeAdd),
                Op::BatchNormalization(_) => self.set(true, Property::BeforeBatchNormalization),
                Op::QuantizeLinear(_) => self.set(true, Property::BeforeQuantize),
                Op::DequantizeLinear(_) => self.set(true, Property::BeforeDequantize),
                Op::Conv(_) => self.set(true, Property::BeforeConv),
                Op::ConvTranspose(_) => self.set(true, Property::BeforeConvTranspose),
                _ => {}
            }
        }
        if let Some(quantizer) = self.requantizer() {
            self.set(true, Property::RequantizedResult);
            self.set(self.output_type(quantizer) == Some(DataType::Uint8), Property::ResultAsUint8);
        }
    }

    /// The nodes that give the data; of Add and Concat, those that give any operand.
    fn producers(&self) -> Vec<&'a Node> {
        let data = if matches!(self.node.op, Op::Add | Op::Concat(_)) { self.node.inputs.len() } else { 1 };
        self.node.inputs.iter().take(data).filter_map(|input| self.graph.producer(input)).collect()
    }

    /// The QuantizeLinear that reads the result, perhaps behind a Relu.
    fn requantizer(&self) -> Option<&'a Node> {
        let reader = self.graph.readers(self.node.outputs.first()?).next()?;
        let reader = match reader.op {
            Op::Relu => self.graph.readers(reader.outputs.first()?).next()?,
            _ => reader,
        };
        matches!(reader.op, Op::QuantizeLinear(_)).then_some(reader)
    }

    fn describe_convolution(&mut self, window: &Window<'_>) {
        let (Some(data), Some(weights)) = (self.extents(0), self.extents(1)) else { return };
        let spatial = |extents: &[usize]| extents.get(2..).unwrap_or_default().to_vec();
        if let Ok(geometry) = window.geometry(&spatial(&data), &spatial(&weights)) {
            self.describe_axes(&geometry.axes);
        }
        self.number(Quantity::Group, window.group());
        if let Some(channels) = window.channels(&weights) {
            self.number(Quantity::GroupInputs, channels.inputs as i64);
            self.number(Quantity::GroupOutputs, channels.outputs as i64);
            self.number(Quantity::OutputChannels, channels.all_outputs() as i64);
            self.set(channels.group > 1 && channels.inputs == 1, Property::Depthwise);
        }
        self.describe_auto_pad(window.auto_pad());
        self.set(window.output_shape.is_some(), Property::OutputShape);
        self.set(window.kernel_shape.is_none(), Property::NoKernelShape);
        self.describe_operands();
    }

    fn describe_auto_pad(&mut self, auto_pad: AutoPad) {
        self.set(auto_pad.is_same(), Property::Same);
        match auto_pad {
            AutoPad::SameUpper => self.set(true, Property::SameUpper),
            AutoPad::SameLower => self.set(true, Property::SameLower),
            AutoPad::Valid => self.set(true, Property::Valid),
            AutoPad::NotSet => {}
        }
    }

    fn describe_axes(&mut self, axes: &[Axis]) {
        self.number(Quantity::SpatialAxes, axes.len() as i64);
        let mut each = |quantity, of: fn(&Axis) -> i64| {
            self.described.quantities.insert(quantity, axes.iter().map(of).collect());
        };
        each(Quantity::Extent, |axis| axis.input as i64);
        each(Quantity::OutputExtent, |axis| axis.output as i64);
        each(Quantity::Kernel, |axis| axis.kernel as i64);
        each(Quantity::Stride, |axis| axis.stride as i64);
        each(Quantity::Dilation, |axis| axis.dilation as i64);
        each(Quantity::PadBegin, |axis| axis.pad_begin as i64);
        each(Quantity::PadEnd, |axis| axis.pad_end as i64);
        each(Quantity::Pads, |axis| axis.pad_begin as i64 + axis.pad_end as i64);
        each(Quantity::OutputPadding, |axis| axis.output_padding as i64);
    }

    /// Where weights and bias of a convolution come from, and how its operands are quantized.
    fn describe_operands(&mut self) {
        let source = |input: usize| self.node.input(input).map(|name| source(self.graph, name));
        let [weights, bias] = [1, 2].map(source);
        let is_initializer = |name: &str| self.graph.initializer(name).is_some();
        self.set(self.node.input(1).is_some_and(is_initializer), Property::InitializerWeights);
        let is_computed = |name: &str| self.graph.initializer(name).is_none();
        self.set(weights.is_some_and(is_computed), Property::ComputedWeights);
        self.set(bias.is_some_and(is_computed), Property::ComputedBias);
        self.set(bias.is_some(), Property::Bias);
        self.set(self.dequantizer(2).is_some(), Property::DequantizedBias);
        if let Some(data) = self.dequantizer(0) {
            self.set(true, Property::DequantizedData);
            self.set(self.has_zero_point_other_than_0(data), Property::DataZeroPoint);
            self.set(self.input_type(data) == Some(DataType::Uint8), Property::DataAsUint8);
        }
        if let Some(weights) = self.dequantizer(1) {
            self.set(true, Property::DequantizedWeights);
            self.set(self.has_zero_point_other_than_0(weights), Property::WeightZeroPoint);
            self.set(self.input_type(weights) == Some(DataType::Uint8), Property::WeightsAsUint8);
            self.set(self.scales(weights) > 1, Property::WeightScales);
        }
    }

    fn describe_quantizer(&mut self, axis: Option<i64>) {
        let integers = match self.node.op {
            Op::QuantizeLinear(_) => self.output_type(self.node),
            _ => self.input_type(self.node),
        };
        self.set(integers == Some(DataType::Int8), Property::Int8);
        self.set(integers == Some(DataType::Uint8), Property::Uint8);
        self.set(integers == Some(DataType::Int32), Property::Int32);
        self.set(self.node.input(2).is_some(), Property::ZeroPoint);
        self.set(self.has_zero_point_other_than_0(self.node), Property::NonzeroZeroPoint);
        let scale = self.node.input(1).and_then(|name| self.shapes.get(name));
        self.set(scale.is_some_and(|scale| scale.shape.is_empty()), Property::ScalarScale);
        self.set(axis.is_some(), Property::AxisSet);
        self.set(axis.is_some_and(|axis| axis < 0), Property::NegativeAxis);
        let scales = self.scales(self.node);
        self.number(Quantity::Scales, scales as i64);
        if let Some(&last) = self.extents(0).as_deref().and_then(<[usize]>::last) {
            self.number(Quantity::LastExtent, last as i64);
        }
        if let Some(exponent) = self.exponent_of_smallest_scale() {
            self.number(Quantity::SmallestScale, -exponent);
        }
        if scales > 1 {
            self.describe_axis(Some(axis.unwrap_or(1)));
        }
    }

    fn describe_axis(&mut self, axis: Option<i64>) {
        let rank = self.extents(0).map_or(0, |extents| extents.len());
        if let Some(axis) = axis.and_then(|axis| resolve_axis(axis, rank).ok()) {
            self.number(Quantity::Axis, axis as i64);
        }
    }

    fn dequantizer(&self, input: usize) -> Option<&'a Node> {
        let producer = self.graph.producer(self.node.input(input)?)?;
        matches!(producer.op, Op::DequantizeLinear(_)).then_some(producer)
    }

    fn has_zero_point_other_than_0(&self, quantizer: &Node) -> bool {
        let zero_points = quantizer.input(2).and_then(|name| self.graph.initializer(name));
        zero_points.is_some_and(|tensor| tensor.to_f64().iter().any(|value| *value != 0.0))
    }

    fn scales(&self, quantizer: &Node) -> usize {
        let scales = quantizer.input(1).and_then(|name| self.shapes.get(name));
        scales.map_or(1, |scales| scales.shape.iter().product())
    }

    /// The exponent of the largest power of two that is not above the smallest scale; `None` if that is not known, or if it is not positive.
    fn exponent_of_smallest_scale(&self) -> Option<i64> {
        let scales = self.graph.initializer(self.node.input(1)?)?.to_f64();
        let smallest = scales.into_iter().reduce(f64::min)?;
        (smallest > 0.0 && smallest.is_finite()).then(|| smallest.log2().floor() as i64)
    }

    fn input_type(&self, node: &Node) -> Option<DataType> {
        Some(self.shapes.get(node.input(0)?)?.dtype)
    }

    fn output_type(&self, node: &Node) -> Option<DataType> {
        Some(self.shapes.get(node.outputs.first()?)?.dtype)
    }

    fn dtype(&self, input: usize) -> Option<DataType> {
        Some(self.shapes.get(self.node.input(input)?)?.dtype)
    }

    fn extents(&self, input: usize) -> Option<Vec<usize>> {
        Some(self.shapes.get(self.node.input(input)?)?.shape.clone())
    }

    fn number(&mut self, quantity: Quantity, number: i64) {
        self.described.quantities.extend(iter::once((quantity, vec![number])));
    }

    fn set(&mut self, holds: bool, property: Property) {
        self.described.properties.extend(holds.then_some(property));
    }
}

/// The value in front of the quantizers and Identity nodes that give `name`.
fn source<'a>(graph: &'a Graph, mut name: &'a str) -> &'a str {
    // as many steps as there are nodes, in case they are no graph
    for _ in &graph.nodes {
        let through = graph
            .producer(name)
            .filter(|node| matches!(node.op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_) | Op::Identity));
        let Some(before) = through.and_then(|node| node.input(0)) else { return name };
        name = before;
    }
    name
}
