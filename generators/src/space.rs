use twinfer_onnx::DataType;

use crate::{Arrangement, Branches, Cases, Choices, Menu, Quantization, Rewrite, quantizer::quantizable};

/// A space of valid cases: the options of every decision, with their weights.
///
/// Restrict a space by restricting its menus; every case that remains is valid by construction.
///
/// ```
/// # use twinfer_generators::{Family, Space};
/// let mut space = Space::deconvolutions();
/// space.rank = space.rank.keep(|rank| *rank == 2)?;
/// let cases = space.cases(); // a proptest strategy
/// # Ok::<(), twinfer_generators::NothingLeft>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// The arrangement of the parts of a case.
    pub arrangement: Menu<Arrangement>,
    /// The operator that comes first in a chain; every chain has it.
    pub lead: Operator,
    /// The operators that follow it.
    pub follower: Menu<Operator>,
    /// The number of convolutions in a chain.
    pub length: Menu<usize>,
    /// The branches of a residual block that are quantized in front of the Add.
    pub branches: Menu<Branches>,
    /// The number of spatial axes.
    pub rank: Menu<usize>,
    /// The type of every tensor.
    pub precision: Menu<DataType>,
    /// The version of the operator set.
    pub opset: Menu<i64>,
    /// How values are distributed.
    pub regime: Menu<Values>,
    /// Whether values outside of the exact regime include NaN, infinities and other special ones.
    pub special: Menu<bool>,
    /// The number of samples in a batch.
    pub batch: Menu<usize>,
    /// The division of channels into groups.
    pub grouping: Menu<Grouping>,
    /// The numbers of input and output channels of a group.
    pub channels: Menu<usize>,
    /// Extent of the kernel along an axis.
    pub kernel: Menu<usize>,
    /// Stride along an axis.
    pub stride: Menu<usize>,
    /// Dilation along an axis.
    pub dilation: Menu<usize>,
    /// The padding of a Conv.
    pub conv_padding: Menu<Padding>,
    /// The padding of a ConvTranspose.
    pub deconv_padding: Menu<Padding>,
    /// Whether a ConvTranspose has `output_padding`.
    pub output_padding: Menu<OutputPadding>,
    /// Whether an attribute that has its default value is written.
    pub default_written: Menu<bool>,
    /// Whether the optional attribute `kernel_shape` is written.
    pub kernel_shape_written: Menu<bool>,
    /// The quantization of values and weights; `None` quantizes nothing.
    pub quantization: Option<Quantization>,
    /// How large a case may be.
    pub size: Size,
    /// The source of the weights.
    pub weights: Menu<Source>,
    /// The source of the bias.
    pub bias: Menu<Bias>,
    /// The operators in front of the first convolution.
    pub before: Menu<Option<Neighbor>>,
    /// The operators that follow each convolution, at most two.
    pub after: Menu<Option<Neighbor>>,
    /// The activations of a block, where it has one.
    pub activation: Menu<Neighbor>,
    /// What a block pools.
    pub pooling: Menu<Pooling>,
    /// How it chooses windows.
    pub pool_form: Menu<PoolForm>,
    /// The axes whose extents are known only at run time.
    pub dynamic: Menu<Dynamic>,
    /// The shapes of the runs, if axes are dynamic.
    pub runs: Menu<Runs>,
    /// What is changed in a finished case, twice drawn.
    pub rewrites: Menu<Option<Rewrite>>,
}

/// The operators that the families test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the ONNX operator of the same name")]
pub enum Operator {
    Conv,
    ConvTranspose,
}

/// How large the cases of a space may be, within what its menus offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A few channels and positions, so that a case takes microseconds.
    Small,
    /// As many channels as the menus offer.
    ManyChannels,
    /// Up to about 8,000 positions.
    ManyPositions,
}

/// The data regimes: in `Exact` the true result is known without rounding, in the others it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// On dyadic grids, within a budget: every sum of products is exact.
    Exact,
    /// Standard normal.
    Gaussian,
    /// Magnitudes log-uniform over many decades.
    WideRange,
    /// Inputs about the smallest normal number.
    Denormal,
    /// Inputs about the largest finite number.
    Saturating,
}

/// The division of channels into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One group of all channels.
    One,
    /// This many groups of several channels; if the number of channels is fixed, a divisor of it.
    Several(usize),
    /// Each input channel is a group.
    Depthwise,
}

