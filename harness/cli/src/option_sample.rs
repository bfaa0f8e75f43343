//! Variants whose options are drawn, and which of these options a finding needs.

use std::path::Path;

use twinfer_backend::{DRAWN, has_cuda_device, sample_options};
use twinfer_case::{OptionKey, TrustedVariant, Variant};
use twinfer_libraries::Store;
use twinfer_reports::Report;
use twinfer_store::findings_of_run;
use twinfer_targets::reduce_options;

use crate::{Failure, issues::Trials, output::note};

/// `variants`, each followed by up to `count` variants of it with options that are drawn by `seed`.
pub fn extend(
    variants: Vec<TrustedVariant>,
    seed: u64,
    count: usize,
) -> Result<Vec<TrustedVariant>, Failure> {
    let mut extended = Vec::new();
    for variant in variants {
        let sets = match variant.library().filter(|_| count > 0) {
            Some(library) => sample_options(&variant, (&release(&library)?, has_cuda_device()), seed, count),
            None => Vec::new(),
        };
        let drawn: Vec<_> = sets.iter().map(|set| variant.with(set)).collect();
        for variant in &drawn {
            note!("drawn: {variant}");
        }
        extended.push(variant);
        extended.extend(drawn);
    }
    Ok(extended)
}

/// The release of an installed library, or the one that its name says.
fn release(library: &str) -> Result<String, Failure> {
    let named = || library.rsplit('-').next().unwrap_or_default().to_owned();
    Ok(Store::open()?.find(library).map_or_else(|_| named(), |installed| installed.version))
}

/// Finds out for every new finding that only variants with drawn options have shown which of these it needs.
pub fn reduce(report: &mut Report, run: &Path, trials: Trials<'_>) -> Result<(), Failure> {
    let keys = DRAWN.map(OptionKey::key);
    // a lean runtime runs nothing else
    let needs = |variant: &Variant, key| {
        variant.lean_runtime().is_some() && key == OptionKey::VersionCompatible.key()
    };
    let removable =
        |variant: &Variant| -> Vec<_> { keys.into_iter().filter(|key| !needs(variant, *key)).collect() };
    let has_drawn = |variant: &Variant| keys.iter().any(|key| variant.options.contains_key(*key));
    let start = |variant: &TrustedVariant| trials.start(std::slice::from_ref(variant));
    let folders = findings_of_run(run)?;
    for found in report.findings.iter_mut().filter(|found| found.new) {
        if !found.finding.seen_in.iter().all(|seen| has_drawn(&seen.variant)) {
            continue;
        }
        let shown_in = trials.variants.iter().find(|variant| found.finding.is_seen_in(variant));
        if let Some(variant) = shown_in
            && let Some(folder) = folders.iter().find(|folder| folder.ends_with(&found.slug))
            && let Some(finding) = reduce_options(folder, variant, &removable(variant), &start)?
        {
            found.finding = finding;
        }
    }
    Ok(())
}
