use twinfer_backend::{Backend, CudaRuntime, OpenError, RuntimeLibrary, open_watched};
use twinfer_case::Variant;
use twinfer_driver_cache::{AttachError, attach, attach_by_name};

/// Opens the backend of `variant`, with its CUDA runtimes attached to the driver cache as its option `memory` says.
///
/// A library that cannot be attached works without the cache, which is reported on stderr. A library that is not found is no
/// error here: the backend that needs it reports it.
///
/// # Errors
///
/// If the backend does not open, or if this process serves another variant with another mode.
pub fn open(variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut attach_runtime)
}

fn attach_runtime(CudaRuntime { library, memory }: CudaRuntime<'_>) -> Result<(), OpenError> {
    let (library, attached) = match library {
        RuntimeLibrary::File(path) => (path.display().to_string(), attach(path, memory)),
        RuntimeLibrary::Name(name) => (name.to_owned(), attach_by_name(name, memory)),
    };
    match attached {
        Ok(()) | Err(AttachError::NotFound) => Ok(()),
        Err(error @ (AttachError::OtherMode { .. } | AttachError::NotPoisoned(_))) => {
            Err(OpenError::Memory { memory, library, reason: error.to_string() })
        }
        Err(error) => {
            eprintln!("twinfer worker: no driver cache for {library}: {error}");
            Ok(())
        }
    }
}
