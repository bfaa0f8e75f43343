use std::{io, path::PathBuf};

use nvinfer::Version;

/// Why headers could not be compared, or the coverage table not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// clang is absent.
    #[error(
        "cannot run {program}: {source}; install clang (`apt-get install clang`) or name one with --clang"
    )]
    ClangMissing {
        /// The program that was tried.
        program: PathBuf,
        /// Why it did not start.
        source: io::Error,
    },
    /// clang refused the headers or the code generated from them.
    #[error("{program} cannot compile the headers in {headers}: {reason}")]
    ClangFailed {
        /// The compiler.
        program: PathBuf,
        /// The folder of headers.
        headers: PathBuf,
        /// Its first error.
        reason: String,
    },
    /// The output of clang has an unknown form.
    #[error("cannot read the output of {program} for the headers in {headers}: {reason}")]
    ClangUnknown {
        /// The compiler.
        program: PathBuf,
        /// The folder of headers.
        headers: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The folder lacks a required header.
    #[error("{headers} has no {name}; name the folder that holds NvInfer.h and NvOnnxParser.h")]
    NoHeaders {
        /// The folder.
        headers: PathBuf,
        /// The header that is missing.
        name: &'static str,
    },
    /// The headers are of a release older than all that the tables describe.
    #[error(
        "{headers} is of a release ({number}) before any that the tables describe: {}",
        Version::SUPPORTED
    )]
    TooOld {
        /// The folder.
        headers: PathBuf,
        /// The release's number.
        number: u32,
    },
    /// A crate could not be fetched.
    #[error("cannot fetch {name}: {reason}")]
    Fetch {
        /// The crate, as given on the command line.
        name: String,
        /// The message of cargo.
        reason: String,
    },
    /// The source of a crate has no headers.
    #[error("the source of {name} holds no folder with NvInfer.h and NvOnnxParser.h")]
    NoHeadersInCrate {
        /// The crate, as given on the command line.
        name: String,
    },
    /// A list of called methods could not be used.
    #[error("{path}: {reason}")]
    CallList {
        /// The list, or the folder that holds it.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A library could not be read.
    #[error("cannot read {path}: {reason}")]
    Library {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A temporary file could not be written.
    #[error("cannot write temporary files: {0}")]
    Temporary(#[from] io::Error),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;
