use crate::{
    Library, Result,
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

    /// The library that made this runtime.
    pub fn library(&self) -> Library {
        self.raw.library()
    }
}
