//! A *sketch* grows the graph of a case node by node.

use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
use twinfer_onnx::{
    BatchNormalization, Concat, Conv, ConvTranspose, DataType, DequantizeLinear, Dim, Graph, Initializer,
    MaxPool, Node, Op, QuantizeLinear, Tensor, TensorData, ValueInfo, infer_shapes,
};

/// A graph that is being drawn; its values are distinguished by their [`Value`]s.
pub struct Sketch {
    graph: Graph,
}

/// The name of a value in a sketch.
#[derive(Clone, Debug)]
pub struct Value(String);

impl Sketch {
    /// An empty graph of an operator set.
    pub const fn new(opset: i64) -> Self {
        let graph = Graph {
            opset,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        Self { graph }
    }

    /// Something that the caller feeds.
    pub fn input(&mut self, dtype: DataType, dims: &[Dim]) -> Value {
        let name = format!("x{}", self.graph.inputs.len());
        self.graph.inputs.push(ValueInfo { name: name.clone(), dtype, shape: Some(dims.to_vec()) });
        Value(name)
    }

    /// A 32-bit float input of fixed extents.
    pub fn floats(&mut self, shape: &[usize]) -> Value {
        self.input(DataType::Float, &fixed(shape))
    }

    /// An initializer.
    pub fn constant(&mut self, tensor: Tensor) -> Value {
        let name = format!("c{}", self.graph.initializers.len());
        self.graph.initializers.push(Initializer { name: name.clone(), tensor });
        Value(name)
    }

    /// Applies an operator; an input that is `None` is left out.
    pub fn apply(&mut self, op: Op, inputs: &[Option<&Value>]) -> Value {
        let index = self.graph.nodes.len();
        let name = format!("{}_{index}", op.op_type());
        let output = format!("v{index}");
        let inputs = inputs.iter().map(|input| input.map(|value| value.0.clone()).unwrap_or_default());
        self.graph.nodes.push(Node { name, op, inputs: inputs.collect(), outputs: vec![output.clone()] });
        Value(output)
    }

    /// Conv whose `kernel_shape` is written out.
    pub fn conv(&mut self, kernel: &[i64], op: Conv, inputs: &[&Value]) -> Value {
        let op = Conv { kernel_shape: Some(kernel.to_vec()), ..op };
        self.all(Op::Conv(op), inputs)
    }

    /// ConvTranspose whose `kernel_shape` is written out.
    pub fn deconv(&mut self, kernel: &[i64], op: ConvTranspose, inputs: &[&Value]) -> Value {
        let op = ConvTranspose { kernel_shape: Some(kernel.to_vec()), ..op };
        self.all(Op::ConvTranspose(op), inputs)
    }

    pub fn relu(&mut self, x: &Value) -> Value {
        self.all(Op::Relu, &[x])
    }

    pub fn identity(&mut self, x: &Value) -> Value {
        self.all(Op::Identity, &[x])
    }

    pub fn add(&mut self, a: &Value, b: &Value) -> Value {
        self.all(Op::Add, &[a, b])
    }

    pub fn concat(&mut self, axis: i64, inputs: &[&Value]) -> Value {
        self.all(Op::Concat(Concat { axis }), inputs)
    }

    /// Pooling of 2×2 windows, two apart.
    pub fn halved(&mut self, x: &Value) -> Value {
        let pool = MaxPool { kernel_shape: vec![2, 2], strides: Some(vec![2, 2]), ..MaxPool::default() };
        self.all(Op::MaxPool(pool), &[x])
    }

    /// Batch normalization whose factors differ from channel to channel and are powers of two; `detour` is put between
    /// its parameters and the operator.
    pub fn batch_norm(&mut self, x: &Value, channels: usize, detour: Detour) -> Value {
        let per_channel = |f: fn(usize) -> f32| floats(&[channels], (0..channels).map(f));
        let parameters = [
            per_channel(|c| [1.0, 4.0, 0.5, 2.0][c % 4]),
            per_channel(|c| c as f32 - 2.0),
            per_channel(|c| (c % 3) as f32),
            per_channel(|c| [1.0, 0.25, 4.0][c % 3]),
        ];
        let parameters = parameters.map(|tensor| {
            let value = self.constant(tensor);
            match detour {
                Detour::None => value,
                Detour::Identity => self.identity(&value),
            }
        });
        let op = BatchNormalization { epsilon: Some(0.0), ..BatchNormalization::default() };
        let [scale, bias, mean, variance] = &parameters;
        self.all(Op::BatchNormalization(op), &[x, scale, bias, mean, variance])
    }

    pub fn quantize(
        &mut self,
        x: &Value,
        scale: &Value,
        zero_point: Option<&Value>,
        axis: Option<i64>,
    ) -> Value {
        self.apply(Op::QuantizeLinear(QuantizeLinear { axis }), &[Some(x), Some(scale), zero_point])
    }

    pub fn dequantize(
        &mut self,
        x: &Value,
        scale: &Value,
        zero_point: Option<&Value>,
        axis: Option<i64>,
    ) -> Value {
        self.apply(Op::DequantizeLinear(DequantizeLinear { axis }), &[Some(x), Some(scale), zero_point])
    }

    fn all(&mut self, op: Op, inputs: &[&Value]) -> Value {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.apply(op, &inputs)
    }

    /// The case that feeds this graph each of `runs` in order.
    pub fn case(mut self, outputs: &[&Value], runs: Vec<Vec<Tensor>>) -> Case {
        self.graph.outputs = self.declared(outputs, &runs);
        let precision = self.graph.inputs[0].dtype;
        let run = |inputs: Vec<Tensor>| Run { inputs: inputs.into_iter().map(TensorSource::Data).collect() };
        Case {
            graph: self.graph,
            request: Request { precision, tf32: false },
            runs: runs.into_iter().map(run).collect(),
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    /// Outputs with the extents on which all runs agree, and a symbol for every other.
    ///
    /// A graph whose shapes cannot be told (it is invalid on purpose) declares no shape.
    fn declared(&self, outputs: &[&Value], runs: &[Vec<Tensor>]) -> Vec<ValueInfo> {
        let types = |value: &Value| {
            let of_run = |inputs: &Vec<Tensor>| {
                let shapes: Vec<_> = inputs.iter().map(|tensor| tensor.shape.clone()).collect();
                infer_shapes(&self.graph, &shapes).ok().and_then(|shapes| shapes.get(&value.0).cloned())
            };
            runs.iter().map(of_run).collect::<Option<Vec<_>>>()
        };
        let declare = |value: &&Value| {
            let found = types(value).unwrap_or_default();
            let Some(first) = found.first() else {
                return ValueInfo { name: value.0.clone(), dtype: DataType::Float, shape: None };
            };
            let dim = |(axis, extent): (usize, &usize)| {
                let is_fixed = found.iter().all(|other| other.shape[axis] == *extent);
                if is_fixed { Dim::Fixed(*extent) } else { Dim::Symbolic(format!("{}_{axis}", value.0)) }
            };
            let shape = first.shape.iter().enumerate().map(dim).collect();
            ValueInfo { name: value.0.clone(), dtype: first.dtype, shape: Some(shape) }
        };
        outputs.iter().map(declare).collect()
    }
}

/// What stands between a parameter and the operator that takes it.
#[derive(Clone, Copy)]
pub enum Detour {
    None,
    Identity,
}

/// Extents that are known when the model is built.
pub fn fixed(shape: &[usize]) -> Vec<Dim> {
    shape.iter().copied().map(Dim::Fixed).collect()
}

/// An extent that is known when the model runs.
pub fn symbol(name: &str) -> Dim {
    Dim::Symbolic(name.to_owned())
}

/// Small integers without any symmetry: a shift, a flip or a swap of channels changes what is computed of them.
pub fn integers(shape: &[usize], seed: usize) -> Tensor {
    let count = shape.iter().product();
    floats(shape, (0..count).map(|index: usize| ((index * 7 + seed * 3 + index / 5) % 11) as f32 - 5.0))
}

/// A tensor of 32-bit floats.
pub fn floats(shape: &[usize], values: impl IntoIterator<Item = f32>) -> Tensor {
    tensor(shape, TensorData::Float(values.into_iter().collect()))
}

/// A tensor of these elements.
pub fn tensor(shape: &[usize], data: TensorData) -> Tensor {
    Tensor::new(shape.to_vec(), data).expect("as many elements as the shape holds")
}
