//! Every finding under golden/cases is a test of its folder's name.
//!
//! A stored finding must be what it claims to be on any machine: its model is its graph encoded, its hash is its
//! case's, its outputs are what golden computes, and its snapshot is what `cargo insta review` last accepted. Where a
//! variant that showed it can run here, it is replayed as well; what that shows now is compared with the snapshot.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::de::DeserializeOwned;
use twinfer_case::{Backend, Case, Finding, Sighting, Task};
use twinfer_libraries::{Loader, Store};
use twinfer_onnx::Tensor;
use twinfer_tests::{Outcome, Twinfer};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = folders().into_iter().flat_map(|folder| trials(&folder)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The folders of golden/cases, in order of their names.
fn folders() -> Vec<PathBuf> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/cases");
    let Ok(entries) = fs::read_dir(cases) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("finding.json").is_file())
        .collect();
    folders.sort();
    folders
}

fn trials(folder: &Path) -> Vec<Trial> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stored = folder.to_owned();
    let replayed = folder.to_owned();
    let whole = Trial::test(format!("{name}::is_what_it_claims"), move || is_what_it_claims(&stored));
    let again = Trial::test(format!("{name}::recurs"), move || recurs(&replayed))
        .with_ignored_flag(!runs_here(folder));
    vec![whole, again]
}

fn is_what_it_claims(folder: &Path) -> Result<(), Failed> {
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let case: Case = read_json(&folder.join("case.json"))?;
    let task = Task::of(&case)?;
    let slug = folder.file_name().unwrap_or_default().to_string_lossy();
    require(slug == finding.signature.slug(), "the folder is not called by its signature")?;
    require(task.hash == finding.case, "case.json is another case than finding.json says")?;
    require(task.model == fs::read(folder.join("model.onnx"))?, "model.onnx is not the graph of case.json")?;
    for (run, inputs) in task.runs.iter().enumerate() {
        let data = folder.join(format!("test_data_set_{run}"));
        for (index, input) in inputs.iter().enumerate() {
            require(stored(&data, "input", index)? == *input, "an input is not the one of case.json")?;
        }
        outputs_are_goldens(&case, inputs, &data)?;
    }
    Ok(())
}

/// Where outputs are stored, they are what golden computes today.
fn outputs_are_goldens(case: &Case, inputs: &[Tensor], data: &Path) -> Result<(), Failed> {
    let Ok(evaluation) = twinfer_golden::evaluate(&case.graph, inputs) else { return Ok(()) };
    for (index, reference) in evaluation.outputs.iter().enumerate() {
        if data.join(format!("output_{index}.pb")).is_file() {
            let expected = reference.to_tensor()?;
            require(
                stored(data, "output", index)? == expected,
                "golden computes another output than is stored",
            )?;
        }
    }
    Ok(())
}

/// What was recorded recurs byte for byte, and a person would read of it what was accepted.
fn recurs(folder: &Path) -> Result<(), Failed> {
    let path = folder.to_string_lossy();
    let replay = twinfer(&["replay", &path]);
    require(replay.code == Some(0), &replay.shown())?;
    let out = tempfile::tempdir()?;
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let backends: Vec<String> = finding.seen_in.iter().map(|seen| seen.variant.to_string()).collect();
    let check =
        twinfer(&["check", &path, "--backends", &backends.join(","), "--out", &out.path().to_string_lossy()]);
    let snapshot = out.path().join("findings").join(finding.signature.slug()).join("finding.snap");
    let shown = fs::read_to_string(snapshot).map_err(|_| check.shown())?;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("finding", body(&shown)));
    Ok(())
}

fn twinfer(arguments: &[&str]) -> Outcome {
    Twinfer::new(env!("CARGO_BIN_EXE_twinfer-under-test"), arguments).run()
}

/// A snapshot without the head that belongs to the snapshot tool.
fn body(snapshot: &str) -> &str {
    snapshot
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("---\n"))
        .map_or(snapshot, |(_, body)| body)
}

/// Whether every variant that showed the finding can do so here: its library at that version, and the same device.
fn runs_here(folder: &Path) -> bool {
    let Ok(finding) = read_json::<Finding>(&folder.join("finding.json")) else { return true };
    finding.seen_in.iter().all(can_run)
}

fn can_run(sighting: &Sighting) -> bool {
    let library = match sighting.variant.backend {
        Backend::OrtCpu => "onnxruntime",
        // what is stored was seen without a GPU; with one, TensorRT-RTX goes further
        Backend::TrtRtx if Loader::of_this_machine().find("libcuda.so.1").is_none() => "tensorrt-rtx",
        _ => return false,
    };
    let installed = Store::open().and_then(|store| store.find(library));
    let version = sighting.version.rsplit(' ').next().unwrap_or_default();
    installed.is_ok_and(|library| library.version.starts_with(version))
}

fn stored(folder: &Path, what: &str, index: usize) -> Result<Tensor, Failed> {
    Ok(Tensor::decode_proto(&fs::read(folder.join(format!("{what}_{index}.pb")))?)?)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Failed> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(serde_json::from_str(&text)
        .map_err(|error| format!("cannot understand {}: {error}", path.display()))?)
}

fn require(holds: bool, otherwise: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}
