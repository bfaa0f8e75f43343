use std::fmt::Display;

use serde::{Deserialize, Serialize};
use twinfer_backend::OpenError;
use twinfer_case::Variant;
use twinfer_configuration::ConfigurationError;
use twinfer_libraries::Error as LibraryError;

use crate::Exit;

/// Why a command could not do its work: one line for a person, and the exit code that goes with it.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// What failed, on what, and what to do next.
    pub message: String,
    /// Whose fault it is.
    pub exit: Exit,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Usage }
    }

    /// The machine or the harness failed.
    pub fn environment(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Environment }
    }

    /// The backend of `variant` does not open.
    pub fn opening(variant: &Variant, error: &OpenError) -> Self {
        let exit = match error {
            OpenError::Option(_) => Exit::Usage,
            _ => Exit::Environment,
        };
        Self { message: format!("{variant}: {error}"), exit }
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::UnknownPackage { .. }
            | LibraryError::UnknownWheel { .. }
            | LibraryError::NoLibraries { .. } => Self::usage(error),
            _ => Self::environment(error),
        }
    }
}

impl From<ConfigurationError> for Failure {
    fn from(error: ConfigurationError) -> Self {
        Self::usage(error)
    }
}
