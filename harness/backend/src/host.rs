use twinfer_case::Variant;

use crate::{Backend, CudaRuntime, OpenError};

/// The process that opens a backend, as far as the backend needs it.
pub trait Host {
    /// Takes note of a CUDA runtime of the backend, before its first use.
    ///
    /// # Errors
    ///
    /// If the backend cannot be opened with it.
    fn cuda_runtime_found(&mut self, runtime: CudaRuntime<'_>) -> Result<(), OpenError>;

    /// Starts a process that serves [`open_plan_runner`](crate::open_plan_runner) of `variant`, and returns its backend. A crash of that
    /// process ends this one the same way.
    ///
    /// # Errors
    ///
    /// If the process does not start, or cannot open the runner.
    fn start_plan_runner(&mut self, variant: &Variant) -> Result<Box<dyn Backend>, OpenError>;
}

/// A process that leaves CUDA runtimes as they are and starts no other process.
pub struct PlainHost;

impl Host for PlainHost {
    fn cuda_runtime_found(&mut self, _: CudaRuntime<'_>) -> Result<(), OpenError> {
        Ok(())
    }

    fn start_plan_runner(&mut self, variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
        Err(OpenError::PlanRunner { reason: format!("{variant} needs a worker, which this process is not") })
    }
}
