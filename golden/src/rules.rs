//! Points on which the ONNX specification is silent or contradicts itself.

use twinfer_onnx::{AutoPad, AveragePool, Axis, Conv, ConvTranspose, Geometry, MaxPool};

/// A point that ONNX does not settle. No reference binds all backends on a graph that touches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name used in verdicts and counts.
    pub name: &'static str,
    /// What is open, and what golden does in that case.
    pub summary: &'static str,
    /// The texts that are silent or disagree.
    pub source: &'static str,
}

macro_rules! entries {
    ($($constant:ident = $name:literal, $summary:literal, $source:literal;)*) => {
        $(#[doc = concat!("The entry `", $name, "`.")] pub static $constant: Entry = Entry { name: $name, summary: $summary, source: $source };)*
        static ALL: &[&Entry] = &[$(&$constant),*];
    };
}

entries! {
    SAME_BEFORE_11 = "same-before-opset-11",
        "before operator set 11, auto_pad SAME of a convolution gives the output the extent of the input, which no padding does with a stride above 1; golden follows operator set 11",
        "onnx/docs/Changelog.md#Conv-1 and #ConvTranspose-1, attribute auto_pad";
    SAME_BEYOND_NATURAL = "conv-transpose-same-beyond-natural",
        "with auto_pad SAME the text asks for input * stride positions even if the kernel reaches fewer; golden stops at the natural extent",
        "onnx/docs/Operators.md#ConvTranspose, attribute auto_pad; onnx/onnx/defs/nn/defs.cc, convTransposeShapeInference, and ONNX Runtime 1.31.1 stop there too";
    SAME_WITH_OUTPUT_PADDING = "conv-transpose-same-with-output-padding",
        "with auto_pad SAME and output_padding the text asks for input * stride positions, but ONNX's shape inference adds output_padding; golden follows the text",
        "onnx/docs/Operators.md#ConvTranspose, attribute auto_pad, against onnx/onnx/defs/nn/defs.cc, convTransposeShapeInference; ONNX Runtime 1.31.1 computes the text and warns";
    OUTPUT_SHAPE_BEYOND_NATURAL = "conv-transpose-output-shape-beyond-natural",
        "output_shape asks for more positions than there are, so the total padding is negative; golden appends positions that hold the bias",
        "onnx/docs/Operators.md#ConvTranspose, total_padding; ONNX Runtime 1.31.1 fails";
    OUTPUT_SHAPE_BELOW_INPUT = "conv-transpose-output-shape-below-input",
        "output_shape is below the input's extent: the text defines this, but ONNX's shape inference fails with a wrong rank; golden follows the text",
        "onnx/docs/Operators.md#ConvTranspose, attribute output_shape, against onnx/onnx/defs/nn/defs.cc, convTransposeShapeInference";
    OUTPUT_SHAPE_WITH_VALID = "conv-transpose-output-shape-with-valid",
        "output_shape crops positions, and auto_pad VALID says that nothing is padded; golden follows output_shape",
        "onnx/docs/Operators.md#ConvTranspose, attributes auto_pad and output_shape";
    EMPTY_TRANSPOSED_INPUT = "conv-transpose-empty-input",
        "for an input without positions the formula subtracts one stride; golden follows the formula",
        "onnx/docs/Operators.md#ConvTranspose: stride * (input_size - 1)";
    SAME_SKIPS_INPUT = "same-skips-input",
        "with auto_pad SAME the windows cover fewer positions than there are, so the padding would be negative; golden pads nothing and leaves the end unread",
        "onnx/docs/Operators.md#Conv, attributes auto_pad and pads; onnx/onnx/defs/nn/defs.cc, convPoolShapeInference, takes zero, ONNX Runtime 1.31.1 crops the start";
    VALID_WITH_CEIL = "max-pool-valid-with-ceil",
        "the formula for auto_pad VALID with ceil_mode differs from that for explicit pads of zero; golden follows that for explicit pads",
        "onnx/docs/Operators.md#MaxPool, output_spatial_shape";
    WINDOW_OF_PADDING = "max-pool-window-of-padding",
        "a pooling window covers only padding; golden returns the lowest number, minus infinity for floats",
        "onnx/docs/Operators.md#MaxPool: maximum number of elements exclude pad; ONNX Runtime wants pads below the kernel";
    RELU_OF_NAN = "relu-of-nan",
        "max(0, NaN) is not defined; open for these elements",
        "onnx/docs/Operators.md#Relu: y = max(0, x)";
    MAX_OF_NAN = "max-pool-of-nan",
        "the maximum of a window with a NaN is not defined; open for these elements",
        "onnx/docs/Operators.md#MaxPool";
    ACTIVATION_OF_NON_FINITE = "activation-of-non-finite",
        "Clip, HardSwish and LeakyRelu compare with NaN, HardSwish multiplies minus infinity by zero, and the default bounds of Clip are finite where a backend without a bound has none; open for these elements",
        "onnx/docs/Operators.md#Clip, #HardSwish and #LeakyRelu";
    CLIP_BOUNDS_BEFORE_13 = "clip-bounds-before-opset-13",
        "before operator set 13, the text does not say what Clip gives if its lower bound is above its upper one; golden follows operator set 13",
        "onnx/docs/Changelog.md#Clip-11 and #Clip-12, against #Clip-13";
    AVERAGE_OF_PADDING = "average-pool-window-of-padding",
        "a window of AveragePool that counts no padding covers only padding, whose average is zero by zero; open for these elements",
        "onnx/docs/Operators.md#AveragePool, attribute count_include_pad";
    AVERAGE_BEYOND_PADDING = "average-pool-beyond-padding",
        "with ceil_mode a window reaches beyond the padding that count_include_pad counts; golden counts the padding and nothing beyond it",
        "onnx/docs/Operators.md#AveragePool, attributes ceil_mode and count_include_pad";
    VARIANCE_NOT_POSITIVE = "batch-normalization-variance-not-positive",
        "the variance plus epsilon is zero or less; open for these channels",
        "onnx/docs/Operators.md#BatchNormalization: division by sqrt(input_var + epsilon)";
    QUANTIZE_NAN = "quantize-nan",
        "no integer corresponds to NaN; open for these elements",
        "onnx/docs/Operators.md#QuantizeLinear: saturate((x / y_scale) + y_zero_point)";
    SCALE_NOT_POSITIVE = "scale-not-positive",
        "a scale is zero, negative or not finite; open for the elements that it scales",
        "onnx/docs/Operators.md#QuantizeLinear, input y_scale";
    INT32_ZERO_POINT = "dequantize-int32-zero-point",
        "the text allows int32 no zero point other than 0; golden subtracts it",
        "onnx/docs/Operators.md#DequantizeLinear: in the case of dequantizing int32, there's no zero point";
    INTEGER_OVERFLOW = "add-integer-overflow",
        "a sum does not fit the integer type; open for these elements",
        "onnx/docs/Operators.md#Add is silent";
    PRODUCT_OVERFLOW = "mul-integer-overflow",
        "a product does not fit the integer type; open for these elements",
        "onnx/docs/Operators.md#Mul is silent";
    SUM_OVERFLOW = "convolution-integer-overflow",
        "a sum of products does not fit 32 bits; open for these elements",
        "onnx/docs/Operators.md#ConvInteger: the accumulation may overflow if and only if in 32 bits";
    OVERFLOW_IN_SOME_ORDER = "overflow-in-some-order",
        "terms of both signs together exceed the largest number, or come within rounding of it, so that the order of summation decides whether the sum overflows; open for these elements",
        "ONNX fixes no order of summation; IEEE 754-2019, 7.4";
    OVERFLOW_INSIDE = "overflow-inside-graph",
        "a sum inside of the graph overflows, which a backend that fuses it with what follows, or keeps it in a wider type, does not see; open for the elements that are computed from it",
        "ONNX does not say in which type values inside of a graph are kept";
    PADDING_TIMES_NON_FINITE = "padding-times-non-finite",
        "a weight that is not finite meets padding, or a position between strides, whose product with zero would be NaN; open for these elements",
        "onnx/docs/Operators.md#Conv and #ConvTranspose do not say whether padding is multiplied";
    TRANSFORMED_NON_FINITE = "transformed-non-finite",
        "an algorithm that transforms its operands spreads an operand that is not finite over other elements; open for backends that state such algorithms",
        "golden/src/regimes.md: Winograd and FFT compute differences of operands";
    NORMALIZED_NON_FINITE = "batch-normalization-non-finite",
        "a parameter of BatchNormalization is not finite: folding the factor into the sum in front gives another result; open for these channels",
        "onnx/docs/Operators.md#BatchNormalization: a formula that may be computed in several ways";
    RANDOM_VALUES = "random-values",
        "operators that draw random numbers have a distribution but no values, with or without a seed: Bernoulli, Multinomial, RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike, and Dropout in training mode; outputs behind them are compared in shape and type",
        "onnx/docs/Operators.md#RandomNormal, attribute seed; #Dropout, input training_mode";
}

/// Every entry, in a fixed order.
pub fn rules() -> &'static [&'static Entry] {
    ALL
}

