use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{Exit, Failure, paint, stored::StoredFinding};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a finding
    finding: PathBuf,
    /// Where findings are kept
    #[arg(long, default_value = "golden/cases", value_name = "DIR")]
    to: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let slug = StoredFinding::read(&arguments.finding)?.finding.signature.slug();
    let target = arguments.to.join(&slug);
    if target.exists() {
        return Err(Failure::usage(format!(
            "{} is there already: remove it to adopt this one",
            target.display()
        )));
    }
    copy_folder(&arguments.finding, &target)
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", target.display())))?;
    println!("{} in {}", paint::good(slug), arguments.to.display());
    Ok(Exit::Conforms)
}

/// A finding's folder is files and folders of files.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
