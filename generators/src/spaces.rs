//! The spaces of the families: what is drawn how often.

use twinfer_onnx::{DataType, MAX_OPSET};

use crate::{
    Arrangement, AxisForm, Bias, Branches, Dialect, Dynamic, Grouping, Menu, Neighbor, Operator,
    OutputPadding, Padding, PoolForm, Pooling, Quantization, Quantizer, Rewrite, Runs, Scaling, Size, Source,
    Space, Values, ZeroPoint,
};

/// Channels in and out of a quantized deconvolution that went wrong in the field.
const SEGMENTATION_HEAD: (usize, usize) = (64, 10);

/// The operator sets that a case may ask for.
const OPSETS: std::ops::RangeInclusive<i64> = 11..=MAX_OPSET;

impl Space {
    /// The family `conv`.
    pub fn convolutions() -> Self {
        Self::led_by(Operator::Conv)
    }

    /// The family `deconv`.
    pub fn deconvolutions() -> Self {
        Self::led_by(Operator::ConvTranspose)
    }

    /// The family `qdq-conv`.
    pub fn quantized_convolutions() -> Self {
        Self::quantized(Self::convolutions())
    }

    /// The family `qdq-deconv`.
    pub fn quantized_deconvolutions() -> Self {
        let space = Self::quantized(Self::deconvolutions());
        let mut quantization = Quantization::new();
        quantization.scaling = Menu::new([
            (Scaling::Tensor, 18),
            (Scaling::Outputs, 30),
            (Scaling::Inputs, 49),
            (Scaling::Kernel, 3),
        ]);
        quantization.wide = Menu::new([
            (None, 62),
            (Some(SEGMENTATION_HEAD), 24),
            (Some((32, 16)), 5),
            (Some((16, 32)), 5),
            (Some((12, 20)), 4),
        ]);
        Self {
            grouping: Menu::new([
                (Grouping::One, 68),
                (Grouping::Several(2), 12),
                (Grouping::Several(3), 5),
                (Grouping::Depthwise, 15),
            ]),
            channels: Menu::new([(1, 9), (2, 9), (3, 11), (4, 29), (5, 9), (8, 26), (16, 7)]),
            deconv_padding: quantized_deconv_padding(),
            output_padding: Menu::new([
                (OutputPadding::Absent, 68),
                (OutputPadding::Zero, 5),
                (OutputPadding::BelowStride, 24),
                (OutputPadding::BelowDilation, 3),
            ]),
            quantization: Some(quantization),
            ..space
        }
    }

    fn quantized(space: Self) -> Self {
        let neighbors = [
            (Some(Neighbor::Relu), 14),
            (Some(Neighbor::AddChannels), 2),
            (Some(Neighbor::AddInput), 2),
            (Some(Neighbor::AddResidual), 2),
            (Some(Neighbor::BatchNormalization), 5),
        ];
        Self {
            length: Menu::new([(1, 85), (2, 12), (3, 3)]),
            grouping: Menu::new([
                (Grouping::One, 56),
                (Grouping::Several(2), 18),
                (Grouping::Several(3), 6),
                (Grouping::Depthwise, 20),
            ]),
            // hardware computes with integers in fours of channels
            channels: Menu::new([(1, 12), (2, 11), (3, 12), (4, 22), (5, 15), (8, 25), (16, 3)]),
            precision: Menu::new([(DataType::Float, 94), (DataType::Float16, 6)]),
            regime: Menu::new([(Values::Exact, 60), (Values::Gaussian, 35), (Values::WideRange, 5)]),
            dilation: Menu::new([(1, 82), (2, 12), (3, 6)]),
            quantization: Some(Quantization::new()),
            weights: Menu::new([
                (Source::Initializer, 4),
                (Source::Identity, 1),
                (Source::Sum, 1),
                (Source::Dequantized, 47),
                (Source::Quantized, 47),
            ]),
            bias: Menu::new([
                (Bias::Absent, 38),
                (Bias::Empty, 2),
                (Bias::From(Source::Initializer), 25),
                (Bias::From(Source::Identity), 3),
                (Bias::From(Source::Sum), 2),
                (Bias::From(Source::Dequantized), 30),
            ]),
            before: Menu::new([(None, 300)].into_iter().chain(neighbors)),
            after: Menu::new([(None, 60)].into_iter().chain(neighbors)),
            ..space
        }
    }

