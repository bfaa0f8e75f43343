//! What ONNX Runtime refuses of generated graphs, and TensorRT-RTX of quantized ones without a GPU, against the rules that
//! they state: whatever no rule predicts is a valid graph rejected, and is listed here.
//!
//! `TWINFER_FULL=1` takes 400 cases per family; `TWINFER_RESULTS` names a folder for the page.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod installed;

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path};

use installed::opened;
use twinfer_backend::Backend;
use twinfer_case::{Case, Outcome, Task};
use twinfer_generators::{Distribution, Family};
use twinfer_libraries::Store;
use twinfer_onnx::{ConvTranspose, Op, infer_shapes};
use twinfer_prerequisites::skip;

const SEED: u64 = 20;

/// A valid graph that is rejected, though no rule of the backend says so.
struct Finding {
    what: &'static str,
    /// What the backend says.
    words: &'static str,
    /// What the graph has.
    has: fn(&Case) -> bool,
}

/// Of ONNX Runtime 1.31.1.
const OF_ONNX_RUNTIME: [Finding; 1] = [Finding {
    what: "a shape inferred of too low a rank, behind a deconvolution whose output_shape is below its input's extent",
    words: "[ShapeInferenceError] Incompatible dimensions",
    has: crops_below_input,
}];

/// Of TensorRT-RTX 1.7.1. None of it is about quantizers.
const OF_TENSORRT_RTX: [Finding; 4] = [
    Finding { what: "a bias left out by an empty name", words: "Invalid Node", has: leaves_out_bias },
    Finding {
        what: "a deconvolution that pads at its start",
        words: "does not support negative pre-padding",
        has: any,
    },
    Finding {
        what: "an internal error of its compiler about a symbolic extent",
        words: "CHECK(same_symbolic_shapes",
        has: any,
    },
    Finding {
        what: "an internal error of its compiler about the rank of a bias",
        words: "CHECK(nbdims_bias == 4 || nbdims_bias == 5)",
        has: adds_constant,
    },
];

const fn any(_: &Case) -> bool {
    true
}

fn leaves_out_bias(case: &Case) -> bool {
    case.graph.nodes.iter().any(|node| node.inputs.get(2).is_some_and(String::is_empty))
}

fn adds_constant(case: &Case) -> bool {
    let is_constant = |name: &String| case.graph.initializer(name).is_some();
    case.graph.nodes.iter().any(|node| matches!(node.op, Op::Add) && node.inputs.iter().any(is_constant))
}

/// Whether the `output_shape` of some deconvolution is below the extent of what it reads.
fn crops_below_input(case: &Case) -> bool {
    let runs = Task::of(case).unwrap().runs;
    let inputs: Vec<_> = runs[0].iter().map(|tensor| tensor.shape.clone()).collect();
    let shapes = infer_shapes(&case.graph, &inputs).unwrap();
    case.graph.nodes.iter().any(|node| match &node.op {
        Op::ConvTranspose(ConvTranspose { output_shape: Some(extents), .. }) => {
            let read = &shapes.get(&node.inputs[0]).unwrap().shape[2..];
            extents.iter().zip(read).any(|(&extent, &read)| extent < read as i64)
        }
        _ => false,
    })
}

fn cases() -> u64 {
    if env::var_os("TWINFER_FULL").is_some() { 400 } else { 20 }
}

