//! The crate `twinfer` as another project's `cargo test` uses it: this binary is its own worker, so it has a `main`. A test that is
//! not listed there is dead code, which the compiler reports.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tempfile::TempDir;
use twinfer::{
    Case, Conformance, DataType, Error, Family, InvalidSpace, Kind, Space, Tensor, TensorData, TensorSource,
    read_case,
};
use twinfer_onnx::{Node, Op};
use twinfer_prerequisites::has_python_with;
use twinfer_tests::{Twinfer, golden};

/// A trial per function, with its name.
macro_rules! trials {
    ($($test:ident),+ $(,)?) => { vec![$(Trial::test(stringify!($test), $test)),+] };
}

fn main() -> ExitCode {
    twinfer::become_worker_if_asked();
    let trials = trials![
        generated_convolutions_conform,
        diverging_case_is_shrunk_to_one_node,
        failure_is_the_smallest_case_in_text_form,
        known_finding_fails_no_test,
        known_finding_hides_no_other,
        known_finding_of_a_model_is_known_at_its_node,
        outputs_of_a_model_are_compared_with_a_tolerance,
        model_that_is_refused_has_no_outputs,
        inputs_that_do_not_fit_are_an_error,
        folder_without_known_findings_is_an_error,
        missing_library_is_an_error,
        conformance_that_compared_nothing_panics,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    )
}

/// `?` turns an error into one of proptest.
fn generated_convolutions_conform() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
    let outcome = runner(50).run(&Space::convolutions().cases(), |case| Ok(conformance.check(&case)?));
    outcome.map_err(|error| error.to_string().into())
}

/// ONNX Runtime accepts some graphs that break a rule.
fn diverging_case_is_shrunk_to_one_node() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu"])?;
    let accepts = |case: &Case| {
        let divergences = conformance.divergences(case).unwrap_or_default();
        divergences.iter().any(|divergence| divergence.kind == Kind::AcceptsInvalid)
    };
    let outcome = runner(400).run(&InvalidSpace::new().cases(), |case| {
        if accepts(&case) { Err(TestCaseError::fail("accepted")) } else { Ok(()) }
    });
    match outcome {
        Err(TestError::Fail(_, case)) if accepts(&case) && case.graph.nodes.len() == 1 => Ok(()),
        other => Err(format!("not shrunk to one node: {other:?}").into()),
    }
}

