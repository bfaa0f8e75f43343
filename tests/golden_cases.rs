//! What is stored under `golden` is a test of its folder's name: findings, topics, the catalogue, and what was measured.
//!
//! A stored case must be what it claims to be on any machine: its model is its graph encoded, its outputs are what
//! golden computes, and a finding's hash is its case's. What was recorded of a variant is replayed where that variant
//! runs at that version: on a machine with a GPU the recordings of a GPU, on one without those of the others. What a
//! person reads of a finding is compared with what `cargo insta review` last accepted.
//!
//! What a backend returned for models that show one of its mistakes element by element is what golden's mutant of that mistake allows.
//!
//! The compiled tests run without the toolchain: carry them, `twinfer` and `golden`, and see `twinfer_tests`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde::de::DeserializeOwned;
use twinfer_case::{BackendVersion, Case, Expectation, Finding, Kind, Task, Topic, Variant, materialize};
use twinfer_cli::Obstacle;
use twinfer_golden::{Agreement, Arithmetic, Evaluation, Mutant, evaluate, evaluate_as};
use twinfer_onnx::Tensor;
use twinfer_store::{RecordedObservation, Recording};
use twinfer_tests::{Outcome, Twinfer, executable, golden};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let findings = folders("cases", "finding.json").into_iter().flat_map(|folder| of_finding(&folder));
    let topics = folders("cases/topics", "case.json").into_iter().flat_map(|folder| of_topic(&folder));
    let catalogue = of_catalogue(&folders("catalogue", "case.json"));
    let measured = MEASURED.into_iter().flat_map(of_measured);
    let trials = findings.chain(topics).chain(catalogue).chain(measured).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The mistakes that were measured, each with the number of recordings that golden without its mutant does not allow.
const MEASURED: [(Mutant, usize); 5] = [
    (Mutant::BoundsInSevenDigits, 21),
    (Mutant::DequantizedAlongAxis1, 30),
    (Mutant::NormalizedByInterleavedGroup, 8),
    (Mutant::QuantizedAxesExchanged, 4),
    (Mutant::QuantizedThroughSaturatingInt32, 28),
];

/// The folders under `parent` that hold a file of this name, in order of their names.
fn folders(parent: &str, file: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(golden().join(parent)) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.join(file).is_file()).collect();
    folders.sort();
    folders
}

fn of_finding(folder: &Path) -> Vec<Trial> {
    let (claims, reads) = (folder.to_owned(), folder.to_owned());
    let mut trials = vec![
        Trial::test(format!("{}::is_what_it_claims", name(folder)), move || is_the_finding(&claims)),
        Trial::ignorable_test(format!("{}::reads_as_accepted", name(folder)), move || {
            reads_as_accepted(&reads)
        }),
    ];
    trials.extend(replays(folder));
    trials
}

fn of_topic(folder: &Path) -> Vec<Trial> {
    let claims = folder.to_owned();
    let whole =
        Trial::test(format!("topics::{}::is_what_it_claims", name(folder)), move || is_the_topic(&claims));
    let replays = replays(folder).into_iter().map(|trial| trial.with_kind("topic"));
    [whole].into_iter().chain(replays).collect()
}

fn of_measured((mutant, different): (Mutant, usize)) -> Vec<Trial> {
    let folders = folders(&format!("measured/{}", mutant.name()), "case.json");
    let of_mutant = folders.clone();
    let whole = Trial::test(format!("measured::{}::is_what_the_mutant_gives", mutant.name()), move || {
        are_measured(mutant, &of_mutant, different)
    });
    [whole].into_iter().chain(folders.iter().flat_map(|folder| replays(folder))).collect()
}

/// What each backend returned is what golden with the mutant allows. So often, it is nothing that golden allows.
fn are_measured(mutant: Mutant, folders: &[PathBuf], different: usize) -> Result<(), Failed> {
    let mut found = 0;
    for folder in folders {
        let case: Case = read_json(&folder.join("case.json"))?;
        let inputs = materialize(&case.runs)?.into_iter().next().ok_or("a case has a run")?;
        let right = evaluate(&case.graph, &inputs)?;
        let mistaken = evaluate_as(&case.graph, &inputs, Arithmetic::default(), &[mutant])?;
        for one in Recording::read_beside(folder)?.observed {
            let run = one.observation.runs.first().ok_or("the recording has no run")?;
            let title = format!("{}, {}", name(folder), one.version.version());
            require(allows(&mistaken, &run.outputs), &format!("{title}: the mutant gives something else"))?;
            found += usize::from(!allows(&right, &run.outputs));
        }
    }
    require(found == different, &format!("golden does not allow {found} recordings, and not {different}"))
}

/// Whether every element of `returned` is one that `evaluation` allows.
fn allows(evaluation: &Evaluation, returned: &[Tensor]) -> bool {
    let outputs = evaluation.outputs.iter().zip(returned);
    evaluation.outputs.len() == returned.len()
        && outputs.clone().all(|(reference, tensor)| reference.shape == tensor.shape)
        && outputs.into_iter().all(|(reference, tensor)| {
            let values = tensor.to_f64();
            (0..values.len())
                .all(|place| !matches!(reference.compare(place, values[place]), Agreement::Wrong(_)))
        })
}

/// The catalogue is replayed a variant at a time, in one worker.
fn of_catalogue(folders: &[PathBuf]) -> Vec<Trial> {
    let claims = |folder: &PathBuf| {
        let claims = folder.clone();
        Trial::test(format!("catalogue::{}::is_what_it_claims", name(folder)), move || is_the_topic(&claims))
    };
    let mut trials: Vec<Trial> = folders.iter().map(claims).collect();
    let mut recorded: Vec<(Variant, BackendVersion)> =
        folders.iter().flat_map(|folder| recorded(folder)).map(|one| (one.variant, one.version)).collect();
    recorded.sort();
    recorded.dedup();
    trials.extend(recorded.into_iter().map(|(variant, version)| {
        let title = format!("catalogue::{variant} {}::gives_what_was_recorded", version.version());
        Trial::ignorable_test(title, move || catalogue_recurs(&variant, &version))
    }));
    trials
}

