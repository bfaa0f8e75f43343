use crate::{InvalidTensor, MAX_OPSET, MIN_OPSET, census::MAX_MESSAGES, dtype::onnx_name};

/// The most bytes of a model that [`Graph::decode`](crate::Graph::decode) looks at.
pub const MAX_MODEL_BYTES: usize = 512 << 20;

/// Why bytes do not become a [`Graph`](crate::Graph).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// Longer than [`MAX_MODEL_BYTES`].
    #[error("model of {0} bytes: at most {MAX_MODEL_BYTES} are read")]
    TooLarge(usize),
    /// So many small parts that decoding them would take a hundred times the bytes.
    #[error(
        "not a model that twinfer reads: it has more than {MAX_MESSAGES} parts, or graphs too deep in graphs"
    )]
    TooManyMessages,
    /// Not a `ModelProto`.
    #[error("not an ONNX model: {0}")]
    Malformed(#[from] prost::DecodeError),
    /// A model without a graph, or a value without a type.
    #[error("not an ONNX model: it has no {0}")]
    Missing(&'static str),
    /// A node without an attribute that its operator requires.
    #[error("node {node:?} lacks the attribute {attribute}")]
    MissingAttribute {
        /// The node's name.
        node: String,
        /// The attribute.
        attribute: &'static str,
    },
    /// A node with an attribute that ONNX does not define for its operator, or defines otherwise.
    #[error("node {node:?} ({op_type}): {fault}")]
    InvalidAttribute {
        /// The node's name.
        node: String,
        /// The node's operator.
        op_type: String,
        /// What is wrong with the attribute.
        fault: AttributeFault,
    },
    /// An extent below zero.
    #[error("value {0:?} has a negative extent")]
    NegativeExtent(String),
    /// An initializer whose elements do not fit its shape and type.
    #[error("initializer {name:?}: {reason}")]
    Initializer {
        /// The value's name.
        name: String,
        /// What does not fit.
        reason: InvalidTensor,
    },
    /// An ONNX model, but with something this crate does not represent; carry it as bytes.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Why an attribute is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeFault {
    /// No version of the operator has it.
    #[error("ONNX defines no attribute {0:?} for this operator")]
    Undefined(String),
    /// It has another type than in ONNX.
    #[error("the attribute {0} has a type that ONNX does not give it")]
    WrongType(String),
    /// It is an enumeration, and its text is none of the values.
    #[error("the attribute {attribute} is {value:?}, which is no value that ONNX defines")]
    UndefinedValue {
        /// The attribute.
        attribute: String,
        /// Its text.
        value: String,
    },
}

/// Something valid in ONNX that a [`Graph`](crate::Graph) cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each field is")]
pub enum Unsupported {
    #[error("golden does not support the operator {op_type}")]
    Operator { op_type: String },
    #[error("golden supports no operators of the domain {0:?}")]
    Domain(String),
    #[error("golden does not support operator set {0}, only {MIN_OPSET} to {MAX_OPSET}")]
    Opset(i64),
    #[error("node {node:?}: golden does not support the attribute {attribute} of {op_type}")]
    Attribute { node: String, op_type: String, attribute: String },
    #[error("node {node:?}: twinfer knows {op_type} with one output only")]
    OptionalOutputs { node: String, op_type: String },
    #[error("value {name:?} has the element type {}, which twinfer neither feeds nor compares", onnx_name(*code))]
    ElementType { name: String, code: i32 },
    #[error("value {0:?} is not a dense tensor")]
    NotATensor(String),
    #[error("initializer {0:?} is in another file than the model")]
    ExternalData(String),
    #[error(
        "a tensor inside of a node or function is in another file, which twinfer does not read: save the model with its data in one file"
    )]
    NestedExternalData,
    #[error("the model has sparse initializers")]
    SparseInitializer,
    #[error("the model has functions of its own")]
    Functions,
}