fn failure_is_the_smallest_case_in_text_form() -> Result<(), Failed> {
    let checked = Conformance::of(&["ort:cpu"])?.check_all(Family::Invalid.cases(0).take(100));
    let failure = checked.err().ok_or("every case conforms")?;
    insta::assert_snapshot!(failure, @r#"
    ort:cpu diverges in execute: accepts-invalid: accepted a graph that breaks declared-output: a declared output has the type and shape that the nodes compute
    <ir_version: 8, opset_import: ["" : 16]>
    twinfer (float[1,1,1] x) => (float[2,6,2] y0)
    <float[1,1,1] W0 = {0}>
    {
      y0 = ConvTranspose <kernel_shape = [1]> (x, W0)
    }
    x = float[1,1,1] {0}
    "#);
    Ok(())
}

fn known_finding_fails_no_test() -> Result<(), Failed> {
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/cases");
    let case = read_case(findings.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2"))?;
    let conforming = Family::Conv.cases(0).take(5);
    let checked = Conformance::of(&["ort:cpu"])?.check_all([case.clone()]);
    if !matches!(checked, Err(Error::Diverges(_))) {
        return Err(format!("{checked:?}").into());
    }
    let conformance = Conformance::of(&["ort:cpu"])?.with_known(&findings)?;
    conformance.check(&case)?;
    Ok(conformance.check_all([case].into_iter().chain(conforming))?)
}

/// A backend whose bugs a file names.
struct Buggy {
    folder: TempDir,
}

impl Buggy {
    /// `None` without the Python packages that it needs.
    fn new() -> Option<Self> {
        has_python_with("numpy, onnx, onnxruntime").then_some(())?;
        let buggy = Self { folder: tempfile::tempdir().ok()? };
        let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/mutated_adapter.py");
        let command =
            format!("exec python3 {} --bug $(cat {})", adapter.display(), buggy.path("bugs").display());
        fs::write(buggy.path("backend.sh"), command).ok()?;
        Some(buggy)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn variant(&self) -> String {
        format!("external:sh {}", self.path("backend.sh").display())
    }

    /// The run directory of a command that finds these bugs.
    fn found(&self, bugs: &str, command: &[&str]) -> Result<PathBuf, Failed> {
        fs::write(self.path("bugs"), bugs)?;
        let (run, backends) = (self.path(bugs), format!("golden,{}", self.variant()));
        let out = run.display().to_string();
        let found = Twinfer::new(
            env!("CARGO_BIN_EXE_twinfer-under-test"),
            &[command, &["--backends", &backends, "--out", &out]].concat(),
        );
        let found = found.run();
        if found.code == Some(1) { Ok(run) } else { Err(found.shown().into()) }
    }

    /// Whether these bugs fail no test of `cases` if the findings of `run` are known.
    fn is_known(&self, bugs: &str, run: &Path, cases: &[Case]) -> Result<bool, Failed> {
        fs::write(self.path("bugs"), bugs)?;
        let conformance = Conformance::of(&[&self.variant()])?.with_known(run)?;
        match conformance.check_all(cases.to_vec()) {
            Ok(()) => Ok(true),
            Err(Error::Diverges(_)) => Ok(false),
            Err(other) => Err(other.to_string().into()),
        }
    }
}

/// Known are findings of a campaign: one that nothing explains, and one that experiments explain.
fn known_finding_hides_no_other() -> Result<(), Failed> {
    const CASES: &str = "12";
    let Some(buggy) = Buggy::new() else { return Ok(()) };
    let campaign = ["fuzz", "--family", "conv", "--cases", CASES];
    let more = buggy.found("one-percent-more", &campaign)?;
    let negated = buggy.found("negated", &campaign)?;
    let convolutions: Vec<_> = Family::Conv.cases(0).take(CASES.parse().expect("a number")).collect();
    let block = [block().ok_or("a case")?];
    for (bugs, run, cases, expected) in [
        ("one-percent-more", &more, &convolutions[..], true),
        ("last-position-zero", &more, &convolutions, false),
        ("negated", &negated, &convolutions[..1], true),
        ("one-percent-more", &more, &block, true),
        ("one-percent-more+relu-dropped", &more, &block, false),
    ] {
        if buggy.is_known(bugs, run, cases)? != expected {
            return Err(format!("{bugs} in {} cases is known: {}", cases.len(), !expected).into());
        }
    }
    Ok(())
}

/// Known is what nothing explains at one node of a model.
fn known_finding_of_a_model_is_known_at_its_node() -> Result<(), Failed> {
    let Some(buggy) = Buggy::new() else { return Ok(()) };
    let graph = block().ok_or("a case")?.graph;
    let mut convolutions = graph.nodes.iter().filter(|node| matches!(node.op, Op::Conv(_)));
    let (first, last) = (convolutions.next().ok_or("a Conv")?, convolutions.next_back().ok_or("another")?);
    let at = |node: &Node| format!("one-percent-more@{}", node.name);
    let (known, other) = (at(first), at(last));
    let model = buggy.path("model.onnx");
    fs::write(&model, graph.encode())?;
    let run = buggy.found(&known, &["check", &model.display().to_string()])?;
    let case = [Case::of_graph(graph)];
    if !buggy.is_known(&known, &run, &case)? {
        return Err("it is not known at its node".into());
    }
    if buggy.is_known(&other, &run, &case)? {
        return Err("it is known at another node".into());
    }
    Ok(())
}

/// A generated model with several convolutions and an activation.
fn block() -> Option<Case> {
    Family::Block.cases(0).take(400).find(|case: &Case| {
        let count = |is: &dyn Fn(&Op) -> bool| case.graph.nodes.iter().filter(|node| is(&node.op)).count();
        count(&|op| matches!(op, Op::Conv(_))) >= 2
            && count(&|op| matches!(op, Op::Relu)) >= 1
            && case.graph.nodes.iter().all(|node| matches!(node.op, Op::Conv(_) | Op::Relu | Op::Add))
    })
}

/// A model from a file with inputs of one's own, compared with a tolerance of one's own.
fn outputs_of_a_model_are_compared_with_a_tolerance() -> Result<(), Failed> {
    let is_float = |case: &Case| case.runs[0].inputs.iter().all(|input| input.dtype() == DataType::Float);
    let model = Family::Conv.cases(1).take(100).find(is_float).ok_or("a case")?.graph.encode();
    let case = Case::from_onnx(&model)?;
    let ones = |source: &TensorSource| {
        let elements = vec![1.0; source.shape().iter().product()];
        Tensor::new(source.shape().to_vec(), TensorData::Float(elements))
    };
    let inputs = case.runs[0].inputs.iter().map(ones).collect::<Result<_, _>>()?;
    let case = case.with_inputs(inputs);
    let expected = twinfer::expected(&case)?;
    let conformance = Conformance::of(&["ort:cpu"])?;
    for computed in conformance.outputs(&case)? {
        approx::assert_relative_eq!(computed.runs[0][0], expected[0][0], epsilon = 1e-6, max_relative = 1e-5);
        approx::assert_ulps_ne!(computed.runs[0][0], Tensor::new(vec![], TensorData::Float(vec![0.0]))?);
    }
    Ok(())
}

/// The backend refuses it, and golden does not compute it: it is no case that the specification leaves open.
fn inputs_that_do_not_fit_are_an_error() -> Result<(), Failed> {
    let case = Family::Conv.cases(0).next().ok_or("a case")?;
    let conformance = Conformance::of(&["ort:cpu"])?;
    conformance.check(&case)?;
    let tensor = Tensor::new(vec![1], TensorData::Float(vec![0.0]))?;
    for inputs in [Vec::new(), vec![tensor]] {
        match conformance.check(&case.clone().with_inputs(inputs)) {
            Err(Error::UnfitInputs(_)) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(())
}

fn model_that_is_refused_has_no_outputs() -> Result<(), Failed> {
    let case = Family::Invalid.cases(0).take(500).find(
        |case| matches!(&case.expectation, twinfer::Expectation::Invalid(rule) if rule == "input-channels"),
    );
    let conformance = Conformance::of(&["ort:cpu"])?;
    match conformance.outputs(&case.ok_or("a case that breaks the rule")?) {
        Err(error @ Error::NoOutputs { .. })
            if error.to_string().starts_with("ort:cpu gave no outputs: ") =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}").into()),
    }
}

/// Golden does not know the operator set, and the backend refuses the model.
fn conformance_that_compared_nothing_panics() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
    let none = conformance.ensure_compared().err().ok_or("no case ran")?.to_string();
    for mut case in Family::Conv.cases(0).take(3) {
        case.graph.opset = 999;
        conformance.check(&case)?;
    }
    let why = conformance.ensure_compared().err().ok_or("nothing was compared")?.to_string();
    if !none.ends_with("no case ran")
        || !why.contains("3 cases without a reference")
        || !why.contains("rejected in")
    {
        return Err(format!("{none}; {why}").into());
    }
    let message = |conformance: Conformance| {
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(conformance)));
        dropped.err().and_then(|payload| payload.downcast::<String>().ok()).ok_or("the test passes")
    };
    let without_case = message(Conformance::of(&["ort:cpu,opt=off"])?)?;
    let is_told = |message: &str| message.contains("create the Conformance after what failed");
    if is_told(&without_case) && !is_told(&message(conformance)?) { Ok(()) } else { Err(without_case.into()) }
}

fn folder_without_known_findings_is_an_error() -> Result<(), Failed> {
    let finding = golden().join("cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2");
    for folder in [Path::new("no such folder"), &finding, &golden()] {
        match Conformance::of(&["ort:cpu"])?.with_known(folder) {
            Err(Error::Store(_)) => {}
            Err(other) => return Err(other.to_string().into()),
            Ok(_) => return Err(format!("{} was read", folder.display()).into()),
        }
    }
    Ok(())
}

fn missing_library_is_an_error() -> Result<(), Failed> {
    match Conformance::of(&["ort:cpu,version=0.1"]) {
        Err(Error::Library(_)) => Ok(()),
        Err(other) => Err(other.to_string().into()),
        Ok(_) => Err("a library of version 0.1 was found".into()),
    }
}
