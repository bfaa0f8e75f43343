use std::sync::Arc;

use twinfer_case::{Algorithms, Arithmetic, EncodedCase, Expectation};
use twinfer_golden::evaluate_as;
use twinfer_onnx::{Graph, InvalidTensor, Tensor};

use crate::evidence::{References, RunReference};

/// The reference semantics, with error bounds that hold for an arithmetic: golden, or another function in tests.
pub type Oracle = Arc<dyn Fn(&Graph, &[Tensor], Arithmetic) -> RunReference + Send + Sync>;

/// Golden.
pub fn golden() -> Oracle {
    Arc::new(|graph, inputs, arithmetic| evaluate_as(graph, inputs, arithmetic, &[]))
}

/// What golden computes for each run of a valid case, with bounds that hold for this arithmetic, whichever algorithms it uses.
pub fn references_for(encoded: &EncodedCase, arithmetic: Arithmetic) -> Vec<RunReference> {
    run_by_run(encoded, &golden(), arithmetic)
}

/// What `oracle` computes for each run of a valid case, with bounds that hold for a backend of this arithmetic as long as it computes
/// directly; empty for an invalid case.
pub fn references(encoded: &EncodedCase, oracle: &Oracle, arithmetic: Arithmetic) -> Vec<RunReference> {
    run_by_run(encoded, oracle, arithmetic.with(Algorithms::Direct))
}

fn run_by_run(encoded: &EncodedCase, oracle: &Oracle, arithmetic: Arithmetic) -> Vec<RunReference> {
    let arithmetic = arithmetic.for_request(&encoded.case.request);
    match encoded.case.expectation {
        Expectation::Valid => {
            let runs = encoded.task.runs.iter();
            runs.map(|inputs| oracle(&encoded.case.graph, inputs, arithmetic)).collect()
        }
        Expectation::Invalid(_) => Vec::new(),
    }
}

/// The expected outputs of each run; `None` for a run that golden does not support.
pub fn expected_outputs(references: &References) -> Result<Vec<Option<Vec<Tensor>>>, InvalidTensor> {
    let tensors = |reference: &RunReference| {
        let evaluation = reference.as_ref().ok()?;
        Some(evaluation.outputs.iter().map(twinfer_golden::Reference::to_tensor).collect())
    };
    references.iter().map(|reference| tensors(reference).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use twinfer_case::Sums;
    use twinfer_onnx::{DataType, Node, Op, ValueInfo};

    use super::*;

    /// The bound of a sum of two 16-bit floats that rounds.
    fn bound(arithmetic: Arithmetic) -> f64 {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float16, shape: None };
        let add = Node {
            name: String::new(),
            op: Op::Add,
            inputs: vec!["x".to_owned(), "x".to_owned()],
            outputs: vec!["y".to_owned()],
        };
        let graph = Graph {
            opset: 22,
            inputs: vec![value("x")],
            initializers: Vec::new(),
            nodes: vec![add],
            outputs: vec![value("y")],
        };
        let input =
            Tensor::from_f64(DataType::Float16, vec![2], &[1000.0, 2f64.powi(-12)]).expect("a vector");
        golden()(&graph, &[input], arithmetic).expect("valid").outputs[0].bound[0]
    }

    #[test]
    fn bounds_are_narrower_if_the_processor_computes() {
        let (processor, gpu) = (Arithmetic::STRICT, Arithmetic::default());
        let folded = Arithmetic { sums: Sums::InOperandType, ..processor };
        let (narrow, wide) = (bound(processor), bound(gpu));
        assert!(0.0 < narrow && narrow < wide, "{narrow} {wide}");
        assert_eq!(bound(folded).to_bits(), wide.to_bits());
    }
}
