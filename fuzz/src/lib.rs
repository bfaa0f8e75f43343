//! What the fuzz targets share: folders made of one input, and cases of the generators to begin with.
//!
//! A *target* hands bytes to code that reads what came from somewhere else, and asserts what holds for every input. The
//! targets are under `fuzz_targets/`, what they begin with is written by `examples/seeds.rs`.

mod folder;

pub use folder::{Folder, joined};

use twinfer_case::Case;
use twinfer_generators::Family;

/// Generated cases of every family, a few of each: equal in every process.
pub fn generated(each: u64) -> impl Iterator<Item = Case> {
    Family::ALL.into_iter().flat_map(move |family| {
        let stream = family.stream(0);
        (0..each).map(move |index| stream.case(index))
    })
}
