use std::path::PathBuf;

use clap::Args;
use twinfer_reports::{Format, Progress, Report, Reporter};

use crate::{
    Exit, Failure, run_directory::fresh_run_directory, single::Single, stored::read_case, variants::Variants,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a case or a finding, or a case.json
    case: PathBuf,
    /// What to compare with golden, separated by commas
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// Where the result is written [default: the next of runs/0001, runs/0002, …]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let cases = vec![read_case(&arguments.case)?];
    let out = arguments.out.clone().map_or_else(fresh_run_directory, Ok)?;
    let (mut progress, mut report) = (Progress::to_stderr(), Report::default());
    let single = Single { cases, variants: arguments.backends.subjects(), minimize: true, out: out.clone() };
    single.run(&mut |event| {
        progress.hear(event);
        report.hear(event);
    })?;
    print!("{}", Format::Terminal.render(&report));
    if report.findings.is_empty() {
        return Ok(Exit::Conforms);
    }
    eprintln!("\nthe minimal case is in {}", out.join("findings").display());
    Ok(Exit::Findings)
}
