//! Backends as this machine has them.

use twinfer_backend::{Backend, OpenError, open};

/// The backend of `variant`, unless what it needs is not on this machine.
pub fn opened(variant: &str) -> Option<Box<dyn Backend>> {
    match open(&variant.parse().unwrap()) {
        Ok(backend) => Some(backend),
        Err(error @ (OpenError::Library(_) | OpenError::Provider { .. } | OpenError::TensorRt(_))) => {
            eprintln!("skipped: {variant}: {error}");
            None
        }
        Err(error) => panic!("{variant}: {error}"),
    }
}
