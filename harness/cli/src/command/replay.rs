use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    slice,
};

use clap::Args;
use twinfer_case::{Ending, TrustedVariant, VariantRecord, Verdict};
use twinfer_store::{Recording, read_finding};
use twinfer_targets::{Replay, Sanitizer, SanitizerReport};

use crate::{
    Exit, Failure,
    finding_folder::{ensure_case, ensure_finding_folder, warn_of_edited_model},
    output::{line, note},
    paint,
    recorded::RecordedArguments,
    sanitizer, targets,
    worker::{WorkerSettings, worker_for},
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a finding, or of a case with recorded observations
    finding: PathBuf,
    /// Run the case under NVIDIA's compute-sanitizer instead, and print what it reports; exit with 0 if it reports an error
    #[arg(long)]
    sanitize: bool,
    #[command(flatten)]
    recorded: RecordedArguments,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    ensure_finding_folder(&arguments.finding)?;
    ensure_case(&arguments.finding)?;
    let sanitizer = arguments.sanitize.then(sanitizer::find).transpose()?;
    let variants = arguments.recorded.variants(slice::from_ref(&arguments.finding))?;
    let log = arguments.recorded.log()?;
    if let Some(sanitizer) = sanitizer {
        return sanitize(&sanitizer, &arguments.finding, &variants);
    }
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.recorded.limits };
    warn_of_edited_model(&arguments.finding)?;
    let replays = targets::start(&variants, settings)?.replay(&arguments.finding)?;
    if replays.is_empty() {
        let recorded = Recording::read_beside(&arguments.finding)?.observed;
        let recorded: BTreeSet<_> = recorded.iter().map(|one| one.variant.to_string()).collect();
        return Err(Failure::usage(format!(
            "none of these backends is recorded for {}: leave --backends out, or name one of {}",
            arguments.finding.display(),
            recorded.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    replays.iter().for_each(print);
    if read_finding(&arguments.finding)?.is_some_and(|finding| finding.only_inside) {
        let folder = arguments.finding.display();
        note!(
            "the outputs, which were replayed, do not show this finding: `twinfer check {folder}` judges the values inside"
        );
    }
    Ok(if replays.iter().all(|replay| replay.recurs) { Exit::Conforms } else { Exit::Findings })
}

/// Runs the case under the sanitizer, which confirms the finding if it reports an error.
fn sanitize(sanitizer: &Sanitizer, folder: &Path, variants: &[TrustedVariant]) -> Result<Exit, Failure> {
    let reports = sanitizer.replay(folder, variants, &worker_for(variants)?)?;
    if reports.is_empty() {
        return Err(Failure::usage(
            "compute-sanitizer watches only backends that use CUDA: name one with --backends",
        ));
    }
    reports.iter().for_each(print_report);
    let confirms = reports.iter().any(|report| report.errors.is_some_and(|errors| errors > 0));
    Ok(if confirms { Exit::Conforms } else { Exit::Findings })
}

fn print_report(SanitizerReport { variant, tool, observation, lines, errors }: &SanitizerReport) {
    let mark = match errors {
        Some(0) => paint::faint("no error "),
        Some(_) => paint::bad("confirms "),
        None => paint::bad("no report"),
    };
    line!(mark => " {variant} ({tool})");
    match observation {
        Some(observation) => line!("          the case ended in {}", observation.stage),
        None => line!("          the worker ended before the case did"),
    }
    if *errors != Some(0) {
        for text in lines {
            line!("          {text}");
        }
    }
}

fn print(replay: &Replay) {
    let (then, now) = &replay.versions;
    let versions = if then == now { now.to_string() } else { format!("recorded with {then}, running {now}") };
    let mark = if replay.recurs { paint::good("recurs   ") } else { paint::bad("different") };
    line!(mark => " {} ({versions})", replay.variant);
    for difference in &replay.library_differences {
        line!("          another library of the same version: {difference}");
    }
    print_verdict(&replay.record);
}

/// Prints what a variant makes of a case now, below a line that names the variant.
pub(super) fn print_verdict(record: &VariantRecord) {
    match &record.verdict {
        Verdict::Diverges(divergences) => {
            for divergence in divergences {
                line!("          {} {}: {}", divergence.stage, divergence.kind, divergence.readable_detail());
                if let Some(diagnosis) = &divergence.diagnosis {
                    line!("          because: {diagnosis}");
                }
            }
        }
        Verdict::Conforms => {
            let ending = record.outcome.as_ref().map_or(Ending::Ok, Ending::of);
            line!("          conforms ({})", ending.in_words(record.stage));
        }
        Verdict::Unsupported(rule) => line!("          unsupported: {rule}"),
        Verdict::Unspecified(rule) => line!("          unspecified: {rule}"),
        Verdict::NoReference(reason) => line!("          without a reference: {reason}"),
        Verdict::LeftOut(condition) => line!("          left out: earlier cases hung ({condition})"),
        Verdict::Vacuous => {
            line!("          undecided: rounding may explain any difference");
        }
    }
}
