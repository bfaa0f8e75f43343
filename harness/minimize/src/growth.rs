use std::collections::HashSet;

use twinfer_case::{Case, TensorSource};

use crate::{
    fit::Baseline,
    passes::{axes, channels},
};

/// Elements of the largest case that grows.
const MOST_ELEMENTS: usize = 256;

/// Larger cases with the structure of a small one, each of twice its extent somewhere: the batch, the channels, an axis of the data or
/// of a kernel. Elements come twice for that, and scales and zero points with them. None of a case that is not small.
pub fn grown(case: &Case) -> Vec<Case> {
    let elements = elements(case);
    if elements > MOST_ELEMENTS {
        return Vec::new();
    }
    let Some(baseline) = Baseline::of(case) else { return Vec::new() };
    let mut seen = HashSet::new();
    let candidates = axes::grow(case, &baseline).chain(channels::more(case, &baseline));
    let sound = candidates.filter_map(|candidate| baseline.fit(candidate));
    let larger = sound.filter(|candidate| self::elements(candidate) > elements);
    larger.filter(|candidate| candidate.hash().is_ok_and(|hash| seen.insert(hash))).collect()
}

/// The elements of all inputs and initializers.
fn elements(case: &Case) -> usize {
    let constant = case.graph.initializers.iter().map(|initializer| initializer.tensor.len());
    let fed = case.runs.iter().flat_map(|run| &run.inputs).map(TensorSource::shape);
    constant.chain(fed.map(|shape| shape.iter().product())).sum()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, Request, Run};
    use twinfer_onnx::{
        ConvTranspose, DataType, DequantizeLinear, Graph, Initializer, Node, Op, Tensor, TensorData,
        ValueInfo,
    };

    use super::*;

    /// A ConvTranspose of one input channel and two output channels, whose weights have a scale for each output channel.
    fn case() -> Case {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let node = |op, inputs: &[&str], output: &str| Node {
            name: output.to_owned(),
            op,
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
        };
        let initializer = |name: &str, shape: &[usize], data| Initializer {
            name: name.to_owned(),
            tensor: Tensor { shape: shape.to_vec(), data },
        };
        let x = Tensor { shape: vec![1, 1, 1], data: TensorData::Float(vec![1.0]) };
        Case {
            graph: Graph {
                opset: 17,
                inputs: vec![value("x")],
                initializers: vec![
                    initializer("w", &[1, 2, 1], TensorData::Int8(vec![3, 5])),
                    initializer("scale", &[2], TensorData::Float(vec![0.5, 2.0])),
                ],
                nodes: vec![
                    node(
                        Op::DequantizeLinear(DequantizeLinear { axis: Some(1) }),
                        &["w", "scale"],
                        "dequantized",
                    ),
                    node(Op::ConvTranspose(ConvTranspose::default()), &["x", "dequantized"], "y"),
                ],
                outputs: vec![value("y")],
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    #[test]
    fn every_extent_grows() {
        let shapes = |case: &Case| {
            let input = case.runs[0].inputs[0].shape().to_vec();
            let parameters = case.graph.initializers.iter().map(|one| one.tensor.shape.clone());
            [vec![input], parameters.collect()].concat()
        };
        let grown: Vec<_> = grown(&case()).iter().map(shapes).collect();
        for expected in [
            [vec![2, 1, 1], vec![1, 2, 1], vec![2]],
            [vec![1, 1, 1], vec![1, 4, 1], vec![4]],
            [vec![1, 1, 2], vec![1, 2, 1], vec![2]],
            [vec![1, 1, 1], vec![1, 2, 2], vec![2]],
            [vec![1, 2, 1], vec![2, 2, 1], vec![2]],
        ] {
            assert!(grown.contains(&expected.to_vec()), "{expected:?} is not in {grown:?}");
        }
        assert_eq!(grown.len(), 5, "{grown:?}");
    }

    #[test]
    fn large_case_does_not_grow() {
        let mut case = case();
        let x = Tensor { shape: vec![1, 1, 300], data: TensorData::Float(vec![1.0; 300]) };
        case.runs[0].inputs[0] = TensorSource::Data(x);
        assert!(grown(&case).is_empty());
    }
}
