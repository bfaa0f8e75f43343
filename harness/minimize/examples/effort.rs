//! Prints what it takes to minimize generated cases that fail by a planted predicate.

use std::time::Instant;

use twinfer_case::Case;
use twinfer_generators::{Distribution, Family};
use twinfer_minimize::minimize;
use twinfer_onnx::Op;

fn has_output_padding(case: &Case) -> bool {
    case.graph.nodes.iter().any(|node| match &node.op {
        Op::ConvTranspose(deconv) => deconv.output_padding.iter().flatten().any(|entry| *entry > 0),
        _ => false,
    })
}

fn main() {
    let stream = Family::Deconv.stream(Distribution::Baseline, 0);
    let cases: Vec<_> = (0..1000).map(|index| stream.case(index)).filter(has_output_padding).collect();
    let start = Instant::now();
    let mut tried: Vec<_> = cases
        .iter()
        .filter_map(|case| {
            minimize(case, 10_000, 16, |candidates| candidates.iter().position(has_output_padding)).ok()
        })
        .map(|minimized| minimized.tried)
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    tried.sort_unstable();
    let total: usize = tried.iter().sum();
    println!(
        "{} cases, candidates a case: median {}, most {}; {:.0} candidates a second",
        tried.len(),
        tried[tried.len() / 2],
        tried[tried.len() - 1],
        total as f64 / seconds
    );
}
