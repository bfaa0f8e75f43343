use std::{marker::PhantomData, ops::Deref, slice};

use crate::{DataType, Library, Result, owned::Owned, sys::table::IHostMemory};

/// Bytes that the library allocated, such as a plan.
#[derive(Debug)]
pub struct HostMemory<'b> {
    raw: Owned<IHostMemory>,
    origin: PhantomData<&'b ()>,
}

impl HostMemory<'_> {
    pub(crate) fn new(library: Library, raw: IHostMemory) -> Self {
        Self { raw: Owned::new(library, raw), origin: PhantomData }
    }

    /// The element type, as the library reports it.
    pub fn data_type(&self) -> Result<DataType> {
        let version = self.raw.library().version();
        // SAFETY: the memory is live.
        let value = unsafe { self.raw.raw().kind()? };
        Ok(DataType::from_value(value, version)?)
    }
}

impl Deref for HostMemory<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is live, and every release has both methods.
        let (data, size) = unsafe { (self.raw.raw().data(), self.raw.raw().size()) };
        match (data, size) {
            (Ok(data), Ok(size)) if !data.is_null() && isize::try_from(size).is_ok() => {
                // SAFETY: the library says that `size` bytes are at `data`; they stay there, unchanged, while the
                // object lives, which this borrow keeps alive.
                unsafe { slice::from_raw_parts(data.cast(), size) }
            }
            _ => &[],
        }
    }
}
