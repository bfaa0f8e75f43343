use std::cell::OnceCell;

use nvinfer::{BuilderConfig, Result, TimingCache};

use crate::options::Timing;

/// The timings of tactics that the builds of a worker share.
#[derive(Default)]
pub struct Timings(OnceCell<TimingCache>);

impl Timings {
    /// Has a build read and extend them, if the variant says so.
    pub fn share(&self, config: &BuilderConfig<'_>, timing: Timing) -> Result<()> {
        if timing != Timing::Worker {
            return Ok(());
        }
        let cache = if let Some(cache) = self.0.get() {
            cache
        } else {
            let created = config.create_timing_cache(&[])?;
            self.0.get_or_init(|| created)
        };
        config.set_timing_cache(cache, false)
    }
}
