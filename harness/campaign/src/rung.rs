//! A *rung* is a variant of the same backend that works harder on the same graphs than the one below it, or the same variant with
//! poisoned memory.

use std::sync::Arc;

use twinfer_case::{Description, DeviceUse, MemoryMode, PoisonPattern, TrustedVariant, Variant, VariantInfo};
use twinfer_workers::{
    DevicePools, HostContext, Semaphore, TriageWorkers, WorkerError, WorkerProcess, start_all,
};

use crate::{CampaignError, Options};

/// The most rungs that a ladder may have.
const MOST: usize = 8;

/// A rung with the first of its workers.
pub struct Rung {
    base: TrustedVariant,
    pools: Arc<DevicePools>,
    worker: WorkerProcess,
}

impl Rung {
    /// Starts the rungs of the ladders above the variants of a campaign, given with what their backends say of themselves, if the
    /// options ask for them. A variant of the campaign, or a rung of another, does not become a rung again.
    pub fn start_ladders(
        bases: &[(&TrustedVariant, &Description)],
        options: &Options,
        host: &HostContext,
    ) -> Result<Vec<Self>, CampaignError> {
        if options.ladder.is_none() {
            return Ok(Vec::new());
        }
        let mut planned = Planned::above(bases.iter().map(|(base, _)| *base), options, host);
        for (base, description) in bases {
            planned.add(base, above(base, description)?);
        }
        if planned.rungs.is_empty() {
            return Err(CampaignError::NoRung);
        }
        planned.start()
    }

    /// Starts the variants of a campaign with poisoned memory, if the options ask for them, except those that are variants of the
    /// campaign themselves.
    pub fn start_poisoned(
        bases: &[Arc<DevicePools>],
        options: &Options,
        host: &HostContext,
    ) -> Result<Vec<Self>, CampaignError> {
        if options.poison_every.is_none() {
            return Ok(Vec::new());
        }
        let bases = || bases.iter().map(|pools| pools.trusted_variant());
        let mut planned = Planned::above(bases(), options, host);
        bases().for_each(|base| planned.add(base, poisoned(base)));
        planned.start()
    }

    /// Its variant, what its backend says of itself, and the variant that it is above.
    pub fn info(&self) -> VariantInfo {
        VariantInfo {
            variant: self.variant().clone(),
            description: self.worker.description().clone(),
            rung_of: Some(self.base.clone().into_inner()),
        }
    }

    /// Its variant.
    pub fn variant(&self) -> &Variant {
        self.pools.variant()
    }

    /// The first of its workers.
    pub const fn worker(&self) -> &WorkerProcess {
        &self.worker
    }

    /// The workers that run single cases on rungs. Those that use their device alone take turns on it.
    pub fn triage_workers(rungs: Vec<Self>, options: &Options) -> Vec<TriageWorkers> {
        let devices = rungs.iter().map(|rung| rung.pools.pools().len()).max().unwrap_or(1);
        let one_per_device = Arc::new(Semaphore::new("rungs that use a device alone", devices));
        let limit = options.investigations.min(options.most_on_a_rung());
        let of_rung = |rung: Self| {
            let workers = TriageWorkers::new(rung.info(), Arc::clone(&rung.pools), limit)
                .with_sequential(rung.worker)
                .confirming_without_kept_memory();
            match workers.info().description.device_use {
                DeviceUse::Alone => workers.with_semaphore(&one_per_device),
                DeviceUse::Shared => workers,
            }
        };
        rungs.into_iter().map(of_rung).collect()
    }
}

/// Rungs that are to be started.
struct Planned<'a> {
    options: &'a Options,
    host: &'a HostContext,
    /// The variants that become no rung any more.
    taken: Vec<TrustedVariant>,
    /// Each with the variant that it is above.
    rungs: Vec<(TrustedVariant, Arc<DevicePools>)>,
}

impl<'a> Planned<'a> {
    /// No rungs yet, above `bases`.
    fn above<'b>(
        bases: impl Iterator<Item = &'b TrustedVariant>,
        options: &'a Options,
        host: &'a HostContext,
    ) -> Self {
        Self { options, host, taken: bases.cloned().collect(), rungs: Vec::new() }
    }

    fn add(&mut self, base: &TrustedVariant, rungs: Vec<TrustedVariant>) {
        for variant in rungs {
            if !self.taken.contains(&variant) {
                let pools = DevicePools::new(&variant, &self.options.pools(), self.host, 0);
                self.taken.push(variant);
                self.rungs.push((base.clone(), Arc::new(pools)));
            }
        }
    }

    /// The rungs, each with its first worker.
    fn start(self) -> Result<Vec<Rung>, CampaignError> {
        let first = self.rungs.iter().map(|(_, pools)| pools.pools().first().into_iter().collect()).collect();
        let workers = start_all(first)?.into_iter().flatten();
        let rungs = self.rungs.into_iter().zip(workers);
        Ok(rungs.map(|((base, pools), worker)| Rung { base, pools, worker }).collect())
    }
}

/// The variants of the ladder above `base`. An external program may state any ladder.
fn above(base: &TrustedVariant, description: &Description) -> Result<Vec<TrustedVariant>, CampaignError> {
    let refused = |reason: String| {
        CampaignError::from(WorkerError::Worker { variant: base.clone().into_inner(), reason })
    };
    if description.ladder.len() > MOST {
        return Err(refused(format!("its ladder has {} rungs, at most {MOST}", description.ladder.len())));
    }
    let variants = description.ladder.iter().map(|options| base.with(options));
    let is_written = |variant: TrustedVariant| match variant.to_string().parse::<Variant>() {
        Ok(parsed) if parsed == *variant => Ok(variant),
        _ => Err(refused(format!("its ladder has a rung that cannot be written: {variant}"))),
    };
    variants.map(is_written).collect()
}

/// `base` with each pattern in its memory, if it keeps memory: what it hides shows there.
fn poisoned(base: &TrustedVariant) -> Vec<TrustedVariant> {
    if base.memory() == Some(MemoryMode::Keep) {
        PoisonPattern::ALL.map(|pattern| base.with_memory(MemoryMode::Poison(pattern))).into()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use twinfer_case::Stage;

    use super::*;

    /// The variants above `b,level=1` where a backend states this ladder.
    fn rungs(ladder: &[&[(&str, &str)]]) -> Result<Vec<String>, String> {
        let options = |rung: &&[(&str, &str)]| -> BTreeMap<String, String> {
            rung.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let description = Description {
            ladder: ladder.iter().map(options).collect(),
            ..Description::new("b", "1", Stage::Execute)
        };
        let base = TrustedVariant::vouch("external:b,level=1".parse().unwrap());
        let above = above(&base, &description).map_err(|error| error.to_string())?;
        Ok(above.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_rung_changes_the_options_that_it_names() {
        let ladder: &[&[(&str, &str)]] = &[&[("level", "3")], &[("sources", "none")]];
        assert_eq!(rungs(ladder).unwrap(), ["external:b,level=3", "external:b,level=1,sources=none"]);
        assert!(rungs(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_ladder_that_makes_no_sense_is_an_error_of_its_worker() {
        let error = rungs(&[&[("level", "3,lib=/tmp/x")]]).unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        assert!(rungs(&[&[("a=b", "c")]]).is_err());
        let error = rungs(&[&[("level", "3")][..]; 9]).unwrap_err();
        assert!(error.contains("9 rungs, at most 8"), "{error}");
    }
}
