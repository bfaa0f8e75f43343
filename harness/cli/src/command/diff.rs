use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_case::RunInfo;
use twinfer_reports::{Difference, Format, Reporter, RunFindings};
use twinfer_store::{read_run, replay_events};
use twinfer_triage::may_share_mistake;

use crate::{
    Exit, Failure,
    formats::difference_formats,
    output::{note, write},
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory of the earlier run
    earlier: PathBuf,
    /// Directory of the later run
    later: PathBuf,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = difference_formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (earlier, later) = (findings(&arguments.earlier)?, findings(&arguments.later)?);
    let names = [&arguments.earlier, &arguments.later].map(|path| path.display().to_string());
    let difference = Difference::between((&names[0], &earlier), (&names[1], &later), may_share_mistake);
    let text = difference.render(arguments.format).ok_or_else(|| {
        let format = arguments.format;
        Failure::usage(format!("`twinfer diff` cannot write {format}: use terminal, json, junit or markdown"))
    })?;
    write(&text);
    let differ = differ_otherwise(&read_run(&arguments.earlier)?, &read_run(&arguments.later)?);
    if let Some(reason) = differ {
        note!("{reason}: a case may count for another finding for that reason alone");
    }
    Ok(Exit::of([
        (!difference.new.is_empty()).then_some(Exit::Findings),
        (!difference.uncompared.is_empty()).then_some(Exit::NothingCompared),
    ]))
}

/// Why cases with the same verdicts may count for different findings in two runs; `None` if nothing speaks for it.
fn differ_otherwise(earlier: &RunInfo, later: &RunInfo) -> Option<&'static str> {
    let known = |run: &RunInfo| -> BTreeSet<String> {
        let known = run.settings.iter().flat_map(|settings| &settings.known);
        known.filter(|folder| folder.findings > 0).map(|folder| folder.checksum.clone()).collect()
    };
    if known(earlier) != known(later) {
        Some("the runs began with different known findings")
    } else if earlier.merged.is_empty() != later.merged.is_empty() {
        Some("one of the runs was merged from shards, which choose their findings by themselves")
    } else {
        None
    }
}

fn findings(run: &Path) -> Result<RunFindings, Failure> {
    let mut findings = RunFindings::default();
    replay_events(run, &mut |event| findings.on_event(event))?;
    Ok(findings)
}