/// The entry that `auto_pad` of a convolution touches in an old operator set.
pub fn of_old_same(opset: i64, auto_pad: Option<AutoPad>, geometry: &Geometry) -> Option<&'static Entry> {
    let is_same = auto_pad.is_some_and(AutoPad::is_same);
    let strides = geometry.axes.iter().any(|axis| axis.stride > 1);
    (opset < 11 && is_same && strides).then_some(&SAME_BEFORE_11)
}

/// The entries that a `ConvTranspose` with this geometry touches.
pub fn of_conv_transpose(op: &ConvTranspose, geometry: &Geometry) -> Vec<&'static Entry> {
    let touches = |predicate: fn(&Axis) -> bool| geometry.axes.iter().any(predicate);
    let mut entries = Vec::new();
    if touches(|axis| axis.input == 0) {
        entries.push(&EMPTY_TRANSPOSED_INPUT);
    }
    if op.output_shape.is_some() {
        if touches(|axis| axis.output > axis.natural_output()) {
            entries.push(&OUTPUT_SHAPE_BEYOND_NATURAL);
        }
        if touches(|axis| axis.output < axis.input) {
            entries.push(&OUTPUT_SHAPE_BELOW_INPUT);
        }
        if op.auto_pad == Some(AutoPad::Valid) && touches(|axis| axis.output != axis.natural_output()) {
            entries.push(&OUTPUT_SHAPE_WITH_VALID);
        }
    } else if op.window().auto_pad().is_same() {
        if touches(|axis| axis.input * axis.stride > axis.natural_output()) {
            entries.push(&SAME_BEYOND_NATURAL);
        }
        if touches(|axis| axis.output_padding > 0 && same_by_inference(axis) != axis.output) {
            entries.push(&SAME_WITH_OUTPUT_PADDING);
        }
    }
    entries
}

