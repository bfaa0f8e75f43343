use twinfer_case::BackendName;
use twinfer_libraries::{Installed, PACKAGES, Package, Product, Store};
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
    PACKAGES.iter().filter(|package| !is_installed(package, &installed)).for_each(print_available);
    line!("");
    print(&paint::faint("install a library with `twinfer backends install NAME`"));
    Ok(Exit::Conforms)
}

fn is_installed(package: &Package, installed: &[Installed]) -> bool {
    installed.iter().any(|library| library.name == package.name && library.version == package.version)
}

fn print_installed(library: &Installed) {
    let Installed { name, version, product, directory, .. } = library;
    let line = Styled::plain(format_args!("  {name:<18} {version:<10} {:<13} ", backends_on(*product)));
    print(&(line + paint::faint(directory.display())));
}

fn print_available(package: &Package) {
    let Package { name, version, product, megabytes, .. } = package;
    let line = Styled::plain(format_args!("  {name:<18} {version:<10} {:<13} ", backends_on(*product)));
    print(&(line + paint::faint(format_args!("{megabytes} MB"))));
}

/// The names of the backends that load a product.
fn backends_on(product: Product) -> String {
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
            assert!(PACKAGES.iter().any(|package| package.product.to_string() == library), "{library}");
        }
    }

    #[test]
    fn a_product_is_listed_with_every_backend_that_loads_it() {
        assert_eq!(backends_on(Product::Tensorrt), "trt, trt-api");
        assert_eq!(backends_on(Product::OnnxruntimeCuda), "ort:cuda");
    }
}
