use std::path::PathBuf;

use clap::Args;

use crate::{Exit, Failure, finding_folder::ensure_finding_folder, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a finding
    finding: PathBuf,
    /// Folder of adopted findings, created if absent
    #[arg(long, default_value = "golden/cases", value_name = "DIR")]
    to: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    ensure_finding_folder(&arguments.finding)?;
    let folder = twinfer_store::adopt(&arguments.finding, &arguments.to)?;
    line!(paint::good("adopted into") => " {}", folder.display());
    Ok(Exit::Conforms)
}
