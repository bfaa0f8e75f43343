use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_campaign::NEIGHBORS;
use twinfer_case::{Finding, TrustedVariant};
use twinfer_log::LogLevel;
use twinfer_store::{findings_of_run, has_finding, has_run};
use twinfer_targets::{Explanation, TargetError};

use super::replay::print_verdict;
use crate::{
    Exit, Failure,
    backends::Backends,
    limits::LimitArguments,
    output::{line, print},
    paint,
    recorded::runnable,
    run_log::RunLog,
    targets,
    trust::TrustArguments,
    worker::WorkerSettings,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folders of findings, or run directories, for all findings in them
    #[arg(required = true, value_name = "FINDING")]
    findings: Vec<PathBuf>,
    /// Backends to experiment on, of those that showed the findings [default: all that run on this machine]
    #[arg(long, value_name = "A,B")]
    backends: Option<Backends>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    limits: LimitArguments,
    /// Write debug.log to a new run directory, at this level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut folders = Vec::new();
    for path in &arguments.findings {
        folders.extend(findings_in(path)?);
    }
    if folders.is_empty() {
        line!("no findings to explain");
        return Ok(Exit::Conforms);
    }
    let variants = match &arguments.backends {
        Some(chosen) => chosen.subjects(),
        None => recorded_variants(&folders, arguments.trust)?,
    };
    let log = RunLog::start_if_requested(arguments.log, None)?;
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.limits };
    let targets = targets::start(&variants, settings)?;
    let (mut exit, mut explained) = (Exit::Conforms, Vec::new());
    for folder in &folders {
        print(&paint::heading(folder.display()));
        match targets.explain(folder, &NEIGHBORS)? {
            Explanation::Explained(finding) => {
                print_finding(&finding);
                explained.push(*finding);
            }
            Explanation::NotRecurring(record) => {
                exit = Exit::Findings;
                line!(paint::bad("different") => " {}", record.variant);
                print_verdict(&record);
            }
            Explanation::NotStudied(kind) => {
                line!(paint::faint("skipped") => ": there are no experiments for {kind}");
            }
            Explanation::NotRun(seen_in) => {
                let variants = seen_in.iter().map(|seen| seen.variant.to_string()).collect::<Vec<_>>();
                line!(paint::faint("skipped") => ": only {} showed it", variants.join(", "));
            }
        }
    }
    print_alike(&explained);
    Ok(exit)
}

/// Prints which findings show under one condition, and may be one bug.
fn print_alike(findings: &[Finding]) {
    let mut alike = BTreeMap::<_, Vec<String>>::new();
    for finding in findings {
        let Some(trigger) = &finding.trigger else { continue };
        let what = format!("{}, {}", finding.kind, trigger.condition());
        alike.entry(what).or_default().push(finding.signature.slug());
    }
    for (what, slugs) in alike.iter().filter(|(_, slugs)| slugs.len() > 1) {
        print(&paint::heading(format!("{} findings may be one bug: {what}", slugs.len())));
        for slug in slugs {
            line!("  {slug}");
        }
    }
}

/// The folders of the findings at `path`: the folder itself, or those of a run.
fn findings_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if has_finding(path) {
        return Ok(vec![path.to_owned()]);
    }
    if !has_run(path) {
        return Err(TargetError::NoFinding(path.to_owned()).into());
    }
    Ok(findings_of_run(path)?)
}

/// The recorded variants of all findings that run on this machine, each once.
///
/// # Errors
///
/// Why no variant runs, if none does.
fn recorded_variants(folders: &[PathBuf], trust: TrustArguments) -> Result<Vec<TrustedVariant>, Failure> {
    let (mut variants, mut failure) = (Vec::new(), None);
    for folder in folders {
        match runnable(folder, trust) {
            Ok(found) => variants.extend(found),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let mut seen = Vec::new();
    variants.retain(|variant| {
        let is_new = !seen.contains(variant);
        seen.extend(is_new.then(|| variant.clone()));
        is_new
    });
    failure.filter(|_| variants.is_empty()).map_or(Ok(variants), Err)
}

fn print_finding(finding: &Finding) {
    match &finding.trigger {
        Some(trigger) => line!("  trigger: {trigger}"),
        None => line!("  trigger: none was found"),
    }
    if let Some(diagnosis) = finding.detailed_diagnosis() {
        line!("  because: {diagnosis}");
    }
    if !finding.refuted.is_empty() {
        line!("  refuted by other cases: {}", finding.refuted.join(", "));
    }
}
