use twinfer_backend::{Backend, CudaRuntime, OpenError, open_watched};
use twinfer_case::Variant;
use twinfer_driver_cache::{self as driver, AttachError, Mode};

/// Gives the backend of `variant`, with the driver cache in its CUDA runtimes.
///
/// A library that does not take the cache goes on without, which standard error is told; one that is not there is missed by
/// whoever needs it.
pub fn open(variant: &Variant, cache: Mode) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut |runtime| {
        let (library, attached) = match runtime {
            CudaRuntime::In(path) => (path.display().to_string(), driver::attach(path, cache)),
            CudaRuntime::Named(name) => (name.to_owned(), driver::attach_named(name, cache)),
        };
        match attached {
            Ok(()) | Err(AttachError::NotFound) => {}
            Err(error) => eprintln!("twinfer worker: no driver cache for {library}: {error}"),
        }
    })
}