/// A trial for each recording beside a folder.
fn replays(folder: &Path) -> Vec<Trial> {
    let replay = |one: RecordedObservation| {
        let title = format!("{}::{} {}::recurs", name(folder), one.variant, one.version.version());
        let folder = folder.to_owned();
        Trial::ignorable_test(title, move || recurs(&folder, &one))
    };
    recorded(folder).into_iter().map(replay).collect()
}

fn is_the_finding(folder: &Path) -> Result<(), Failed> {
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let task = is_the_case(folder)?;
    require(name(folder) == finding.signature.slug(), "the folder is not called by its signature")?;
    require(task.hash == finding.case, "case.json is another case than finding.json says")
}

fn is_the_topic(folder: &Path) -> Result<(), Failed> {
    let topic: Topic = read_json(&folder.join("topic.json"))?;
    is_the_case(folder)?;
    require(topic.upstream.starts_with("https://"), "topic.json does not say where it was reported")
}

/// The model and the tensors are those of `case.json`, the outputs golden's.
fn is_the_case(folder: &Path) -> Result<Task, Failed> {
    let case: Case = read_json(&folder.join("case.json"))?;
    let task = Task::of(&case)?;
    require(task.model == fs::read(folder.join("model.onnx"))?, "model.onnx is not the graph of case.json")?;
    for (run, inputs) in task.runs.iter().enumerate() {
        let data = folder.join(format!("test_data_set_{run}"));
        for (index, input) in inputs.iter().enumerate() {
            require(stored(&data, "input", index)? == *input, "an input is not the one of case.json")?;
        }
        outputs_are_goldens(&case, inputs, &data)?;
    }
    Ok(task)
}

/// Where outputs are stored, they are what golden computes today.
fn outputs_are_goldens(case: &Case, inputs: &[Tensor], data: &Path) -> Result<(), Failed> {
    if case.expectation != Expectation::Valid {
        return Ok(());
    }
    let Ok(evaluation) = evaluate(&case.graph, inputs) else { return Ok(()) };
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

/// What was recorded recurs byte for byte.
fn recurs(folder: &Path, recorded: &RecordedObservation) -> Result<Completion, Failed> {
    if let Some(obstacle) = Obstacle::to(&recorded.variant, &recorded.version) {
        return Ok(Completion::ignored_with(format!("skipped: {obstacle}")));
    }
    let variant = recorded.variant.to_string();
    let replay = twinfer(&["replay", &folder.to_string_lossy(), "--backends", &variant]);
    require(replay.code == Some(0), &replay.shown())?;
    Ok(Completion::Completed)
}

/// A person would read of a finding what was accepted; the first variant that showed it tells.
fn reads_as_accepted(folder: &Path) -> Result<Completion, Failed> {
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let Some(seen) = finding.seen_in.first() else { return Err("it was seen in nothing".into()) };
    if let Some(obstacle) = Obstacle::to(&seen.variant, &seen.version) {
        return Ok(Completion::ignored_with(format!("skipped: {obstacle}")));
    }
    let out = tempfile::tempdir()?;
    let (path, variant) = (folder.to_string_lossy(), seen.variant.to_string());
    let check = twinfer(&["check", &path, "--backends", &variant, "--out", &out.path().to_string_lossy()]);
    if finding.kind == Kind::Unstable {
        // what it shows varies
        require(check.code == Some(0), &check.shown())?;
        return Ok(Completion::Completed);
    }
    let shown = shown_instead(&out.path().join("findings"), &finding.signature.slug());
    let shown = shown.ok_or_else(|| check.shown())?;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("finding", body(&shown)));
    Ok(Completion::Completed)
}

/// The snapshot of the finding called `slug`, or of another one that was found in its place, so that the difference can be
/// reviewed.
fn shown_instead(findings: &Path, slug: &str) -> Option<String> {
    let found = fs::read_dir(findings).ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = [findings.join(slug)].into_iter().chain(found).collect();
    found[1..].sort();
    found.into_iter().find_map(|folder| fs::read_to_string(folder.join("finding.snap")).ok())
}

/// Every divergence that a variant shows on the catalogue was recorded of it.
fn catalogue_recurs(variant: &Variant, version: &BackendVersion) -> Result<Completion, Failed> {
    if let Some(obstacle) = Obstacle::to(variant, version) {
        return Ok(Completion::ignored_with(format!("skipped: {obstacle}")));
    }
    let catalogue = golden().join("catalogue");
    let check = twinfer(&["check", &catalogue.to_string_lossy(), "--backends", &variant.to_string()]);
    require(check.code == Some(0), &check.shown())?;
    Ok(Completion::Completed)
}

fn twinfer(arguments: &[&str]) -> Outcome {
    Twinfer::new(executable(env!("CARGO_BIN_EXE_twinfer-under-test")), arguments).run()
}

/// A snapshot without the head that belongs to the snapshot tool.
fn body(snapshot: &str) -> &str {
    snapshot
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("---\n"))
        .map_or(snapshot, |(_, body)| body)
}

/// What was recorded beside a folder; nothing where nothing was.
fn recorded(folder: &Path) -> Vec<RecordedObservation> {
    Recording::beside_or_empty(folder).map(|recording| recording.observed).unwrap_or_default()
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
