//! The driver cache in front of the real driver. Without a GPU every test is skipped.

use std::io::{self, Write};

use twinfer_backend::{OpenError, has_cuda_device};
use twinfer_case::{Outcome, Task};
use twinfer_driver_cache::{attribute_tally, compare_every_attribute};
use twinfer_generators::{Distribution, Family};
use twinfer_worker::open;

#[test]
fn cached_device_attributes_are_the_drivers() {
    if !has_cuda_device() {
        return skip("no CUDA device");
    }
    compare_every_attribute();
    let mut backend = match open(&"trt,level=0".parse().unwrap()) {
        Err(OpenError::Library(error)) => return skip(&error.to_string()),
        opened => opened.unwrap(),
    };
    let stream = Family::Conv.stream(Distribution::Baseline, 0);
    let built = (0..5).filter(|index| {
        let task = Task::of(&stream.case(*index)).unwrap();
        backend.run(&task, &mut |_| {}).outcome == Outcome::Ok
    });
    assert!(built.count() > 0, "no case was built");
    let tally = attribute_tally();
    assert!(tally.compared > 0 && tally.changed == 0, "{tally}");
}

/// Writes past the capture of the test harness, so that a skipped test never looks like one that ran.
fn skip(reason: &str) {
    // a test does not fail because standard error is closed
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}
