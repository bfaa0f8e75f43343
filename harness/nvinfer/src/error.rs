use std::{fmt, path::PathBuf};

use crate::{ParserErrorCode, UnknownValue, Unsupported, Version};

/// The result type of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate or of TensorRT.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path holds no TensorRT library.
    #[error(
        "no TensorRT library at {path}: looked for {tried}; unpack a TensorRT release there, or the libraries of \
         `pip download tensorrt-rtx-cu13-libs`"
    )]
    NotFound {
        /// The requested file or folder.
        path: PathBuf,
        /// The file names that were tried.
        tried: String,
    },
    /// A folder holds several releases.
    #[error("{path} holds more than one TensorRT library ({found}): name the file to load")]
    Ambiguous {
        /// The requested folder.
        path: PathBuf,
        /// The file names that were found.
        found: String,
    },
    /// The dynamic loader refuses the file, or a library it needs.
    #[error("cannot load {path}: {reason}; the libraries it needs must be beside it or on LD_LIBRARY_PATH")]
    Load {
        /// The file that was loaded.
        path: PathBuf,
        /// The dynamic loader's message.
        reason: String,
    },
    /// The file is a library, but not TensorRT's core library.
    #[error("{path} is not a TensorRT library: it exports no getInferLibVersion")]
    WrongKind {
        /// The file that was loaded.
        path: PathBuf,
    },
    /// The library lacks an entry point, as the lean and dispatch runtimes do.
    #[error("{path} ({version}) exports no {symbol}")]
    MissingSymbol {
        /// The file that was loaded.
        path: PathBuf,
        /// The release of the library.
        version: Version,
        /// The symbol of the entry point.
        symbol: &'static str,
    },
    /// The tables do not describe this release.
    #[error("{path} reports version number {number}, which is not supported: {}", Version::SUPPORTED)]
    UnknownVersion {
        /// The file that was loaded.
        path: PathBuf,
        /// The number that `getInferLibVersion` returned.
        number: i32,
    },
    /// Another library is loaded already: two releases in one process would bind to each other's symbols.
    #[error("cannot load {requested}: this process has loaded {loaded}, and a process can hold one release")]
    AlreadyLoaded {
        /// The requested file.
        requested: PathBuf,
        /// The file that the process has loaded.
        loaded: PathBuf,
    },
    /// The release needs a GPU for this, and there is none.
    #[error("{version} needs a GPU for {call}: {reason}")]
    NoGpu {
        /// The release.
        version: Version,
        /// The entry point, which was not called.
        call: &'static str,
        /// The CUDA driver's message.
        reason: String,
    },
    /// The release lacks a method or an enum value.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The library refused a call.
    #[error("{call} failed: {reason}")]
    Refused {
        /// The method or function, as C++ spells it.
        call: &'static str,
        /// The errors that the library logged during the call.
        reason: String,
    },
    /// The library returned an enum value that the tables do not list for its release.
    #[error(transparent)]
    UnknownValue(#[from] UnknownValue),
    /// A shape has more extents than TensorRT represents.
    #[error("a shape of rank {0}: TensorRT takes at most eight extents")]
    Rank(usize),
    /// A string for the library holds a NUL byte.
    #[error("the text {0:?} holds a NUL byte")]
    Text(String),
    /// Weights whose byte length is not a multiple of their element size.
    #[error("{bytes} bytes are not a whole number of {data_type:?} elements")]
    Weights {
        /// The element type.
        data_type: crate::DataType,
        /// The length of the weights, in bytes.
        bytes: usize,
    },
    /// An object was passed to a builder or network that did not create it.
    #[error("a {0} of another network or builder")]
    Foreign(&'static str),
    /// An index is out of range.
    #[error("no {what} {index}: there are {count}")]
    Index {
        /// The kind of item: `input`, `output` …
        what: &'static str,
        /// The requested index.
        index: usize,
        /// The number of items.
        count: usize,
    },
    /// The ONNX parser did not accept the model.
    #[error(transparent)]
    Parse(#[from] ParseFailure),
}

/// Why the ONNX parser did not accept a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFailure {
    /// The parser's errors, in order; empty if it accepted the bytes but left the network without outputs.
    pub errors: Vec<ParserError>,
}

impl std::error::Error for ParseFailure {}

impl fmt::Display for ParseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.split_first() {
            None => f.write_str("the model was parsed to a network without outputs"),
            Some((first, [])) => write!(f, "the model was not parsed: {first}"),
            Some((first, rest)) => {
                write!(f, "the model was not parsed: {first} (and {} more errors)", rest.len())
            }
        }
    }
}

/// One error of the ONNX parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParserError {
    /// The kind of error.
    pub code: ParserErrorCode,
    /// The parser's message.
    pub text: String,
    /// The index of the node at which the error arose; negative if it concerns no node.
    pub node: i32,
    /// The name of the node; `None` before TensorRT 9.1.
    pub node_name: Option<String>,
    /// The operator of the node; `None` before TensorRT 9.1.
    pub node_operator: Option<String>,
    /// The parser's function that reported the error.
    pub function: String,
    /// The parser's source file and line, as `file:line`.
    pub origin: String,
}

impl fmt::Display for ParserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code.name())?;
        if self.node >= 0 {
            write!(f, " at node {}", self.node)?;
        }
        for part in
            [&self.node_operator, &self.node_name].into_iter().flatten().filter(|text| !text.is_empty())
        {
            write!(f, " {part}")?;
        }
        write!(f, ": {}", self.text)
    }
}
