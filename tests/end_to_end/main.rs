//! End-to-end tests of the `twinfer` command with the installed libraries.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bench;
mod commands;
mod compared;
mod confinement;
mod culprit;
mod damaged;
mod debug_log;
mod disagreements;
mod double_starts;
mod environment;
mod external_data;
mod fallback;
mod foreign_text;
mod fuzz;
mod graphs;
mod known;
mod ladder;
mod libraries;
mod odd_models;
mod opaque;
mod own_inputs;
mod page;
mod pipes;
mod planted;
mod repro;
mod resume;
mod runs;
mod runtimes;
mod several_bugs;
mod single;
mod site;
mod survey;
mod survival;
mod terminal;
mod trust;
mod uncompared;
mod unwritten;

use twinfer_tests::{Twinfer, executable};

/// A `twinfer` command, as this workspace builds it.
fn twinfer(arguments: &[&str]) -> Twinfer {
    Twinfer::new(executable(env!("CARGO_BIN_EXE_twinfer-under-test")), arguments)
}
