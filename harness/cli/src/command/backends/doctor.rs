use std::process::Command;

use twinfer_libraries::{Dependency, Installed, Loader, Store};

use super::list::backends_on;
use crate::{Exit, Failure, paint};

pub fn run() -> Result<Exit, Failure> {
    let (store, loader) = (Store::open()?, Loader::of_this_machine());
    print_machine(&loader);
    println!("{}", paint::heading("libraries"));
    let installed = store.list()?;
    if installed.is_empty() {
        println!("  nothing installed: run `twinfer backends install onnxruntime tensorrt-rtx`");
    }
    let intact = installed.iter().filter(|library| examine(&store, &loader, library)).count();
    Ok(if intact == installed.len() { Exit::Conforms } else { Exit::Environment })
}

fn print_machine(loader: &Loader) {
    println!("{}", paint::heading("machine"));
    match pip_version() {
        Some(version) => println!("  {} {version}", paint::good("ok ")),
        None => println!("  {} pip: python3 with pip is needed to install libraries", paint::bad("no ")),
    }
    match loader.find("libcuda.so.1") {
        Some(path) => println!("  {} NVIDIA driver at {}", paint::good("ok "), path.display()),
        None => println!(
            "  {} no NVIDIA driver (libcuda.so.1): no ort:cuda, no trt; trt-rtx parses and builds only",
            paint::faint("no ")
        ),
    }
}

fn pip_version() -> Option<String> {
    let output = Command::new("python3").args(["-m", "pip", "--version"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split(" from ").next()?.trim().to_owned()).filter(|version| !version.is_empty())
}

/// Prints what is known of a library; true if its files are what was installed.
fn examine(store: &Store, loader: &Loader, library: &Installed) -> bool {
    let title = format!("{} {} ({})", library.name, library.version, backends_on(library.product));
    if let Err(damage) = store.verify(library) {
        println!("  {} {title}: {damage}", paint::bad("damaged"));
        return false;
    }
    let missing = loader.missing(library);
    if missing.is_empty() {
        println!("  {} {title}", paint::good("ready"));
    } else {
        println!("  {} {title}", paint::bad("incomplete"));
        missing.iter().for_each(print_missing);
    }
    if let Some(folder) = loader.stand_ins(library) {
        println!(
            "      {}",
            paint::faint(format_args!("empty stand-ins for unused libraries in {}", folder.display()))
        );
    }
    true
}

fn print_missing(Dependency { name, needed_by }: &Dependency) {
    println!("      {name} is needed by {needed_by}: {}", remedy(name));
}

/// Where a person gets a library of the system from.
fn remedy(name: &str) -> &'static str {
    match name.split(".so").next().unwrap_or(name) {
        "libcuda" => "install the NVIDIA driver",
        "libcudart" | "libcublas" | "libcublasLt" | "libcurand" => {
            "install the CUDA toolkit of that version, or put its libraries on LD_LIBRARY_PATH"
        }
        "libcudnn" => "install cuDNN of that version, or put its libraries on LD_LIBRARY_PATH",
        _ => "install the package of your system that holds it",
    }
}
