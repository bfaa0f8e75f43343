//! The example of README.md and docs/ci.md, as it stands there, below the attribute; `documentation` compares them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::{prop_assert, proptest};
use twinfer::{Conformance, Space};

fn main() {
    twinfer::become_worker_if_asked(); // the test binary is its own worker
    let conformance = Conformance::of(&["ort:cpu,opt=off"]).unwrap();
    proptest!(|(case in Space::convolutions().cases())| {
        let divergences = conformance.check(&case)?;
        prop_assert!(divergences.is_empty(), "{divergences:?}");
    });
}
