//! A *rung* is a variant of the same backend that works harder on the same graphs than the one below it, or the same variant with
//! poisoned memory.

use std::sync::Arc;

use twinfer_case::{
    BackendName, Description, DeviceUse, MemoryMode, OptionKey, PoisonPattern, TrustedVariant, Variant,
    VariantInfo,
};
use twinfer_workers::{
    DevicePools, HostContext, Semaphore, TriageWorkers, WorkerError, WorkerProcess, start_all,
};

use crate::{CampaignError, Options};

/// The most rungs that a ladder may have.
const MOST: usize = 8;

/// A rung, perhaps with the first of its workers.
pub struct Rung {
    base: TrustedVariant,
    pools: Arc<DevicePools>,
    description: Description,
    worker: Option<WorkerProcess>,
}

/// A variant that runs every case, with the first of its workers.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    pub variant: &'a TrustedVariant,
    pub worker: &'a WorkerProcess,
}

impl Rung {
    /// The rungs of the ladders above the variants of a campaign, and then those variants with poisoned memory, as far as the options ask
    /// for them. A variant of the campaign, or a rung of another, does not become a rung again.
    pub fn start(
        bases: &[Base<'_>],
        options: &Options,
        host: &HostContext,
    ) -> Result<Vec<Self>, CampaignError> {
        let mut planned = Planned::above(bases, options, host);
        if options.ladder.is_some() {
            for base in bases {
                planned.add(*base, above(*base)?);
            }
            if planned.rungs.is_empty() {
                return Err(CampaignError::NoRung);
            }
        }
        if options.poison_every.is_some() {
            for base in bases {
                planned.add(*base, poisoned(*base));
            }
        }
        planned.start()
    }

    /// Its variant, what its backend says of itself, and the variant that it is above.
    pub fn info(&self) -> VariantInfo {
        VariantInfo {
            variant: self.variant().clone(),
            description: self.description.clone(),
            rung_of: Some(self.base.clone().into_inner()),
        }
    }

    /// Its variant.
    pub fn variant(&self) -> &Variant {
        self.pools.variant()
    }

    /// The first of its workers; `None` if none has started.
    pub const fn worker(&self) -> Option<&WorkerProcess> {
        self.worker.as_ref()
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
    rungs: Vec<PlannedRung>,
}

struct PlannedRung {
    base: TrustedVariant,
    pools: Arc<DevicePools>,
    /// What its workers will say; `None` if the first is started to find out.
    expected: Option<Description>,
}

impl<'a> Planned<'a> {
    /// No rungs yet, above `bases`.
    fn above(bases: &[Base<'_>], options: &'a Options, host: &'a HostContext) -> Self {
        let taken = bases.iter().map(|base| base.variant.clone()).collect();
        Self { options, host, taken, rungs: Vec::new() }
    }

    /// Plans rungs above `base`, each with what its workers will say.
    fn add(&mut self, base: Base<'_>, rungs: Vec<(TrustedVariant, Description)>) {
        for (variant, description) in rungs {
            if !self.taken.contains(&variant) {
                let pools = DevicePools::new(&variant, &self.options.pools(), self.host, 0);
                self.taken.push(variant);
                let expected = Some(description).filter(|_| base.has_late_rungs());
                let pools = match &expected {
                    Some(description) => pools.expecting(description),
                    None => pools,
                };
                let (base, pools) = (base.variant.clone(), Arc::new(pools));
                self.rungs.push(PlannedRung { base, pools, expected });
            }
        }
    }

    /// The rungs, with the first workers of those of which it is not known what they will say.
    fn start(self) -> Result<Vec<Rung>, CampaignError> {
        let is_open = |rung: &&PlannedRung| rung.expected.is_none();
        let first = self.rungs.iter().filter(is_open).map(|rung| rung.pools.pools().first());
        let mut workers =
            start_all(first.map(|pool| pool.into_iter().collect()).collect())?.into_iter().flatten();
        let start = |PlannedRung { base, pools, expected }: PlannedRung| {
            let worker = if expected.is_none() { workers.next() } else { None };
            let description = expected.or_else(|| Some(worker.as_ref()?.description().clone()))?;
            Some(Rung { base, pools, description, worker })
        };
        Ok(self.rungs.into_iter().filter_map(start).collect())
    }
}

impl Base<'_> {
    /// Whether the workers of its rungs start when the first case needs them: starting one takes long, and what it will say is known, as
    /// it is of all but external programs.
    fn has_late_rungs(self) -> bool {
        self.worker.is_slow_to_start() && !matches!(self.variant.backend, BackendName::External(_))
    }
}

/// The variants of the ladder above `base`, with what their workers will say.
fn above(base: Base<'_>) -> Result<Vec<(TrustedVariant, Description)>, CampaignError> {
    let description = base.worker.description();
    let variants = rungs(base.variant, description)?.into_iter().enumerate();
    Ok(variants.filter_map(|(set, variant)| Some((variant, description.on_rung(set)?))).collect())
}

/// The variants of the ladder that `base` states. An external program may state any ladder.
fn rungs(base: &TrustedVariant, description: &Description) -> Result<Vec<TrustedVariant>, CampaignError> {
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

/// `base` with each pattern in its memory, if it keeps memory: what it hides shows there. With what the workers will say.
fn poisoned(base: Base<'_>) -> Vec<(TrustedVariant, Description)> {
    if base.variant.memory() != Some(MemoryMode::Keep) {
        return Vec::new();
    }
    let poisoned = |pattern| {
        let mode = MemoryMode::Poison(pattern);
        let description = base.worker.description().clone();
        (base.variant.with_memory(mode), description.with_option(OptionKey::Memory, mode.to_string()))
    };
    PoisonPattern::ALL.map(poisoned).into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use twinfer_case::Stage;

    use super::*;

    /// The variants above `b,level=1` where a backend states this ladder.
    fn stated(ladder: &[&[(&str, &str)]]) -> Result<Vec<String>, String> {
        let options = |rung: &&[(&str, &str)]| -> BTreeMap<String, String> {
            rung.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let description = Description {
            ladder: ladder.iter().map(options).collect(),
            ..Description::new("b", "1", Stage::Execute)
        };
        let base = TrustedVariant::vouch("external:b,level=1".parse().unwrap());
        let above = rungs(&base, &description).map_err(|error| error.to_string())?;
        Ok(above.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_rung_changes_the_options_that_it_names() {
        let ladder: &[&[(&str, &str)]] = &[&[("level", "3")], &[("sources", "none")]];
        assert_eq!(stated(ladder).unwrap(), ["external:b,level=3", "external:b,level=1,sources=none"]);
        assert!(stated(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_ladder_that_makes_no_sense_is_an_error_of_its_worker() {
        let error = stated(&[&[("level", "3,lib=/tmp/x")]]).unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        assert!(stated(&[&[("a=b", "c")]]).is_err());
        let error = stated(&[&[("level", "3")][..]; 9]).unwrap_err();
        assert!(error.contains("9 rungs, at most 8"), "{error}");
    }
}
