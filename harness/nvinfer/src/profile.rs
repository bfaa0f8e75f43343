use std::fmt;

use crate::{
    Builder, OptProfileSelector, Result,
    sys::table::IOptimizationProfile,
    tensor::{c_string, dims},
};

/// The range of shapes that an engine accepts for each of its dynamic inputs. The builder owns the profile.
#[derive(Clone, Copy)]
pub struct OptimizationProfile<'b> {
    raw: IOptimizationProfile,
    builder: &'b Builder,
}

impl Builder {
    /// Creates an empty optimization profile.
    pub fn create_optimization_profile(&self) -> Result<OptimizationProfile<'_>> {
        let raw = self.library().expect("IBuilder::createOptimizationProfile", || {
            // SAFETY: the builder is live; it owns the profile.
            let raw = unsafe { self.raw().create_optimization_profile()? };
            Ok(IOptimizationProfile::new(self.library().version(), raw))
        })?;
        Ok(OptimizationProfile::new(self, raw))
    }
}

impl<'b> OptimizationProfile<'b> {
    pub(crate) fn new(builder: &'b Builder, raw: IOptimizationProfile) -> Self {
        Self { raw, builder }
    }

    pub(crate) fn raw(&self) -> IOptimizationProfile {
        self.raw
    }

    pub(crate) fn builder(&self) -> &'b Builder {
        self.builder
    }

    /// Sets the smallest, the most likely or the largest shape of an input.
    pub fn set_dimensions(&self, input: &str, select: OptProfileSelector, shape: &[i64]) -> Result<()> {
        let library = self.builder.library();
        let (name, shape, select) = (c_string(input)?, dims(shape)?, select.value(library.version())?);
        library.expect_true("IOptimizationProfile::setDimensions", || {
            // SAFETY: the builder, and with it the profile, is live; the library copies the name.
            unsafe { self.raw.set_dimensions(name.as_ptr(), select, shape) }
        })
    }

    /// The smallest, the most likely or the largest shape of an input; `None` if it was not set.
    pub fn dimensions(&self, input: &str, select: OptProfileSelector) -> Result<Option<Vec<i64>>> {
        let select = select.value(self.builder.library().version())?;
        let name = c_string(input)?;
        // SAFETY: the builder, and with it the profile, is live.
        let shape = unsafe { self.raw.get_dimensions(name.as_ptr(), select)? };
        Ok(shape.extents().map(<[i64]>::to_vec))
    }

    /// Whether the shapes that were set are consistent. TensorRT does not report a missing input here.
    pub fn is_valid(&self) -> Result<bool> {
        // SAFETY: the builder, and with it the profile, is live.
        Ok(unsafe { self.raw.is_valid()? })
    }
}

impl fmt::Debug for OptimizationProfile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptimizationProfile").field(&self.raw).finish()
    }
}
