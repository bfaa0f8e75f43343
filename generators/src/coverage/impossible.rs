//! Pairs of attribute values that no case can have, each with the reason.

/// An attribute and some of its values.
type Values = (&'static str, &'static [&'static str]);

const NO_SUCH_ATTRIBUTE: &str = "Conv has no such attribute";
const EXCLUDED: &str = "pads and auto_pad exclude each other";
const BELOW: &str = "output_padding is below the stride or the dilation of its axis";
const NEEDED: &str = "a value other than the default is written";
const DEFAULT: &str = "the default is not needed";
const BY_DEFINITION: &str = "one is defined by the other";
const FIXED: &str = "shapes differ only along dynamic axes, between several runs";
const NOT_THERE: &str = "a convolution in that place has no such neighbor";

const UNSIGNED: &str = "QuantizeLinear without a zero point gives uint8";
const NOT_QUANTIZED: &str = "what is not quantized has no such thing, and what is has one";
const WITH_WEIGHTS: &str = "a bias is quantized only if the weights are";
const NEWER: &str = "scales along an axis came with version 13";

/// Where weights come from if they are not quantized, and if they are.
const NUMBERS: &[&str] = &["graph input", "Constant", "initializer", "Identity", "Add"];
const INTEGERS: &[&str] = &["DequantizeLinear", "QuantizeLinear"];
const TYPES: &[&str] = &["INT8", "UINT8"];
const ZERO_POINTS: &[&str] = &["absent", "zero", "other"];
const SCALES: &[&str] = &["one", "outputs", "inputs", "kernel"];
const ALONG_AN_AXIS: &[&str] = &["outputs", "inputs", "kernel"];
const AXES: &[&str] = &["absent", "negative", "0", "1", "more"];
const NONE: &[&str] = &["none"];

const IMPOSSIBLE: &[(Values, Values, &str)] = &[
    (("operator", &["Conv"]), ("output_shape", &["written"]), NO_SUCH_ATTRIBUTE),
    (
        ("operator", &["Conv"]),
        ("output_padding", &["zero", "below stride", "at least stride"]),
        NO_SUCH_ATTRIBUTE,
    ),
    (
        ("pads", &["zero", "symmetric", "asymmetric"]),
        ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID"]),
        EXCLUDED,
    ),
    (("largest stride", &["1"]), ("output_padding", &["below stride"]), BELOW),
    (("largest dilation", &["1"]), ("output_padding", &["at least stride"]), BELOW),
    (("dilations", &["absent", "default written"]), ("output_padding", &["at least stride"]), BELOW),
    (("strides", &["absent", "default written"]), ("output_padding", &["below stride"]), BELOW),
    (("largest stride", &["2", "3", "4"]), ("strides", &["absent", "default written"]), NEEDED),
    (("largest stride", &["1"]), ("strides", &["needed"]), DEFAULT),
    (("largest dilation", &["2", "3"]), ("dilations", &["absent", "default written"]), NEEDED),
    (("largest dilation", &["1"]), ("dilations", &["needed"]), DEFAULT),
    (("group", &["several", "depthwise"]), ("group attribute", &["absent", "default written"]), NEEDED),
    (("group", &["1"]), ("group attribute", &["needed"]), DEFAULT),
    (
        ("group", &["depthwise"]),
        ("input channels of a group", &["2", "3", "4", "5", "8", "others"]),
        BY_DEFINITION,
    ),
    (("group", &["several"]), ("input channels of a group", &["1"]), BY_DEFINITION),
    (("kernel and stride", &["kernel below stride"]), ("largest stride", &["1"]), BY_DEFINITION),
    (
        ("kernel and stride", &["kernel below stride"]),
        ("strides", &["absent", "default written"]),
        BY_DEFINITION,
    ),
    (("spatial axes", &["1"]), ("kernel", &["some 1"]), BY_DEFINITION),
    (("dynamic axes", &["none"]), ("shapes of the runs", &["several"]), FIXED),
    (("runs", &["1"]), ("shapes of the runs", &["several"]), FIXED),
    (("dynamic axes", &["none", "spatial"]), ("batch", &["0"]), "a fixed batch is not empty"),
    (("batch", &["0"]), ("shapes of the runs", &["one"]), "an empty batch is followed by a full one"),
    (("batch", &["0"]), ("runs", &["1", "2"]), "an empty batch is followed by a full and an empty one"),
    (("place", &["alone", "first"]), ("before", &["convolution"]), NOT_THERE),
    (("place", &["alone", "last"]), ("after", &["convolution"]), NOT_THERE),
    (("integers of the input", NONE), ("zero point of the input", ZERO_POINTS), NOT_QUANTIZED),
    (("integers of the input", TYPES), ("zero point of the input", NONE), NOT_QUANTIZED),
    (("integers of the input", &["INT8"]), ("zero point of the input", &["absent"]), UNSIGNED),
    (("weights", NUMBERS), ("integers of the weights", TYPES), NOT_QUANTIZED),
    (("weights", INTEGERS), ("integers of the weights", NONE), NOT_QUANTIZED),
    (("weights", NUMBERS), ("zero point of the weights", ZERO_POINTS), NOT_QUANTIZED),
    (("weights", INTEGERS), ("zero point of the weights", NONE), NOT_QUANTIZED),
    (("weights", NUMBERS), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("weights", INTEGERS), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("weights", NUMBERS), ("axis of the weights", AXES), NOT_QUANTIZED),
    (("weights", INTEGERS), ("axis of the weights", NONE), NOT_QUANTIZED),
    (("integers of the weights", NONE), ("zero point of the weights", ZERO_POINTS), NOT_QUANTIZED),
    (("integers of the weights", TYPES), ("zero point of the weights", NONE), NOT_QUANTIZED),
    (("integers of the weights", NONE), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("integers of the weights", TYPES), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("integers of the weights", NONE), ("axis of the weights", AXES), NOT_QUANTIZED),
    (("integers of the weights", TYPES), ("axis of the weights", NONE), NOT_QUANTIZED),
    (("zero point of the weights", NONE), ("scales of the weights", SCALES), NOT_QUANTIZED),
    (("zero point of the weights", ZERO_POINTS), ("scales of the weights", NONE), NOT_QUANTIZED),
    (("zero point of the weights", NONE), ("axis of the weights", AXES), NOT_QUANTIZED),
    (("zero point of the weights", ZERO_POINTS), ("axis of the weights", NONE), NOT_QUANTIZED),
    (("scales of the weights", NONE), ("axis of the weights", AXES), NOT_QUANTIZED),
    (("scales of the weights", SCALES), ("axis of the weights", NONE), NOT_QUANTIZED),
    (("bias", &["DequantizeLinear"]), ("weights", NUMBERS), WITH_WEIGHTS),
    (("bias", &["DequantizeLinear"]), ("integers of the weights", NONE), WITH_WEIGHTS),
    (("bias", &["DequantizeLinear"]), ("zero point of the weights", NONE), WITH_WEIGHTS),
    (("bias", &["DequantizeLinear"]), ("scales of the weights", NONE), WITH_WEIGHTS),
    (("bias", &["DequantizeLinear"]), ("axis of the weights", NONE), WITH_WEIGHTS),
    (("opset", &["11 to 12"]), ("scales of the weights", ALONG_AN_AXIS), NEWER),
    (("opset", &["11 to 12"]), ("axis of the weights", &["negative", "0", "1", "more"]), NEWER),
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
