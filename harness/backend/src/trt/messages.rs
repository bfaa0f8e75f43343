//! What the library logs.

use std::sync::Arc;

use nvinfer::{Library, Message};
use twinfer_case::Severity;

use crate::recorder::Log;

/// Keeps what `library` logs of severity warning and above in `log`; `each` sees every message first.
pub fn keep(library: Library, log: &Log, each: impl Fn(&Message) + Send + Sync + 'static) {
    let log = log.clone();
    library.set_log_sink(Some(Arc::new(move |message| {
        each(message);
        if let Some(severity) = severity(message.severity) {
            log.push(severity, &message.text);
        }
    })));
}

fn severity(severity: nvinfer::Severity) -> Option<Severity> {
    match severity {
        nvinfer::Severity::InternalError => Some(Severity::Fatal),
        nvinfer::Severity::Error => Some(Severity::Error),
        nvinfer::Severity::Warning => Some(Severity::Warning),
        nvinfer::Severity::Info | nvinfer::Severity::Verbose => None,
    }
}
