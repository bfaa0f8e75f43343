//! The catalogue of upstream bug reports and the founding topics of twinfer.
//!
//! Each record has a case or gives the reason why it has none. The files under `golden/` are generated from the records:
//! after a change, run `TWINFER_UPDATE=1 cargo test -p twinfer-tests --test catalogue`.
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod plain;
mod quantized;
mod record;
mod records;
mod sketch;
mod topics;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use record::{Record, Scope};
use twinfer_case::{Case, Expectation, Task};
use twinfer_onnx::{Graph, Tensor, infer_shapes};
use twinfer_tests::golden;

/// The folder of the bug reports, under `golden/`.
const CATALOGUE: &str = "catalogue";

/// The folder of the founding topics, under `golden/`.
const TOPICS: &str = "cases/topics";

/// Every record with the folder that it is stored in.
fn stored() -> impl Iterator<Item = (PathBuf, &'static Record)> {
    let under = |folder: &str| {
        let folder = golden().join(folder);
        move |record: &'static Record| (folder.join(record.id), record)
    };
    records::all().map(under(CATALOGUE)).chain(topics::all().map(under(TOPICS)))
}

fn cases() -> impl Iterator<Item = (&'static str, Case, Option<&'static [usize]>)> {
    stored().filter_map(|(_, record)| match record.scope {
        Scope::Case { build, output } => Some((record.id, build(), output)),
        Scope::Outside(_) => None,
    })
}

fn inputs(case: &Case) -> Vec<Vec<Tensor>> {
    Task::of(case).expect("cases hold data").runs
}

#[test]
fn records_have_unique_names_and_origins() {
    let records: Vec<_> = records::all().collect();
    assert_eq!(records.len(), 64);
    assert_eq!(records.iter().map(|record| record.id).collect::<BTreeSet<_>>().len(), records.len());
    assert!(records.iter().all(|record| record.upstream.starts_with("https://")));
}

#[test]
fn record_without_case_gives_reason() {
    let outside = records::all().filter_map(|record| match record.scope {
        Scope::Outside(reason) => Some((record.id, reason)),
        Scope::Case { .. } => None,
    });
    insta::assert_debug_snapshot!(outside.collect::<Vec<_>>());
}

#[test]
fn valid_case_has_stated_output_shape() {
    for (id, case, output) in cases() {
        let Some(output) = output else { continue };
        let runs = inputs(&case);
        let last = runs.last().expect("a case has a run");
        let shapes: Vec<_> = last.iter().map(|tensor| tensor.shape.clone()).collect();
        let inferred = infer_shapes(&case.graph, &shapes).unwrap_or_else(|broken| panic!("{id}: {broken}"));
        assert_eq!(inferred.outputs()[0].shape, output, "{id}");
        for inputs in &runs {
            let evaluation = twinfer_golden::evaluate(&case.graph, inputs);
            evaluation.unwrap_or_else(|unknown| panic!("{id}: {unknown}"));
        }
    }
}

#[test]
fn invalid_case_breaks_stated_rule() {
    for (id, case, output) in cases() {
        let Expectation::Invalid(rule) = &case.expectation else { continue };
        assert_eq!(output, None, "{id}");
        let shapes: Vec<_> = inputs(&case)[0].iter().map(|tensor| tensor.shape.clone()).collect();
        let broken = infer_shapes(&case.graph, &shapes).expect_err(id);
        assert_eq!(broken.rule.name(), rule, "{id}");
    }
}

#[test]
fn case_distinguishes_its_elements() {
    for (id, case, output) in cases() {
        if output.is_none() {
            continue;
        }
        for inputs in inputs(&case) {
            let evaluation = twinfer_golden::evaluate(&case.graph, &inputs).expect(id);
            for reference in evaluation.outputs {
                let values: BTreeSet<_> = reference.values.iter().map(|value| value.to_bits()).collect();
                let enough = reference.values.len().min(3);
                assert!(values.len() >= enough, "{id}: {} values are all it gives", values.len());
            }
        }
    }
}

#[test]
fn case_round_trips_through_encoding() {
    for (id, case, _) in cases() {
        let decoded = Graph::decode(&case.graph.encode()).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(decoded, case.graph, "{id}");
    }
}

#[test]
fn stored_cases_match_records() {
    let update = env::var_os("TWINFER_UPDATE").is_some();
    for (folder, record) in stored() {
        let fresh = tempfile::tempdir().expect("a temporary folder");
        write(fresh.path(), record);
        if update {
            replace(&folder, fresh.path());
        }
        assert_eq!(files(&folder), files(fresh.path()), "{}: set TWINFER_UPDATE=1 to store it", record.id);
    }
}

#[test]
fn no_other_cases_are_stored() {
    let known: BTreeSet<_> = stored().map(|(folder, _)| folder).collect();
    for parent in [CATALOGUE, TOPICS] {
        for entry in fs::read_dir(golden().join(parent)).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            assert!(!path.is_dir() || known.contains(&path), "{}", path.display());
        }
    }
}

fn write(folder: &Path, record: &Record) {
    let topic = serde_json::to_string_pretty(&record.topic()).expect("a topic is text") + "\n";
    fs::write(folder.join("topic.json"), topic).expect("it can be written");
    if let Scope::Case { build, .. } = record.scope {
        twinfer_targets::write_case(folder, &build()).expect("it can be written");
    }
}

fn replace(folder: &Path, fresh: &Path) {
    let _ = fs::remove_dir_all(folder);
    for (name, bytes) in files(fresh) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, bytes).expect("it can be written");
    }
}

/// The files in a folder and its folders, with their contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("it can be read").path();
        let name = PathBuf::from(path.file_name().expect("it has a name"));
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, bytes)| (name.join(inner), bytes)));
        } else {
            found.push((name, fs::read(&path).expect("it can be read")));
        }
    }
    found.sort();
    found
}
