//! A *rung* is a variant that works harder on the same graphs than the one below it, of the same backend.

use std::sync::Arc;

use twinfer_case::{Description, DeviceUse, Variant, VariantInfo};
use twinfer_workers::{
    DevicePools, HostContext, Semaphore, TriageWorkers, WorkerError, WorkerProcess, start_all,
};

use crate::{CampaignError, Options};

/// As many rungs as a ladder may have.
const MOST: usize = 8;

/// A rung with the first of its workers.
pub struct Rung {
    base: Variant,
    site: Arc<DevicePools>,
    worker: WorkerProcess,
}

impl Rung {
    /// Those above the variants of a campaign, given with what their backends say of themselves. A variant of the campaign,
    /// or a rung of another, is no rung once more.
    pub fn start(
        bases: &[(&Variant, &Description)],
        options: &Options,
        ground: &HostContext,
    ) -> Result<Vec<Self>, CampaignError> {
        let mut taken: Vec<Variant> = bases.iter().map(|(base, _)| (*base).clone()).collect();
        let mut planned = Vec::new();
        for (base, description) in bases {
            for variant in above(base, description)? {
                if !taken.contains(&variant) {
                    let site = Arc::new(DevicePools::new(&variant, &options.pools(), ground, 0));
                    taken.push(variant);
                    planned.push(((*base).clone(), site));
                }
            }
        }
        if planned.is_empty() {
            return Err(CampaignError::NoRung);
        }
        let first = planned.iter().map(|(_, site)| site.pools().first().into_iter().collect()).collect();
        let workers = start_all(first)?.into_iter().flatten();
        let rungs = planned.into_iter().zip(workers);
        Ok(rungs.map(|((base, site), worker)| Self { base, site, worker }).collect())
    }

    /// Which variant it is, of what backend, and above which.
    pub fn info(&self) -> VariantInfo {
        VariantInfo {
            variant: self.variant().clone(),
            description: self.worker.description().clone(),
            rung_of: Some(self.base.clone()),
        }
    }

    /// Which variant it is.
    pub fn variant(&self) -> &Variant {
        self.site.variant()
    }

    /// The first of its workers.
    pub const fn worker(&self) -> &WorkerProcess {
        &self.worker
    }

    /// The crews of rungs. Of all workers that want their device alone, one a device is busy.
    pub fn crews(rungs: Vec<Self>, options: &Options) -> Vec<TriageWorkers> {
        let devices = rungs.iter().map(|rung| rung.site.pools().len()).max().unwrap_or(1);
        let gate = Arc::new(Semaphore::new(devices));
        let crew = |rung: Self| {
            let hands = options.investigations.min(options.most_on_a_rung());
            let crew = TriageWorkers::new(rung.info(), Arc::clone(&rung.site), hands);
            let crew = crew.with_sequential(rung.worker);
            match crew.info().description.device_use {
                DeviceUse::Alone => crew.with_semaphore(&gate),
                DeviceUse::Shared => crew,
            }
        };
        rungs.into_iter().map(crew).collect()
    }
}

/// The variants of the ladder above `base`, which may be what a stranger's program says.
fn above(base: &Variant, description: &Description) -> Result<Vec<Variant>, CampaignError> {
    let refused = |reason: String| CampaignError::from(WorkerError::Worker { variant: base.clone(), reason });
    if description.ladder.len() > MOST {
        return Err(refused(format!("its ladder has {} rungs, at most {MOST}", description.ladder.len())));
    }
    let variants = description.ladder.iter().map(|options| base.with(options));
    let is_written = |variant: Variant| match variant.to_string().parse::<Variant>() {
        Ok(parsed) if parsed == variant => Ok(variant),
        _ => Err(refused(format!("its ladder has a rung that cannot be written: {variant}"))),
    };
    variants.map(is_written).collect()
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
        let base: Variant = "external:b,level=1".parse().unwrap();
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