/// The padding of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Neither `pads` nor `auto_pad` is written.
    Absent,
    /// `pads` of zeros, written.
    Zero,
    /// `pads`, the same at both ends of an axis.
    Symmetric,
    /// `pads`, each end on its own.
    Asymmetric,
    /// As `Asymmetric`, with `auto_pad` NOTSET written.
    NotSet,
    /// `auto_pad` NOTSET written, without `pads`.
    NotSetAlone,
    /// `auto_pad` `SAME_UPPER`.
    SameUpper,
    /// `auto_pad` `SAME_LOWER`.
    SameLower,
    /// `auto_pad` VALID.
    Valid,
    /// `output_shape` alone.
    OutputShape,
    /// `output_shape` with `auto_pad` NOTSET.
    OutputShapeNotSet,
    /// `output_shape` with `auto_pad` `SAME_UPPER`.
    OutputShapeUpper,
    /// `output_shape` with `auto_pad` `SAME_LOWER`.
    OutputShapeLower,
    /// `output_shape` with `auto_pad` VALID, which it overrides.
    OutputShapeValid,
    /// `output_shape` with `pads`, which it overrides.
    OutputShapeOverPads,
}

/// `output_padding` of a ConvTranspose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPadding {
    /// Not written.
    Absent,
    /// Zeros, written.
    Zero,
    /// Below the stride of each axis.
    BelowStride,
    /// Below the stride or the dilation of each axis.
    BelowDilation,
}

/// The source of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An initializer.
    Initializer,
    /// Computed: Identity of an initializer.
    Identity,
    /// Computed: the sum of two initializers.
    Sum,
    /// Integers in an initializer through `DequantizeLinear`; an `Initializer` if nothing is quantized.
    Dequantized,
    /// Numbers in an initializer through `QuantizeLinear` and `DequantizeLinear`; for a bias the same as
    /// `Dequantized`.
    Quantized,
}

/// The bias of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// Not an input.
    Absent,
    /// An input with the empty name, which is how ONNX leaves an optional input out.
    Empty,
    /// One value per output channel.
    From(Source),
}

/// An operator around a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbor {
    /// Relu.
    Relu,
    /// Add of one constant per channel.
    AddChannels,
    /// Add of a scalar.
    AddScalar,
    /// Add of another input of the graph, of the same shape.
    AddInput,
    /// Add of an earlier value with the same shape; of one constant per channel if there is none.
    AddResidual,
    /// BatchNormalization.
    BatchNormalization,
    /// Clip by constants, one or both bounds.
    Clip,
    /// HardSwish.
    HardSwish,
    /// LeakyRelu.
    LeakyRelu,
    /// The value times its Sigmoid.
    Swish,
}

/// What a pooling makes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Its maximum: `MaxPool`.
    Max,
    /// Its average, padding left out: AveragePool.
    Average,
    /// Its average, padding counted as zeros: AveragePool.
    AverageWithPadding,
}

/// How a pooling chooses its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolForm {
    /// By `pads`, or without any.
    Plain,
    /// `auto_pad` `SAME_UPPER`.
    SameUpper,
    /// `auto_pad` `SAME_LOWER`.
    SameLower,
    /// `auto_pad` VALID.
    Valid,
    /// By `pads`, with a dilation of 2 if the operator set has the attribute.
    Dilated,
}

/// The axes of the inputs whose extents are known only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dynamic {
    /// The batch.
    pub batch: bool,
    /// The spatial axes.
    pub spatial: bool,
}

/// The runs of a case. Each letter stands for a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// One run.
    A,
    /// Two runs of one shape with different values.
    AA,
    /// Two shapes.
    AB,
    /// Two shapes and the first again with its earlier values; with other values if no axis is dynamic.
    ABA,
    /// An empty batch, a full one and an empty one; `ABA` if the batch is fixed.
    EmptyFullEmpty,
}

impl Space {
    /// This space as a proptest strategy, which shrinks by the passes of `twinfer-minimize`.
    pub const fn cases(self) -> Cases<Self> {
        Cases::of(self)
    }

    /// Draws a precision; if something may be quantized, one that some version of the operator set can quantize.
    pub(crate) fn drawn_precision(&self, choices: &mut Choices) -> DataType {
        self.precision.draw_among(choices, |precision| {
            self.is_plain() || self.opset.options().any(|opset| quantizable(*precision, *opset))
        })
    }

    /// Draws a version of the operator set; if something may be quantized, one that can quantize this precision.
    pub(crate) fn drawn_opset(&self, precision: DataType, choices: &mut Choices) -> i64 {
        self.opset.draw_among(choices, |opset| self.is_plain() || quantizable(precision, *opset))
    }

    fn is_plain(&self) -> bool {
        self.quantization.is_none() && self.arrangement.options().all(|drawn| *drawn == Arrangement::Chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaseSpace as _, Coverage, Dialect, Scaling};

    /// The values of an attribute that cases of a space have.
    fn reached(space: &Space, attribute: &str) -> Vec<&'static str> {
        let mut coverage = Coverage::new();
        for index in 0..150 {
            coverage.record(&space.draw(&mut Choices::of_index(6, index)));
        }
        let values = coverage.report().values.into_iter();
        values
            .filter(|value| value.attribute == attribute && value.count > 0)
            .map(|value| value.value)
            .collect()
    }

