use twinfer_backend::{Backend, CudaRuntime, OpenError, open_watched};
use twinfer_case::Variant;
use twinfer_driver_cache::{AttachError, CacheMode, attach, attach_by_name};

/// Opens the backend of `variant`, with its CUDA runtimes attached to the driver cache.
///
/// A library that cannot be attached works without the cache, which is reported on stderr. A library that is not found is no
/// error here: the backend that needs it reports it.
pub fn open(variant: &Variant, mode: CacheMode) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut |runtime| {
        let (library, attached) = match runtime {
            CudaRuntime::In(path) => (path.display().to_string(), attach(path, mode)),
            CudaRuntime::Named(name) => (name.to_owned(), attach_by_name(name, mode)),
        };
        match attached {
            Ok(()) | Err(AttachError::NotFound) => {}
            Err(error) => eprintln!("twinfer worker: no driver cache for {library}: {error}"),
        }
    })
}
