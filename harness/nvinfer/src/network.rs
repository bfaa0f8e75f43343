use std::cell::RefCell;

use crate::{
    Activation, ActivationType, Builder, Cast, Concatenation, ConcreteLayer, Constant, Convolution, DataType,
    Deconvolution, Dequantize, ElementWise, ElementWiseOperation, Error, Layer, Library, Pooling,
    PoolingType, Quantize, Result, Scale, ScaleMode, Shuffle, Tensor, Unsupported, Weights,
    owned::Owned,
    sys::{
        Ptr,
        enums::NetworkFlag,
        method::Count,
        table::{INetworkDefinition, IParser, ITensor},
    },
    tensor::{c_string, dims, text},
    weights::Kept,
};

/// A network being defined.
///
/// Layers and tensors are handles that borrow it; adding to it needs no exclusive borrow, and it is not thread-safe.
#[derive(Debug)]
pub struct NetworkDefinition<'b> {
    // In this order: parsers go before the network, the weights it reads after it.
    parsers: RefCell<Vec<Owned<IParser>>>,
    raw: Owned<INetworkDefinition>,
    weights: RefCell<Vec<Kept>>,
    builder: &'b Builder,
}

/// What decides the precision of a network's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Typing {
    /// The builder, within the flags of its configuration. Releases without weak typing treat it as strong.
    #[default]
    Weak,
    /// The types of the network's tensors and nothing else; since TensorRT 9.1.
    Strong,
}

impl Builder {
    /// Creates an empty network with an explicit batch dimension.
    pub fn create_network(&self, typing: Typing) -> Result<NetworkDefinition<'_>> {
        let version = self.library().version();
        let mut flags = NetworkFlag::ExplicitBatch.value(version).map_or(0, |bit| 1 << bit);
        if typing == Typing::Strong {
            flags |= 1 << NetworkFlag::StronglyTyped.value(version)?;
        }
        let raw = self.library().expect("IBuilder::createNetworkV2", || {
            // SAFETY: the builder is live; the flags are bits of this release.
            let raw = unsafe { self.raw().create_network_v2(flags)? };
            Ok(INetworkDefinition::new(version, raw))
        })?;
        Ok(NetworkDefinition::new(self, raw))
    }
}

impl<'b> NetworkDefinition<'b> {
    pub(crate) fn new(builder: &'b Builder, raw: INetworkDefinition) -> Self {
        Self {
            parsers: RefCell::default(),
            raw: Owned::new(builder.library(), raw),
            weights: RefCell::default(),
            builder,
        }
    }

    pub(crate) fn raw(&self) -> INetworkDefinition {
        self.raw.raw()
    }

