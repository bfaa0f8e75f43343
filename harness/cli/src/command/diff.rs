use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_reports::{Difference, Format, Reporter, RunFindings};
use twinfer_store::replay_events;

use crate::{Exit, Failure, formats::difference_formats, output::write};

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
    let difference = Difference::between((&names[0], &earlier), (&names[1], &later));
    let text = difference.render(arguments.format).ok_or_else(|| {
        let format = arguments.format;
        Failure::usage(format!("`twinfer diff` cannot write {format}: use terminal, json, junit or markdown"))
    })?;
    write(&text);
    Ok(Exit::of([
        (!difference.new.is_empty()).then_some(Exit::Findings),
        (!difference.uncompared.is_empty()).then_some(Exit::NothingCompared),
    ]))
}

fn findings(run: &Path) -> Result<RunFindings, Failure> {
    let mut findings = RunFindings::default();
    replay_events(run, &mut |event| findings.on_event(event))?;
    Ok(findings)
}