    /// The family `block`.
    pub fn blocks() -> Self {
        let space = Self::quantized_convolutions();
        let mut quantization = Quantization::new();
        quantization.applies = Menu::new([(true, 80), (false, 20)]);
        quantization.wide = Menu::new([(None, 85), (Some(SEGMENTATION_HEAD), 15)]);
        Self {
            arrangement: Menu::new([
                (Arrangement::Normalized, 16),
                (Arrangement::Residual, 30),
                (Arrangement::Fan, 14),
                (Arrangement::Concat, 14),
                (Arrangement::Pooling, 10),
                (Arrangement::EncoderDecoder, 16),
            ]),
            rank: Menu::new([(1, 15), (2, 72), (3, 13)]),
            channels: Menu::new([(1, 8), (2, 12), (3, 14), (4, 30), (5, 8), (8, 22), (16, 6)]),
            quantization: Some(quantization),
            ..space
        }
    }

    fn led_by(lead: Operator) -> Self {
        let other = match lead {
            Operator::Conv => Operator::ConvTranspose,
            Operator::ConvTranspose => Operator::Conv,
        };
        let parameter = [(Source::Initializer, 60), (Source::Identity, 20), (Source::Sum, 20)];
        let neighbors = [
            (Some(Neighbor::Relu), 8),
            (Some(Neighbor::AddChannels), 4),
            (Some(Neighbor::AddScalar), 2),
            (Some(Neighbor::AddInput), 3),
            (Some(Neighbor::AddResidual), 3),
            (Some(Neighbor::BatchNormalization), 8),
        ];
        Self {
            arrangement: Menu::only(Arrangement::Chain),
            branches: Menu::new([
                (Branches::Neither, 25),
                (Branches::Main, 20),
                (Branches::Shortcut, 20),
                (Branches::Both, 35),
            ]),
            lead,
            follower: Menu::new([(lead, 70), (other, 30)]),
            length: Menu::new([(1, 74), (2, 19), (3, 7)]),
            rank: Menu::new([(1, 25), (2, 50), (3, 25)]),
            precision: Menu::new([(DataType::Float, 70), (DataType::Float16, 30)]),
            opset: Menu::new(OPSETS.map(|opset| (opset, 1))),
            regime: Menu::new([
                (Values::Exact, 60),
                (Values::Gaussian, 25),
                (Values::WideRange, 8),
                (Values::Denormal, 5),
                (Values::Saturating, 2),
            ]),
            special: Menu::new([(false, 90), (true, 10)]),
            batch: Menu::new([(1, 60), (2, 25), (3, 15)]),
            grouping: Menu::new([
                (Grouping::One, 62),
                (Grouping::Several(2), 14),
                (Grouping::Several(3), 6),
                (Grouping::Depthwise, 18),
            ]),
            channels: Menu::new([(1, 25), (2, 22), (3, 20), (4, 14), (5, 10), (8, 9)]),
            kernel: Menu::new([(1, 18), (2, 24), (3, 36), (4, 12), (5, 10)]),
            stride: Menu::new([(1, 44), (2, 34), (3, 16), (4, 6)]),
            dilation: Menu::new([(1, 70), (2, 20), (3, 10)]),
            conv_padding: conv_padding(),
            deconv_padding: deconv_padding(),
            output_padding: Menu::new([
                (OutputPadding::Absent, 56),
                (OutputPadding::Zero, 5),
                (OutputPadding::BelowStride, 35),
                (OutputPadding::BelowDilation, 4),
            ]),
            default_written: Menu::new([(true, 50), (false, 50)]),
            kernel_shape_written: Menu::new([(true, 60), (false, 40)]),
            quantization: None,
            weights: Menu::new(parameter),
            bias: Menu::new(
                [(Bias::Absent, 35), (Bias::Empty, 5)]
                    .into_iter()
                    .chain(parameter.map(|(source, weight)| (Bias::From(source), weight))),
            ),
            before: Menu::new([(None, 110)].into_iter().chain(neighbors)),
            after: Menu::new([(None, 60)].into_iter().chain(neighbors)),
            activation: Menu::only(Neighbor::Relu),
            pooling: Menu::only(Pooling::Max),
            pool_form: Menu::only(PoolForm::Plain),
            dynamic: Menu::new([
                (Dynamic { batch: false, spatial: false }, 55),
                (Dynamic { batch: true, spatial: false }, 15),
                (Dynamic { batch: false, spatial: true }, 15),
                (Dynamic { batch: true, spatial: true }, 15),
            ]),
            runs: Menu::new([
                (Runs::A, 25),
                (Runs::AA, 10),
                (Runs::AB, 15),
                (Runs::ABA, 45),
                (Runs::EmptyFullEmpty, 5),
            ]),
            size: Size::Small,
            rewrites: Menu::only(None),
        }
    }

