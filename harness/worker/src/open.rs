use tracing::warn;
use twinfer_backend::{Backend, CudaRuntime, Host, OpenError, RuntimeLibrary, open_in, open_plan_runner};
use twinfer_case::{MemoryMode, Variant};
use twinfer_driver_cache::{AttachError, attach, attach_by_name};

use crate::plan_process::{self, PlanProcess};

/// Opens the backend of `variant`, with its CUDA runtimes attached to the driver cache as its option `memory` says.
///
/// A library that cannot be attached is an error if its memory is to be kept or poisoned. With `memory=attributes` it works without the
/// cache, which the log says. A library that is not found is no error here: the backend that needs it reports it.
///
/// # Errors
///
/// If the backend does not open, or its mode cannot be put in force.
pub fn open(variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
    if plan_process::is_this_process() {
        open_plan_runner(variant, &mut WorkerHost)
    } else {
        open_in(variant, &mut WorkerHost)
    }
}

/// This process, as backends use it.
struct WorkerHost;

impl Host for WorkerHost {
    fn cuda_runtime_found(
        &mut self,
        CudaRuntime { library, memory }: CudaRuntime<'_>,
    ) -> Result<(), OpenError> {
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
                warn!(library, reason = error.to_string(), "device attributes are not answered from memory");
                Ok(())
            }
        }
    }

    fn start_plan_runner(&mut self, variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
        Ok(Box::new(PlanProcess::start(variant)?))
    }
}

/// Whether a variant cannot be served without its mode. What is said of memory that is kept or poisoned is false if it is not; device
/// attributes are the same, whoever answers.
const fn is_required(memory: MemoryMode, error: &AttachError) -> bool {
    matches!(memory, MemoryMode::Keep | MemoryMode::Poison(_))
        || matches!(error, AttachError::OtherMode { .. })
}

#[cfg(test)]
mod tests {
    use twinfer_case::PoisonPattern;

    use super::*;

    #[test]
    fn mode_that_cannot_be_attached_is_an_error_unless_harmless() {
        let poison = MemoryMode::Poison(PoisonPattern::Nan);
        for (memory, required) in [(MemoryMode::Attributes, false), (MemoryMode::Keep, true), (poison, true)]
        {
            assert_eq!(is_required(memory, &AttachError::NotLoaded), required, "memory={memory}");
            let other = AttachError::OtherMode { wanted: memory, set: MemoryMode::Off };
            assert!(is_required(memory, &other), "memory={memory}");
        }
    }
}
