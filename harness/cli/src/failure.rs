use std::{
    fmt::Display,
    io::{self, ErrorKind},
};

use serde::{Deserialize, Serialize};
use twinfer_backend::OpenError;
use twinfer_bench::{BenchError, Fault};
use twinfer_campaign::CampaignError;
use twinfer_case::{OversizedCase, Variant};
use twinfer_configuration::ConfigurationError;
use twinfer_libraries::Error as LibraryError;
use twinfer_provision::Error as ProvisionError;
use twinfer_store::{ModelInputsError, StoreError};
use twinfer_targets::TargetError;
use twinfer_triage::TriageError;
use twinfer_workers::WorkerError;

use crate::Exit;

/// Why a command failed: a message of one line and the exit code that goes with it.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// What failed, on what, and what to do next.
    pub message: String,
    /// [`Exit::Usage`] if the arguments or input files are at fault, [`Exit::EndedEarly`] if the last device of a campaign was
    /// lost, [`Exit::Environment`] otherwise.
    pub exit: Exit,
}

impl Failure {
    /// A failure caused by the arguments or the input files.
    pub fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Usage }
    }

    /// A failure of the machine or of twinfer itself.
    pub fn environment(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Environment }
    }

    /// A failure to open the backend of `variant`: wrong usage if an option is wrong, otherwise the environment.
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
            | LibraryError::NoWheel { .. }
            | LibraryError::Archive { .. }
            | LibraryError::NotPacked { .. }
            | LibraryError::NoLibrariesInWheel { .. }
            | LibraryError::Metadata { .. }
            | LibraryError::Wheel { .. }
            | LibraryError::NoLibraries { .. } => Self::usage(error),
            _ => Self::environment(error),
        }
    }
}

impl From<ProvisionError> for Failure {
    fn from(error: ProvisionError) -> Self {
        match error {
            ProvisionError::NoDevice(_) => Self::environment(format!("{error}: leave it out of --backends")),
            ProvisionError::Library(error) => error.into(),
        }
    }
}

impl From<ModelInputsError> for Failure {
    fn from(error: ModelInputsError) -> Self {
        Self::usage(error)
    }
}

impl From<ConfigurationError> for Failure {
    fn from(error: ConfigurationError) -> Self {
        Self::usage(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Occupied(_)
            | StoreError::NoRecording(_)
            | StoreError::NothingToResume(_)
            | StoreError::Remains(_)
            | StoreError::Obstructed(_)
            | StoreError::OtherRun { .. }
            | StoreError::Merged(_)
            | StoreError::LostFindings { .. }
            | StoreError::NoFindings { .. }
            | StoreError::FewerCases { .. }
            | StoreError::Gap(_)
            | StoreError::OtherCampaign { .. }
            | StoreError::Format { .. } => Self::usage(error),
            StoreError::File { ref source, .. } | StoreError::NoRun { ref source, .. }
                if is_of_another_kind(source) =>
            {
                Self::usage(error)
            }
            // not what the model says of it
            StoreError::ExternalData { ref source, .. }
                if is_of_another_kind(source)
                    || matches!(source.kind(), ErrorKind::UnexpectedEof | ErrorKind::Other) =>
            {
                Self::usage(error)
            }
            // a file where a folder is to be
            StoreError::Write { ref source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                Self::usage(error)
            }
            _ => Self::environment(error),
        }
    }
}

/// Whether a file cannot be read because something else is there than a file that twinfer writes.
fn is_of_another_kind(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, InvalidInput, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidInput | FileTooLarge)
}

impl From<WorkerError> for Failure {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::Variant { .. } => Self::usage(error),
            WorkerError::Worker { .. } | WorkerError::FullDevice { .. } | WorkerError::Supervisor(_) => {
                Self::environment(error)
            }
        }
    }
}

impl From<OversizedCase> for Failure {
    fn from(error: OversizedCase) -> Self {
        Self::environment(error)
    }
}

impl From<TriageError> for Failure {
    fn from(error: TriageError) -> Self {
        match error {
            TriageError::Worker(error) => error.into(),
            TriageError::Store(error) => error.into(),
            TriageError::Case(_) | TriageError::Output(_) | TriageError::Supervisor(_) => {
                Self::environment(error)
            }
        }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::NoBackend
            | TargetError::SameConfiguration(_)
            | TargetError::NothingToCompareWith { .. }
            | TargetError::Model { .. }
            | TargetError::NoFinding(_)
            | TargetError::NoReference(_) => Self::usage(error),
            TargetError::Triage(error) => error.into(),
            TargetError::Worker(error) => error.into(),
            TargetError::Store(error) => error.into(),
            TargetError::Inputs { .. }
            | TargetError::Sanitizer(_)
            | TargetError::Case(_)
            | TargetError::Output(_) => Self::environment(error),
        }
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::NoBackend
            | CampaignError::NoRung
            | CampaignError::SameConfiguration(_)
            | CampaignError::UnknownFamily { .. } => Self::usage(error),
            CampaignError::NoDeviceLeft { .. } => Self { message: error.to_string(), exit: Exit::EndedEarly },
            CampaignError::Triage(error) => error.into(),
            CampaignError::Worker(error) => error.into(),
            CampaignError::Store(error) => error.into(),
            CampaignError::Library(_) | CampaignError::Case(_) | CampaignError::Supervisor(_) => {
                Self::environment(error)
            }
        }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Campaign(error) => error.into(),
            BenchError::Worker(error) => error.into(),
            BenchError::Library(error) => error.into(),
            BenchError::Case(error) => error.into(),
            BenchError::Fault(fault) => fault.into(),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Usage(message) => Self::usage(message),
            Fault::Environment(message) => Self::environment(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_that_is_missing_is_wrong_usage_and_one_that_cannot_be_read_is_not() {
        let exit = |kind: ErrorKind| {
            let (path, source) = ("runs/0001/run.json".into(), io::Error::from(kind));
            Failure::from(StoreError::NoRun { path, source }).exit
        };
        assert_eq!(exit(ErrorKind::NotFound), Exit::Usage);
        assert_eq!(exit(ErrorKind::PermissionDenied), Exit::Environment);
    }
}
