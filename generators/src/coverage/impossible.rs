//! Pairs of attribute values that no case can have, each with the reason.

/// An attribute and some of its values.
type Values = (&'static str, &'static [&'static str]);

const NO_SUCH_ATTRIBUTE: &str = "Conv has no such attribute";
const EXCLUDED: &str = "pads and auto_pad exclude each other";
const BELOW: &str = "output_padding is below the stride or the dilation of its axis";
const NEEDED: &str = "a value other than the default needs the attribute";
const DEFAULT: &str = "then the attribute holds the default";
const BY_DEFINITION: &str = "one value follows from the other";
const FIXED: &str = "shapes differ only along dynamic axes, between several inferences";
const NOT_THERE: &str = "a convolution in that position has no such neighbor";

const UNSIGNED: &str = "QuantizeLinear without a zero point gives UINT8";
const NOT_QUANTIZED: &str = "tensors that are not quantized have none, and quantized tensors have one";
const WITH_WEIGHTS: &str = "a bias is quantized only if the weights are";
const NEWER: &str = "scales along an axis came with operator set 13";

/// Where weights come from if they are not quantized, and if they are.
const NUMBERS: &[&str] = &["graph input", "Constant", "initializer", "Identity", "Add"];
const INTEGERS: &[&str] = &["DequantizeLinear", "QuantizeLinear and DequantizeLinear"];
const TYPES: &[&str] = &["INT8", "UINT8"];
const ZERO_POINTS: &[&str] = &["absent", "0", "other"];
const SCALES: &[&str] = &["one", "per output channel", "per input channel", "along a kernel axis"];
const ALONG_AN_AXIS: &[&str] = &["per output channel", "per input channel", "along a kernel axis"];
const AXES: &[&str] = &["absent", "negative", "0", "1", "2 or more"];
const NONE: &[&str] = &["not quantized"];

const IMPOSSIBLE: &[(Values, Values, &str)] = &[
    (("operator", &["Conv"]), ("output_shape", &["present"]), NO_SUCH_ATTRIBUTE),
    (
        ("operator", &["Conv"]),
        ("output_padding", &["0", "above 0 and below the stride", "at least the stride"]),
        NO_SUCH_ATTRIBUTE,
    ),
    (
        ("pads", &["0", "symmetric", "asymmetric"]),
        ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID"]),
        EXCLUDED,
    ),
    (("largest stride", &["1"]), ("output_padding", &["above 0 and below the stride"]), BELOW),
    (("largest dilation", &["1"]), ("output_padding", &["at least the stride"]), BELOW),
    (
        ("dilations attribute", &["absent", "present with the default"]),
        ("output_padding", &["at least the stride"]),
        BELOW,
    ),
    (
        ("strides attribute", &["absent", "present with the default"]),
        ("output_padding", &["above 0 and below the stride"]),
        BELOW,
    ),
    (
        ("largest stride", &["2", "3", "4"]),
        ("strides attribute", &["absent", "present with the default"]),
        NEEDED,
    ),
    (("largest stride", &["1"]), ("strides attribute", &["present with another value"]), DEFAULT),
    (
        ("largest dilation", &["2", "3"]),
        ("dilations attribute", &["absent", "present with the default"]),
        NEEDED,
    ),
    (("largest dilation", &["1"]), ("dilations attribute", &["present with another value"]), DEFAULT),
    (
        ("group", &["above 1", "depthwise"]),
        ("group attribute", &["absent", "present with the default"]),
        NEEDED,
    ),
    (("group", &["1"]), ("group attribute", &["present with another value"]), DEFAULT),
    (
        ("group", &["depthwise"]),
        ("input channels per group", &["2", "3", "4", "5", "8", "other"]),
        BY_DEFINITION,
    ),
    (("group", &["above 1"]), ("input channels per group", &["1"]), BY_DEFINITION),
    (("kernel size against stride", &["smaller on some axis"]), ("largest stride", &["1"]), BY_DEFINITION),
    (
        ("kernel size against stride", &["smaller on some axis"]),
        ("strides attribute", &["absent", "present with the default"]),
        BY_DEFINITION,
    ),
    (("spatial axes", &["1"]), ("kernel size", &["1 on some axes"]), BY_DEFINITION),
    (("dynamic axes", &["none"]), ("input shapes of these inferences", &["different"]), FIXED),
    (("inferences in one session", &["1"]), ("input shapes of these inferences", &["different"]), FIXED),
    (("dynamic axes", &["none", "spatial"]), ("batch size", &["0"]), "a fixed batch is not empty"),
    (
        ("batch size", &["0"]),
        ("input shapes of these inferences", &["the same"]),
        "an empty batch is followed by a full one",
    ),
    (
        ("batch size", &["0"]),
        ("inferences in one session", &["1", "2"]),
        "an empty batch is followed by a full and an empty one",
    ),
    (
        ("position among the convolutions", &["the only one", "first"]),
        ("node before", &["Conv or ConvTranspose"]),
        NOT_THERE,
    ),
    (
        ("position among the convolutions", &["the only one", "last"]),
        ("node after", &["Conv or ConvTranspose"]),
        NOT_THERE,
    ),
    (("input quantized as", NONE), ("zero point of the input", ZERO_POINTS), NOT_QUANTIZED),
    (("input quantized as", TYPES), ("zero point of the input", NONE), NOT_QUANTIZED),
    (("input quantized as", &["INT8"]), ("zero point of the input", &["absent"]), UNSIGNED),
    (("weights come from", NUMBERS), ("weights quantized as", TYPES), NOT_QUANTIZED),
    (("weights come from", INTEGERS), ("weights quantized as", NONE), NOT_QUANTIZED),
    (("weights come from", NUMBERS), ("zero point of the weights", ZERO_POINTS), NOT_QUANTIZED),
    (("weights come from", INTEGERS), ("zero point of the weights", NONE), NOT_QUANTIZED),
    (("weights come from", NUMBERS), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("weights come from", INTEGERS), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("weights come from", NUMBERS), ("axis of the weights' DequantizeLinear", AXES), NOT_QUANTIZED),
    (("weights come from", INTEGERS), ("axis of the weights' DequantizeLinear", NONE), NOT_QUANTIZED),
    (("weights quantized as", NONE), ("zero point of the weights", ZERO_POINTS), NOT_QUANTIZED),
    (("weights quantized as", TYPES), ("zero point of the weights", NONE), NOT_QUANTIZED),
    (("weights quantized as", NONE), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("weights quantized as", TYPES), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("weights quantized as", NONE), ("axis of the weights' DequantizeLinear", AXES), NOT_QUANTIZED),
    (("weights quantized as", TYPES), ("axis of the weights' DequantizeLinear", NONE), NOT_QUANTIZED),
    (("zero point of the weights", NONE), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("zero point of the weights", ZERO_POINTS), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("zero point of the weights", NONE), ("axis of the weights' DequantizeLinear", AXES), NOT_QUANTIZED),
    (
        ("zero point of the weights", ZERO_POINTS),
        ("axis of the weights' DequantizeLinear", NONE),
        NOT_QUANTIZED,
    ),
    (("scales of the weights", NONE), ("axis of the weights' DequantizeLinear", AXES), NOT_QUANTIZED),
    (("scales of the weights", SCALES), ("axis of the weights' DequantizeLinear", NONE), NOT_QUANTIZED),
    (("bias comes from", &["DequantizeLinear"]), ("weights come from", NUMBERS), WITH_WEIGHTS),
    (("bias comes from", &["DequantizeLinear"]), ("weights quantized as", NONE), WITH_WEIGHTS),
    (("bias comes from", &["DequantizeLinear"]), ("zero point of the weights", NONE), WITH_WEIGHTS),
    (("bias comes from", &["DequantizeLinear"]), ("scales of the weights", NONE), WITH_WEIGHTS),
    (
        ("bias comes from", &["DequantizeLinear"]),
        ("axis of the weights' DequantizeLinear", NONE),
        WITH_WEIGHTS,
    ),
    (("opset", &["11 to 12"]), ("scales of the weights", ALONG_AN_AXIS), NEWER),
    (
        ("opset", &["11 to 12"]),
        ("axis of the weights' DequantizeLinear", &["negative", "0", "1", "2 or more"]),
        NEWER,
    ),
];

/// Why two values of two attributes never occur together; `None` where they may.
pub fn reason(first: (&str, &str), second: (&str, &str)) -> Option<&'static str> {
    let matches = |(name, values): &Values, (attribute, value): (&str, &str)| {
        *name == attribute && values.contains(&value)
    };
    let found = IMPOSSIBLE
        .iter()
        .find(|(a, b, _)| matches(a, first) && matches(b, second) || matches(a, second) && matches(b, first));
    found.map(|(_, _, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::columns;

    #[test]
    fn every_entry_names_attributes_and_values_that_exist() {
        for (first, second, _) in IMPOSSIBLE {
            for (name, values) in [first, second] {
                for value in *values {
                    assert!(
                        columns().any(|(attribute, listed)| attribute.name == *name && listed == *value),
                        "{name}: {value}"
                    );
                }
            }
        }
    }
}
