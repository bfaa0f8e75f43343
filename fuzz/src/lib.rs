//! Helpers of the fuzz targets: folders built from one input, and generated cases for the seed corpus.
//!
//! A *target* passes bytes to code that reads untrusted data, and asserts properties that hold for every input. The
//! targets are in `fuzz_targets/`; `examples/seeds.rs` writes their seed corpora.

mod folder;

pub use folder::{Folder, joined};

// links what the coverage counters call, in the tests and `seeds` too
use libfuzzer_sys as _;
use twinfer_case::Case;
use twinfer_generators::{Distribution, Family};

/// The first `each` generated cases of every family, which are the same in every process.
pub fn generated(each: u64) -> impl Iterator<Item = Case> {
    Family::ALL.into_iter().flat_map(move |family| {
        let stream = family.stream(Distribution::Full, 0);
        (0..each).map(move |index| stream.case(index))
    })
}