    /// The same family as the distribution `full` draws it: now and then with many channels or positions.
    pub fn full(self) -> Menu<Self> {
        let space = Self {
            deconv_padding: self.deconv_padding.with([(Padding::OutputShapeValid, 2)]),
            before: self.before.with(activations()),
            after: self.after.with(activations()),
            activation: Menu::new([
                (Neighbor::Relu, 70),
                (Neighbor::Clip, 8),
                (Neighbor::HardSwish, 6),
                (Neighbor::LeakyRelu, 8),
                (Neighbor::Swish, 8),
            ]),
            pooling: Menu::new([
                (Pooling::Max, 60),
                (Pooling::Average, 25),
                (Pooling::AverageWithPadding, 15),
            ]),
            pool_form: Menu::new([
                (PoolForm::Plain, 70),
                (PoolForm::SameUpper, 8),
                (PoolForm::SameLower, 8),
                (PoolForm::Valid, 6),
                (PoolForm::Dilated, 8),
            ]),
            rewrites: rewrites(self.quantization.is_some()),
            ..self
        };
        Menu::new([
            (space.clone(), 994),
            (space.clone().of_many_channels(), 3),
            (space.of_many_positions(), 3),
        ])
    }

    /// A single convolution of hundreds of channels, with one spatial axis.
    fn of_many_channels(self) -> Self {
        Self {
            arrangement: Menu::only(Arrangement::Chain),
            length: Menu::only(1),
            rank: Menu::only(1),
            size: Size::ManyChannels,
            channels: Menu::new([(1, 2), (4, 3), (256, 1), (512, 3)]),
            kernel: Menu::new([(1, 3), (3, 1)]),
            ..self
        }
    }

    /// A single convolution of thousands of positions, with few channels.
    fn of_many_positions(self) -> Self {
        Self {
            arrangement: Menu::only(Arrangement::Chain),
            length: Menu::only(1),
            size: Size::ManyPositions,
            channels: Menu::new([(1, 2), (2, 1), (3, 1), (4, 1)]),
            ..self
        }
    }
}

fn activations() -> [(Option<Neighbor>, u32); 4] {
    [
        (Some(Neighbor::Clip), 3),
        (Some(Neighbor::HardSwish), 3),
        (Some(Neighbor::LeakyRelu), 3),
        (Some(Neighbor::Swish), 3),
    ]
}

fn rewrites(is_quantized: bool) -> Menu<Option<Rewrite>> {
    let everywhere = [
        (None, 80),
        (Some(Rewrite::Constant), 3),
        (Some(Rewrite::GlobalAveragePool), 3),
        (Some(Rewrite::IntermediateOutput), 4),
        (Some(Rewrite::ParameterInput), 4),
        (Some(Rewrite::SharedWeight), 3),
        (Some(Rewrite::Tf32), 2),
        (Some(Rewrite::Transpose), 4),
    ];
    let quantized = [
        (Some(Rewrite::BiasScale), 4),
        (Some(Rewrite::ChannelScales), 3),
        (Some(Rewrite::ComputedQuantization), 3),
        (Some(Rewrite::ConvInteger), 5),
        (Some(Rewrite::QLinearConv), 14),
    ];
    Menu::new(everywhere.into_iter().chain(quantized.into_iter().filter(|_| is_quantized)))
}

