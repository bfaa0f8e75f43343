//! What tests need that a machine may lack, such as Python packages and libraries of backends.
//!
//! A test that lacks something says so and passes. `TWINFER_REQUIRE` names what must not be missing, separated by spaces:
//! `TWINFER_REQUIRE="python onnxruntime" cargo test --workspace` fails where tests would be skipped for lack of these.

use std::{
    env,
    fmt::Display,
    io::{self, Write},
    process::Command,
    thread,
};

/// The variable that names what must not be missing.
const REQUIRED: &str = "TWINFER_REQUIRE";

/// Says that the running test is skipped because `missing` is: `python`, or the name of a library as `twinfer backends install` takes it.
///
/// # Panics
///
/// If `TWINFER_REQUIRE` names it.
pub fn skip(missing: &str, reason: impl Display) {
    let required = env::var(REQUIRED).unwrap_or_default();
    assert!(!required.split_whitespace().any(|name| name == missing), "{missing} is required: {reason}");
    let test = thread::current().name().unwrap_or("a test").to_owned();
    // past what the test harness captures; a closed stderr fails no test
    let _ = writeln!(io::stderr(), "skipped: {test}: {reason}");
}

/// Whether `python3` imports these modules, separated by commas. Says that the running test is skipped if it does not.
///
/// # Panics
///
/// If it does not, and `TWINFER_REQUIRE` names `python`.
pub fn has_python_with(modules: &str) -> bool {
    let imported = Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    let has_modules = imported.is_ok_and(|output| output.status.success());
    if !has_modules {
        skip("python", format!("python3 with {modules} is needed"));
    }
    has_modules
}
