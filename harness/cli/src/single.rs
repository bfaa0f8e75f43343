//! A campaign over cases that are given instead of generated.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc};

use twinfer_campaign::{Campaign, Options};
use twinfer_case::{Budget, Case, Event, Variant};

use crate::{Failure, campaign::worker_command, provision::provision};

/// What is done with given cases.
pub struct Single {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// The backends that run them.
    pub variants: Vec<Variant>,
    /// Whether what diverges is made smaller.
    pub minimize: bool,
    /// The run directory.
    pub out: PathBuf,
}

impl Single {
    /// Runs them and gives every event to `sink`.
    pub fn run(self, sink: &mut dyn FnMut(&Event)) -> Result<(), Failure> {
        provision(&self.variants)?;
        let defaults = Options::new(self.variants, worker_command(None)?, self.out);
        let options = Options {
            families: Vec::new(),
            budget: Budget::Cases(self.cases.len() as u64),
            jobs: NonZeroUsize::MIN,
            minimize: self.minimize,
            fresh_every: 0,
            source: Some(Arc::new(move |index| self.cases[index as usize % self.cases.len()].clone())),
            ..defaults
        };
        Campaign::new(options)?.run(sink)?;
        Ok(())
    }
}
