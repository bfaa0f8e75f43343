//! Quantized graphs, a node after the other.

use twinfer_onnx::{
    DataType, DequantizeLinear, Graph, Initializer, Node, Op, QuantizeLinear, Tensor, ValueInfo,
};

/// A graph under construction, of one input X.
#[derive(Clone)]
pub struct Sketch {
    graph: Graph,
}

impl Sketch {
    pub fn new() -> Self {
        let graph = Graph {
            opset: 22,
            inputs: vec![float_value("X")],
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        Self { graph }
    }

    /// An initializer; gives its name.
    pub fn constant(&mut self, dtype: DataType, shape: &[usize], values: &[f64]) -> String {
        let name = format!("c{}", self.graph.initializers.len());
        let tensor = Tensor::from_f64(dtype, shape.to_vec(), values).expect("as many values as it holds");
        self.graph.initializers.push(Initializer { name: name.clone(), tensor });
        name
    }

    /// A node; gives the name of its output.
    pub fn node(&mut self, op: Op, inputs: &[&str]) -> String {
        let name = format!("v{}", self.graph.nodes.len());
        let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
        self.graph.nodes.push(Node { name: name.clone(), op, inputs, outputs: vec![name.clone()] });
        name
    }

    /// QuantizeLinear to the type of `parameters` and DequantizeLinear behind it.
    pub fn quantized(&mut self, x: &str, parameters: &Parameters) -> String {
        let (scale, zero) = self.parameters(parameters);
        let op = QuantizeLinear { axis: parameters.axis };
        let quantized = self.node(Op::QuantizeLinear(op), &[x, &scale, &zero]);
        let op = DequantizeLinear { axis: parameters.axis };
        self.node(Op::DequantizeLinear(op), &[&quantized, &scale, &zero])
    }

    /// DequantizeLinear of `x`.
    pub fn dequantized(&mut self, x: &str, parameters: &Parameters) -> String {
        let (scale, zero) = self.parameters(parameters);
        let op = DequantizeLinear { axis: parameters.axis };
        self.node(Op::DequantizeLinear(op), &[x, &scale, &zero])
    }

    fn parameters(&mut self, parameters: &Parameters) -> (String, String) {
        let Parameters { dtype, scale, zero_point, .. } = parameters;
        let shape: &[usize] = if scale.len() == 1 { &[] } else { &[scale.len()] };
        let scale_name = self.constant(DataType::Float, shape, scale);
        (scale_name, self.constant(*dtype, shape, &vec![*zero_point; scale.len()]))
    }

    /// The graph with `output` as its output.
    pub fn finish(mut self, output: &str) -> Graph {
        self.graph.outputs.push(float_value(output));
        self.graph
    }
}

/// How something is quantized.
pub struct Parameters {
    pub dtype: DataType,
    pub axis: Option<i64>,
    pub scale: Vec<f64>,
    pub zero_point: f64,
}

/// One scale.
pub fn per_tensor(dtype: DataType, scale: f64, zero_point: f64) -> Parameters {
    Parameters { dtype, axis: None, scale: vec![scale], zero_point }
}

/// A scale a position along `axis`, in int8.
pub fn per_axis(axis: i64, scale: &[f64], zero_point: f64) -> Parameters {
    Parameters { dtype: DataType::Int8, axis: Some(axis), scale: scale.to_vec(), zero_point }
}

fn float_value(name: &str) -> ValueInfo {
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None }
}
