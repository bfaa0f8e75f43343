//! Golden passes ONNX's own backend node tests for its operators.
//!
//! Their folder is `$TWINFER_ONNX_NODE_TESTS`, or one in the user's cache, filled on first use through pip.

#[path = "support/terms.rs"]
mod terms;

use std::{
    collections::BTreeMap,
    env,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use twinfer_golden::{Agreement, Reference, Unknown, evaluate};
use twinfer_onnx::{DataType, DecodeError, Graph, Rule, Tensor, Unsupported};

use terms::{Terms, terms};

const OPERATORS: [&str; 20] = [
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Clip",
    "Concat",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "DequantizeLinear",
    "GlobalAveragePool",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "MaxPool",
    "Mul",
    "QLinearConv",
    "QuantizeLinear",
    "Relu",
    "Sigmoid",
    "Transpose",
];

/// Tests whose data is written to four digits.
const OF_FOUR_DIGITS: [&str; 1] = ["test_averagepool_2d_ceil_last_window_starts_on_pad"];

/// An output of a data set.
struct Evaluated {
    reference: Reference,
    /// The output according to ONNX.
    expected: Tensor,
    /// The terms of the sums that it holds, if it holds any.
    terms: Option<Vec<Terms>>,
}

/// How one node test ended.
enum Outcome {
    Passed {
        operators: Vec<&'static str>,
        evaluated: Vec<Evaluated>,
    },
    Skipped(String),
    Failed(String),
    /// A test of another operator.
    Foreign,
}

#[test]
fn golden_passes_every_node_test_of_its_operators() {
    let folder = node_tests();
    let mut report = String::new();
    let mut passed: BTreeMap<&str, usize> = OPERATORS.iter().map(|operator| (*operator, 0)).collect();
    let mut failures = Vec::new();
    for test in subfolders(&folder) {
        let name = test.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        match run(&test) {
            Outcome::Foreign => {}
            Outcome::Passed { operators, .. } => {
                for operator in operators {
                    *passed.entry(operator).or_default() += 1;
                }
                writeln!(report, "{name}: passed").expect("a string takes it");
            }
            Outcome::Skipped(reason) => {
                writeln!(report, "{name}: skipped, {reason}").expect("a string takes it");
            }
            Outcome::Failed(reason) => failures.push(format!("{name}: {reason}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let without: Vec<_> = passed.iter().filter(|(_, count)| **count == 0).collect();
    assert!(without.is_empty(), "no node test passed for {without:?}");
    let counts: Vec<_> = passed.iter().map(|(operator, count)| format!("{operator} {count}")).collect();
    insta::assert_snapshot!(format!("passed by operator: {}\n\n{report}", counts.join(", ")));
}

/// Where the tests are, fetched if need be.
fn node_tests() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("TWINFER_ONNX_NODE_TESTS") {
        return folder;
    }
    let cache = set("TWINFER_HOME")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("twinfer")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/twinfer")))
        .expect("a home folder for the cache");
    let folder = cache.join("onnx-node-tests-1.22.0");
    if !folder.is_dir() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fetch_node_tests.py");
        let status = Command::new("python3").arg(script).arg(&folder).status().expect("python3 starts");
        assert!(
            status.success(),
            "fetching the node tests failed; set TWINFER_ONNX_NODE_TESTS to their folder"
        );
    }
    folder
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut folders: Vec<_> =
        entries.map(|entry| entry.expect("a readable folder").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn run(test: &Path) -> Outcome {
    let model = fs::read(test.join("model.onnx")).expect("every node test has a model");
    let graph = match Graph::decode(&model) {
        Ok(graph) => graph,
        Err(DecodeError::Unsupported(Unsupported::Operator { .. } | Unsupported::Domain(_))) => {
            return Outcome::Foreign;
        }
        Err(DecodeError::Unsupported(reason)) => return Outcome::Skipped(reason.to_string()),
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let data_sets: Vec<_> = subfolders(test);
    if data_sets.is_empty() {
        return Outcome::Failed("it has no data".to_owned());
    }
    let name = test.file_name().unwrap_or_default().to_string_lossy();
    let written = if OF_FOUR_DIGITS.contains(&&*name) { 1e-4 } else { 0.0 };
    let mut evaluated = Vec::new();
    for data_set in data_sets {
        let inputs = tensors(&data_set, "input", graph.inputs.len());
        let expected = tensors(&data_set, "output", graph.outputs.len());
        let evaluation = match evaluate(&graph, &inputs) {
            Ok(evaluation) => evaluation,
            Err(Unknown::Invalid(violation)) if violation.rule == Rule::ElementType => {
                return Outcome::Skipped(violation.to_string());
            }
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        for (reference, expected) in evaluation.outputs.iter().zip(&expected) {
            if (reference.dtype, &reference.shape) != (expected.dtype(), &expected.shape) {
                return Outcome::Failed(format!(
                    "{:?} {:?}, expected {:?} {:?}",
                    reference.dtype,
                    reference.shape,
                    expected.dtype(),
                    expected.shape
                ));
            }
            for (place, expected) in expected.to_f64().into_iter().enumerate() {
                let agreement = reference.compare(place, expected);
                let value = reference.values[place];
                let is_right = matches!(agreement, Agreement::Exact | Agreement::Rounded(_));
                if !is_right && ((value - expected).abs() > written || value.is_nan()) {
                    return Outcome::Failed(format!(
                        "element {place} is {value}, expected {expected}: {agreement:?}"
                    ));
                }
            }
        }
        let changed = evaluation.outputs.into_iter().zip(expected).filter(|_| written <= 0.0);
        for (reference, expected) in changed {
            let terms = terms(&graph, &inputs, &expected);
            evaluated.push(Evaluated { reference, expected, terms });
        }
    }
    let is_used = |operator: &&str| graph.nodes.iter().any(|node| node.op.op_type() == *operator);
    Outcome::Passed { operators: OPERATORS.into_iter().filter(is_used).collect(), evaluated }
}

/// The changes of the elements of node tests, by what they change.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tests: usize,
    integers: Share,
    moved: Share,
    sums: Share,
    others: Share,
}

/// How many changes golden accuses.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    accused: usize,
    all: usize,
}

impl Tally {
    fn share(&mut self, change: Change) -> &mut Share {
        match change {
            Change::Integer => &mut self.integers,
            Change::Moved => &mut self.moved,
            Change::Sum => &mut self.sums,
            Change::Other => &mut self.others,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all {
            0 => f.write_str("-"),
            all => write!(f, "{} of {all}", self.accused),
        }
    }
}

/// `TWINFER_RESULTS` names a folder for the table.
#[test]
fn one_changed_element_of_a_node_test_is_wrong() {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for test in subfolders(&node_tests()) {
        let Outcome::Passed { operators, evaluated } = run(&test) else { continue };
        let tally = tallies.entry(operators.join(" + ")).or_default();
        tally.tests += 1;
        for output in evaluated {
            for (place, element) in output.expected.to_f64().into_iter().enumerate() {
                let terms = output.terms.as_ref().map(|terms| terms[place]);
                let (change, changed) = changes(output.expected.dtype(), element, &operators, terms);
                let share = tally.share(change);
                for changed in changed {
                    share.all += 1;
                    let agreement = output.reference.compare(place, changed);
                    share.accused += usize::from(matches!(agreement, Agreement::Wrong(_)));
                }
            }
        }
    }
    let table = table(&tallies);
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        fs::write(folder.join("node-tests.md"), page(&table)).expect("the results folder can be written");
    }
    insta::assert_snapshot!(table);
    let missed = |share: Share| share.accused < share.all;
    for (operators, tally) in &tallies {
        let Tally { integers, moved, others, sums, .. } = *tally;
        assert!(![integers, moved, others].into_iter().any(missed), "{operators}: {tally:?}");
        assert!(sums.accused * 1000 >= sums.all * 995, "{operators}: {tally:?}");
    }
}

fn table(tallies: &BTreeMap<String, Tally>) -> String {
    let mut table = "| operators | tests | integers | elements that are moved | sums | others |\n\
                     | --- | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (operators, Tally { tests, integers, moved, sums, others }) in tallies {
        let operators = if operators.is_empty() { "none" } else { operators };
        writeln!(table, "| {operators} | {tests} | {integers} | {moved} | {sums} | {others} |")
            .expect("a string takes it");
    }
    table
}

fn page(table: &str) -> String {
    format!(
        "# ONNX's node tests with one element changed\n\n\
         Golden conforms to every node test of ONNX 1.22.0 with its operators. Here one element of an expected output is changed, in both \
         directions, and golden is asked whether that is still right: integers are changed by 1, elements that are only moved by one unit in \
         the last place, and sums of n terms by 2·(n + 2) unit round-offs of their absolute terms, which are counted without golden, or, where all terms are zero, by one unit in the last place. The factor of BatchNormalization is computed in 7 roundings, which count as terms. Where an \
         operator other than these computes the element, it is changed by 1% and 0.01. The columns say how many changes golden calls wrong. To \
         write this table again: `TWINFER_RESULTS=docs/generated cargo test -p twinfer-golden --test node_tests`.\n\n{table}"
    )
}

/// What a change of an element is a change of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Integer,
    Moved,
    Sum,
    Other,
}

/// The two changes of an element that no conforming backend makes: integers by 1, elements that are only moved by one unit in the
/// last place, sums by twice what rounding may do to them, and other results by 1% and 0.01.
fn changes(dtype: DataType, element: f64, operators: &[&str], terms: Option<Terms>) -> (Change, Vec<f64>) {
    const MOVING: [&str; 6] = ["Clip", "Concat", "Identity", "MaxPool", "Relu", "Transpose"];
    let unit_roundoff = match dtype {
        DataType::Float => f64::from(f32::EPSILON) / 2.0,
        DataType::Double => f64::EPSILON / 2.0,
        DataType::Float16 => half::f16::EPSILON.to_f64() / 2.0,
        DataType::Bfloat16 => half::bf16::EPSILON.to_f64() / 2.0,
        _ => return (Change::Integer, vec![element + 1.0, element - 1.0]),
    };
    let by = |size: f64| vec![element + size, element - size];
    let (change, changed) = if operators.iter().all(|operator| MOVING.contains(operator)) {
        (Change::Moved, neighbors(dtype, element))
    } else if let Some(Terms { count, roundings, magnitude }) = terms {
        let size = 2.0 * (count + roundings + 2) as f64 * unit_roundoff * magnitude;
        (Change::Sum, if size > 0.0 { by(size) } else { neighbors(dtype, element) })
    } else {
        (Change::Other, by(element.abs() / 100.0 + 0.01))
    };
    // the neighbor of zero may be a zero, and that of the largest number an infinity
    let is_change = |changed: &f64| (changed - element).abs() > 0.0 && changed.is_finite();
    (change, changed.into_iter().filter(is_change).collect())
}

/// The numbers next to one of a floating-point type.
fn neighbors(dtype: DataType, element: f64) -> Vec<f64> {
    match dtype {
        DataType::Float => [(element as f32).next_up(), (element as f32).next_down()].map(f64::from).to_vec(),
        DataType::Float16 => {
            let element = half::f16::from_f64(element);
            let neighbors = [element.to_bits().wrapping_add(1), element.to_bits() ^ 1];
            neighbors.map(|bits| half::f16::from_bits(bits).to_f64()).to_vec()
        }
        DataType::Bfloat16 => {
            let element = half::bf16::from_f64(element);
            let neighbors = [element.to_bits().wrapping_add(1), element.to_bits() ^ 1];
            neighbors.map(|bits| half::bf16::from_bits(bits).to_f64()).to_vec()
        }
        _ => vec![element.next_up(), element.next_down()],
    }
}

fn tensors(data_set: &Path, kind: &str, count: usize) -> Vec<Tensor> {
    let read = |place| {
        let path = data_set.join(format!("{kind}_{place}.pb"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Tensor::decode_proto(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    (0..count).map(read).collect()
}
