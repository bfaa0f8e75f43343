//! The backends that a campaign compares.

use std::path::Path;

use twinfer_case::{RunInfo, TrustedVariant};
use twinfer_configuration::{CONFIGURATION_FILE, Configuration};
use twinfer_provision::lacks_device;

use super::Arguments;
use crate::{Failure, machine, output::note};

/// The variants of the command line, of the configuration, or else the default ones.
pub fn named(arguments: &Arguments, configuration: &Configuration) -> Result<Vec<TrustedVariant>, Failure> {
    let file = arguments.config.as_deref().unwrap_or(Path::new(CONFIGURATION_FILE));
    match (&arguments.backends, &configuration.backends) {
        (Some(given), _) => Ok(given.subjects()),
        (None, Some(configured)) => arguments.trust.admit_configured(file, &configured.subjects()),
        (None, None) => machine::variants(),
    }
}

/// The variants that screen cases, which is printed where they differ from those that were named.
pub fn for_screening(variants: Vec<TrustedVariant>) -> Vec<TrustedVariant> {
    let screening = |named: TrustedVariant| {
        let screening = named.for_screening();
        if lacks_device(&named) {
            // the error that it cannot run follows
            return screening;
        }
        if named.is_above_lowest_level() {
            note!(
                "{named} screens cases as {screening}, which is fast; some cases run again at its default level"
            );
        }
        if named.runs_hazards() {
            note!(
                "{named} leaves out graphs that are known to end its workers; hazards=run has them tried (docs/campaigns.md)"
            );
        }
        if screening.memory() != named.memory() {
            note!(
                "{screening} keeps memory, which is fast and can hide misuse of it; findings are confirmed without"
            );
        }
        screening
    };
    variants.into_iter().map(screening).collect()
}

/// The variants of the run, which a file names, that run every case.
pub fn recorded(arguments: &Arguments, run: &RunInfo) -> Result<Vec<TrustedVariant>, Failure> {
    let bases = run.variants.iter().filter(|info| info.rung_of.is_none());
    let variants: Vec<_> = bases.map(|info| info.variant.clone()).collect();
    arguments.trust.admit_configured(arguments.out.as_deref().unwrap_or(Path::new(".")), &variants)
}
