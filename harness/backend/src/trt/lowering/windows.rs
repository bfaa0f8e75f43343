//! Convolutions and pooling: layers with a window.

use nvinfer::{Convolution, Deconvolution, Pooling, PoolingType, Tensor as Value};
use twinfer_onnx::{AutoPad, AveragePool, Conv, ConvTranspose, Geometry, MaxPool, Node};

use super::{Lowering, LoweringError, constants::Elements, no_layer};

/// A window in TensorRT's terms, over two or three spatial axes.
struct Window {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    dilation: Vec<i64>,
    before: Vec<i64>,
    after: Vec<i64>,
    /// What TensorRT's deconvolution cannot append by itself, by axis.
    strip: Vec<i64>,
    output: Vec<i64>,
    groups: i64,
}

impl Window {
    fn of(geometry: &Geometry) -> Self {
        let mut window = Self {
            kernel: Vec::new(),
            stride: Vec::new(),
            dilation: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            strip: Vec::new(),
            output: Vec::new(),
            groups: geometry.group as i64,
        };
        for axis in &geometry.axes {
            let after = axis.pad_end as i64 - axis.output_padding as i64;
            let extents =
                [axis.kernel, axis.stride, axis.dilation, axis.pad_begin].map(|extent| extent as i64);
            window.push([extents[0], extents[1], extents[2], extents[3], after, axis.output as i64]);
        }
        if geometry.axes.len() == 1 {
            window.push([1, 1, 1, 0, 0, 1]);
        }
        window
    }

    fn push(&mut self, [kernel, stride, dilation, before, after, output]: [i64; 6]) {
        self.kernel.push(kernel);
        self.stride.push(stride);
        self.dilation.push(dilation);
        self.before.push(before);
        self.after.push(after.max(0));
        self.strip.push((-after).max(0));
        self.output.push(output);
    }

    fn has_strip(&self) -> bool {
        self.strip.iter().any(|&extent| extent > 0)
    }
}

/// What convolution and deconvolution set alike.
macro_rules! set_window {
    ($layer:expr, $window:expr) => {{
        let (layer, window): (_, &Window) = ($layer, $window);
        layer.set_groups(window.groups)?;
        layer.set_stride(&window.stride)?;
        layer.set_dilation(&window.dilation)?;
        layer.set_pre_padding(&window.before)?;
        layer.set_post_padding(&window.after)?;
    }};
}

