use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_campaign::NEIGHBORS;
use twinfer_case::Finding;
use twinfer_configuration::Configuration;
use twinfer_reports::Report;
use twinfer_store::{has_case, run_of_finding, without_recordings};
use twinfer_targets::Explanation;

use super::replay::print_verdict;
use crate::{
    Exit, Failure,
    finding_folder::findings_at,
    issues::resolve,
    output::{line, note, print},
    page, paint,
    recorded::RecordedArguments,
    resumption::Resumption,
    targets,
    worker::WorkerSettings,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folders of findings; of a run, or of a folder of findings, all are explained
    #[arg(required = true, value_name = "FINDING")]
    findings: Vec<PathBuf>,
    #[command(flatten)]
    recorded: RecordedArguments,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut findings = Vec::new();
    for path in without_recordings(&arguments.findings) {
        findings.extend(findings_at(path)?);
    }
    let (folders, without_case): (Vec<_>, Vec<_>) = findings.into_iter().partition(|folder| has_case(folder));
    for folder in &without_case {
        print(&paint::heading(folder.display()));
        line!(paint::faint("  skipped") => ": golden does not support its model, so there is no case to experiment with");
    }
    if folders.is_empty() {
        line!("no findings to explain");
        return Ok(Exit::Conforms);
    }
    let variants = arguments.recorded.variants(&folders)?;
    let log = arguments.recorded.log()?;
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.recorded.limits };
    let targets = targets::start(&variants, settings)?;
    let (mut exit, mut explained, mut changed) = (Exit::Conforms, Vec::new(), BTreeSet::new());
    for folder in &folders {
        print(&paint::heading(folder.display()));
        match targets.explain(folder, &NEIGHBORS)? {
            Explanation::Explained(finding) => {
                print_finding(&finding);
                explained.push(*finding);
                changed.extend(run_of_finding(folder));
            }
            Explanation::NotRecurring(record) => {
                exit = Exit::Findings;
                line!(paint::bad("  different") => " {}", record.variant);
                print_verdict(&record);
            }
            Explanation::NotStudied(kind) => {
                line!(paint::faint("  skipped") => ": there are no experiments for {kind}");
            }
            Explanation::OnlyInside => {
                line!(
                    paint::faint("  skipped")
                        => ": it shows only inside the whole model, so other models cannot be compared with it"
                );
            }
            Explanation::NotRun(seen_in) => {
                let variants = seen_in.iter().map(|seen| seen.variant.to_string()).collect::<Vec<_>>();
                line!(paint::faint("  skipped") => ": only {} showed it", variants.join(", "));
            }
        }
    }
    print_alike(&explained);
    changed.iter().try_for_each(|run| write_page(run))?;
    Ok(exit)
}

/// Writes the report of a run as a page again, since its findings have changed.
fn write_page(run: &Path) -> Result<(), Failure> {
    let mut report = Report::of_directory(run)?;
    resolve(&mut report, &Configuration::read(None)?.known, None)?;
    report.resume = Resumption::of_report(&report, run).map(|command| command.to_string());
    note!("{}", page::write_into(run, &report));
    Ok(())
}

/// Prints which findings show under one condition, and may be one bug.
fn print_alike(findings: &[Finding]) {
    let mut alike = BTreeMap::<_, Vec<String>>::new();
    for finding in findings {
        let Some(trigger) = finding.trigger.as_ref().filter(|trigger| trigger.is_condition()) else {
            continue;
        };
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

fn print_finding(finding: &Finding) {
    match &finding.trigger {
        Some(trigger) => line!("  trigger: {trigger}"),
        None => line!("  trigger: none found"),
    }
    if let Some(diagnosis) = finding.detailed_diagnosis() {
        line!("  because: {diagnosis}");
    }
    if !finding.refuted.is_empty() {
        line!("  not borne out by other cases: {}", finding.refuted.join(", "));
    }
}
