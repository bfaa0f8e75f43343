//! Graphs of one node, drawn at random from everything that golden evaluates of its operator.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use twinfer_golden::Operator;
use twinfer_onnx::{
    AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DataType, DequantizeLinear, Graph,
    Initializer, LeakyRelu, MaxPool, Node, Op, QuantizeLinear, Tensor, Transpose, ValueInfo,
};

/// Draws the parts of a node.
pub struct Draw {
    random: Pcg64Mcg,
    initializers: Vec<Initializer>,
}

/// The channels and the window of a convolution.
struct Window {
    groups: usize,
    inputs: usize,
    outputs: usize,
    kernel: Vec<usize>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads: Vec<i64>,
    extents: Vec<usize>,
}

/// A graph of one node of `operator`, and what its input is fed.
pub fn one_node(operator: Operator, seed: u64) -> (Graph, Tensor) {
    let mut draw = Draw { random: Pcg64Mcg::seed_from_u64(seed), initializers: Vec::new() };
    let (op, x, others) = match operator {
        Operator::Add => draw.add(),
        Operator::AveragePool => draw.average_pool(),
        Operator::BatchNormalization => draw.batch_normalization(),
        Operator::Clip => draw.clip(),
        Operator::Concat => draw.concat(),
        Operator::Conv => draw.conv(),
        Operator::ConvInteger => draw.conv_integer(),
        Operator::ConvTranspose => draw.conv_transpose(),
        Operator::DequantizeLinear => draw.dequantize(),
        Operator::MaxPool => draw.max_pool(),
        Operator::QLinearConv => draw.q_linear_conv(),
        Operator::QuantizeLinear => draw.quantize(),
        Operator::GlobalAveragePool => draw.unary(Op::GlobalAveragePool),
        Operator::HardSwish => draw.unary(Op::HardSwish),
        Operator::LeakyRelu => {
            let alpha = Some(draw.number(1, 24) as f32 / 32.0);
            draw.unary(Op::LeakyRelu(LeakyRelu { alpha }))
        }
        Operator::Relu => draw.unary(Op::Relu),
        Operator::Sigmoid => draw.unary(Op::Sigmoid),
        Operator::Transpose => draw.transpose(),
    };
    let value = |name: &str, dtype| ValueInfo { name: name.to_owned(), dtype, shape: None };
    let output = match operator {
        Operator::ConvInteger => DataType::Int32,
        Operator::QLinearConv => draw.initializers[6].tensor.dtype(),
        Operator::QuantizeLinear => draw.initializers[1].tensor.dtype(),
        _ => DataType::Float,
    };
    let inputs = ["X".to_owned()].into_iter().chain(others).collect();
    let node = Node { name: "node".to_owned(), op, inputs, outputs: vec!["Y".to_owned()] };
    let graph = Graph {
        opset: 22,
        inputs: vec![value("X", x.dtype())],
        initializers: draw.initializers,
        nodes: vec![node],
        outputs: vec![value("Y", output)],
    };
    (graph, x)
}

type Drawn = (Op, Tensor, Vec<String>);

impl Draw {
    fn below(&mut self, least: usize, most: usize) -> usize {
        self.random.random_range(least..=most)
    }

    fn number(&mut self, least: i64, most: i64) -> i64 {
        self.random.random_range(least..=most)
    }

    /// An extent, now and then a large one.
    fn extent(&mut self) -> usize {
        if self.random.random_ratio(1, 6) { self.below(9, 10) } else { self.below(1, 5) }
    }

    /// Batch, channels and one or two spatial axes.
    fn shape(&mut self) -> Vec<usize> {
        let spatial = self.below(1, 2);
        let mut shape = vec![self.below(1, 3)];
        shape.extend((0..=spatial).map(|_| self.extent()).collect::<Vec<_>>());
        shape
    }

    /// Elements of all sizes, with fractions that floats of 16 bits do not hold.
    fn tensor(&mut self, dtype: DataType, shape: &[usize]) -> Tensor {
        let mut element = || match dtype {
            DataType::Int8 => f64::from(self.random.random_range(-128..=127)),
            DataType::Uint8 => f64::from(self.random.random_range(0..=255)),
            DataType::Int32 => f64::from(self.random.random_range(-3000..=3000)),
            _ => f64::from(self.random.random_range(-(1 << 20)..=1 << 20)) / f64::from(1 << 16),
        };
        let elements: Vec<f64> = (0..shape.iter().product()).map(|_| element()).collect();
        Tensor::from_f64(dtype, shape.to_vec(), &elements).expect("as many as it holds")
    }

