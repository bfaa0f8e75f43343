//! What commands have in common that run the variants which recordings name.

use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_case::TrustedVariant;
use twinfer_libraries::Store;
use twinfer_log::LogLevel;
use twinfer_store::Recording;

use crate::{
    Failure, Obstacle, backends::Backends, limits::LimitArguments, machine, output::line, paint,
    run_log::RunLog, trust::TrustArguments,
};

#[derive(Debug, Args)]
pub struct RecordedArguments {
    /// Backends to run, of those recorded [default: all that are installed and run on this machine]
    #[arg(long, value_name = "A,B")]
    backends: Option<Backends>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Write debug.log to a new run directory, at this level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
}

impl RecordedArguments {
    /// The variants to run of those recorded for the cases in `folders`, each once.
    ///
    /// # Errors
    ///
    /// Why none runs on this machine, if none does.
    pub fn variants(&self, folders: &[PathBuf]) -> Result<Vec<TrustedVariant>, Failure> {
        if let Some(chosen) = &self.backends {
            return Ok(chosen.subjects());
        }
        let (mut variants, mut failure) = (Vec::new(), None);
        for folder in folders {
            match runnable(folder, self.trust) {
                Ok(found) => {
                    for variant in found {
                        if !variants.contains(&variant) {
                            variants.push(variant);
                        }
                    }
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.filter(|_| variants.is_empty()).map_or(Ok(variants), Err)
    }

    /// The log that the options ask for.
    pub fn log(&self) -> Result<Option<RunLog>, Failure> {
        RunLog::start_if_requested(self.log, None)
    }
}

/// The recorded variants that may run and do so on this machine, each once; prints a line for each other one.
fn runnable(folder: &Path, trust: TrustArguments) -> Result<Vec<TrustedVariant>, Failure> {
    let mut variants = Vec::new();
    let mut refused = None;
    let recorded = Recording::read_beside(folder)?.observed;
    for one in &recorded {
        let variant = match trust.with_given(&[]).admit(&one.variant) {
            Ok(variant) => variant,
            Err(untrusted) => {
                line!(paint::faint("skipped  ") => " {untrusted}");
                refused.get_or_insert(untrusted);
                continue;
            }
        };
        match Obstacle::to(&one.variant, &one.version) {
            Some(obstacle @ (Obstacle::NoDevice | Obstacle::Device)) => {
                line!(paint::faint("skipped  ") => " {} ({}): {obstacle}", one.variant, one.version);
            }
            _ if variants.contains(&variant) => {}
            _ => variants.push(variant),
        }
    }
    let variants = installed(variants)?;
    if let (true, Some(refused)) = (variants.is_empty(), refused) {
        return Err(Failure::usage(format!(
            "the recording of {}: {refused}: if you trust it, repeat with --trust, or name the backend with --backends",
            folder.display()
        )));
    }
    if variants.is_empty() && !recorded.is_empty() {
        return Err(Failure::environment(format!(
            "no backend recorded for {} runs on this machine: name backends with --backends",
            folder.display()
        )));
    }
    Ok(variants)
}

/// The variants whose libraries are installed, or all if none is; prints a line for each that is left out.
fn installed(variants: Vec<TrustedVariant>) -> Result<Vec<TrustedVariant>, Failure> {
    let store = Store::open()?;
    let (mut absent, mut installed) = (Vec::new(), Vec::new());
    for variant in variants {
        match machine::missing(&store, &variant) {
            Some(reason) => absent.push((variant, reason)),
            None => installed.push(variant),
        }
    }
    if installed.is_empty() {
        return Ok(absent.into_iter().map(|(variant, _)| variant).collect());
    }
    for (variant, reason) in absent {
        line!(paint::faint("skipped  ") => " {variant}: {reason}");
    }
    Ok(installed)
}
