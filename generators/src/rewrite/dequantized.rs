use twinfer_onnx::{Graph, Node, Op, Tensor};

/// What a `DequantizeLinear` reads; its parameters are initializers.
pub struct Dequantized<'a> {
    /// The name of the integers.
    pub integers: &'a str,
    pub scale: &'a Tensor,
    /// `None` if there is none, which means zero.
    pub zero_point: Option<&'a str>,
    axis: Option<i64>,
}

impl<'a> Dequantized<'a> {
    /// What the value `name` is dequantized of, if it is.
    pub fn of(graph: &'a Graph, name: &str) -> Option<Self> {
        let node = graph.producer(name)?;
        let Op::DequantizeLinear(op) = &node.op else { return None };
        let zero_point = node.input(2);
        let is_constant = zero_point.is_none_or(|name| graph.initializer(name).is_some());
        let scale = graph.initializer(node.input(1)?).filter(|_| is_constant)?;
        Some(Self { integers: node.input(0)?, scale, zero_point, axis: op.axis })
    }

    /// Whether one scale serves all integers.
    pub fn has_one_scale(&self) -> bool {
        self.scale.len() == 1
    }

    /// Whether one scale serves all integers, or one each those of an index of axis 0, in a tensor of this rank.
    pub fn suits_output_channels(&self, rank: usize) -> bool {
        self.has_one_scale() || matches!(self.axis, Some(axis) if axis.rem_euclid(rank as i64) == 0)
    }
}

/// A Conv of integers that are dequantized in front of it.
pub struct IntegerConv<'a> {
    /// Its place among the nodes.
    pub place: usize,
    pub node: &'a Node,
    pub x: Dequantized<'a>,
    pub w: Dequantized<'a>,
}

impl<'a> IntegerConv<'a> {
    /// The Convs of a graph whose operands have scales that an operator on integers takes.
    pub fn all(graph: &'a Graph) -> Vec<Self> {
        let found = graph.nodes.iter().enumerate().filter_map(|(place, node)| {
            let Op::Conv(_) = &node.op else { return None };
            let (x, w) = (Dequantized::of(graph, node.input(0)?)?, Dequantized::of(graph, node.input(1)?)?);
            let rank = graph.initializer(w.integers)?.shape.len();
            (x.has_one_scale() && w.suits_output_channels(rank)).then_some(Self { place, node, x, w })
        });
        found.collect()
    }

    /// The integers of the bias; `None` if it is absent, or not stored as integers.
    pub fn bias(&self, graph: &'a Graph) -> Option<&'a Tensor> {
        graph.initializer(Dequantized::of(graph, self.node.input(2)?)?.integers)
    }
}
