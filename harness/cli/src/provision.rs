//! Libraries for the backends that a command is about to use, installed where they are missing.

use twinfer::setup::library_of;
use twinfer_case::Variant;
use twinfer_libraries::{Error, Installed, Store};

use crate::{Failure, installing::told};

/// Makes sure that every variant's library is on this machine, telling on standard error what it installs; what the
/// variants run on, each once.
pub fn provision(variants: &[Variant]) -> Result<Vec<Installed>, Failure> {
    let store = Store::open()?;
    let mut libraries: Vec<Installed> = Vec::new();
    for name in variants.iter().filter_map(library_of) {
        let library = provide(&store, &name)?;
        if !libraries.contains(&library) {
            libraries.push(library);
        }
    }
    Ok(libraries)
}

fn provide(store: &Store, name: &str) -> Result<Installed, Failure> {
    if let Err(Error::NotInstalled { name, .. }) = store.find(name) {
        eprintln!("{name} is needed and not installed: installing it into {}", store.root().display());
    }
    Ok(told(|tell| store.ensure(name, tell))?)
}