    fn initializer(&mut self, tensor: Tensor) -> String {
        let name = format!("c{}", self.initializers.len());
        self.initializers.push(Initializer { name: name.clone(), tensor });
        name
    }

    fn constant(&mut self, dtype: DataType, shape: &[usize]) -> String {
        let tensor = self.tensor(dtype, shape);
        self.initializer(tensor)
    }

    /// Scales that are powers of two or not.
    fn scales(&mut self, shape: &[usize]) -> String {
        let count: usize = shape.iter().product();
        let scales: Vec<f64> = (0..count)
            .map(|_| {
                f64::from(
                    (self.random.random_range(1..=12) << 16) | (self.random.random_range(0..2) * 21_845),
                ) / f64::from(1 << 20)
            })
            .collect();
        self.initializer(Tensor::from_f64(DataType::Float, shape.to_vec(), &scales).expect("a vector"))
    }

    /// A positive variance or such.
    fn positive(&mut self, shape: &[usize]) -> String {
        let tensor = self.tensor(DataType::Float, shape);
        let elements: Vec<f64> = tensor.to_f64().iter().map(|x| x.abs() + 0.125).collect();
        self.initializer(Tensor::from_f64(DataType::Float, shape.to_vec(), &elements).expect("as many"))
    }

    /// A type of 8 bits.
    fn byte(&mut self) -> DataType {
        if self.random.random() { DataType::Int8 } else { DataType::Uint8 }
    }

    fn add(&mut self) -> Drawn {
        let shape = self.shape();
        let x = self.tensor(DataType::Float, &shape);
        let addend = self.constant(DataType::Float, &shape);
        (Op::Add, x, vec![addend])
    }

    fn batch_normalization(&mut self) -> Drawn {
        let shape = self.shape();
        let channels = [shape[1]];
        let x = self.tensor(DataType::Float, &shape);
        let (scale, bias) = (self.positive(&channels), self.constant(DataType::Float, &channels));
        let (mean, variance) = (self.constant(DataType::Float, &channels), self.positive(&channels));
        let epsilon = [None, Some(0.125), Some(0.5)][self.below(0, 2)];
        let op = BatchNormalization { epsilon, ..BatchNormalization::default() };
        (Op::BatchNormalization(op), x, vec![scale, bias, mean, variance])
    }

    fn concat(&mut self) -> Drawn {
        let shape = self.shape();
        let x = self.tensor(DataType::Float, &shape);
        let others = (0..self.below(1, 2)).map(|_| self.constant(DataType::Float, &shape)).collect();
        (Op::Concat(Concat { axis: self.number(0, shape.len() as i64 - 1) }), x, others)
    }

    fn window(&mut self) -> Window {
        let spatial = self.below(1, 2);
        let small = |draw: &mut Self| if spatial == 1 { draw.extent() } else { draw.below(1, 3) };
        let mut each = |least, most| (0..spatial).map(|_| self.number(least, most)).collect::<Vec<_>>();
        let (strides, dilations, pads) = (each(1, 4), each(1, 3), [each(0, 4), each(0, 4)].concat());
        let kernel: Vec<usize> = (0..spatial)
            .map(|_| {
                if spatial == 1 || self.random.random_ratio(1, 8) { self.extent() } else { self.below(1, 4) }
            })
            .collect();
        let extents = (0..spatial)
            .map(|axis| (kernel[axis] - 1) * dilations[axis] as usize + self.below(1, 6))
            .collect();
        let groups = small(self);
        let (inputs, outputs) =
            if groups < 4 { (small(self), small(self)) } else { (self.below(1, 2), self.below(1, 2)) };
        Window { groups, inputs, outputs, kernel, strides, dilations, pads, extents }
    }

    fn data(&mut self, window: &Window, dtype: DataType) -> Tensor {
        let shape = [vec![self.below(1, 3), window.groups * window.inputs], window.extents.clone()].concat();
        self.tensor(dtype, &shape)
    }

