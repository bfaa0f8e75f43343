mod arguments;
mod options;
mod variants;

use twinfer_case::{Budget, RunEnd, RunInfo};
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report, ReportedFinding, first_screen};
use twinfer_store::{RunDirectory, read_run};

pub use self::arguments::Arguments;
use self::options::options;
use crate::{
    Exit, Failure,
    campaign::run_with_progress,
    doubts::doubts,
    idle_gpus::note_idle,
    issues::{Trials, resolve},
    mps, option_sample,
    output::{note, write},
    page,
    resumption::Resumption,
    run_log::RunLog,
    terminal,
};

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let resumed = if arguments.resumes() { Some(claim(arguments)?) } else { None };
    let recorded = resumed.as_ref().map(recorded).transpose()?;
    let mut options = options(arguments, &configuration, recorded.as_ref())?;
    let directory = resumed.map_or_else(|| claim(arguments), Ok)?;
    let out = directory.path().to_owned();
    let log = RunLog::start(&out, arguments.log)?;
    log.extend_to(&mut options.worker);
    let (stored, worker, deadlines) = (options.known.clone(), options.worker.clone(), options.deadlines);
    let variants = options.variants.clone();
    let resumption = Resumption::of_process(&out);
    note_idle(&options);
    let service = mps::serve(&mut options);
    let ended = run_with_progress(options, &directory, &resumption);
    drop(service);
    if ended.is_err() {
        log.discard_without_run();
        directory.discard_without_run();
    }
    let mut report = ended?;
    let trials = Trials { stored: &stored, variants: &variants, worker: &worker, deadlines };
    resolve(&mut report, &configuration.known, Some(trials))?;
    if arguments.sample_options.is_some() {
        option_sample::reduce(&mut report, &out, trials)?;
    }
    report.doubts = doubts(&report, trials).unwrap_or_else(|failure| {
        note!("the cases of known findings did not run again: {failure}");
        Vec::new()
    });
    let page = page::write_into(&out, &report);
    write(&match arguments.format {
        Format::Terminal if !arguments.all => {
            first_screen(&report, &out.to_string_lossy(), terminal::columns())
        }
        format => page::render_as(format, None, &out, &report),
    });
    note!("run directory: {}", out.display());
    note!("{page}");
    if report.end.as_ref().is_some_and(RunEnd::is_early) {
        note!("stopped early; resume with: {resumption}");
    } else if report.summary.open > 0 && is_limited_by_time(&report) {
        note!("to investigate the remaining divergences, resume with: {resumption}");
    }
    if report.findings.iter().any(is_to_be_explained) {
        note!("to find out when findings show: twinfer explain {}", out.display());
    }
    Ok(arguments.continuation.exit(&report))
}

/// Whether another start would decide more: with a number of cases, all that can be decided is.
fn is_limited_by_time(report: &Report) -> bool {
    report.run.as_ref().is_some_and(|run| matches!(run.budget, Budget::Seconds(_)))
}

/// Whether experiments on a finding were left for later, since each of their cases takes long.
fn is_to_be_explained(ReportedFinding { finding, .. }: &ReportedFinding) -> bool {
    finding.signature.backend.is_slow() && finding.trigger.is_none()
}

/// The run directory: nothing is written before it is claimed.
fn claim(arguments: &Arguments) -> Result<RunDirectory, Failure> {
    Ok(match &arguments.out {
        Some(out) if arguments.resumes() => RunDirectory::resume(out)?,
        Some(out) => RunDirectory::create(out)?,
        None => RunDirectory::create_next()?,
    })
}

/// The run to resume, which a campaign of generated cases wrote.
fn recorded(directory: &RunDirectory) -> Result<RunInfo, Failure> {
    let run = read_run(directory.path())?;
    if run.families.is_empty() {
        let out = directory.path().display();
        return Err(Failure::usage(format!(
            "{out} holds a run of `twinfer check`, which cannot be resumed: run that command again with another --out"
        )));
    }
    Ok(run)
}
