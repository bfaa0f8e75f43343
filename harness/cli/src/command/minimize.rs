use std::path::PathBuf;

use clap::Args;
use twinfer_configuration::Variants;
use twinfer_reports::{Progress, Reporter};
use twinfer_store::{new_run_directory, read_finding};
use twinfer_targets::read_case;

use crate::{Exit, Failure, output::line, paint, targets};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a case or a finding, a case.json, or an ONNX model
    case: PathBuf,
    /// Backends to compare with golden, separated by commas; minimizes for the first one that diverges
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// Folder to write the finding to [default: next free runs/NNNN]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let case = read_case(&arguments.case)?;
    let known = read_finding(&arguments.case)?;
    let targets = targets::start(&arguments.backends.subjects())?;
    let out = arguments.out.clone().map_or_else(new_run_directory, Ok)?;
    let mut progress = Progress::to_stderr();
    let Some(minimal) =
        targets.minimize(&case, known.as_ref(), &out, &mut |event| progress.on_event(event))?
    else {
        line!("{}: nothing to minimize", paint::good("no backend diverges"));
        return Ok(Exit::Conforms);
    };
    let finding = &minimal.finding;
    line!(
        "{} {}",
        paint::bad(&finding.signature),
        paint::faint(format!("(nodes: {} → {})", finding.before.nodes, finding.after.nodes))
    );
    line!("{}", finding.graph);
    for divergence in &finding.divergences {
        line!("{}: {}", divergence.kind, divergence.detail);
        if let Some(diagnosis) = &divergence.diagnosis {
            line!("because: {diagnosis}");
        }
    }
    line!("written to {}", minimal.folder.display());
    Ok(Exit::Findings)
}