impl Quantization {
    /// As the families of quantized graphs have it.
    pub(crate) fn new() -> Self {
        let quantizer = |dtype, zero_point| Quantizer { dtype, zero_point };
        let activations = [
            (quantizer(DataType::Int8, ZeroPoint::Zero), 30),
            (quantizer(DataType::Int8, ZeroPoint::Nonzero), 20),
            (quantizer(DataType::Uint8, ZeroPoint::Zero), 14),
            (quantizer(DataType::Uint8, ZeroPoint::Nonzero), 20),
            (quantizer(DataType::Uint8, ZeroPoint::Absent), 16),
        ];
        let optional = |none| {
            let some = activations.iter().map(|(quantizer, weight)| (Some(*quantizer), *weight));
            Menu::new([(None, none)].into_iter().chain(some))
        };
        Self {
            applies: Menu::only(true),
            dialect: Menu::new([(Dialect::Onnx, 28), (Dialect::Symmetric, 12), (Dialect::Explicit, 60)]),
            wide: Menu::new([(None, 94), (Some((32, 16)), 2), (Some((16, 32)), 2), (Some((32, 32)), 2)]),
            activation: optional(2),
            output: optional(60),
            integer_input: Menu::new([(true, 9), (false, 91)]),
            integer_output: Menu::new([(true, 18), (false, 82)]),
            weights: Menu::new([
                (quantizer(DataType::Int8, ZeroPoint::Zero), 42),
                (quantizer(DataType::Int8, ZeroPoint::Absent), 28),
                (quantizer(DataType::Int8, ZeroPoint::Nonzero), 10),
                (quantizer(DataType::Uint8, ZeroPoint::Nonzero), 12),
                (quantizer(DataType::Uint8, ZeroPoint::Zero), 4),
                (quantizer(DataType::Uint8, ZeroPoint::Absent), 4),
            ]),
            scaling: Menu::new([
                (Scaling::Tensor, 34),
                (Scaling::Outputs, 44),
                (Scaling::Inputs, 19),
                (Scaling::Kernel, 3),
            ]),
            axis: Menu::new([(AxisForm::Positive, 45), (AxisForm::Negative, 25), (AxisForm::Omitted, 30)]),
        }
    }
}

fn conv_padding() -> Menu<Padding> {
    Menu::new([
        (Padding::Absent, 18),
        (Padding::Zero, 6),
        (Padding::Symmetric, 16),
        (Padding::Asymmetric, 28),
        (Padding::NotSet, 6),
        (Padding::NotSetAlone, 2),
        (Padding::SameUpper, 10),
        (Padding::SameLower, 10),
        (Padding::Valid, 4),
    ])
}

fn deconv_padding() -> Menu<Padding> {
    Menu::new([
        (Padding::Absent, 14),
        (Padding::Zero, 4),
        (Padding::Symmetric, 12),
        (Padding::Asymmetric, 24),
        (Padding::NotSet, 5),
        (Padding::NotSetAlone, 2),
        (Padding::SameUpper, 8),
        (Padding::SameLower, 8),
        (Padding::Valid, 3),
        (Padding::OutputShape, 7),
        (Padding::OutputShapeNotSet, 2),
        (Padding::OutputShapeUpper, 5),
        (Padding::OutputShapeLower, 5),
        (Padding::OutputShapeOverPads, 3),
    ])
}

/// Plainer than without quantization, where errors in padding alone show.
fn quantized_deconv_padding() -> Menu<Padding> {
    Menu::new([
        (Padding::Absent, 28),
        (Padding::Zero, 5),
        (Padding::Symmetric, 22),
        (Padding::Asymmetric, 18),
        (Padding::NotSet, 4),
        (Padding::NotSetAlone, 2),
        (Padding::SameUpper, 4),
        (Padding::SameLower, 4),
        (Padding::Valid, 3),
        (Padding::OutputShape, 3),
        (Padding::OutputShapeNotSet, 1),
        (Padding::OutputShapeUpper, 2),
        (Padding::OutputShapeLower, 2),
        (Padding::OutputShapeOverPads, 2),
    ])
}
