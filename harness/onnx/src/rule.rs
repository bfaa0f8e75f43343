use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($variant:ident = $name:literal, $sentence:literal, $source:literal;)*) => {
        /// A requirement that a valid graph satisfies, with a name and the text that states it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $sentence] #[serde(rename = $name)] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in cases and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The requirement, as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence),* }
            }

            /// The specification or source that states the requirement.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source),* }
            }

            /// The rule with this [name](Self::name); `None` if there is none, such as one of another version of twinfer.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

rules! {
    OpsetKnown = "opset-known",
        "The operator set is one that twinfer supports, 7 to 26, and has the operator.",
        "onnx/docs/Versioning.md; ONNX Runtime 1.31 takes operator sets up to 26";
    AttributeKnown = "attribute-known",
        "An attribute exists in the operator version that the opset selects.",
        "onnx/docs/Changelog.md, the operator's attributes by version";
    UniqueNames = "unique-names",
        "No two nodes have the same name, and no value is listed as an output twice.",
        "onnx/docs/IR.md, Names Within a Graph: names must be unique within a namespace";
    ValueDefined = "value-defined",
        "A value is a graph input, an initializer or an earlier node's output.",
        "onnx/docs/IR.md, Graphs: nodes must be topologically sorted";
    SingleAssignment = "single-assignment",
        "Each value name is defined once.",
        "onnx/docs/IR.md, Names Within a Graph: static single assignment";
    InputCount = "input-count",
        "A node has as many inputs as its operator takes, and the required ones are present.",
        "onnx/docs/Operators.md, the operator's inputs";
    OutputCount = "output-count",
        "A node has exactly one output; twinfer supports no other form of its operators.",
        "onnx/docs/Operators.md, the operator's outputs";
    DeclaredInput = "declared-input",
        "The caller feeds one tensor per input, and each fits the declared shape.",
        "onnx/docs/IR.md, Static tensor shapes";
    DeclaredOutput = "declared-output",
        "A declared output has the type and shape that the nodes compute.",
        "onnx/docs/IR.md, Static tensor shapes";
    ElementType = "element-type",
        "The operator version supports the element type.",
        "onnx/docs/Changelog.md, the operator's type constraints by version";
    SameElementType = "same-element-type",
        "Inputs bound to one type variable have one element type.",
        "onnx/docs/IR.md, type variables; the operator's type constraints";
    DataRank = "data-rank",
        "The data tensor of a convolution or pooling has a batch, a channel and at least one spatial axis.",
        "onnx/docs/Operators.md#Conv, input X: (N x C x D1 x … x Dn)";
    WeightRank = "weight-rank",
        "The weight has the rank of the data.",
        "onnx/docs/Operators.md#Conv, input W: (M x C/group x k1 x … x kn)";
    GroupPositive = "group-positive",
        "`group` is at least one.",
        "onnx/docs/Operators.md#Conv, attribute group: number of groups";
    InputChannels = "input-channels",
        "Data channels are the weight's channels times `group` (Conv), or the weight's first extent (ConvTranspose).",
        "onnx/docs/Operators.md#Conv, input W: X.shape[1] == W.shape[1] * group";
    GroupDividesChannels = "group-divides-channels",
        "Both channel counts are multiples of `group`.",
        "onnx/docs/Operators.md#Conv, input W: M and C by group";
    BiasShape = "bias-shape",
        "The bias has one value per output channel.",
        "onnx/docs/Operators.md#Conv, input B: 1D bias of size M";
    AttributeLength = "attribute-length",
        "A per-axis attribute has one entry (pads: two) per spatial axis.",
        "onnx/docs/Operators.md#Conv, attributes along each spatial axis";
    KernelShape = "kernel-shape",
        "`kernel_shape`, if present, equals the kernel extents of the weight.",
        "onnx/docs/Operators.md#Conv, attribute kernel_shape";
    KernelPositive = "kernel-positive",
        "Kernel extents are at least one.",
        "onnx/onnx/defs/nn/defs.cc, convPoolShapeInference";
    StridesPositive = "strides-positive",
        "Strides are at least one.",
        "onnx/onnx/defs/nn/defs.cc: strides must only contain positive values";
    DilationsPositive = "dilations-positive",
        "Dilations are at least one.",
        "onnx/onnx/defs/nn/defs.cc: dilations must only contain positive values";
    PadsNonNegative = "pads-non-negative",
        "Pads are zero or more.",
        "onnx/docs/Operators.md#Conv, attribute pads: greater than or equal to 0";
    PadsExcludeAutoPad = "pads-exclude-auto-pad",
        "`pads` and an `auto_pad` other than NOTSET are not given together.",
        "onnx/docs/Operators.md#Conv, attribute pads: not with auto_pad";
    OutputPadding = "output-padding",
        "`output_padding` is zero or more and below the stride or the dilation of its axis.",
        "onnx/docs/Operators.md#ConvTranspose, attribute output_padding";
    OutputShapePositive = "output-shape-positive",
        "`output_shape` entries are at least one.",
        "onnx/docs/Operators.md#ConvTranspose, attribute output_shape";
    OutputExtent = "output-extent",
        "The output has at least one position along every spatial axis.",
        "onnx/docs/Operators.md#Conv: the kernel fits in the padded input";
    Broadcast = "broadcast",
        "Shapes broadcast: extents from the right are equal, or one of them is 1.",
        "onnx/docs/Broadcasting.md, multidirectional";
    ParameterShape = "parameter-shape",
        "Each parameter of BatchNormalization has one value per channel.",
        "onnx/docs/Operators.md#BatchNormalization, inputs of shape (C)";
    AxisRange = "axis-range",
        "`axis` is within the rank; a negative `axis` counts from the end.",
        "onnx/docs/Operators.md#Concat, attribute axis: [-r, r-1]";
    ConcatExtents = "concat-extents",
        "Inputs of Concat agree on every other extent.",
        "onnx/docs/Operators.md#Concat: same shape, except for the axis";
    Flag = "flag",
        "`ceil_mode`, `count_include_pad` and `storage_order` are 0 or 1.",
        "onnx/docs/Operators.md#MaxPool, attributes ceil_mode and storage_order; #AveragePool, attribute count_include_pad";
    BoundShape = "bound-shape",
        "A bound of Clip is a scalar.",
        "onnx/docs/Operators.md#Clip, inputs min and max";
    Permutation = "permutation",
        "`perm` names each axis of the data once.",
        "onnx/docs/Operators.md#Transpose, attribute perm: its length must be equal to the rank of the input";
    ScaleShape = "scale-shape",
        "A scale is a scalar, or one value along the axis.",
        "onnx/docs/Operators.md#QuantizeLinear, input y_scale";
    ZeroPointShape = "zero-point-shape",
        "A zero point has the scale's shape.",
        "onnx/docs/Operators.md#QuantizeLinear, input y_zero_point";
    SizeLimit = "size-limit",
        "A tensor is within twinfer's limits on elements and axes; ONNX has no such limits.",
        "twinfer_onnx::MAX_ELEMENTS, twinfer_onnx::MAX_RANK";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule that a graph breaks, and the node or value that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {place}: {detail}")]
pub struct RuleViolation {
    /// The broken rule.
    pub rule: Rule,
    /// The node or value that breaks it.
    pub place: Place,
    /// What was found, and what the rule requires.
    pub detail: String,
}

/// The part of a graph that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The model as a whole.
    Model,
    /// A value of the graph.
    Value(String),
    /// A node.
    Node {
        /// The name of the node.
        name: String,
        /// The ONNX operator type of the node.
        op_type: &'static str,
    },
}

impl Place {
    /// The ONNX operator type of the node; `None` if the place is no node.
    pub const fn op_type(&self) -> Option<&'static str> {
        match self {
            Self::Node { op_type, .. } => Some(op_type),
            Self::Model | Self::Value(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("the model"),
            Self::Value(name) => write!(f, "value {name:?}"),
            Self::Node { name, op_type } => write!(f, "node {name:?} ({op_type})"),
        }
    }
}

/// A broken rule whose node or value is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The broken rule.
    pub rule: Rule,
    /// What was found, and what the rule requires.
    pub detail: String,
}

impl Broken {
    /// Adds the node or value that breaks the rule.
    pub fn at(self, place: Place) -> RuleViolation {
        RuleViolation { rule: self.rule, place, detail: self.detail }
    }
}

/// Returns `Ok` if `holds`; calls `detail` only if it does not.
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
        assert!(Rule::ALL.iter().all(|rule| Rule::named(rule.name()) == Some(*rule)));
        assert_eq!(Rule::named("no-such-rule"), None);
    }
}
