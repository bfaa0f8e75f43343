use std::path::PathBuf;

use clap::Args;

use twinfer_store::without_recordings;

use crate::{Exit, Failure, finding_folder::findings_at, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folders of findings; of a run, or of a folder of findings, all are adopted
    #[arg(required = true, value_name = "FINDING")]
    findings: Vec<PathBuf>,
    /// Folder of adopted findings, created if absent
    #[arg(long, default_value = "golden/cases", value_name = "DIR")]
    to: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let findings = without_recordings(&arguments.findings).map(|path| findings_at(path));
    let findings = findings.collect::<Result<Vec<_>, _>>()?.concat();
    if findings.is_empty() {
        line!("no findings to adopt");
    }
    for finding in findings {
        let folder = twinfer_store::adopt(&finding, &arguments.to)?;
        line!(paint::good("adopted into") => " {}", folder.display());
    }
    Ok(Exit::Conforms)
}