/// The output extent that ONNX's shape inference derives for SAME: it removes only the overlap of the kernel.
const fn same_by_inference(axis: &Axis) -> usize {
    axis.natural_output() - axis.dilated_kernel().saturating_sub(axis.stride)
}

/// The entries that a Conv with this geometry touches.
pub fn of_conv(op: &Conv, geometry: &Geometry) -> Option<&'static Entry> {
    same_skips_input(op.auto_pad, geometry)
}

/// The entries that the attributes of an `AveragePool` with this geometry touch.
pub fn of_average_pool(op: &AveragePool, geometry: &Geometry) -> Vec<&'static Entry> {
    let rounds_up = op.ceil_mode == Some(1);
    let valid_with_ceil = op.auto_pad == Some(AutoPad::Valid) && rounds_up;
    let counts_padding = op.count_include_pad == Some(1);
    let reaches_beyond = |axis: &Axis| {
        let reached = (axis.output - 1) * axis.stride + axis.dilated_kernel();
        reached > axis.input + axis.pad_begin + axis.pad_end.unsigned_abs()
    };
    let beyond_padding = rounds_up && counts_padding && geometry.axes.iter().any(reaches_beyond);
    same_skips_input(op.auto_pad, geometry)
        .into_iter()
        .chain(valid_with_ceil.then_some(&VALID_WITH_CEIL))
        .chain(beyond_padding.then_some(&AVERAGE_BEYOND_PADDING))
        .collect()
}

