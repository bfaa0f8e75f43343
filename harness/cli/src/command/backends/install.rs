use clap::Args;
use twinfer_libraries::Store;

use crate::{Exit, Failure, installing::told, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Names (see `twinfer backends list`), wheels, or folders that hold libraries
    #[arg(required = true, value_name = "NAME|PATH")]
    libraries: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let store = Store::open()?;
    for library in &arguments.libraries {
        let installed = told(|tell| store.install(library, tell))?;
        let title = format!("{} {}", installed.name, installed.version);
        line!("{} in {}", paint::good(title), installed.directory.display());
    }
    Ok(Exit::Conforms)
}
