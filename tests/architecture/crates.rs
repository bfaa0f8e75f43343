//! Imports between crates.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::Command,
};

use serde_json::Value;

/// What each crate may import, by folder names. Only `cargo test` uses dev-dependencies and optional ones, so they are not restricted.
///
/// A crate may import fewer crates than this table allows; docs/architecture.md lists what each imports today.
const ALLOWED: &[(&str, &str)] = &[
    // vocabulary
    ("log", ""),
    ("onnx", ""),
    ("case", "onnx"),
    ("protocol", "case onnx"),
    // what is right
    ("golden", "case onnx"),
    ("checks", "case golden onnx"),
    ("segments", "case checks golden onnx"),
    // cases
    ("minimize", "case onnx"),
    ("generators", "case minimize onnx"),
    ("triggers", "case onnx"),
    // backends
    ("keeper", ""),
    ("libraries", ""),
    ("nvinfer", "libraries"),
    ("driver-cache", "case libraries"),
    ("backend", "case golden libraries nvinfer onnx"),
    ("worker", "backend case driver-cache golden keeper libraries log onnx protocol"),
    // the supervisor: it never links a backend
    ("workers", "case keeper onnx protocol"),
    ("store", "case onnx"),
    ("reports", "case onnx store"),
    ("triage", "case checks golden minimize onnx segments store triggers workers"),
    ("targets", "case checks golden minimize onnx segments store triage workers"),
    ("campaign", "case checks generators golden minimize onnx store triage workers"),
    ("configuration", "case generators"),
    // ways in
    ("provision", "backend case libraries workers"),
    (
        "bench",
        "backend campaign case checks driver-cache generators golden libraries onnx store worker workers",
    ),
    ("facade", "case generators libraries onnx provision store targets worker workers"),
    (
        "cli",
        "backend bench campaign case checks configuration generators golden libraries log minimize onnx provision \
         reports store targets triage worker workers",
    ),
    // tools and tests
    ("verify-abi", "nvinfer"),
    ("prerequisites", ""),
    ("tests", "cli"),
];

/// A crate of the workspace.
pub struct Crate {
    /// The name of its folder.
    pub name: String,
    /// The path of its folder.
    pub folder: PathBuf,
    /// The folders of the workspace's crates that it imports outside of tests.
    imports: Vec<PathBuf>,
}

/// The crates of the workspace, as Cargo lists them.
pub fn crates() -> Vec<Crate> {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    metadata["packages"].as_array().unwrap().iter().map(Crate::new).collect()
}

impl Crate {
    fn new(package: &Value) -> Self {
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap().to_owned();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let imports = dependencies
            .filter(|dependency| dependency["kind"] != "dev" && dependency["optional"] != true)
            .filter_map(|dependency| dependency["path"].as_str().map(PathBuf::from));
        Self { name: name(&folder), imports: imports.collect(), folder }
    }
}

fn name(folder: &std::path::Path) -> String {
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}

fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    ALLOWED.iter().map(|(name, imports)| (*name, imports.split_whitespace().collect())).collect()
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let allowed = allowed();
    let mut upward = Vec::new();
    for Crate { name: importer, imports, .. } in crates() {
        let Some(allowed) = allowed.get(importer.as_str()) else {
            upward.push(format!("{importer} is not in the table"));
            continue;
        };
        let imports = imports.iter().map(|folder| name(folder));
        let forbidden = imports.filter(|imported| !allowed.contains(imported.as_str()));
        upward.extend(forbidden.map(|imported| format!("{importer} imports {imported}")));
    }
    assert!(upward.is_empty(), "not allowed by tests/architecture/crates.rs:\n{}", upward.join("\n"));
}

#[test]
fn the_table_allows_imports_in_one_direction() {
    let mut above: BTreeSet<_> = allowed().into_keys().collect();
    for (importer, imports) in ALLOWED {
        above.remove(importer);
        let upward: Vec<_> = imports.split_whitespace().filter(|imported| above.contains(imported)).collect();
        assert!(upward.is_empty(), "{importer} stands above {upward:?} in the table");
        assert!(!imports.split_whitespace().any(|imported| imported == *importer));
    }
}
