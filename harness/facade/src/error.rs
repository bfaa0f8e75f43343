use std::{fmt, io};

use twinfer_case::{InvalidVariant, UnfitInputs, Variant};
use twinfer_onnx::{DecodeError, InvalidTensor};
use twinfer_targets::TargetError;

use crate::Failure;

/// Why a test fails: a variant diverges, or backends could not be compared.
///
/// [`Debug`] writes the same text as [`Display`](fmt::Display), so a test that returns a `Result` with this error prints what a person
/// reads.
#[derive(thiserror::Error)]
pub enum Error {
    /// A variant diverges.
    #[error("{0}")]
    Diverges(Box<Failure>),
    /// A variant gave no outputs: it refused the case, failed, crashed or hung.
    #[error("{variant} gave no outputs: {reason}")]
    NoOutputs {
        /// The variant.
        variant: Variant,
        /// What it did instead.
        reason: String,
    },
    /// A text does not name a variant.
    #[error(transparent)]
    Variant(#[from] InvalidVariant),
    /// A library cannot be installed, is damaged, or would not run on this machine.
    #[error(transparent)]
    Library(#[from] twinfer_provision::Error),
    /// A model is not one that golden supports.
    #[error(transparent)]
    Model(#[from] DecodeError),
    /// The inputs of a case are not as its model declares them.
    #[error(transparent)]
    UnfitInputs(#[from] UnfitInputs),
    /// The elements of an input do not fit its shape.
    #[error(transparent)]
    Input(#[from] InvalidTensor),
    /// A file that a test reads cannot be read, such as a model.
    #[error(transparent)]
    File(#[from] io::Error),
    /// There is no program to run as a worker.
    #[error(
        "no worker: the command twinfer is not on PATH: install it by `cargo install --locked --path harness/cli` in a clone of twinfer, set \
         TWINFER_PROGRAM to it, or call twinfer::become_worker_if_asked() first in the main of a test with harness = false"
    )]
    NoProgram,
    /// A variant was compared on none of the cases that were checked; the text says why, one line per cause.
    #[error("nothing was compared:\n{0}")]
    NothingCompared(String),
    /// A worker failed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Known findings cannot be read.
    #[error(transparent)]
    Store(#[from] twinfer_store::StoreError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
