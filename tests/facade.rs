//! The crate `twinfer` as another project's `cargo test` uses it: this binary is its own worker, so it has a `main`. A test that is
//! not listed there is dead code, which the compiler reports.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use twinfer::{Case, Conformance, InvalidSpace, Kind, Space};

/// A trial per function, with its name.
macro_rules! trials {
    ($($test:ident),+ $(,)?) => { vec![$(Trial::test(stringify!($test), $test)),+] };
}

fn main() -> ExitCode {
    twinfer::become_worker_if_asked();
    let trials = trials![
        generated_convolutions_conform,
        diverging_case_is_shrunk_to_one_node,
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

fn generated_convolutions_conform() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
    let outcome = runner(50).run(&Space::convolutions().cases(), |case| {
        let divergences = conformance.check(&case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if divergences.is_empty() { Ok(()) } else { Err(TestCaseError::fail(format!("{divergences:?}"))) }
    });
    outcome.map_err(|error| error.to_string().into())
}

/// ONNX Runtime accepts some graphs that break a rule.
fn diverging_case_is_shrunk_to_one_node() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu"])?;
    let accepts = |case: &Case| {
        let divergences = conformance.check(case).unwrap_or_default();
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

/// Golden does not know the operator set, and the backend refuses the model.
fn conformance_that_compared_nothing_panics() -> Result<(), Failed> {
    let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
    let none = conformance.ensure_compared().err().ok_or("no case ran")?.to_string();
    let outcome = runner(3).run(&Space::convolutions().cases(), |mut case| {
        case.graph.opset = 999;
        let divergences = conformance.check(&case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if divergences.is_empty() { Ok(()) } else { Err(TestCaseError::fail(format!("{divergences:?}"))) }
    });
    outcome.map_err(|error| error.to_string())?;
    let why = conformance.ensure_compared().err().ok_or("nothing was compared")?.to_string();
    if !none.ends_with("no case ran") || !why.contains("3 cases unspecified") || !why.contains("rejected in")
    {
        return Err(format!("{none}; {why}").into());
    }
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(conformance)));
    if dropped.is_err() { Ok(()) } else { Err("the test passes".into()) }
}

fn missing_library_is_an_error() -> Result<(), Failed> {
    match Conformance::of(&["ort:cpu,version=0.1"]) {
        Err(twinfer::Error::Library(_)) => Ok(()),
        Err(other) => Err(other.to_string().into()),
        Ok(_) => Err("a library of version 0.1 was found".into()),
    }
}
