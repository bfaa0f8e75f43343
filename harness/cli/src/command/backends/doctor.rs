use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{BackendName, Reach, Stage, TrustedVariant, Variant};
use twinfer_libraries::{Dependency, Hashing, Installed, Loader, Product, Store, pip_version};
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{
    Exit, Failure,
    output::{line, print},
    paint,
    worker::worker_for,
};

pub fn run() -> Result<Exit, Failure> {
    let (store, loader) = (Store::open()?, Loader::of_this_machine());
    print_machine(&loader);
    print(&paint::heading("libraries"));
    let (installed, damages) = (store.list()?, store.damages()?);
    for damage in &damages {
        line!(paint::bad("  no") => " {damage}");
    }
    let intact = installed.iter().filter(|library| examine(&store, &loader, library)).count();
    let has_library = installed.iter().any(|library| library.product != Product::ComputeSanitizer);
    if !has_library && damages.is_empty() {
        line!(paint::bad("  no") => " backend is installed: run `twinfer backends install onnxruntime tensorrt-rtx`");
    }
    print(&paint::heading("programs"));
    // those that load libraries are among the libraries
    let is_alone = |backend: &&BackendName| backend.program().is_some() && backend.library().is_none();
    BackendName::BUILT_IN.iter().filter(is_alone).for_each(print_program);
    let is_well = has_library && damages.is_empty() && intact == installed.len();
    Ok(if is_well { Exit::Conforms } else { Exit::Environment })
}

fn print_machine(loader: &Loader) {
    print(&paint::heading("machine"));
    match pip_version() {
        Some(version) => line!(paint::good("  ok") => " {version}"),
        None => line!(paint::bad("  no") => " pip: install Python 3 with pip to install libraries"),
    }
    match loader.find("libcuda.so.1") {
        Some(path) => {
            line!(paint::good("  ok") => " NVIDIA driver at {}", path.display());
            print_service();
        }
        None => {
            line!(paint::faint("  no") => " NVIDIA driver: ort:cuda, trt and trt-api do not run; trt-rtx parses and builds only");
        }
    }
}

/// Whether several TensorRT builds can share a GPU, which needs the CUDA Multi-Process Service (MPS).
fn print_service() {
    if twinfer_backend::is_mps_serving() {
        line!(paint::good("  ok") => " MPS: TensorRT builds share a GPU");
    } else {
        line!(paint::faint("  no") => " MPS: above level=0, TensorRT builds one engine at a time per GPU; start `nvidia-cuda-mps-control -d` to build in parallel");
    }
}

/// Prints whether the program of a backend runs, which nobody needs to have.
fn print_program(backend: &BackendName) {
    let variant = Variant { backend: backend.clone(), options: BTreeMap::new() };
    match started(&TrustedVariant::vouch(variant)) {
        Ok(running) => line!(paint::good("  ok") => " {backend} runs {running}"),
        Err(failure) => line!(paint::faint("  no") => " {backend}: {failure}"),
    }
}

/// Prints the state of a library; returns whether its files are unchanged since they were installed.
fn examine(store: &Store, loader: &Loader, library: &Installed) -> bool {
    let title = format!("{} {}", library.name, library.version);
    if let Err(damage) = store.verify(std::slice::from_ref(library), Hashing::Full) {
        line!(paint::bad("  no") => " {title}: {damage}");
        return false;
    }
    let missing = loader.missing(library);
    if !missing.is_empty() {
        line!(paint::faint("  no") => " {title}");
        print_missing(&missing);
        return true;
    }
    if library.product == Product::TensorrtLean && store.find("tensorrt").is_err() {
        line!(paint::faint("  no") => " {title}: no TensorRT is installed whose engines it could run");
        return true;
    }
    for variant in variants_on(library) {
        match started(&variant) {
            Ok(backend) => line!(paint::good("  ok") => " {title}: {} runs {backend}", variant.backend),
            Err(failure) => line!(paint::bad("  no") => " {title}: {failure}"),
        }
    }
    true
}

/// Prints a line for each remedy, with the missing libraries that it provides.
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

/// How to get a missing system library.
fn remedy(name: &str) -> &'static str {
    match name.split(".so").next().unwrap_or(name) {
        "libcuda" | "libnvidia-ml" => "install the NVIDIA driver",
        "libvulkan" => "install the Vulkan loader, such as the package libvulkan1",
        "libcudart" | "libcublas" | "libcublasLt" | "libcurand" => {
            "install the CUDA toolkit of that version, or add its libraries to LD_LIBRARY_PATH"
        }
        "libcudnn" => "install cuDNN of that version, or add its libraries to LD_LIBRARY_PATH",
        _ => "install the system package that contains it",
    }
}

/// The variants that load `library`, each with the option that selects it.
fn variants_on(library: &Installed) -> Vec<TrustedVariant> {
    if library.product == Product::ComputeSanitizer {
        return Vec::new();
    }
    if library.product == Product::TensorrtLean {
        return variants([format!("trt,runtime=lean-{},vc=on", library.version)]);
    }
    let product = library.product.to_string();
    let backends = BackendName::with_library(&product);
    if library.product.is_plugin() {
        return variants(backends.map(ToString::to_string));
    }
    variants(backends.map(|backend| format!("{backend},version={}", library.version)))
}

/// The variants that are written so. The user installed what they load.
fn variants(texts: impl IntoIterator<Item = String>) -> Vec<TrustedVariant> {
    let variants = texts.into_iter().filter_map(|text| text.parse().ok());
    variants.map(TrustedVariant::vouch).collect()
}

/// The name and version that the backend reports once a worker has loaded it, and the last stage that it reaches if it does
/// not execute on this machine.
fn started(variant: &TrustedVariant) -> Result<String, Failure> {
    let variants = std::slice::from_ref(variant);
    let targets = Targets::start(variants, &worker_for(variants)?, Deadlines::default())?;
    let name = targets.infos().next().map(|info| {
        let description = &info.description;
        let limit = if description.reaches == Stage::Execute {
            String::new()
        } else {
            format!("; models are {} on this machine", Reach::from(description.reaches))
        };
        format!("{} {}{limit}", description.name, description.version)
    });
    Ok(name.unwrap_or_default())
}
