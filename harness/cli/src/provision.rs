//! Libraries for the backends that a command is about to use, installed where they are missing.

use twinfer_case::{Backend, Variant};
use twinfer_libraries::{Error, Store};

use crate::{Failure, installing::told};

/// Makes sure that every variant's library is on this machine, telling on standard error what it installs.
pub fn provision(variants: &[Variant]) -> Result<(), Failure> {
    let store = Store::open()?;
    variants.iter().try_for_each(|variant| provide(&store, variant))
}

fn provide(store: &Store, variant: &Variant) -> Result<(), Failure> {
    let Some(name) = library_of(variant) else { return Ok(()) };
    if let Err(Error::NotInstalled { name, .. }) = store.find(&name) {
        eprintln!("{variant} needs {name}: installing it into {}", store.root().display());
    }
    told(|tell| store.ensure(&name, tell))?;
    Ok(())
}

/// The name or path of the library that a variant runs on; none where it brings its own.
fn library_of(variant: &Variant) -> Option<String> {
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
