//! A diagnosis leaves out the mutants that concern no node of a graph. They must give what golden gives.

use twinfer_case::Case;
use twinfer_generators::{Distribution, Family};
use twinfer_golden::{Evaluation, Mutant, Reference, Unknown, evaluate, evaluate_with};
use twinfer_onnx::Tensor;

const CASES: u64 = 100;

fn inputs(case: &Case) -> Vec<Tensor> {
    let sources = case.runs[0].inputs.iter();
    sources.map(|source| source.tensor().expect("small").into_owned()).collect()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn is_equal(one: &Result<Evaluation, Unknown>, other: &Result<Evaluation, Unknown>) -> bool {
    let is_same = |(one, other): (&Reference, &Reference)| {
        one.shape == other.shape
            && bits(&one.values) == bits(&other.values)
            && bits(&one.bound) == bits(&other.bound)
    };
    match (one, other) {
        (Ok(one), Ok(other)) => one.outputs.iter().zip(&other.outputs).all(is_same),
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

#[test]
fn mutants_that_concern_no_node_of_a_case_change_nothing() {
    let (mut left_out, mut all) = (0, 0);
    for distribution in [Distribution::Baseline, Distribution::Full] {
        for family in Family::VALID {
            let stream = family.stream(distribution, 11);
            for case in (0..CASES).map(|index| stream.case(index)) {
                let inputs = inputs(&case);
                let golden = evaluate(&case.graph, &inputs);
                all += Mutant::ALL.len();
                for mutant in Mutant::ALL {
                    if case.graph.nodes.iter().any(|node| mutant.concerns(node)) {
                        continue;
                    }
                    left_out += 1;
                    let mutated = evaluate_with(&case.graph, &inputs, Some(*mutant));
                    assert!(is_equal(&golden, &mutated), "{} changes {case:#?}", mutant.name());
                }
            }
        }
    }
    println!("{left_out} of {all} mutants concern no node of their case");
    assert!(left_out > all / 3, "only {left_out} of {all} are left out");
}
