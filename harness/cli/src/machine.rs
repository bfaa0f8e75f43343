//! What this machine has to compare, if the user names nothing.

use twinfer_case::{TrustedVariant, Variant};
use twinfer_configuration::Variants;
use twinfer_libraries::{Product, Store};

use crate::{Failure, obstacle::has_device, output::note};

/// The variants under test: on a machine with a GPU those of the installed libraries, one for each release of TensorRT, which is
/// printed; otherwise those that run on any machine.
pub fn variants() -> Result<Vec<TrustedVariant>, Failure> {
    let libraries = if has_device() { Store::open()?.list()? } else { Vec::new() };
    let installed: Vec<_> =
        libraries.iter().map(|library| (library.product, library.name.as_str())).collect();
    let variants = if installed.iter().any(|(product, _)| needs_gpu(*product)) {
        let found = on_gpu(&installed);
        let names = found.iter().map(ToString::to_string).collect::<Vec<_>>();
        note!("comparing what is installed for this GPU: golden,{}", names.join(","));
        found
    } else {
        Variants::default().subjects()
    };
    // the user installed the libraries
    Ok(variants.into_iter().map(TrustedVariant::vouch).collect())
}

const fn needs_gpu(product: Product) -> bool {
    matches!(product, Product::OnnxruntimeCuda | Product::Tensorrt)
}

/// A variant for each installed library, given by its name, that runs on a GPU; ONNX Runtime on the CPU if it does not run on the GPU.
fn on_gpu(installed: &[(Product, &str)]) -> Vec<Variant> {
    let has = |product| installed.iter().any(|(one, _)| *one == product);
    let onnxruntime = if has(Product::OnnxruntimeCuda) { "ort:cuda" } else { "ort:cpu" };
    let releases = installed.iter().filter(|(product, _)| *product == Product::Tensorrt);
    let tensorrt =
        releases.map(|(_, name)| format!("trt,version={}", name.rsplit('-').next().unwrap_or_default()));
    let rtx = has(Product::TensorrtRtx).then(|| "trt-rtx".to_owned());
    let texts = [onnxruntime.to_owned()].into_iter().chain(tensorrt).chain(rtx);
    texts.filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(installed: &[(Product, &str)]) -> String {
        on_gpu(installed).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_installed_release_of_tensorrt_is_compared() {
        let installed = [
            (Product::OnnxruntimeCuda, "onnxruntime-cuda-1.31"),
            (Product::Tensorrt, "tensorrt-8.5"),
            (Product::Tensorrt, "tensorrt-8.6"),
        ];
        assert_eq!(found(&installed), "ort:cuda trt,version=8.5 trt,version=8.6");
    }

    #[test]
    fn onnxruntime_runs_on_the_cpu_where_its_cuda_package_is_missing() {
        let installed = [(Product::Tensorrt, "tensorrt-8.6"), (Product::TensorrtRtx, "tensorrt-rtx-1.7")];
        assert_eq!(found(&installed), "ort:cpu trt,version=8.6 trt-rtx");
    }
}
