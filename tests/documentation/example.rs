//! The example of the crate `twinfer` is a test of this repository: what readers copy compiles and passes.

use std::fs;

use super::root;

/// The first Rust block of a page.
fn rust_block(page: &str) -> String {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let block = text.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    block.unwrap().0.to_owned()
}

#[test]
fn example_of_the_pages_is_the_one_that_is_tested() {
    let tested = fs::read_to_string(root().join("harness/cli/tests/conformance.rs")).unwrap();
    let (_, tested) = tested.split_once("\n\nuse ").unwrap();
    let tested = format!("use {tested}");
    assert_eq!(rust_block("README.md"), tested);
    assert_eq!(rust_block("docs/ci.md"), tested);
}
