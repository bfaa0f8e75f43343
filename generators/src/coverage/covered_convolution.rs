use twinfer_case::{Case, Regime, TensorSource};
use twinfer_onnx::{
    Axis, Channels, DataType, DequantizeLinear, Graph, Node, Op, Tensor, Window, infer_shapes,
};

/// A convolution of a valid case, with what surrounds it.
pub struct CoveredConvolution<'a> {
    pub case: &'a Case,
    pub graph: &'a Graph,
    pub node: &'a Node,
    pub window: Window<'a>,
    /// Resolved for the first run.
    pub axes: Vec<Axis>,
    pub batch: usize,
    pub channels: Channels,
    /// Its place among the convolutions, and how many there are.
    pub place: (usize, usize),
}

/// How a value is dequantized.
pub struct Quantization<'a> {
    pub axis: Option<i64>,
    pub dtype: DataType,
    pub zero_point: Option<&'a Tensor>,
    pub scales: usize,
}

impl<'a> CoveredConvolution<'a> {
    /// The convolutions of a case, in order.
    pub fn all(case: &'a Case) -> Vec<Self> {
        let graph = &case.graph;
        let convolutions: Vec<_> =
            graph.nodes.iter().filter_map(|node| Some((node, node.op.window()?))).collect();
        let count = convolutions.len();
        let shapes: Vec<_> = case.runs[0].inputs.iter().map(|source| source.shape().to_vec()).collect();
        let Ok(inferred) = infer_shapes(graph, &shapes) else {
            return vec![];
        };
        let conv = |(place, (node, window)): (usize, (&'a Node, Window<'a>))| {
            let x = &inferred.get(&node.inputs[0])?.shape;
            let w = &inferred.get(&node.inputs[1])?.shape;
            let axes = window.geometry(&x[2..], &w[2..]).ok()?.axes;
            let channels = window.channels(w)?;
            Some(CoveredConvolution {
                case,
                graph,
                node,
                window,
                axes,
                batch: x[0],
                channels,
                place: (place, count),
            })
        };
        convolutions.into_iter().enumerate().filter_map(conv).collect()
    }

    /// The value in front of a quantizer and dequantizer pair; the value itself if there is no pair.
    pub fn unquantized<'b>(&self, name: &'b str) -> &'b str
    where
        'a: 'b,
    {
        let integers = match self.graph.producer(name) {
            Some(node) if matches!(node.op, Op::DequantizeLinear(_)) => &node.inputs[0],
            _ => return name,
        };
        match self.graph.producer(integers) {
            Some(node) if matches!(node.op, Op::QuantizeLinear(_)) => self.unquantized(&node.inputs[0]),
            None if self.graph.input(integers).is_some() => integers,
            _ => name,
        }
    }

    /// How an input of the convolution is dequantized, if it is.
    pub fn quantization(&self, input: usize) -> Option<Quantization<'a>> {
        let mut node = self.graph.producer(self.node.input(input)?)?;
        // a pair of them restores the order of the axes
        while let Op::Transpose(_) = node.op {
            node = self.graph.producer(node.input(0)?)?;
        }
        let Op::DequantizeLinear(DequantizeLinear { axis }) = node.op else { return None };
        let zero_point = node.input(2).and_then(|name| self.constant(name));
        let quantizer = self.graph.producer(&node.inputs[0]);
        let dtype = match (zero_point, quantizer) {
            (Some(zero_point), _) => zero_point.dtype(),
            (None, Some(_)) => DataType::Uint8,
            (None, None) => {
                let stored = self.graph.initializer(&node.inputs[0]).map(Tensor::dtype);
                stored.or_else(|| Some(self.graph.input(&node.inputs[0])?.dtype))?
            }
        };
        Some(Quantization { axis, dtype, zero_point, scales: self.constant(&node.inputs[1])?.len() })
    }

    /// The constant that a value is, or is computed of by operators that keep its extents.
    fn constant(&self, mut name: &'a str) -> Option<&'a Tensor> {
        loop {
            match self.graph.initializer(name) {
                Some(tensor) => return Some(tensor),
                None => name = self.graph.producer(name)?.input(0)?,
            }
        }
    }

    /// The inputs of an Add of two values that the graph computes from its input.
    pub fn joined(&self, node: &'a Node) -> Option<&'a [String]> {
        let computed = |name: &String| self.graph.initializer(name).is_none() && !self.is_constant(name);
        let joins = matches!(node.op, Op::Add) && node.inputs.iter().all(computed);
        joins.then_some(node.inputs.as_slice())
    }

    fn is_constant(&self, name: &str) -> bool {
        self.graph
            .producer(name)
            .is_some_and(|node| node.inputs.iter().all(|input| self.graph.initializer(input).is_some()))
    }

    pub fn quantizers_of_one_value(&self) -> &'static str {
        let several = |node: &Node| {
            let quantizers =
                self.graph.readers(&node.inputs[0]).filter(|node| matches!(node.op, Op::QuantizeLinear(_)));
            quantizers.count() > 1
        };
        let nodes = &self.graph.nodes;
        let quantizers = nodes.iter().filter(|node| matches!(node.op, Op::QuantizeLinear(_)));
        if quantizers.into_iter().any(several) { "several" } else { "at most one" }
    }

    pub fn regime(&self) -> Option<Regime> {
        match self.case.runs[0].inputs.first()? {
            TensorSource::Recipe(recipe) => Some(recipe.regime),
            TensorSource::Data(_) => None,
        }
    }
}