impl<'n, 'g> Lowering<'n, 'g> {
    pub fn conv(&mut self, node: &'g Node, op: &Conv) -> Result<Value<'n>, LoweringError> {
        let (x, w) = (self.shape(node, 0), self.shape(node, 1));
        let geometry =
            op.geometry(&x[2..], &w[2..]).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        self.check_fixed_pads(node, op.window().auto_pad().is_same())?;
        let window = Window::of(&geometry);
        let input = self.planar(node)?;
        let (kernel, bias) = (self.kernel(node)?, self.constant_bias(node)?);
        let layer: Convolution = self.network.add_convolution(
            input,
            w[0] as i64,
            &window.kernel,
            &kernel.weights()?,
            &bias.weights()?,
        )?;
        set_window!(&layer, &window);
        self.computed_kernel(node, &layer)?;
        let y = self.with_computed_bias(node, layer.output(0)?, w[0])?;
        self.spatial(node, y)
    }

    pub fn conv_transpose(&mut self, node: &'g Node, op: &ConvTranspose) -> Result<Value<'n>, LoweringError> {
        let (x, w) = (self.shape(node, 0), self.shape(node, 1));
        let geometry =
            op.geometry(&x[2..], &w[2..]).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        self.check_fixed_pads(node, op.window().auto_pad().is_same() || op.output_shape.is_some())?;
        let window = Window::of(&geometry);
        if window.output.iter().zip(&window.strip).any(|(output, strip)| output <= strip) {
            return Err(no_layer(node, "nothing but padding is left of the output".to_owned()));
        }
        let maps = w[1] * geometry.group;
        let input = self.planar(node)?;
        let kernel = self.kernel(node)?;
        // The bias must reach the strip too.
        let bias = if window.has_strip() { Elements::none() } else { self.constant_bias(node)? };
        let layer: Deconvolution = self.network.add_deconvolution(
            input,
            maps as i64,
            &window.kernel,
            &kernel.weights()?,
            &bias.weights()?,
        )?;
        set_window!(&layer, &window);
        self.computed_kernel(node, &layer)?;
        let mut y = layer.output(0)?;
        if window.has_strip() {
            y = self.append(y, &window)?;
            y = self.with_bias(node, y, maps)?;
        } else {
            y = self.with_computed_bias(node, y, maps)?;
        }
        self.spatial(node, y)
    }

    pub fn max_pool(&mut self, node: &'g Node, op: &MaxPool) -> Result<Value<'n>, LoweringError> {
        let extents = self.spatial_extents(node);
        let geometry = op.geometry(extents).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        self.check_fixed_pads(node, op.auto_pad.is_some_and(AutoPad::is_same))?;
        let layer = self.pool(node, PoolingType::Max, &geometry)?;
        let y = layer.output(0)?;
        self.spatial(node, y)
    }

    pub fn average_pool(&mut self, node: &'g Node, op: &AveragePool) -> Result<Value<'n>, LoweringError> {
        let extents = self.spatial_extents(node);
        let geometry = op.geometry(extents).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        self.check_fixed_pads(node, op.auto_pad.is_some_and(AutoPad::is_same))?;
        let layer = self.pool(node, PoolingType::Average, &geometry)?;
        layer.set_average_count_excludes_padding(op.count_include_pad != Some(1))?;
        let y = layer.output(0)?;
        self.spatial(node, y)
    }

    pub fn global_average_pool(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let declared = self.input(node, 0)?.shape()?.unwrap_or_default();
        if declared.iter().skip(2).any(|&extent| extent < 0) {
            return Err(no_layer(node, "its window follows a dynamic extent".to_owned()));
        }
        let extents = self.spatial_extents(node);
        let op = AveragePool {
            kernel_shape: extents.iter().map(|&extent| extent as i64).collect(),
            ..AveragePool::default()
        };
        let geometry = op.geometry(extents).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        let y = self.pool(node, PoolingType::Average, &geometry)?.output(0)?;
        self.spatial(node, y)
    }

    fn spatial_extents(&self, node: &Node) -> &'g [usize] {
        self.shape(node, 0).get(2..).unwrap_or_default()
    }

    fn pool(
        &mut self,
        node: &'g Node,
        kind: PoolingType,
        geometry: &Geometry,
    ) -> Result<Pooling<'n>, LoweringError> {
        let window = Window::of(geometry);
        if window.dilation.iter().any(|&dilation| dilation != 1) {
            return Err(no_layer(node, "pooling has no dilation".to_owned()));
        }
        let input = self.planar(node)?;
        let layer = self.network.add_pooling(input, kind, &window.kernel)?;
        layer.set_stride(&window.stride)?;
        layer.set_pre_padding(&window.before)?;
        layer.set_post_padding(&window.after)?;
        Ok(layer)
    }

    /// Pads that follow from extents cannot be fixed where an extent is dynamic.
    fn check_fixed_pads(&mut self, node: &'g Node, follow_extents: bool) -> Result<(), LoweringError> {
        let shape = self.input(node, 0)?.shape()?.unwrap_or_default();
        if follow_extents && shape.iter().skip(2).any(|&extent| extent < 0) {
            return Err(no_layer(node, "its pads follow a dynamic extent".to_owned()));
        }
        Ok(())
    }

    /// The data input, with an axis of extent 1 behind a single spatial axis: there, every other extent keeps its place and
    /// is copied, also that of an empty batch.
    pub fn planar(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let value = self.input(node, 0)?;
        if self.shape(node, 0).len() == 3 { self.reshape(value, &[0, 0, 0, 1]) } else { Ok(value) }
    }

    /// Undoes [`planar`](Self::planar).
    pub fn spatial(&self, node: &Node, value: Value<'n>) -> Result<Value<'n>, LoweringError> {
        if self.shape(node, 0).len() == 3 { self.reshape(value, &[0, 0, 0]) } else { Ok(value) }
    }

    fn kernel(&self, node: &Node) -> Result<Elements, LoweringError> {
        match (self.known(node, 1), self.known(node, 2)) {
            (Some(kernel), _) => Elements::of(kernel),
            (None, Some(bias)) => Elements::none_like(bias),
            (None, None) => Ok(Elements::none()),
        }
    }

    fn constant_bias(&self, node: &Node) -> Result<Elements, LoweringError> {
        self.known(node, 2).map_or_else(|| Ok(Elements::none()), Elements::of)
    }

    /// A kernel that is computed in the graph is the layer's second input.
    fn computed_kernel(&mut self, node: &'g Node, layer: &nvinfer::Layer<'n>) -> Result<(), LoweringError> {
        if self.known(node, 1).is_some() {
            return Ok(());
        }
        let mut kernel = self.input(node, 1)?;
        if let ([maps, channels, extent], false) = (self.shape(node, 1), self.is_planar(&node.inputs[1])) {
            kernel = self.reshape(kernel, &[*maps as i64, *channels as i64, *extent as i64, 1])?;
        }
        Ok(layer.set_input(1, kernel)?)
    }

    fn with_computed_bias(
        &mut self,
        node: &'g Node,
        y: Value<'n>,
        maps: usize,
    ) -> Result<Value<'n>, LoweringError> {
        if self.known(node, 2).is_some() { Ok(y) } else { self.with_bias(node, y, maps) }
    }

    fn with_bias(&mut self, node: &'g Node, y: Value<'n>, maps: usize) -> Result<Value<'n>, LoweringError> {
        if node.input(2).is_none() {
            return Ok(y);
        }
        let rank = self.shape(node, 0).len().max(4);
        let mut shape = vec![1; rank];
        shape[1] = maps as i64;
        let bias = self.input(node, 2)?;
        let bias = self.reshape(bias, &shape)?;
        self.sum(y, bias)
    }

    /// Appends zeros after the spatial axes. TensorRT pads the last two, so that a third changes places with them.
    fn append(&self, y: Value<'n>, window: &Window) -> Result<Value<'n>, LoweringError> {
        let pad = |value, after: &[i64]| -> Result<Value<'n>, LoweringError> {
            Ok(self.network.add_padding(value, &[0, 0], after)?.output(0)?)
        };
        match window.strip[..] {
            [depth, height, width] => {
                let y = pad(y, &[height, width])?;
                let y = self.transpose(y, &[0, 1, 3, 4, 2])?;
                let y = pad(y, &[0, depth])?;
                self.transpose(y, &[0, 1, 4, 2, 3])
            }
            _ => pad(y, &window.strip),
        }
    }
}