    pub(crate) fn builder(&self) -> &'b Builder {
        self.builder
    }

    /// The library that made the builder of this network.
    pub fn library(&self) -> Library {
        self.raw.library()
    }

    /// Keeps a parser alive as long as the network, for the weights it holds.
    pub(crate) fn keep_parser(&self, parser: IParser) {
        self.parsers.borrow_mut().push(Owned::new(self.library(), parser));
    }

    /// The network's name.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the network is live; the name is copied before anything can change it.
        Ok(unsafe { text(self.raw().get_name()?) })
    }

    /// Renames the network. The engine built from it has the same name.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the network is live; the library copies the name.
        unsafe { self.raw().set_name(name.as_ptr()) }.map_err(Error::from)
    }

    /// Adds a network input. An extent of −1 is dynamic: it is set when the engine runs.
    pub fn add_input(&self, name: &str, data_type: DataType, shape: &[i64]) -> Result<Tensor<'_>> {
        let (name, data_type, shape) =
            (c_string(name)?, data_type.value(self.library().version())?, dims(shape)?);
        let raw = self.library().expect("INetworkDefinition::addInput", || {
            // SAFETY: the network is live; the library copies the name.
            let raw = unsafe { self.raw().add_input(name.as_ptr(), data_type, shape)? };
            Ok(ITensor::new(self.library().version(), raw))
        })?;
        Ok(Tensor::new(self.raw(), raw))
    }

    /// Marks a tensor as a network output.
    pub fn mark_output(&self, tensor: Tensor<'_>) -> Result<()> {
        let tensor = self.own(tensor)?;
        // SAFETY: network and tensor are live and belong together.
        unsafe { self.raw().mark_output(tensor) }.map_err(Error::from)
    }

    /// Undoes [`mark_output`](Self::mark_output).
    pub fn unmark_output(&self, tensor: Tensor<'_>) -> Result<()> {
        let tensor = self.own(tensor)?;
        // SAFETY: network and tensor are live and belong together.
        unsafe { self.raw().unmark_output(tensor) }.map_err(Error::from)
    }

    /// The network's inputs, in order.
    pub fn inputs(&self) -> Result<Vec<Tensor<'_>>> {
        // SAFETY: the network is live; every index is below the count.
        let count = unsafe { self.raw().get_nb_inputs()? };
        // SAFETY: as above.
        self.tensors(count, |index| unsafe { self.raw().get_input(index) })
    }

    /// The network's outputs, in order.
    pub fn outputs(&self) -> Result<Vec<Tensor<'_>>> {
        // SAFETY: the network is live; every index is below the count.
        let count = unsafe { self.raw().get_nb_outputs()? };
        // SAFETY: as above.
        self.tensors(count, |index| unsafe { self.raw().get_output(index) })
    }

    /// The network's layers, in the order they were added.
    pub fn layers(&self) -> Result<Vec<Layer<'_>>> {
        // SAFETY: the network is live.
        let count = unsafe { self.raw().get_nb_layers()? };
        (0..count)
            .filter_map(|index| {
                // SAFETY: the network is live; the index is below the count.
                let raw = unsafe { self.raw().get_layer(index) };
                raw.map(|raw| Layer::new(self.raw(), raw)).transpose()
            })
            .collect::<std::result::Result<_, Unsupported>>()
            .map_err(Error::from)
    }

    /// Adds a constant.
    pub fn add_constant(&self, shape: &[i64], weights: &Weights<'_>) -> Result<Constant<'_>> {
        let (shape, weights) = (dims(shape)?, self.keep(weights)?);
        // SAFETY: the network is live and keeps the weights.
        self.layer("INetworkDefinition::addConstant", || unsafe { self.raw().add_constant(shape, weights) })
    }

    /// Adds a convolution over as many spatial axes as the kernel has.
    ///
    /// The kernel's elements are `[output_maps, channels / groups, kernel…]`. With [`Weights::NONE`] the kernel is a
    /// tensor: set it as input 1.
    pub fn add_convolution(
        &self,
        input: Tensor<'_>,
        output_maps: i64,
        kernel_size: &[i64],
        kernel: &Weights<'_>,
        bias: &Weights<'_>,
    ) -> Result<Convolution<'_>> {
        let (input, size) = (self.own(input)?, dims(kernel_size)?);
        let (kernel, bias) = (self.keep(kernel)?, self.keep(bias)?);
        self.layer("INetworkDefinition::addConvolutionNd", || {
            // SAFETY: the network is live, owns the input and keeps the weights.
            unsafe { self.raw().add_convolution_nd(input, Count(output_maps), size, kernel, bias) }
        })
    }

    /// Adds a deconvolution over as many spatial axes as the kernel has.
    ///
    /// The kernel's elements are `[channels, output_maps / groups, kernel…]`. With [`Weights::NONE`] the kernel is a
    /// tensor: set it as input 1.
    pub fn add_deconvolution(
        &self,
        input: Tensor<'_>,
        output_maps: i64,
        kernel_size: &[i64],
        kernel: &Weights<'_>,
        bias: &Weights<'_>,
    ) -> Result<Deconvolution<'_>> {
        let (input, size) = (self.own(input)?, dims(kernel_size)?);
        let (kernel, bias) = (self.keep(kernel)?, self.keep(bias)?);
        self.layer("INetworkDefinition::addDeconvolutionNd", || {
            // SAFETY: the network is live, owns the input and keeps the weights.
            unsafe { self.raw().add_deconvolution_nd(input, Count(output_maps), size, kernel, bias) }
        })
    }

    /// Adds a pooling over as many spatial axes as the window has.
    pub fn add_pooling(&self, input: Tensor<'_>, kind: PoolingType, window: &[i64]) -> Result<Pooling<'_>> {
        let (input, window, kind) = (self.own(input)?, dims(window)?, kind.value(self.library().version())?);
        self.layer("INetworkDefinition::addPoolingNd", || {
            // SAFETY: the network is live and owns the input.
            unsafe { self.raw().add_pooling_nd(input, kind, window) }
        })
    }

    /// Adds an activation.
    pub fn add_activation(&self, input: Tensor<'_>, kind: ActivationType) -> Result<Activation<'_>> {
        let (input, kind) = (self.own(input)?, kind.value(self.library().version())?);
        self.layer("INetworkDefinition::addActivation", || {
            // SAFETY: the network is live and owns the input.
            unsafe { self.raw().add_activation(input, kind) }
        })
    }

    /// Adds an element-wise operation on two tensors of one rank; an extent of 1 is broadcast.
    pub fn add_element_wise(
        &self,
        left: Tensor<'_>,
        right: Tensor<'_>,
        operation: ElementWiseOperation,
    ) -> Result<ElementWise<'_>> {
        let (left, right) = (self.own(left)?, self.own(right)?);
        let operation = operation.value(self.library().version())?;
        self.layer("INetworkDefinition::addElementWise", || {
            // SAFETY: the network is live and owns both inputs.
            unsafe { self.raw().add_element_wise(left, right, operation) }
        })
    }

    /// Adds `(x · scale + shift) ^ power`; empty coefficients are left out. This is BatchNormalization at inference.
    pub fn add_scale(
        &self,
        input: Tensor<'_>,
        mode: ScaleMode,
        [shift, scale, power]: [&Weights<'_>; 3],
        channel_axis: u8,
    ) -> Result<Scale<'_>> {
        let (input, mode) = (self.own(input)?, mode.value(self.library().version())?);
        let (shift, scale, power) = (self.keep(shift)?, self.keep(scale)?, self.keep(power)?);
        self.layer("INetworkDefinition::addScaleNd", || {
            // SAFETY: the network is live, owns the input and keeps the weights.
            unsafe { self.raw().add_scale_nd(input, mode, shift, scale, power, channel_axis.into()) }
        })
    }

    /// Adds a concatenation along axis 1; [`Concatenation::set_axis`] changes the axis.
    pub fn add_concatenation(&self, inputs: &[Tensor<'_>]) -> Result<Concatenation<'_>> {
        let mut inputs = inputs.iter().map(|&tensor| self.own(tensor)).collect::<Result<Vec<Ptr>>>()?;
        let count = i32::try_from(inputs.len()).unwrap_or(i32::MAX);
        self.layer("INetworkDefinition::addConcatenation", || {
            // SAFETY: the network is live and owns the inputs; the library copies the array during the call.
            unsafe { self.raw().add_concatenation(inputs.as_mut_ptr().cast(), count) }
        })
    }

    /// Adds a shuffle that is the identity until its transposes or its reshape are set.
    pub fn add_shuffle(&self, input: Tensor<'_>) -> Result<Shuffle<'_>> {
        let input = self.own(input)?;
        // SAFETY: the network is live and owns the input.
        self.layer("INetworkDefinition::addShuffle", || unsafe { self.raw().add_shuffle(input) })
    }

    /// Adds zero padding before and after the last two axes.
    pub fn add_padding(&self, input: Tensor<'_>, before: &[i64], after: &[i64]) -> Result<Layer<'_>> {
        let (input, before, after) = (self.own(input)?, dims(before)?, dims(after)?);
        self.any_layer("INetworkDefinition::addPaddingNd", || {
            // SAFETY: the network is live and owns the input.
            unsafe { self.raw().add_padding_nd(input, before, after) }
        })
    }

    /// Adds a strided slice.
    pub fn add_slice(
        &self,
        input: Tensor<'_>,
        start: &[i64],
        size: &[i64],
        stride: &[i64],
    ) -> Result<Layer<'_>> {
        let (input, start, size, stride) = (self.own(input)?, dims(start)?, dims(size)?, dims(stride)?);
        self.any_layer("INetworkDefinition::addSlice", || {
            // SAFETY: the network is live and owns the input.
            unsafe { self.raw().add_slice(input, start, size, stride) }
        })
    }

    /// Adds a layer that returns its input unchanged.
    pub fn add_identity(&self, input: Tensor<'_>) -> Result<Layer<'_>> {
        let input = self.own(input)?;
        // SAFETY: the network is live and owns the input.
        self.any_layer("INetworkDefinition::addIdentity", || unsafe { self.raw().add_identity(input) })
    }

    /// Adds a conversion of element types; since TensorRT 8.6.
    pub fn add_cast(&self, input: Tensor<'_>, to: DataType) -> Result<Cast<'_>> {
        let (input, to) = (self.own(input)?, to.value(self.library().version())?);
        // SAFETY: the network is live and owns the input.
        self.layer("INetworkDefinition::addCast", || unsafe { self.raw().add_cast(input, to) })
    }

    /// Adds a quantization to INT8 by a constant scale.
    pub fn add_quantize(&self, input: Tensor<'_>, scale: Tensor<'_>) -> Result<Quantize<'_>> {
        let (input, scale) = (self.own(input)?, self.own(scale)?);
        let int8 = DataType::Int8.value(self.library().version())?;
        self.layer("INetworkDefinition::addQuantize", || {
            // SAFETY: the network is live and owns both tensors. Releases that name the type have a method of their
            // own for it, the others only know INT8.
            unsafe {
                self.raw()
                    .add_quantize_typed(input, scale, int8)
                    .or_else(|_: Unsupported| self.raw().add_quantize(input, scale))
            }
        })
    }

    /// Adds a dequantization to FP32 by a constant scale.
    pub fn add_dequantize(&self, input: Tensor<'_>, scale: Tensor<'_>) -> Result<Dequantize<'_>> {
        self.add_dequantize_to(input, scale, DataType::Float)
    }

    /// Adds a dequantization to `to` by a constant scale. Releases before TensorRT 10 choose the type themselves.
    pub fn add_dequantize_to(
        &self,
        input: Tensor<'_>,
        scale: Tensor<'_>,
        to: DataType,
    ) -> Result<Dequantize<'_>> {
        let (input, scale) = (self.own(input)?, self.own(scale)?);
        let to = to.value(self.library().version())?;
        self.layer("INetworkDefinition::addDequantize", || {
            // SAFETY: as for addQuantize.
            unsafe {
                self.raw()
                    .add_dequantize_typed(input, scale, to)
                    .or_else(|_: Unsupported| self.raw().add_dequantize(input, scale))
            }
        })
    }

    fn own(&self, tensor: Tensor<'_>) -> Result<Ptr> {
        if tensor.network() == self.raw() {
            Ok(tensor.raw().0.as_ptr())
        } else {
            Err(Error::Foreign("tensor"))
        }
    }

    fn keep(&self, weights: &Weights<'_>) -> Result<crate::sys::Weights> {
        let kept = Kept::new(weights, self.library().version())?;
        let raw = kept.as_raw();
        self.weights.borrow_mut().push(kept);
        Ok(raw)
    }

    fn any_layer(
        &self,
        call: &'static str,
        add: impl FnOnce() -> std::result::Result<Ptr, Unsupported>,
    ) -> Result<Layer<'_>> {
        self.library().expect(call, || Ok(Layer::new(self.raw(), add()?)))
    }

    fn layer<'n, L: ConcreteLayer<'n>>(
        &'n self,
        call: &'static str,
        add: impl FnOnce() -> std::result::Result<Ptr, Unsupported>,
    ) -> Result<L> {
        self.any_layer(call, add).map(L::assume)
    }

    fn tensors(
        &self,
        count: i32,
        get: impl Fn(i32) -> std::result::Result<Ptr, Unsupported>,
    ) -> Result<Vec<Tensor<'_>>> {
        (0..count)
            .filter_map(|index| get(index).map(|raw| ITensor::new(self.library().version(), raw)).transpose())
            .map(|raw| Ok(Tensor::new(self.raw(), raw?)))
            .collect()
    }
}
