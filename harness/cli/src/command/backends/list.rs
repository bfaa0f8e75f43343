use twinfer_case::Backend;
use twinfer_libraries::{Installed, PACKAGES, Package, Product, Store};

use crate::{Exit, Failure, output::line, paint};

pub fn run() -> Result<Exit, Failure> {
    let store = Store::open()?;
    let installed = store.list()?;
    line!("{}", paint::heading("installed"));
    if installed.is_empty() {
        line!("  {}", paint::faint(format_args!("none in {}", store.root().display())));
    }
    installed.iter().for_each(print_installed);
    line!("{}", paint::heading("available"));
    PACKAGES.iter().filter(|package| !is_installed(package, &installed)).for_each(print_available);
    line!("\n{}", paint::faint("install a library with `twinfer backends install NAME`"));
    Ok(Exit::Conforms)
}

fn is_installed(package: &Package, installed: &[Installed]) -> bool {
    installed.iter().any(|library| library.name == package.name && library.version == package.version)
}

fn print_installed(library: &Installed) {
    let Installed { name, version, product, directory, .. } = library;
    let place = paint::faint(directory.display());
    line!("  {name:<18} {version:<10} {:<13} {place}", backends_on(*product));
}

fn print_available(package: &Package) {
    let Package { name, version, product, megabytes, .. } = package;
    line!(
        "  {name:<18} {version:<10} {:<13} {}",
        backends_on(*product),
        paint::faint(format_args!("{megabytes} MB"))
    );
}

/// The names of the backends that load a product.
fn backends_on(product: Product) -> String {
    let names: Vec<_> = Backend::with_library(&product.to_string()).map(Backend::name).collect();
    names.join(", ")
}