    fn conv(&mut self) -> Drawn {
        let window = self.window();
        let x = self.data(&window, DataType::Float);
        let w = self.constant(DataType::Float, &window.weight());
        let bias = self.constant(DataType::Float, &[window.groups * window.outputs]);
        (Op::Conv(window.conv()), x, vec![w, bias])
    }

    fn conv_transpose(&mut self) -> Drawn {
        let window = self.window();
        let x = self.data(&window, DataType::Float);
        let shape = [vec![window.groups * window.inputs, window.outputs], window.kernel.clone()].concat();
        let w = self.constant(DataType::Float, &shape);
        let bias = self.constant(DataType::Float, &[window.groups * window.outputs]);
        let axes = window.strides.iter().zip(&window.dilations);
        let output_padding: Vec<i64> =
            axes.map(|(stride, dilation)| self.number(0, stride.max(dilation) - 1)).collect();
        let output_shape = self.random.random_ratio(1, 4).then(|| {
            let natural = window.natural_extents(&output_padding);
            natural.into_iter().map(|extent| (extent - self.number(0, 3)).max(1)).collect()
        });
        let Conv { dilations, group, pads, strides, .. } = window.conv();
        let op = ConvTranspose {
            dilations,
            group,
            output_padding: Some(output_padding),
            pads: pads.filter(|_| output_shape.is_none()),
            output_shape,
            strides,
            ..ConvTranspose::default()
        };
        (Op::ConvTranspose(op), x, vec![w, bias])
    }

    fn conv_integer(&mut self) -> Drawn {
        let window = self.window();
        let dtype = self.byte();
        let x = self.data(&window, dtype);
        let w = self.constant(DataType::Int8, &window.weight());
        let channels = window.groups * window.outputs;
        let of_weight = if self.random.random() { vec![channels] } else { Vec::new() };
        let zero_points = [self.constant(x.dtype(), &[]), self.constant(DataType::Int8, &of_weight)];
        (Op::ConvInteger(window.conv()), x, [w].into_iter().chain(zero_points).collect())
    }

    fn q_linear_conv(&mut self) -> Drawn {
        let window = self.window();
        let channels = [window.groups * window.outputs];
        let dtype = self.byte();
        let x = self.data(&window, dtype);
        let (x_scale, x_zero) = (self.scales(&[]), self.constant(x.dtype(), &[]));
        let w = self.constant(DataType::Int8, &window.weight());
        let of_weight = if self.random.random() { channels.to_vec() } else { Vec::new() };
        let (w_scale, w_zero) = (self.scales(&of_weight), self.constant(DataType::Int8, &of_weight));
        let y_scale =
            Tensor::from_f64(DataType::Float, Vec::new(), &[self.number(20, 900) as f64 / 0.7]).expect("one");
        let y_dtype = self.byte();
        let (y_scale, y_zero) = (self.initializer(y_scale), self.constant(y_dtype, &[]));
        let bias = self.constant(DataType::Int32, &channels);
        (Op::QLinearConv(window.conv()), x, vec![x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias])
    }

    fn unary(&mut self, op: Op) -> Drawn {
        let shape = self.shape();
        (op, self.tensor(DataType::Float, &shape), Vec::new())
    }

    fn clip(&mut self) -> Drawn {
        let (low, high) = (self.number(-96, 64), self.number(-64, 96));
        let bounds = [low, high].map(|bound| bound as f64 / 16.0 + 1.0 / 65536.0);
        let bounds =
            bounds.map(|bound| Tensor::from_f64(DataType::Float, Vec::new(), &[bound]).expect("a scalar"));
        let names = bounds.map(|bound| self.initializer(bound)).to_vec();
        let (op, x, _) = self.unary(Op::Clip);
        (op, x, names)
    }

    fn transpose(&mut self) -> Drawn {
        let shape = self.shape();
        let mut perm: Vec<i64> = (0..shape.len() as i64).collect();
        for place in (1..perm.len()).rev() {
            let other = self.below(0, place);
            perm.swap(place, other);
        }
        let op = Op::Transpose(Transpose { perm: Some(perm) });
        (op, self.tensor(DataType::Float, &shape), Vec::new())
    }

