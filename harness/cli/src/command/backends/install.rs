use clap::Args;
use twinfer_libraries::Store;
use twinfer_reports::Styled;

use crate::{Exit, Failure, installation::with_progress, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Library names (see `twinfer backends list`; without a version, as in `tensorrt`, the newest of the list), wheels (.whl)
    /// that you downloaded, or folders of libraries
    #[arg(required = true, value_name = "NAME|PATH")]
    libraries: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let store = Store::open()?;
    for library in &arguments.libraries {
        let installed = with_progress(|report| store.install(library, report))?;
        let title = format!("{} {}", installed.name, installed.version);
        let line = Styled::plain("installed ") + paint::good(title);
        line!(line => " in {}", installed.directory.display());
    }
    Ok(Exit::Conforms)
}
