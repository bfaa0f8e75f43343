//! Campaigns against worker processes that behave, misbehave and are killed.
//!
//! Most workers are *actors*: processes of the binary `campaign-actor` (`actor/main.rs`), which answer as golden does except for
//! what their role does wrong, so that nothing needs to be installed. A test that needs ONNX Runtime or Python prints
//! `skipped: …` if it is missing. `TWINFER_FULL=1` runs more cases.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

/// The modules that the tests share with the actor.
mod actor {
    pub mod role;
    pub mod shared_folder;
}
mod arithmetic;
mod descendants;
mod determinism;
mod devices;
mod faults;
mod findings;
mod hangs;
mod ladder;
mod libraries;
mod lossy_disk;
mod mps;
mod poison;
mod power_cuts;
mod real_backends;
mod repeats;
mod sanitizer;
mod setup;
mod slow_backend;
mod suspicion;
mod waits;