    fn average_pool(&mut self) -> Drawn {
        let (op, x, others) = self.max_pool();
        let Op::MaxPool(pool) = op else { return (op, x, others) };
        let op = AveragePool {
            auto_pad: pool.auto_pad,
            ceil_mode: pool.ceil_mode,
            count_include_pad: [None, Some(1)][self.below(0, 1)],
            dilations: pool.dilations,
            kernel_shape: pool.kernel_shape,
            pads: pool.pads,
            strides: pool.strides,
        };
        (Op::AveragePool(op), x, others)
    }

    fn max_pool(&mut self) -> Drawn {
        let window = self.window();
        let shape = [vec![self.below(1, 3), self.extent()], window.extents.clone()].concat();
        let x = self.tensor(DataType::Float, &shape);
        let op = MaxPool {
            auto_pad: None,
            ceil_mode: [None, Some(1)][self.below(0, 1)],
            dilations: Some(window.dilations),
            kernel_shape: window.kernel.iter().map(|extent| *extent as i64).collect(),
            pads: Some(window.pads),
            storage_order: None,
            strides: Some(window.strides),
        };
        (Op::MaxPool(op), x, Vec::new())
    }

    /// The axis, and the shape of its scales, for a tensor of this shape.
    fn axis(&mut self, shape: &[usize]) -> (Option<i64>, Vec<usize>) {
        let axis = self.below(0, shape.len());
        if axis == shape.len() { (None, Vec::new()) } else { (Some(axis as i64), vec![shape[axis]]) }
    }

    fn quantize(&mut self) -> Drawn {
        let shape = self.shape();
        let (axis, scales) = self.axis(&shape);
        let x = self.tensor(DataType::Float, &shape);
        // halves of the scale are ties, and huge numbers saturate
        let drawn: Vec<f64> = match self.below(0, 3) {
            0 => x.to_f64().iter().map(|x| (x * 4.0).round() / 8.0).collect(),
            1 => x.to_f64().iter().map(|x| x * 1e12).collect(),
            _ => x.to_f64(),
        };
        let x = Tensor::from_f64(DataType::Float, shape, &drawn).expect("as many");
        let scale = self.scales(&scales);
        let dtype = self.byte();
        let zero_point = self.constant(dtype, &scales);
        (Op::QuantizeLinear(QuantizeLinear { axis }), x, vec![scale, zero_point])
    }

    fn dequantize(&mut self) -> Drawn {
        let shape = self.shape();
        let (axis, scales) = self.axis(&shape);
        let op = Op::DequantizeLinear(DequantizeLinear { axis });
        if self.random.random_ratio(1, 8) {
            // integers of 32 bits have no zero point
            let x = self.tensor(DataType::Int32, &shape).to_f64();
            let x = x.into_iter().map(|x| x * 1000.0).collect::<Vec<_>>();
            let x = Tensor::from_f64(DataType::Int32, shape, &x).expect("as many");
            return (op, x, vec![self.scales(&scales)]);
        }
        let dtype = self.byte();
        let x = self.tensor(dtype, &shape);
        let (scale, zero_point) = (self.scales(&scales), self.constant(dtype, &scales));
        (op, x, vec![scale, zero_point])
    }
}

impl Window {
    /// The extents of the output of a `ConvTranspose` that crops nothing.
    fn natural_extents(&self, output_padding: &[i64]) -> Vec<i64> {
        let axes = self.extents.iter().zip(&self.kernel).enumerate();
        axes.map(|(axis, (extent, kernel))| {
            let span = (*kernel as i64 - 1) * self.dilations[axis] + 1;
            self.strides[axis] * (*extent as i64 - 1) + span + output_padding[axis]
        })
        .collect()
    }

    /// The shape of the weight of a Conv.
    fn weight(&self) -> Vec<usize> {
        [vec![self.groups * self.outputs, self.inputs], self.kernel.clone()].concat()
    }

    fn conv(&self) -> Conv {
        Conv {
            dilations: Some(self.dilations.clone()),
            group: Some(self.groups as i64),
            pads: Some(self.pads.clone()),
            strides: Some(self.strides.clone()),
            ..Conv::default()
        }
    }
}
