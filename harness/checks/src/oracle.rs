use std::sync::Arc;

use twinfer_case::{Algorithms, Arithmetic, EncodedCase, Expectation};
use twinfer_golden::evaluate_as;
use twinfer_onnx::{Graph, InvalidTensor, Tensor};

use crate::evidence::{References, RunReference};

/// The reference semantics: golden, or another function in tests of the campaign itself.
pub type Oracle = Arc<dyn Fn(&Graph, &[Tensor]) -> RunReference + Send + Sync>;

/// Golden with error bounds that hold for every backend of one of these arithmetics, as long as it computes directly; for any
/// such backend if there is none.
pub fn golden_for(arithmetic: impl IntoIterator<Item = Arithmetic>) -> Oracle {
    let widest = arithmetic.into_iter().reduce(Arithmetic::or).unwrap_or_default().with(Algorithms::Direct);
    Arc::new(move |graph, inputs| evaluate_as(graph, inputs, widest, &[]))
}

/// What golden computes for each run of a valid case, with bounds that hold for this arithmetic, whichever algorithms it uses.
pub fn references_for(encoded: &EncodedCase, arithmetic: Arithmetic) -> Vec<RunReference> {
    let oracle: Oracle = Arc::new(move |graph, inputs| evaluate_as(graph, inputs, arithmetic, &[]));
    references(encoded, &oracle)
}

/// What `oracle` computes for each run of a valid case; empty for an invalid one.
pub fn references(encoded: &EncodedCase, oracle: &Oracle) -> Vec<RunReference> {
    match encoded.case.expectation {
        Expectation::Valid => {
            encoded.task.runs.iter().map(|inputs| oracle(&encoded.case.graph, inputs)).collect()
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
    fn bound(arithmetic: &[Arithmetic]) -> f64 {
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
        golden_for(arithmetic.iter().copied())(&graph, &[input]).expect("valid").outputs[0].bound[0]
    }

    #[test]
    fn bounds_are_narrower_if_only_the_processor_computes() {
        let (processor, gpu) = (Arithmetic::STRICT, Arithmetic::default());
        let folded = Arithmetic { sums: Sums::InOperandType, ..processor };
        let (narrow, wide) = (bound(&[processor, processor]), bound(&[gpu]));
        assert!(0.0 < narrow && narrow < wide, "{narrow} {wide}");
        assert_eq!(bound(&[folded]).to_bits(), wide.to_bits());
        assert_eq!(bound(&[processor, gpu]).to_bits(), wide.to_bits());
        assert_eq!(bound(&[]).to_bits(), wide.to_bits());
    }
}