    #[test]
    fn a_restricted_menu_is_never_left() {
        for space in [Space::convolutions(), Space::deconvolutions()] {
            let restricted = |attribute, restrict: fn(&mut Space)| {
                let mut space = space.clone();
                restrict(&mut space);
                reached(&space, attribute)
            };
            assert_eq!(restricted("spatial axes", |space| space.rank = Menu::only(3)), ["3"]);
            assert_eq!(
                restricted("element type", |space| space.precision = Menu::only(DataType::Float16)),
                ["FLOAT16"]
            );
            assert_eq!(
                restricted("input data", |space| space.regime = Menu::only(Values::Exact)),
                ["summed without rounding"]
            );
            assert_eq!(restricted("opset", |space| space.opset = Menu::only(13)), ["13"]);
            assert_eq!(restricted("kernel size", |space| space.kernel = Menu::only(1)), ["1 on all axes"]);
            assert_eq!(restricted("largest stride", |space| space.stride = Menu::only(4)), ["4"]);
            assert_eq!(restricted("largest dilation", |space| space.dilation = Menu::only(2)), ["2"]);
            assert_eq!(restricted("group", |space| space.grouping = Menu::only(Grouping::One)), ["1"]);
            assert_eq!(
                restricted("weights come from", |space| space.weights = Menu::only(Source::Sum)),
                ["Add"]
            );
            assert_eq!(
                restricted("bias comes from", |space| space.bias = Menu::only(Bias::Empty)),
                ["no bias (empty name)"]
            );
            assert_eq!(
                restricted("position among the convolutions", |space| space.length = Menu::only(1)),
                ["the only one"]
            );
            assert_eq!(
                restricted("inferences in one session", |space| space.runs = Menu::only(Runs::AA)),
                ["2"]
            );
            assert_eq!(
                restricted("node after", |space| space.after = Menu::only(None)),
                ["graph output", "Conv or ConvTranspose"]
            );
            assert_eq!(
                restricted("kernel_shape attribute", |space| space.kernel_shape_written = Menu::only(false)),
                ["absent"]
            );
        }
    }

    #[test]
    fn a_restricted_quantization_is_never_left() {
        for space in [Space::quantized_convolutions(), Space::quantized_deconvolutions()] {
            let restricted = |attribute, restrict: fn(&mut Space, &mut Quantization)| {
                let mut space = space.clone();
                let mut quantization = space.quantization.take().expect("the space is quantized");
                space.opset = Menu::only(15);
                space.weights = Menu::only(Source::Dequantized);
                restrict(&mut space, &mut quantization);
                reached(&Space { quantization: Some(quantization), ..space }, attribute)
            };
            assert_eq!(
                restricted("weights come from", |_, menus| menus.applies = Menu::only(true)),
                ["DequantizeLinear"]
            );
            assert_eq!(
                restricted("weights come from", |_, menus| menus.applies = Menu::only(false)),
                ["initializer"]
            );
            let symmetric =
                |_: &mut Space, menus: &mut Quantization| menus.dialect = Menu::only(Dialect::Symmetric);
            assert_eq!(restricted("weights quantized as", symmetric), ["INT8"]);
            assert_eq!(restricted("zero point of the input", symmetric), ["not quantized", "0"]);
            assert_eq!(restricted("zero point of the weights", symmetric), ["absent", "0"]);
            let explicit = |space: &mut Space, menus: &mut Quantization| {
                space.bias =
                    Menu::new([Source::Sum, Source::Dequantized].map(|source| (Bias::From(source), 1)));
                menus.dialect = Menu::only(Dialect::Explicit);
            };
            assert_eq!(restricted("zero point of the weights", explicit), ["0"]);
            assert_eq!(restricted("bias comes from", explicit), ["initializer", "Add"]);
            assert_eq!(
                restricted("scales of the weights", |_, menus| menus.scaling = Menu::only(Scaling::Tensor)),
                ["one"]
            );
            assert_eq!(
                restricted("element type", |space, _| space.precision = Menu::only(DataType::Float16)),
                ["FLOAT16"]
            );
        }
    }

    #[test]
    fn a_block_that_is_asked_for_is_drawn() {
        let drawn = |arrangement| {
            let mut space = Space::blocks();
            space.arrangement = Menu::only(arrangement);
            reached(&space, "branches of the graph")
        };
        assert_eq!(drawn(Arrangement::Residual), ["joined by Add"]);
        assert_eq!(drawn(Arrangement::Concat), ["joined by Concat"]);
        assert_eq!(drawn(Arrangement::Pooling), ["with MaxPool"]);
        assert_eq!(drawn(Arrangement::Fan), ["joined by Add", "joined by Concat"]);
        assert_eq!(drawn(Arrangement::EncoderDecoder), ["none", "joined by Concat"]);
        assert_eq!(drawn(Arrangement::Normalized), ["none"]);
    }
}
