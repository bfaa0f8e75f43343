//! What TensorRT-RTX refuses of generated quantised graphs, against the rules that it states, without a GPU: whatever no
//! rule predicts is a valid graph rejected, and is listed here.
//!
//! `TWINFER_FULL=1` takes 400 cases a family and prints every refusal by its rule.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod installed;

use std::{collections::BTreeMap, env};

use installed::opened;
use twinfer_backend::Backend;
use twinfer_case::{Case, Outcome, Task};
use twinfer_generators::Family;
use twinfer_libraries::Store;

const SEED: u64 = 20;

/// Valid graphs that are rejected, by what TensorRT-RTX 1.7.1 says. None of it is about quantisers.
const REJECTED: [(&str, &str); 3] = [
    ("a deconvolution that pads at its start", "does not support negative pre-padding"),
    ("a broadcast of a dynamic extent", "broadcast dimensions must be conformable"),
    ("an internal error of its compiler", "CHECK(same_symbolic_shapes"),
];

fn cases() -> u64 {
    if env::var_os("TWINFER_FULL").is_some() { 400 } else { 20 }
}

/// What is known of a refusal that no rule predicts.
fn rejected(case: &Case, reason: &str) -> Option<&'static str> {
    let leaves_out_bias =
        case.graph.nodes.iter().any(|node| node.inputs.get(2).is_some_and(String::is_empty));
    if leaves_out_bias && reason.contains("Invalid Node") {
        return Some("a bias left out by an empty name");
    }
    REJECTED.iter().find(|(_, text)| reason.contains(text)).map(|(what, _)| *what)
}

/// How many cases came to each end: taken, refused by a rule, or refused by none.
fn tally(backend: &mut dyn Backend, families: &[Family]) -> BTreeMap<String, u64> {
    let description = backend.describe();
    let mut tally = BTreeMap::new();
    for family in families {
        let stream = family.stream(SEED);
        for index in 0..cases() {
            let case = stream.case(index);
            let observation = backend.run(&Task::of(&case).unwrap(), &mut |_| {});
            let (stage, outcome) = (observation.stage, &observation.outcome);
            let mut rules = description.refusals(&case.graph);
            let rule = match outcome {
                Outcome::Ok => rules.next(),
                _ => rules.find(|capability| capability.shows.is(stage, outcome)),
            };
            let rule = rule.map(|capability| capability.rule.as_str());
            let end = match (outcome, rule) {
                (Outcome::Ok, None) => "taken".to_owned(),
                (Outcome::Ok, Some(rule)) => format!("taken in spite of {rule}"),
                (_, Some(rule)) => format!("refused by {rule}"),
                (Outcome::Rejected(reason) | Outcome::Failed(reason), None) => {
                    match rejected(&case, reason) {
                        Some(what) => format!("rejected, though valid: {what}"),
                        None => format!("{family} {index} in {}: {reason}", observation.stage),
                    }
                }
                (outcome, None) => format!("{family} {index}: {outcome:?}"),
            };
            *tally.entry(end).or_default() += 1;
        }
    }
    tally
}

#[test]
fn every_refusal_of_onnx_runtime_is_one_that_a_rule_predicts() {
    let Some(mut backend) = opened("ort:cpu") else { return };
    let tally = tally(backend.as_mut(), &[Family::Conv, Family::Deconv]);
    let is_known = |end: &&String| *end == "taken" || end.starts_with("refused by ");
    let unknown: Vec<_> = tally.keys().filter(|end| !is_known(end)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_refusal_of_a_quantised_graph_is_one_that_a_rule_predicts() {
    let installed = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let Ok(installed) = installed.map_err(|error| eprintln!("skipped: {error}")) else { return };
    let families = [Family::QdqConv, Family::QdqDeconv];
    for backend in ["trt-api", "trt-rtx"] {
        let variant = format!("{backend},lib={}", installed.directory.display());
        let Some(mut opened) = opened(&variant) else { return };
        let tally = tally(opened.as_mut(), &families);
        println!("{backend} {}", opened.describe().version);
        for (end, count) in &tally {
            println!("{count:>6} {end}");
        }
        let is_known = |end: &&String| {
            *end == "taken" || end.starts_with("refused by ") || end.starts_with("rejected, though valid: ")
        };
        let unknown: Vec<_> = tally.keys().filter(|end| !is_known(end)).collect();
        assert!(unknown.is_empty(), "{backend}: {unknown:#?}");
        assert!(tally["taken"] > 0, "{backend} takes none");
    }
}
