use crate::{
    Error, Library, Result,
    owned::Owned,
    sys::{export, table::IRuntime},
};

/// Deserializes plans into engines.
#[derive(Debug)]
pub struct Runtime {
    raw: Owned<IRuntime>,
}

impl Library {
    /// Creates a runtime. TensorRT needs a GPU for that; TensorRT-RTX does not.
    pub fn create_runtime(self) -> Result<Runtime> {
        let call = "createInferRuntime";
        let raw = self.create(call, &export::CREATE_INFER_RUNTIME)?;
        let raw = IRuntime::new(self.version(), raw.1).ok_or_else(|| self.refused(call, raw.0))?;
        Ok(Runtime { raw: Owned::new(self, raw) })
    }
}

impl Runtime {
    pub(crate) fn raw(&self) -> IRuntime {
        self.raw.raw()
    }

    /// Allows engines that contain code for the host, as version-compatible ones do; since TensorRT 8.6.
    pub fn set_engine_host_code_allowed(&self, allowed: bool) -> Result<()> {
        // SAFETY: the runtime is live.
        unsafe { self.raw().set_engine_host_code_allowed(allowed) }.map_err(Error::from)
    }

    /// Whether engines may contain code for the host; since TensorRT 8.6.
    pub fn engine_host_code_allowed(&self) -> Result<bool> {
        // SAFETY: the runtime is live.
        Ok(unsafe { self.raw().get_engine_host_code_allowed()? })
    }

    /// The library that made this runtime.
    pub fn library(&self) -> Library {
        self.raw.library()
    }
}
