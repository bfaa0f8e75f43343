use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use twinfer_case::{Backend, Stage, Variant};
use twinfer_libraries::{Dependency, Installed, Loader, Product, Store};
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Exit, Failure, output::line, paint, worker::worker_for};

pub fn run() -> Result<Exit, Failure> {
    let (store, loader) = (Store::open()?, Loader::of_this_machine());
    print_machine(&loader);
    line!("{}", paint::heading("libraries"));
    let (installed, damages) = (store.list()?, store.damages()?);
    for damage in &damages {
        line!("  {} {damage}", paint::bad("no"));
    }
    if installed.is_empty() && damages.is_empty() {
        line!("  nothing installed: run `twinfer backends install onnxruntime tensorrt-rtx`");
    }
    let intact = installed.iter().filter(|library| examine(&store, &loader, library)).count();
    Ok(if damages.is_empty() && intact == installed.len() { Exit::Conforms } else { Exit::Environment })
}

fn print_machine(loader: &Loader) {
    line!("{}", paint::heading("machine"));
    match pip_version() {
        Some(version) => line!("  {} {version}", paint::good("ok")),
        None => line!("  {} python3 with pip is needed to install libraries", paint::bad("no")),
    }
    match loader.find("libcuda.so.1") {
        Some(path) => {
            line!("  {} NVIDIA driver at {}", paint::good("ok"), path.display());
            print_service();
        }
        None => line!(
            "  {} NVIDIA driver: no ort:cuda, no trt; trt-rtx parses and builds only",
            paint::faint("no")
        ),
    }
}

/// Whether builds that time kernels share a GPU, or take turns.
fn print_service() {
    if twinfer_backend::is_mps_serving() {
        line!("  {} MPS: processes share a GPU", paint::good("ok"));
    } else {
        line!(
            "  {} MPS: TensorRT above builder level 0 builds one engine at a time on a GPU; `nvidia-cuda-mps-control -d` lifts that",
            paint::faint("no")
        );
    }
}

fn pip_version() -> Option<String> {
    let output = Command::new("python3").args(["-m", "pip", "--version"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split(" from ").next()?.trim().to_owned()).filter(|version| !version.is_empty())
}

/// Prints what is known of a library; true if its files are what was installed.
fn examine(store: &Store, loader: &Loader, library: &Installed) -> bool {
    let title = format!("{} {}", library.name, library.version);
    if let Err(damage) = store.verify(library) {
        line!("  {} {title}: {damage}", paint::bad("no"));
        return false;
    }
    let missing = loader.missing(library);
    if !missing.is_empty() {
        line!("  {} {title}", paint::faint("no"));
        print_missing(&missing);
        return true;
    }
    for variant in variants_on(library) {
        match started(&variant) {
            Ok(said) => line!("  {} {title}: {} is {said}", paint::good("ok"), variant.backend),
            Err(failure) => line!("  {} {title}: {failure}", paint::bad("no")),
        }
    }
    true
}

/// A line for each thing to do, with the libraries that it brings.
fn print_missing(missing: &[Dependency]) {
    let mut by_remedy: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Dependency { name, .. } in missing {
        by_remedy.entry(remedy(name)).or_default().insert(name);
    }
    for (remedy, names) in by_remedy {
        let names: Vec<&str> = names.into_iter().collect();
        line!("     needs {}: {remedy}", names.join(", "));
    }
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

/// A variant of each backend that loads `library`, with the option that makes it load this very one.
fn variants_on(library: &Installed) -> Vec<Variant> {
    let release = library.name.rsplit('-').next().unwrap_or_default();
    let option = match library.product {
        Product::Onnxruntime | Product::OnnxruntimeCuda => format!("lib={}", library.library().display()),
        Product::Tensorrt | Product::TensorrtRtx => format!("version={release}"),
    };
    let product = library.product.to_string();
    let backends = Backend::with_library(&product);
    backends.filter_map(|backend| format!("{backend},{option}").parse().ok()).collect()
}

/// What the backend says of itself once a worker has loaded it.
fn started(variant: &Variant) -> Result<String, Failure> {
    let variants = std::slice::from_ref(variant);
    let subjects = Targets::start(variants, &worker_for(variants)?, Deadlines::default())?;
    let said = subjects.infos().next().map(|info| {
        let description = &info.description;
        let limit = if description.reaches == Stage::Execute {
            String::new()
        } else {
            format!(", as far as {} on this machine", description.reaches)
        };
        format!("{} {}{limit}", description.name, description.version)
    });
    Ok(said.unwrap_or_default())
}
