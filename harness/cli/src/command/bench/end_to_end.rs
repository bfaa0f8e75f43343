use std::num::NonZeroUsize;

use twinfer_campaign::{Campaign, Hiring, Options, WorkerCommand};
use twinfer_case::{Budget, Event, Summary, Variant};
use twinfer_generators::Family;

use super::{Arguments, shares::Shares};
use crate::Failure;

/// A campaign, and what its records say.
pub struct Measured {
    pub summary: Summary,
    pub shares: Shares,
    macs: Vec<u64>,
}

impl Measured {
    /// Runs the campaign that the arguments describe, in a folder that is deleted afterwards.
    pub fn of(
        arguments: &Arguments,
        variants: Vec<Variant>,
        worker: WorkerCommand,
        jobs: NonZeroUsize,
    ) -> Result<Self, Failure> {
        let out = tempfile::tempdir().map_err(Failure::environment)?;
        let options = Options {
            families: arguments.family.iter().map(Family::to_string).collect(),
            seed: arguments.seed,
            budget: arguments.time.map_or(Budget::Cases(arguments.cases), Budget::Seconds),
            jobs,
            hiring: Hiring::AllAtOnce,
            minimize: !arguments.no_minimize,
            ..Options::new(variants, worker, out.path().to_owned())
        };
        let mut macs = Vec::new();
        let mut shares = Shares::default();
        let summary = Campaign::new(options)?.run(&mut |event| {
            if let Event::CaseFinished { record } = event {
                macs.push(record.macs);
                shares.add(record);
            }
        })?;
        macs.sort_unstable();
        Ok(Self { summary, shares, macs })
    }

    /// Cases a second that were executed and compared.
    pub fn rate(&self) -> f64 {
        self.summary.compared as f64 / self.summary.seconds
    }

    /// Multiply-accumulates of the middle case.
    pub fn median_macs(&self) -> u64 {
        self.macs.get(self.macs.len() / 2).copied().unwrap_or(0)
    }
}
