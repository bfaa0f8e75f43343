use std::path::Path;

use twinfer_backend::{Backend, OpenError, open_watched};
use twinfer_case::Variant;

use crate::driver::{self, Mode};

/// Gives the backend of `variant`, with the driver-attribute cache in the library that it loads.
///
/// A library that does not take the cache goes on without, which standard error is told.
pub fn open(variant: &Variant, cache: Mode) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut |library: &Path| {
        if let Err(error) = driver::attach(library, cache) {
            eprintln!("twinfer worker: no driver-attribute cache for {}: {error}", library.display());
        }
    })
}
