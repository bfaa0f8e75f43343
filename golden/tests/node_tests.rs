//! Golden passes ONNX's own backend node tests for its operators.
//!
//! Their folder is `$TWINFER_ONNX_NODE_TESTS`, or one in the user's cache, filled on first use through pip.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use twinfer_golden::{Agreement, Reference, Unknown, evaluate};
use twinfer_onnx::{DataType, DecodeError, Graph, Rule, Tensor, Unsupported};

const OPERATORS: [&str; 12] = [
    "Add",
    "BatchNormalization",
    "Concat",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "DequantizeLinear",
    "Identity",
    "MaxPool",
    "QLinearConv",
    "QuantizeLinear",
    "Relu",
];

/// How one node test ended.
enum Outcome {
    Passed {
        operators: Vec<&'static str>,
        /// The outputs of each data set, by golden and by ONNX.
        evaluated: Vec<(Reference, Tensor)>,
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
                if !matches!(agreement, Agreement::Exact | Agreement::Rounded(_)) {
                    let value = reference.values[place];
                    return Outcome::Failed(format!(
                        "element {place} is {value}, expected {expected}: {agreement:?}"
                    ));
                }
            }
        }
        evaluated.extend(evaluation.outputs.into_iter().zip(expected));
    }
    let is_used = |operator: &&str| graph.nodes.iter().any(|node| node.op.op_type() == *operator);
    Outcome::Passed { operators: OPERATORS.into_iter().filter(is_used).collect(), evaluated }
}

#[test]
fn one_changed_element_of_a_node_test_is_wrong() {
    let mut tally: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for test in subfolders(&node_tests()) {
        let Outcome::Passed { operators, evaluated } = run(&test) else { continue };
        let (accused, all) = tally.entry(operators.join(" + ")).or_default();
        for (reference, expected) in evaluated {
            for (place, element) in expected.to_f64().into_iter().enumerate() {
                for changed in changes(expected.dtype(), element, &operators) {
                    *all += 1;
                    *accused += usize::from(matches!(reference.compare(place, changed), Agreement::Wrong(_)));
                }
            }
        }
    }
    let rows: Vec<_> =
        tally.iter().map(|(operators, (accused, all))| format!("{operators}: {accused} of {all}")).collect();
    insta::assert_snapshot!(rows.join("\n"));
    let missed: Vec<_> = tally.iter().filter(|(_, (accused, all))| accused < all).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// The two changes of an element that no conforming backend makes: integers by 1, elements that are only moved by one unit in the
/// last place, and results of floating-point arithmetic by 1% and 0.01.
fn changes(dtype: DataType, element: f64, operators: &[&str]) -> Vec<f64> {
    const MOVING: [&str; 4] = ["Concat", "Identity", "MaxPool", "Relu"];
    let is_moved = operators.iter().all(|operator| MOVING.contains(operator));
    let changes = match dtype {
        DataType::Float if is_moved => {
            [(element as f32).next_up(), (element as f32).next_down()].map(f64::from)
        }
        DataType::Double if is_moved => [element.next_up(), element.next_down()],
        DataType::Float16 if is_moved => {
            let element = half::f16::from_f64(element);
            [element.to_bits().wrapping_add(1), element.to_bits() ^ 1]
                .map(|bits| half::f16::from_bits(bits).to_f64())
        }
        DataType::Float | DataType::Double | DataType::Float16 | DataType::Bfloat16 => {
            let change = element.abs() / 100.0 + 0.01;
            [element + change, element - change]
        }
        _ => [element + 1.0, element - 1.0],
    };
    // the neighbor of zero may be a zero, and that of the largest number an infinity
    changes.into_iter().filter(|changed| (changed - element).abs() > 0.0 && changed.is_finite()).collect()
}

fn tensors(data_set: &Path, kind: &str, count: usize) -> Vec<Tensor> {
    let read = |place| {
        let path = data_set.join(format!("{kind}_{place}.pb"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Tensor::decode_proto(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    (0..count).map(read).collect()
}
