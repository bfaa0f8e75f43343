//! Carries the command and its libraries to machines without a network.

use std::{env, path::PathBuf};

use clap::Args;
use twinfer_libraries::Store;

use crate::{Exit, Failure, installation::with_progress, output::line, paint};

#[derive(Debug, Args)]
pub struct PackArguments {
    /// Installed libraries by name [default: all]
    #[arg(value_name = "NAME")]
    libraries: Vec<String>,
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "twinfer.tar")]
    out: PathBuf,
}

#[derive(Debug, Args)]
pub struct UnpackArguments {
    /// File that `twinfer backends pack` wrote
    #[arg(value_name = "FILE")]
    archive: PathBuf,
}

pub fn pack(PackArguments { libraries, out }: &PackArguments) -> Result<Exit, Failure> {
    let store = Store::open()?;
    let libraries = if libraries.is_empty() {
        store.list()?
    } else {
        libraries.iter().map(|name| store.find(name)).collect::<Result<_, _>>()?
    };
    let program = env::current_exe().map_err(Failure::environment)?;
    store.pack(&program, &libraries, out)?;
    let names: Vec<_> = libraries.iter().map(|library| library.name.as_str()).collect();
    line!(paint::good("packed") => " twinfer, {} into {}", names.join(", "), out.display());
    line!(
        "on the other machine: tar xf {0}; export TWINFER_HOME=$PWD/twinfer; twinfer/bin/twinfer backends doctor",
        file_name(out)
    );
    Ok(Exit::Conforms)
}

pub fn unpack(UnpackArguments { archive }: &UnpackArguments) -> Result<Exit, Failure> {
    let store = Store::open()?;
    for library in with_progress(|report| store.unpack(archive, report))? {
        let title = format!("installed {} {}", library.name, library.version);
        line!(paint::good(title) => " in {}", library.directory.display());
    }
    Ok(Exit::Conforms)
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
