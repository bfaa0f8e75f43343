//! What this machine has to compare, if the user names nothing.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{BackendName, DeviceNeed, TrustedVariant, Variant};
use twinfer_configuration::Variants;
use twinfer_libraries::{Error, Product, Store};
use twinfer_provision::has_device;

use crate::{Failure, output::note};

/// The variants under test: on a machine with a GPU those of the installed libraries, one for each release of TensorRT, which is
/// printed; otherwise those that run on any machine.
pub fn variants() -> Result<Vec<TrustedVariant>, Failure> {
    let libraries = if has_device() { Store::open()?.list()? } else { Vec::new() };
    let installed: Vec<_> = libraries
        .iter()
        .map(|library| (library.product, library.name.as_str(), library.version.as_str()))
        .collect();
    if !installed.iter().any(|(product, ..)| needs_gpu(*product)) {
        return variants_for_any();
    }
    let found = on_gpu(&installed);
    let names = found.iter().map(ToString::to_string).collect::<Vec<_>>();
    note!("comparing what is installed for this GPU: golden,{}", names.join(","));
    Ok(vouched(found))
}

/// The variants that run on any machine. If some of them are installed, such as from a file for machines without a network, the others
/// are left out, which is printed; if none is, all are returned, to be installed.
fn variants_for_any() -> Result<Vec<TrustedVariant>, Failure> {
    let store = Store::open()?;
    let all = Variants::default().subjects();
    let (absent, found): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|variant| missing(&store, variant).is_some());
    let found = if found.is_empty() { adapters(&store)? } else { found };
    if found.is_empty() {
        return Ok(vouched(all));
    }
    if !absent.is_empty() {
        let libraries: Vec<_> = absent.iter().filter_map(Variant::library).collect();
        note!(
            "left out: {} (not installed: twinfer backends install {})",
            absent.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            libraries.join(" ")
        );
    }
    Ok(vouched(found))
}

/// The variants of the runtimes that are installed as Python packages and run on any machine.
fn adapters(store: &Store) -> Result<Vec<Variant>, Failure> {
    let libraries = store.list()?;
    let products: BTreeSet<_> = libraries
        .iter()
        .filter(|library| library.adapter().is_some())
        .map(|library| library.product.to_string())
        .collect();
    let backends = products.iter().flat_map(|product| BackendName::with_library(product));
    let backends = backends.filter(|backend| backend.device_need() == DeviceNeed::Never);
    Ok(backends.map(|backend| Variant { backend: backend.clone(), options: BTreeMap::new() }).collect())
}

/// Why the library of a variant is missing, with the command that installs it; `None` if it is not missing.
pub fn missing(store: &Store, variant: &Variant) -> Option<Error> {
    let found = store.find(&variant.library()?);
    found.err().filter(|error| matches!(error, Error::NotInstalled { .. } | Error::NoRelease { .. }))
}

/// The user installed the libraries of the variants.
fn vouched(variants: Vec<Variant>) -> Vec<TrustedVariant> {
    variants.into_iter().map(TrustedVariant::vouch).collect()
}

const fn needs_gpu(product: Product) -> bool {
    matches!(product, Product::OnnxruntimeCuda | Product::Tensorrt)
}

/// A variant for each installed library, given by its name and version, that runs on a GPU; ONNX Runtime on the CPU if its package for
/// the GPU is missing.
fn on_gpu(installed: &[(Product, &str, &str)]) -> Vec<Variant> {
    let has = |product| installed.iter().any(|(one, ..)| *one == product);
    let onnxruntime = match (has(Product::OnnxruntimeCuda), has(Product::Onnxruntime)) {
        (true, _) => Some("ort:cuda"),
        (false, true) => Some("ort:cpu"),
        (false, false) => None,
    };
    let releases = installed.iter().filter(|(product, ..)| *product == Product::Tensorrt);
    let tensorrt = releases.map(|(_, name, version)| {
        // the name of a folder has two numbers, and so may be that of several releases
        let is_shared = installed.iter().filter(|(_, other, _)| other == name).count() > 1;
        let release = if is_shared { version } else { name.rsplit('-').next().unwrap_or_default() };
        format!("trt,version={release}")
    });
    let rtx = has(Product::TensorrtRtx).then(|| "trt-rtx".to_owned());
    let texts = onnxruntime.map(str::to_owned).into_iter().chain(tensorrt).chain(rtx);
    texts.filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(installed: &[(Product, &str, &str)]) -> String {
        on_gpu(installed).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_installed_release_of_tensorrt_is_compared() {
        let installed = [
            (Product::OnnxruntimeCuda, "onnxruntime-cuda-1.31", "1.31.1"),
            (Product::Tensorrt, "tensorrt-8.5", "8.5.3"),
            (Product::Tensorrt, "tensorrt-8.6", "8.6.0"),
        ];
        assert_eq!(found(&installed), "ort:cuda trt,version=8.5 trt,version=8.6");
    }

    #[test]
    fn releases_of_one_name_are_told_apart_by_their_version() {
        let installed =
            [(Product::Tensorrt, "tensorrt-8.5", "8.5.1"), (Product::Tensorrt, "tensorrt-8.5", "8.5.3")];
        assert_eq!(found(&installed), "trt,version=8.5.1 trt,version=8.5.3");
    }

    #[test]
    fn onnxruntime_runs_on_the_cpu_where_its_cuda_package_is_missing() {
        let installed = [
            (Product::Onnxruntime, "onnxruntime-1.31", "1.31.1"),
            (Product::Tensorrt, "tensorrt-8.6", "8.6.0"),
            (Product::TensorrtRtx, "tensorrt-rtx-1.7", "1.7.1"),
        ];
        assert_eq!(found(&installed), "ort:cpu trt,version=8.6 trt-rtx");
        assert_eq!(found(&installed[1..]), "trt,version=8.6 trt-rtx");
    }
}