/// The entries that the attributes of a `MaxPool` with this geometry touch.
pub fn of_max_pool(op: &MaxPool, geometry: &Geometry) -> Vec<&'static Entry> {
    let valid_with_ceil = op.auto_pad == Some(AutoPad::Valid) && op.ceil_mode == Some(1);
    same_skips_input(op.auto_pad, geometry)
        .into_iter()
        .chain(valid_with_ceil.then_some(&VALID_WITH_CEIL))
        .collect()
}

/// Splitting a negative padding in two shifts the windows once it is two or more.
fn same_skips_input(auto_pad: Option<AutoPad>, geometry: &Geometry) -> Option<&'static Entry> {
    let is_same = auto_pad.is_some_and(AutoPad::is_same);
    let skips = |axis: &Axis| (axis.output - 1) * axis.stride + axis.dilated_kernel() + 1 < axis.input;
    (is_same && geometry.axes.iter().any(skips)).then_some(&SAME_SKIPS_INPUT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_entry_has_its_own_name() {
        assert_eq!(ALL.iter().map(|entry| entry.name).collect::<BTreeSet<_>>().len(), ALL.len());
    }

    #[test]
    fn same_with_a_stride_is_open_in_old_operator_sets() {
        let op = Conv { auto_pad: Some(AutoPad::SameUpper), strides: Some(vec![2]), ..Conv::default() };
        let touched = |opset, op: &Conv| {
            let geometry = op.geometry(&[8], &[3]).expect("valid");
            of_old_same(opset, op.auto_pad, &geometry).is_some()
        };
        assert!(touched(10, &op) && !touched(11, &op));
        assert!(
            !touched(10, &Conv { strides: None, ..op.clone() })
                && !touched(10, &Conv { auto_pad: None, ..op })
        );
    }

    fn touched(op: &ConvTranspose, input: usize, kernel: usize) -> Vec<&'static str> {
        let geometry = op.geometry(&[input], &[kernel]).expect("valid");
        of_conv_transpose(op, &geometry).iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn same_is_open_where_the_kernel_is_below_the_stride() {
        let op = ConvTranspose {
            auto_pad: Some(AutoPad::SameUpper),
            strides: Some(vec![4]),
            ..ConvTranspose::default()
        };
        assert_eq!(touched(&op, 6, 3), ["conv-transpose-same-beyond-natural"]);
        assert_eq!(touched(&op, 6, 4), [""; 0]);
        let padded = ConvTranspose { output_padding: Some(vec![1]), ..op };
        assert_eq!(touched(&padded, 6, 4), ["conv-transpose-same-with-output-padding"]);
        assert_eq!(touched(&padded, 6, 3), [""; 0], "the padding fills the gap exactly");
    }

    #[test]
    fn output_shape_beyond_natural_or_below_input_is_unspecified() {
        let op = |extent| ConvTranspose { output_shape: Some(vec![extent]), ..ConvTranspose::default() };
        assert_eq!(touched(&op(6), 3, 3), ["conv-transpose-output-shape-beyond-natural"]);
        assert_eq!(touched(&op(5), 3, 3), [""; 0]);
        assert_eq!(touched(&op(2), 3, 3), ["conv-transpose-output-shape-below-input"]);
    }

    #[test]
    fn output_shape_that_crops_despite_valid_is_unspecified() {
        let op = |extent| ConvTranspose {
            auto_pad: Some(AutoPad::Valid),
            output_shape: Some(vec![extent]),
            ..ConvTranspose::default()
        };
        assert_eq!(touched(&op(4), 3, 3), ["conv-transpose-output-shape-with-valid"]);
        assert_eq!(touched(&op(5), 3, 3), [""; 0]);
    }

    #[test]
    fn same_is_open_where_windows_skip_two_positions_or_more() {
        let op = Conv { auto_pad: Some(AutoPad::SameUpper), strides: Some(vec![4]), ..Conv::default() };
        let touched = |kernel| of_conv(&op, &op.geometry(&[4], &[kernel]).expect("valid")).is_some();
        assert!(touched(2));
        assert!(!touched(3));
    }
}
