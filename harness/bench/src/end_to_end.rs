use std::collections::BTreeMap;

use twinfer_campaign::{Campaign, Options, Scaling};
use twinfer_case::{Budget, CaseRecord, Distribution, Event, Stage, Summary, TrustedVariant, Variant};
use twinfer_generators::Family;
use twinfer_store::RunDirectory;
use twinfer_workers::WorkerCommand;

use crate::{BenchError, Fault, Settings, report, usage::Spent};

/// A finished campaign and the figures from its records.
pub struct Measured {
    pub summary: Summary,
    /// Processor time from the first case to the end.
    pub spent: Spent,
    stages: BTreeMap<(Variant, Stage), u64>,
    macs: Vec<u64>,
}

impl Measured {
    /// Runs the campaign that the settings describe, in a folder that is deleted afterwards.
    pub fn of(
        settings: &Settings,
        variants: Vec<Variant>,
        worker: WorkerCommand,
    ) -> Result<Self, BenchError> {
        let out = tempfile::tempdir().map_err(Fault::environment)?;
        // settings come from the command line
        let variants = variants.into_iter().map(TrustedVariant::vouch).collect();
        let options = Options {
            families: settings.families.iter().map(Family::to_string).collect(),
            distribution: Distribution::Baseline,
            seed: settings.seed,
            budget: settings.time.map_or(Budget::Cases(settings.cases), Budget::Seconds),
            jobs: settings.jobs,
            scaling: Scaling::Fixed,
            minimize: settings.minimize,
            experiments: settings.minimize,
            ..Options::new(variants, worker)
        };
        let directory = RunDirectory::create(out.path()).map_err(Fault::environment)?;
        let mut macs = Vec::new();
        let (mut stages, mut before) = (BTreeMap::new(), Spent::default());
        let summary = Campaign::new(options)?.run(&directory, &mut |event| match event {
            Event::CampaignStarted { .. } => before = Spent::now(),
            Event::CaseFinished { record } => {
                macs.push(record.macs);
                add_stages(&mut stages, record);
            }
            _ => {}
        })?;
        macs.sort_unstable();
        Ok(Self { summary, spent: Spent::now().since(before), stages, macs })
    }

    /// Cases per second that were executed and compared.
    pub fn rate(&self) -> f64 {
        self.summary.compared as f64 / self.summary.seconds
    }

    /// Multiply-accumulates of the median case.
    pub fn median_macs(&self) -> u64 {
        self.macs.get(self.macs.len() / 2).copied().unwrap_or(0)
    }

    /// Wall time of a stage in a variant's workers, in microseconds per case; `None` if no case entered it.
    pub fn stage(&self, variant: &Variant, stage: Stage) -> Option<f64> {
        let micros = self.stages.get(&(variant.clone(), stage))?;
        Some(*micros as f64 / self.summary.cases.max(1) as f64)
    }

    /// Converts seconds of all cases to microseconds per case.
    pub fn micros(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.summary.cases.max(1) as f64
    }

    /// Microseconds of processor time for each case that was executed and compared.
    pub fn micros_compared(&self) -> f64 {
        self.spent.both() * 1e6 / self.summary.compared.max(1) as f64
    }

    /// The entry of the campaign in the report.
    pub fn campaign(&self) -> report::Campaign {
        report::Campaign {
            cases: self.summary.cases,
            compared: self.summary.compared,
            uncompared: self.summary.causes(),
            rate: self.rate(),
            median_macs: self.median_macs(),
            spent: self.spent,
        }
    }
}

fn add_stages(stages: &mut BTreeMap<(Variant, Stage), u64>, record: &CaseRecord) {
    for variant in &record.variants {
        for timing in &variant.timings {
            *stages.entry((variant.variant.clone(), timing.stage)).or_default() += timing.micros;
        }
    }
}
