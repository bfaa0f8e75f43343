//! Errors of the library as outcomes of a case.

use twinfer_case::{BackendError, Outcome};

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
pub fn failed(error: nvinfer::Error) -> Outcome {
    Outcome::Failed(reported(&error))
}

/// An error of the library; its code is the call that the library refused.
pub fn reported(error: &nvinfer::Error) -> BackendError {
    match error {
        nvinfer::Error::Refused { call, reason } => {
            BackendError::with_code(call.rsplit("::").next().unwrap_or(call), reason)
        }
        other => other.to_string().into(),
    }
}

/// Why the parser refused a model; its code is the parser's, with the function that reported it.
pub fn refusal(failure: &nvinfer::ParseFailure) -> BackendError {
    match failure.errors.first() {
        Some(error) => {
            BackendError::with_code(format_args!("{} {}", error.code.name(), error.function), error)
        }
        None => failure.to_string().into(),
    }
}
