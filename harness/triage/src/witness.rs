//! *Witnesses*: the structure of a minimal case with values on which mutants do not agree by accident.

use twinfer_case::{Case, Recipe, Regime, TensorSource};
use twinfer_minimize::grown;
use twinfer_onnx::{DataType, Graph, Op, Tensor};

/// How the values of each witness are distributed.
const WITNESSES: [Values; 10] = {
    use Values::{Large, Rotated, Small};
    [Small, Small, Large, Large, Rotated(1), Rotated(2), Small, Small, Large, Large]
};

/// The distribution of values.
#[derive(Clone, Copy)]
enum Values {
    /// Multiples of 1/8 below 8, and integers of 4 bits.
    Small,
    /// Multiples of 1/2 below 512, so that quantizers saturate, and integers of the whole range.
    Large,
    /// The values of the case itself, moved by so many places; small ones where that changes nothing.
    Rotated(usize),
}

/// Cases with the graph of a case and other values: elements of operands are small multiples of a power of two. What shapes and what quantizes stays: scales, zero points, and the variance of a BatchNormalization.
pub fn witnesses(case: &Case) -> Vec<Case> {
    let drawn = |(number, values): (u64, Values)| {
        let seed = (number + 1) << 32;
        Some(witness(case, values, seed))
            .filter(|one| !is_same(one, case))
            .unwrap_or_else(|| witness(case, Values::Small, seed))
    };
    (0_u64..).zip(WITNESSES).map(drawn).collect()
}

/// Whether two cases of one graph have the same values.
fn is_same(one: &Case, other: &Case) -> bool {
    one.runs == other.runs && one.graph.initializers == other.graph.initializers
}

/// Witnesses of cases with the structure of a case and twice its extent somewhere: mistakes in the choice of an element may agree where there
/// is but one.
pub fn larger_witnesses(case: &Case) -> Vec<Case> {
    let grown = grown(case);
    let drawn = grown.iter().flat_map(|grown| [(grown, Values::Small), (grown, Values::Large)]);
    (0_u64..).zip(drawn).map(|(number, (grown, values))| witness(grown, values, (number + 1) << 40)).collect()
}

fn witness(original: &Case, values: Values, mut seed: u64) -> Case {
    let mut case = Case { provenance: None, ..original.clone() };
    let is_drawn: Vec<_> =
        original.graph.initializers.iter().map(|one| is_operand(&original.graph, &one.name)).collect();
    let operands = case.graph.initializers.iter_mut().zip(is_drawn).filter(|(_, is_drawn)| *is_drawn);
    for (initializer, _) in operands {
        seed += 1;
        initializer.tensor = redrawn(&initializer.tensor, values, seed);
    }
    for source in case.runs.iter_mut().flat_map(|run| &mut run.inputs) {
        seed += 1;
        match source {
            TensorSource::Data(tensor) => *tensor = redrawn(tensor, values, seed),
            TensorSource::Recipe(recipe) => recipe.seed ^= seed,
        }
    }
    case
}

/// A tensor like `tensor` with other elements.
fn redrawn(tensor: &Tensor, values: Values, seed: u64) -> Tensor {
    let (exact, bits) = match values {
        Values::Small => (Regime::Exact { limit: 63, exponent: -3 }, 4),
        Values::Large => (Regime::Exact { limit: 1023, exponent: -1 }, 8),
        Values::Rotated(places) => return rotated(tensor, places),
    };
    let regime = match tensor.dtype() {
        DataType::Uint8 => Regime::Integers { least: 0, greatest: (1 << bits) - 1 },
        DataType::Int8 => Regime::Integers { least: -(1 << (bits - 1)), greatest: (1 << (bits - 1)) - 1 },
        DataType::Int32 => Regime::Integers { least: -1000, greatest: 1000 },
        _ => exact,
    };
    let recipe = Recipe { dtype: tensor.dtype(), shape: tensor.shape.clone(), regime, seed };
    recipe.materialize().unwrap_or_else(|_| tensor.clone())
}

fn rotated(tensor: &Tensor, places: usize) -> Tensor {
    let mut values = tensor.to_f64();
    let places = places % values.len().max(1);
    values.rotate_left(places);
    Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values).unwrap_or_else(|_| tensor.clone())
}

/// Whether nodes read a value only as data, weights or bias.
fn is_operand(graph: &Graph, name: &str) -> bool {
    let is_read_as = |op: &Op, place: usize| match op {
        Op::Clip | Op::QuantizeLinear(_) | Op::DequantizeLinear(_) => place == 0,
        Op::Conv(_) | Op::ConvTranspose(_) => place <= 2,
        Op::BatchNormalization(_) => place <= 3,
        Op::Add
        | Op::AveragePool(_)
        | Op::Concat(_)
        | Op::GlobalAveragePool
        | Op::HardSwish
        | Op::Identity
        | Op::LeakyRelu(_)
        | Op::MaxPool(_)
        | Op::Mul
        | Op::Relu
        | Op::Sigmoid
        | Op::Transpose(_) => true,
        // the integers of a quantized operator go with its scales and zero points
        _ => false,
    };
    graph.readers(name).all(|node| {
        node.inputs.iter().enumerate().all(|(place, input)| input != name || is_read_as(&node.op, place))
    })
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, Request, Run};
    use twinfer_onnx::{Initializer, Node, QuantizeLinear, TensorData, ValueInfo};

    use super::*;

    /// A QuantizeLinear of these elements.
    fn quantizing(x: Vec<f32>) -> Case {
        let tensor = |values: Vec<f32>| Tensor { shape: vec![values.len()], data: TensorData::Float(values) };
        let (x, scale) = (tensor(x), Tensor { shape: vec![], data: TensorData::Float(vec![0.5]) });
        let quantize = Node {
            name: String::new(),
            op: Op::QuantizeLinear(QuantizeLinear::default()),
            inputs: vec!["x".to_owned(), "scale".to_owned()],
            outputs: vec!["y".to_owned()],
        };
        let value = |name: &str, dtype| ValueInfo { name: name.to_owned(), dtype, shape: None };
        let graph = Graph {
            opset: 13,
            inputs: vec![value("x", DataType::Float)],
            initializers: vec![Initializer { name: "scale".to_owned(), tensor: scale }],
            nodes: vec![quantize],
            outputs: vec![value("y", DataType::Uint8)],
        };
        Case {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    fn fed(case: &Case) -> Vec<f64> {
        case.runs[0].inputs[0].tensor().expect("it is small").to_f64()
    }

    #[test]
    fn no_witness_is_the_minimal_case() {
        let minimal = quantizing(vec![1.0]);
        let witnesses = witnesses(&minimal);
        assert_eq!(witnesses.len(), WITNESSES.len());
        assert!(witnesses.iter().all(|witness| fed(witness) != [1.0]));
    }

    #[test]
    fn witnesses_have_other_data_and_the_same_scale() {
        let minimal = quantizing(vec![0.0, 0.0, 1.0]);
        let witnesses = witnesses(&minimal);
        assert!(witnesses.iter().all(|witness| witness.graph == minimal.graph));
        let mut different: Vec<_> = witnesses.iter().map(fed).collect();
        different.dedup();
        assert!(different.len() >= 4, "{different:?}");
        let larger = larger_witnesses(&minimal);
        assert_eq!(larger.len(), 2, "small and large values");
        assert!(larger.iter().all(|witness| fed(witness).len() == 6 && witness.graph == minimal.graph));
        assert_ne!(fed(&larger[0]), fed(&larger[1]));
    }
}
