use crate::{
    Engine, Library, Result,
    owned::Owned,
    sys::{
        Unsupported,
        table::{ICudaEngine, IRuntime},
    },
};

/// Deserializes plans into engines.
#[derive(Debug)]
pub struct Runtime {
    raw: Owned<IRuntime>,
}

impl Runtime {
    pub(crate) fn new(library: Library, raw: IRuntime) -> Self {
        Self { raw: Owned::new(library, raw) }
    }

    /// The library that made this runtime.
    pub fn library(&self) -> Library {
        self.raw.library()
    }

    /// Deserializes a plan into an engine. The GPU must be one that the plan was built for.
    pub fn deserialize(&self, plan: &[u8]) -> Result<Engine<'_>> {
        let (blob, size) = (plan.as_ptr().cast_mut().cast(), plan.len());
        let raw = self.library().expect("IRuntime::deserializeCudaEngine", || {
            let runtime = self.raw.raw();
            // SAFETY: the runtime is live and copies what it needs of the plan. Up to TensorRT 9 the method takes a
            // plugin factory too, which may be null.
            let raw = unsafe {
                runtime.deserialize_cuda_engine(blob, size).or_else(|_: Unsupported| {
                    runtime.deserialize_cuda_engine_8(blob, size, std::ptr::null_mut())
                })?
            };
            Ok(ICudaEngine::new(self.library().version(), raw))
        })?;
        Ok(Engine::new(self, raw))
    }
}