/// How many cases came to each end: taken, refused by a rule, or refused by none.
fn tally(backend: &mut dyn Backend, families: &[Family], findings: &[Finding]) -> BTreeMap<String, u64> {
    let description = backend.describe();
    let mut tally = BTreeMap::new();
    for family in families {
        let stream = family.stream(Distribution::Baseline, SEED);
        for index in 0..cases() {
            let case = stream.case(index);
            let observation = backend.run(&Task::of(&case).unwrap(), &mut |_| {});
            let (stage, outcome) = (observation.stage, &observation.outcome);
            let mut rules = description.refusals(&case.graph);
            let rule = match outcome {
                Outcome::Ok => rules.next(),
                _ => rules.find(|capability| capability.shows.matches(stage, outcome)),
            };
            let rule = rule.map(|capability| capability.rule.as_str());
            let end = match (outcome, rule) {
                (Outcome::Ok, None) => "taken".to_owned(),
                (Outcome::Ok, Some(rule)) => format!("taken in spite of {rule}"),
                (_, Some(rule)) => format!("refused by {rule}"),
                (Outcome::Rejected(reason) | Outcome::Failed(reason), None) => {
                    match findings
                        .iter()
                        .find(|known| reason.message().contains(known.words) && (known.has)(&case))
                    {
                        Some(Finding { what, .. }) => format!("rejected, though valid: {what}"),
                        None => format!("{family} {index} in {stage}: {reason}"),
                    }
                }
                (outcome, None) => format!("{family} {index}: {outcome:?}"),
            };
            *tally.entry(end).or_default() += 1;
        }
    }
    tally
}

/// The backends that are installed, each with what became of its graphs.
type Tallies = Vec<(String, BTreeMap<String, u64>)>;

/// Tallies one backend, and asserts that every graph it does not take is refused by a rule or listed here.
fn assert_known(
    backend: &mut dyn Backend,
    families: &[Family],
    findings: &[Finding],
) -> (String, BTreeMap<String, u64>) {
    let tally = tally(backend, families, findings);
    let description = backend.describe();
    let is_known = |end: &&String| {
        *end == "taken" || end.starts_with("refused by ") || end.starts_with("rejected, though valid: ")
    };
    let unknown: Vec<_> = tally.keys().filter(|end| !is_known(end)).collect();
    assert!(unknown.is_empty(), "{}: {unknown:#?}", description.name);
    assert!(tally["taken"] > 0, "{} takes none", description.name);
    let names: Vec<_> = families.iter().map(|family| format!("`{family}`")).collect();
    (format!("{} {}: {}", description.name, description.version, names.join(" and ")), tally)
}

/// The page docs/generated/refusals.md.
fn page(tallies: &Tallies) -> String {
    let mut page = format!(
        "# Refusals of valid graphs\n\n\
         `TWINFER_FULL=1 TWINFER_RESULTS=docs/generated cargo test -p twinfer-backend --test refusals`\n\n\
         What became of {} generated graphs per family, seed {SEED}. A rule that the backend states predicts a refusal and \
         how it shows; the test fails for any other refusal that it does not list as a rejected valid graph. A graph that \
         several rules refuse counts for one of them.\n",
        cases()
    );
    for (title, tally) in tallies {
        let _ = write!(page, "\n## {title}\n\n| result | graphs |\n| --- | ---: |\n");
        for (end, count) in tally {
            let _ = writeln!(page, "| {end} | {count} |");
        }
    }
    page
}

#[test]
fn refusals_of_valid_graphs_are_predicted_or_listed() {
    let rtx = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let rtx = rtx.map_err(|error| skip("tensorrt-rtx", error)).ok();
    let rtx = rtx.map(|installed| installed.directory.display().to_string());
    let of_rtx = |backend: &str| rtx.as_ref().map(|folder| format!("{backend},lib={folder}"));
    let floats: &[Family] = &[Family::Conv, Family::Deconv];
    let quantized: &[Family] = &[Family::QdqConv, Family::QdqDeconv];
    let subjects: [(Option<String>, &[Family], &[Finding]); 3] = [
        (Some("ort:cpu".to_owned()), floats, &OF_ONNX_RUNTIME),
        (of_rtx("trt-rtx"), quantized, &OF_TENSORRT_RTX),
        (of_rtx("trt-api"), quantized, &OF_TENSORRT_RTX),
    ];
    let wanted = subjects.len();
    let tallies: Tallies = subjects
        .into_iter()
        .filter_map(|(variant, families, findings)| {
            Some(assert_known(opened(&variant?)?.as_mut(), families, findings))
        })
        .collect();
    let page = page(&tallies);
    println!("{page}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        assert_eq!(tallies.len(), wanted, "the page needs ONNX Runtime and TensorRT-RTX");
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        fs::write(folder.join("refusals.md"), page).unwrap();
    }
}
