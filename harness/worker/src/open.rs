use twinfer_backend::{Backend, CudaRuntime, OpenError, RuntimeLibrary, open_watched};
use twinfer_case::{MemoryMode, Variant};
use twinfer_driver_cache::{AttachError, attach, attach_by_name};

/// Opens the backend of `variant`, with its CUDA runtimes attached to the driver cache as its option `memory` says.
///
/// A library that cannot be attached works without the cache, which is reported on stderr, unless its memory is to be poisoned. A library that is not found is no
/// error here: the backend that needs it reports it.
///
/// # Errors
///
/// If the backend does not open, if this process serves another variant with another mode, or if memory that is to be poisoned is out of
/// reach.
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
        Err(error) if is_required(memory, &error) => {
            Err(OpenError::Memory { memory, library, reason: error.to_string() })
        }
        Err(error) => {
            eprintln!("twinfer worker: no driver cache for {library}: {error}");
            Ok(())
        }
    }
}

/// Whether a variant cannot be served without its mode. What is said of a poisoned backend is false if its memory is not poisoned.
const fn is_required(memory: MemoryMode, error: &AttachError) -> bool {
    matches!(memory, MemoryMode::Poison(_)) || matches!(error, AttachError::OtherMode { .. })
}
