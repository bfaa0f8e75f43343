//! The commands in `tools/` that compare two versions of twinfer, and the one that compares runtimes.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod campaigns;
mod runs;
mod runtime_table;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use twinfer_tests::Outcome;

/// The exit codes of both commands.
const EQUAL: i32 = 0;
const DIFFERENT: i32 = 1;
const UNUSABLE: i32 = 2;

/// Runs the command `name` of `tools/`.
fn tool<A: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = A>) -> Outcome {
    Outcome::of(Command::new(path_of(name)).args(arguments).output().unwrap())
}

/// The path of the command `name` of `tools/`.
fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools").join(name)
}
