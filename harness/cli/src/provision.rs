//! Libraries for the backends that a command is about to use, installed where they are missing.

use twinfer_case::Variant;
use twinfer_libraries::{Error, Installed, Store};

use crate::{Failure, installing::told, obstacle::lacks_device};

/// Makes sure that every variant's library is on this machine, telling on standard error what it installs; what the
/// variants run on, each once.
pub fn provision(variants: &[Variant]) -> Result<Vec<Installed>, Failure> {
    let store = Store::open()?;
    let mut libraries: Vec<Installed> = Vec::new();
    for variant in variants {
        let Some(name) = variant.library() else { continue };
        let library = provide(&store, &name, variant)?;
        if !libraries.contains(&library) {
            libraries.push(library);
        }
    }
    Ok(libraries)
}

fn provide(store: &Store, name: &str, variant: &Variant) -> Result<Installed, Failure> {
    if let Err(Error::NotInstalled { name, .. }) = store.find(name) {
        if lacks_device(variant) {
            return Err(Failure::environment(format!(
                "{variant} runs on an NVIDIA GPU, and this machine has none: nothing is installed for it"
            )));
        }
        eprintln!("{name} is needed and not installed: installing it into {}", store.root().display());
    }
    Ok(told(|tell| store.ensure(name, tell))?)
}
