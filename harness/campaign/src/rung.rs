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
    /// Starts the rungs above the variants of a campaign, given with what their backends say of themselves: those of their ladders,
    /// and then poisoned ones, if the options ask for them. A variant of the campaign, or a rung of another, does not become a rung
    /// again.
    pub fn start(
        bases: &[(&TrustedVariant, &Description)],
        options: &Options,
        host: &HostContext,
    ) -> Result<Vec<Self>, CampaignError> {
        let mut taken: Vec<TrustedVariant> = bases.iter().map(|(base, _)| (*base).clone()).collect();
        let mut planned = Vec::new();
        let mut plan = |base: &TrustedVariant, rungs: Vec<TrustedVariant>| {
            for variant in rungs {
                if !taken.contains(&variant) {
                    let pools = Arc::new(DevicePools::new(&variant, &options.pools(), host, 0));
                    taken.push(variant);
                    planned.push((base.clone(), pools));
                }
            }
            planned.len()
        };
        if options.ladder.is_some() {
            let mut rungs = 0;
            for (base, description) in bases {
                rungs = plan(base, above(base, description)?);
            }
            if rungs == 0 {
                return Err(CampaignError::NoRung);
            }
        }
        if options.poison_every.is_some() {
            for (base, _) in bases {
                plan(base, poisoned(base));
            }
        }
        let first = planned.iter().map(|(_, pools)| pools.pools().first().into_iter().collect()).collect();
        let workers = start_all(first)?.into_iter().flatten();
        let rungs = planned.into_iter().zip(workers);
        Ok(rungs.map(|((base, pools), worker)| Self { base, pools, worker }).collect())
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
