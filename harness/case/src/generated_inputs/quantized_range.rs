//! Inputs that are quantized: values for both ends of the quantizer's range, and for its ties.

use twinfer_onnx::{DataType, Op, PartialGraph, PartialNode, Tensor, ValueInfo};

use crate::{Recipe, Regime};

/// How many steps the values reach beyond each end of the range.
const BEYOND: i32 = 8;

/// What a QuantizeLinear tells apart: multiples of its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedRange {
    scale: f64,
    /// The quantized values less the zero point.
    least: i32,
    greatest: i32,
}

impl QuantizedRange {
    /// The range of the first QuantizeLinear to 8 bits that reads an input; `None` if none does, or its scale is computed or is not positive. If it
    /// has several scales, that of the first channel.
    pub fn of(input: &ValueInfo, graph: &PartialGraph) -> Option<Self> {
        let constant = |name: &str| {
            let stored = graph.initializers.iter().find(|stored| stored.name == name);
            stored.map(|stored| (stored.tensor.dtype(), stored.tensor.to_f64().first().copied()))
        };
        graph.nodes.iter().find_map(|node| {
            let PartialNode::Known(node) = node else { return None };
            let is_reader =
                matches!(node.op, Op::QuantizeLinear(_)) && node.inputs.first() == Some(&input.name);
            let scale = constant(node.inputs.get(1).filter(|_| is_reader)?)?.1?;
            let zero_point = node.inputs.get(2).filter(|name| !name.is_empty());
            let (dtype, zero_point) =
                zero_point.map_or(Some((DataType::Uint8, Some(0.0))), |name| constant(name))?;
            let (least, greatest) = match dtype {
                DataType::Uint8 => (0, 255),
                DataType::Int8 => (-128, 127),
                _ => return None,
            };
            let zero_point = zero_point? as i32;
            let is_usable = scale.is_finite() && scale > 0.0;
            is_usable.then_some(Self { scale, least: least - zero_point, greatest: greatest - zero_point })
        })
    }

    /// A tensor like that of `recipe`, of multiples of half a step from below the range to above it: half of them are ties.
    pub fn half_steps(&self, recipe: &Recipe) -> Option<Tensor> {
        let regime =
            Regime::Integers { least: 2 * (self.least - BEYOND), greatest: 2 * (self.greatest + BEYOND) };
        drawn(recipe, regime, |steps| steps / 2.0 * self.scale)
    }

    /// A tensor like that of `recipe`, of normal values, of which one in twenty is beyond the range.
    pub fn spread(&self, recipe: &Recipe) -> Option<Tensor> {
        let middle = f64::from(self.least + self.greatest) / 2.0;
        let deviation = f64::from(self.greatest - self.least) / 4.0;
        drawn(recipe, Regime::Gaussian, |value| (middle + value * deviation) * self.scale)
    }
}

/// A tensor like that of `recipe`, with values of another regime as they are `scaled`.
fn drawn(recipe: &Recipe, regime: Regime, scaled: impl Fn(f64) -> f64) -> Option<Tensor> {
    let exact = Recipe { dtype: DataType::Double, regime, ..recipe.clone() };
    let values: Vec<_> = exact.materialize().ok()?.to_f64().into_iter().map(scaled).collect();
    Tensor::from_f64(recipe.dtype, recipe.shape.clone(), &values).ok()
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Graph, Initializer, Node, QuantizeLinear};

    use super::*;

    /// What quantizes an input `x` with this scale and this zero point, in a model that quantizes it.
    fn range(scale: f64, zero_point: Option<(DataType, f64)>) -> Option<QuantizedRange> {
        let scalar = |name: &str, dtype, value| Initializer {
            name: name.to_owned(),
            tensor: Tensor::from_f64(dtype, Vec::new(), &[value]).unwrap(),
        };
        let mut inputs = vec!["x".to_owned(), "s".to_owned()];
        let mut initializers = vec![scalar("s", DataType::Float, scale)];
        if let Some((dtype, value)) = zero_point {
            inputs.push("z".to_owned());
            initializers.push(scalar("z", dtype, value));
        }
        let (op, outputs) = (Op::QuantizeLinear(QuantizeLinear::default()), vec!["q".to_owned()]);
        let nodes = vec![Node { name: String::new(), op, inputs, outputs }];
        let x = ValueInfo { name: "x".to_owned(), dtype: DataType::Float, shape: None };
        let graph = Graph { opset: 13, inputs: vec![x.clone()], initializers, nodes, outputs: Vec::new() };
        QuantizedRange::of(&x, &PartialGraph::from(&graph))
    }

    fn recipe() -> Recipe {
        Recipe { dtype: DataType::Float, shape: vec![1, 4000], regime: Regime::Gaussian, seed: 3 }
    }

    #[test]
    fn ranges_are_those_of_the_zero_point() {
        let of = |scale, least, greatest| Some(QuantizedRange { scale, least, greatest });
        assert_eq!(range(0.5, None), of(0.5, 0, 255));
        assert_eq!(range(0.5, Some((DataType::Int8, 0.0))), of(0.5, -128, 127));
        assert_eq!(range(2.0, Some((DataType::Uint8, 128.0))), of(2.0, -128, 127));
        assert_eq!(range(0.0, None), None);
        assert_eq!(range(f64::NAN, None), None);
    }

    #[test]
    fn values_saturate_at_both_ends_and_are_ties() {
        let range = range(0.25, Some((DataType::Int8, 0.0))).unwrap();
        let steps = |tensor: Option<Tensor>| {
            tensor.unwrap().to_f64().into_iter().map(|value| value / 0.25).collect::<Vec<_>>()
        };
        let ties = steps(range.half_steps(&recipe()));
        let count =
            |holds: &dyn Fn(f64) -> bool, steps: &[f64]| steps.iter().filter(|step| holds(**step)).count();
        assert!(count(&|step| (step.fract().abs() - 0.5).abs() < 1e-6, &ties) > 1000);
        for steps in [ties, steps(range.spread(&recipe()))] {
            assert!(count(&|step| step < -129.0, &steps) > 50);
            assert!(count(&|step| step > 128.0, &steps) > 50);
            assert!(count(&|step| step.abs() < 64.0, &steps) > 1500);
        }
    }
}
