use crate::{
    Library, Message, Severity,
    sys::{Unsupported, table},
};

/// A class whose objects the caller destroys.
pub trait Delete: Copy {
    /// Runs the deleting destructor.
    ///
    /// # Safety
    /// The object is live, and is not used afterwards.
    unsafe fn delete(self) -> Result<(), Unsupported>;
}

macro_rules! delete {
    ($($class:ident)*) => {$(
        impl Delete for table::$class {
            unsafe fn delete(self) -> Result<(), Unsupported> {
                // SAFETY: the caller upholds that the object is live and not used afterwards.
                unsafe { table::$class::delete(self) }
            }
        }
    )*};
}
delete! {
    IBuilder IBuilderConfig ICudaEngine IEngineInspector IExecutionContext IHostMemory INetworkDefinition IParser
    IRuntime ITimingCache
}

/// An object that is destroyed when its handle is dropped.
#[derive(Debug)]
pub struct Owned<T: Delete> {
    library: Library,
    raw: T,
}

impl<T: Delete> Owned<T> {
    /// Takes ownership of an object of the library.
    pub fn new(library: Library, raw: T) -> Self {
        Self { library, raw }
    }

    /// The object, still owned by this handle.
    pub fn raw(&self) -> T {
        self.raw
    }

    /// The library that made the object.
    pub fn library(&self) -> Library {
        self.library
    }
}

impl<T: Delete> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: this handle owns the object, so it is live and this is the last use; lifetimes keep whatever was
        // made from it from outliving it.
        if let Err(error) = unsafe { self.raw.delete() } {
            self.library.log(&Message { severity: Severity::InternalError, text: error.to_string() });
        }
    }
}
