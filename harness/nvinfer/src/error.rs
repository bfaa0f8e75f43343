use std::{fmt, path::PathBuf};

use crate::{ParserErrorCode, UnknownValue, Unsupported, Version};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong between a program and TensorRT.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such library.
    #[error(
        "no TensorRT library at {path}: looked for {tried}; unpack a TensorRT release there, or the libraries of \
         `pip download tensorrt-rtx-cu13-libs`"
    )]
    NotFound {
        /// The file or folder asked for.
        path: PathBuf,
        /// The names looked for.
        tried: String,
    },
    /// A folder holds several releases.
    #[error("{path} holds more than one TensorRT library ({found}): name the file to load")]
    Ambiguous {
        /// The folder asked for.
        path: PathBuf,
        /// The names found.
        found: String,
    },
    /// The dynamic loader refuses the file, or a library it needs.
    #[error("cannot load {path}: {reason}; the libraries it needs must be beside it or on LD_LIBRARY_PATH")]
    Load {
        /// The file.
        path: PathBuf,
        /// What the dynamic loader said.
        reason: String,
    },
    /// The file is a library, but not TensorRT's core library.
    #[error("{path} is not a TensorRT library: it exports no getInferLibVersion")]
    WrongKind {
        /// The file.
        path: PathBuf,
    },
    /// The library lacks an entry point, as the lean and dispatch runtimes do.
    #[error("{path} ({version}) exports no {symbol}")]
    MissingSymbol {
        /// The file.
        path: PathBuf,
        /// The release it is of.
        version: Version,
        /// The entry point.
        symbol: &'static str,
    },
    /// The tables do not describe this release.
    #[error("{path} reports version number {number}, which is not supported: {}", Version::SUPPORTED)]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// What `getInferLibVersion` returned.
        number: i32,
    },
    /// Another library is loaded already: two releases in one process would bind to each other's symbols.
    #[error("cannot load {requested}: this process has loaded {loaded}, and a process can hold one release")]
    AlreadyLoaded {
        /// What is asked for.
        requested: PathBuf,
        /// What the process holds.
        loaded: PathBuf,
    },
    /// The release needs a GPU for this, and there is none.
    #[error("{version} needs a GPU for {call}: {reason}")]
    NoGpu {
        /// The release.
        version: Version,
        /// The entry point that was not called.
        call: &'static str,
        /// What the CUDA driver said.
        reason: String,
    },
    /// The release lacks a method or an enum value.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The library refused a call.
    #[error("{call} failed: {reason}")]
    Refused {
        /// The call, as C++ spells it.
        call: &'static str,
        /// The errors it logged meanwhile.
        reason: String,
    },
    /// The library returned an enum value that its release is not known to have.
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
        /// The length given.
        bytes: usize,
    },
    /// An object was handed to a builder or network that did not make it.
    #[error("a {0} of another network or builder")]
    Foreign(&'static str),
    /// There is no such index.
    #[error("no {what} {index}: there are {count}")]
    Index {
        /// What was indexed.
        what: &'static str,
        /// The index asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The ONNX parser did not accept the model.
    #[error(transparent)]
    Parse(#[from] ParseFailure),
}

/// Why the ONNX parser did not accept a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFailure {
    /// Every error it recorded, in order; empty if it accepted the bytes and made a network without outputs of them.
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
    /// What kind of error.
    pub code: ParserErrorCode,
    /// What is wrong.
    pub text: String,
    /// The index of the node it arose at; negative if at none.
    pub node: i32,
    /// The node's name; absent before TensorRT 9.1.
    pub node_name: Option<String>,
    /// The node's operator; absent before TensorRT 9.1.
    pub node_operator: Option<String>,
    /// The parser's function that noticed.
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
