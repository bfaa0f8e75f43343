use twinfer_case::BackendName;
use twinfer_libraries::{ENVIRONMENTS, Environment, Installed, PACKAGES, Package, Product, Store};
use twinfer_reports::Styled;

use crate::{
    Exit, Failure,
    output::{line, print},
    paint,
};

pub fn run() -> Result<Exit, Failure> {
    let store = Store::open()?;
    let installed = store.list()?;
    print(&paint::heading("installed"));
    if installed.is_empty() {
        print(&paint::faint(format_args!("  none in {}", store.root().display())));
    }
    installed.iter().for_each(print_installed);
    print(&paint::heading("available"));
    let is_installed = |name: &str, version: &str| {
        installed.iter().any(|library| library.name == name && library.version == version)
    };
    for Package { name, version, product, megabytes, .. } in PACKAGES {
        if !is_installed(name, version) {
            print_available(name, version, *product, *megabytes);
        }
    }
    for Environment { product, version, megabytes, .. } in ENVIRONMENTS {
        let name = product.to_string();
        if !is_installed(&name, version) {
            print_available(&name, version, *product, *megabytes);
        }
    }
    line!("");
    print(&paint::faint("install a library with `twinfer backends install NAME`"));
    Ok(Exit::Conforms)
}

fn print_installed(library: &Installed) {
    let Installed { name, version, product, directory, .. } = library;
    let line = Styled::plain(format_args!("  {name:<30} {version:<10} {:<22} ", backends_on(*product)));
    print(&(line + paint::faint(directory.display())));
}

fn print_available(name: &str, version: &str, product: Product, megabytes: u32) {
    let line = Styled::plain(format_args!("  {name:<30} {version:<10} {:<22} ", backends_on(product)));
    print(&(line + paint::faint(format_args!("{megabytes} MB"))));
}

/// The names of the backends that load a product. Those of TensorRT have their engines run by a lean runtime.
fn backends_on(product: Product) -> String {
    let product = if product == Product::TensorrtLean { Product::Tensorrt } else { product };
    let names: Vec<_> = BackendName::with_library(&product.to_string()).map(BackendName::label).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_of_a_backend_can_be_installed() {
        let libraries = BackendName::BUILT_IN.iter().filter_map(BackendName::library);
        for library in libraries {
            let is_package = PACKAGES.iter().any(|package| package.product.to_string() == library);
            let is_environment = ENVIRONMENTS.iter().any(|one| one.product.to_string() == library);
            assert!(is_package || is_environment, "{library}");
        }
    }

    #[test]
    fn a_product_is_listed_with_every_backend_that_loads_it() {
        assert_eq!(backends_on(Product::Tensorrt), "trt, trt-api");
        assert_eq!(backends_on(Product::OnnxruntimeCuda), "ort:cuda");
        assert_eq!(backends_on(Product::Onnxruntime), "ort:cpu");
        assert_eq!(backends_on(Product::OnnxruntimeEpOpenVino), "ort:ep=openvino");
    }
}
