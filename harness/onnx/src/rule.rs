use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $source:literal;)*) => {
        /// What a graph must satisfy to be valid, each with a name and the text that demands it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name that cases and reports use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The text that demands it.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source),* }
            }
        }
    };
}

rules! {
    /// The operator set is one that twinfer knows: 11 to 26.
    OpsetKnown = "opset-known", "onnx/docs/Versioning.md; ONNX Runtime 1.31 takes operator sets up to 26";
    /// An attribute exists in the operator version that the opset selects.
    AttributeKnown = "attribute-known", "onnx/docs/Changelog.md, the operator's attributes by version";
    /// A value is a graph input, an initializer or an earlier node's output.
    ValueDefined = "value-defined", "onnx/docs/IR.md, Graphs: nodes must be topologically sorted";
    /// A value's name is given once.
    SingleAssignment = "single-assignment", "onnx/docs/IR.md, Names Within a Graph: static single assignment";
    /// A node has as many inputs as its operator takes, the required ones present.
    InputCount = "input-count", "onnx/docs/Operators.md, the operator's inputs";
    /// A node has as many outputs as twinfer's form of the operator gives: one.
    OutputCount = "output-count", "onnx/docs/Operators.md, the operator's outputs";
    /// The caller feeds one tensor an input, and each fits the declared shape.
    DeclaredInput = "declared-input", "onnx/docs/IR.md, Static tensor shapes";
    /// A declared output has the type and shape that the nodes give it.
    DeclaredOutput = "declared-output", "onnx/docs/IR.md, Static tensor shapes";
    /// An operator version takes the element type.
    ElementType = "element-type", "onnx/docs/Changelog.md, the operator's type constraints by version";
    /// Inputs bound to one type variable have one element type.
    SameElementType = "same-element-type", "onnx/docs/IR.md, type variables; the operator's type constraints";
    /// The data tensor of a convolution or pooling has a batch, a channel and at least one spatial axis.
    DataRank = "data-rank", "onnx/docs/Operators.md#Conv, input X: (N x C x D1 x … x Dn)";
    /// The weight has the rank of the data.
    WeightRank = "weight-rank", "onnx/docs/Operators.md#Conv, input W: (M x C/group x k1 x … x kn)";
    /// `group` is at least one.
    GroupPositive = "group-positive", "onnx/docs/Operators.md#Conv, attribute group: number of groups";
    /// Data channels are the weight's channels times `group` (Conv), or the weight's first extent (ConvTranspose).
    InputChannels = "input-channels", "onnx/docs/Operators.md#Conv, input W: X.shape[1] == W.shape[1] * group";
    /// Both channel counts are multiples of `group`.
    GroupDividesChannels = "group-divides-channels", "onnx/docs/Operators.md#Conv, input W: M and C by group";
    /// The bias is one value an output channel.
    BiasShape = "bias-shape", "onnx/docs/Operators.md#Conv, input B: 1D bias of size M";
    /// A per-axis attribute has one entry (pads: two) a spatial axis.
    AttributeLength = "attribute-length", "onnx/docs/Operators.md#Conv, attributes along each spatial axis";
    /// `kernel_shape`, where present, is the weight's.
    KernelShape = "kernel-shape", "onnx/docs/Operators.md#Conv, attribute kernel_shape";
    /// Kernel extents are at least one.
    KernelPositive = "kernel-positive", "onnx/onnx/defs/nn/defs.cc, convPoolShapeInference";
    /// Strides are at least one.
    StridesPositive = "strides-positive", "onnx/onnx/defs/nn/defs.cc: strides must only contain positive values";
    /// Dilations are at least one.
    DilationsPositive = "dilations-positive", "onnx/onnx/defs/nn/defs.cc: dilations must only contain positive values";
    /// Pads are zero or more.
    PadsNonNegative = "pads-non-negative", "onnx/docs/Operators.md#Conv, attribute pads: greater than or equal to 0";
    /// `pads` and an `auto_pad` other than NOTSET are not given together.
    PadsExcludeAutoPad = "pads-exclude-auto-pad", "onnx/docs/Operators.md#Conv, attribute pads: not with auto_pad";
    /// `output_padding` is zero or more and below the stride or the dilation of its axis.
    OutputPadding = "output-padding", "onnx/docs/Operators.md#ConvTranspose, attribute output_padding";
    /// `output_shape` entries are at least one.
    OutputShapePositive = "output-shape-positive", "onnx/docs/Operators.md#ConvTranspose, attribute output_shape";
    /// The output has at least one position along every spatial axis.
    OutputExtent = "output-extent", "onnx/docs/Operators.md#Conv: the kernel fits in the padded input";
    /// Shapes broadcast: extents from the right are equal, or one of them is 1.
    Broadcast = "broadcast", "onnx/docs/Broadcasting.md, multidirectional";
    /// Parameters of BatchNormalization are one value a channel.
    ParameterShape = "parameter-shape", "onnx/docs/Operators.md#BatchNormalization, inputs of shape (C)";
    /// `axis` is within the rank; negative ones count from the end.
    AxisRange = "axis-range", "onnx/docs/Operators.md#Concat, attribute axis: [-r, r-1]";
    /// Inputs of Concat agree on every other extent.
    ConcatExtents = "concat-extents", "onnx/docs/Operators.md#Concat: same shape, except for the axis";
    /// `ceil_mode` and `storage_order` are 0 or 1.
    Flag = "flag", "onnx/docs/Operators.md#MaxPool, attributes ceil_mode and storage_order";
    /// A scale is a scalar, or one value along the axis.
    ScaleShape = "scale-shape", "onnx/docs/Operators.md#QuantizeLinear, input y_scale";
    /// A zero point has the scale's shape.
    ZeroPointShape = "zero-point-shape", "onnx/docs/Operators.md#QuantizeLinear, input y_zero_point";
    /// A tensor has no more elements than twinfer handles; a limit of twinfer, not of ONNX.
    SizeLimit = "size-limit", "twinfer_onnx::MAX_ELEMENTS";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A graph that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {place}: {detail}")]
pub struct RuleViolation {
    /// The rule.
    pub rule: Rule,
    /// The node or value, for a person.
    pub place: String,
    /// What was found where what was wanted.
    pub detail: String,
}

/// A broken rule before it is known which node broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// What was found where what was wanted.
    pub detail: String,
}

impl Broken {
    /// The violation at a node or value, named for a person.
    pub fn at(self, place: impl Into<String>) -> RuleViolation {
        RuleViolation { rule: self.rule, place: place.into(), detail: self.detail }
    }
}

/// `Ok` where `holds`; the detail is only written where it does not.
pub fn require(holds: bool, rule: Rule, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { rule, detail: detail() }) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_its_own_name_in_kebab_case() {
        let names = Rule::ALL.iter().map(|rule| rule.name()).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), Rule::ALL.len());
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }
}
