//! Libraries for the backends that a command is about to use, installed where they are missing.

use twinfer_case::{Backend, Variant};
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

/// The name of the library that a variant runs on; none where it brings its own.
pub fn library_of(variant: &Variant) -> Option<String> {
    if variant.options.contains_key("lib") {
        return None;
    }
    let product = match variant.backend {
        Backend::Golden | Backend::External(_) => return None,
        Backend::OrtCpu => "onnxruntime",
        Backend::OrtCuda => "onnxruntime-cuda",
        Backend::Trt | Backend::TrtApi => "tensorrt",
        Backend::TrtRtx => "tensorrt-rtx",
    };
    Some(match variant.options.get("version") {
        Some(version) => format!("{product}-{version}"),
        None => product.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::library_of;

    fn of(variant: &str) -> Option<String> {
        library_of(&variant.parse().unwrap())
    }

    #[test]
    fn a_variant_runs_on_the_library_of_its_product_and_version() {
        assert_eq!(of("ort:cpu,opt=off").as_deref(), Some("onnxruntime"));
        assert_eq!(of("trt,version=8.5").as_deref(), Some("tensorrt-8.5"));
        assert_eq!(of("trt-rtx").as_deref(), Some("tensorrt-rtx"));
    }

    #[test]
    fn a_variant_that_brings_its_own_library_needs_none_installed() {
        assert_eq!(of("trt,lib=/opt/tensorrt"), None);
        assert_eq!(of("external:./adapter.py"), None);
        assert_eq!(of("golden"), None);
    }
}
