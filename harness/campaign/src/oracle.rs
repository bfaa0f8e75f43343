use std::sync::Arc;

use twinfer_case::{Backend, Variant};
use twinfer_golden::{Arithmetic, Evaluation, Sums, Unknown, evaluate_as};
use twinfer_onnx::{Graph, Tensor};

/// The reference semantics: golden, or something else where the campaign itself is under test.
pub type Oracle = Arc<dyn Fn(&Graph, &[Tensor]) -> Result<Evaluation, Unknown> + Send + Sync>;

/// Golden with bounds that hold wherever one of `variants` computes.
pub fn golden_for(variants: &[Variant]) -> Oracle {
    let known = variants.iter().map(arithmetic).reduce(Arithmetic::or);
    let arithmetic = known.unwrap_or_default();
    Arc::new(move |graph, inputs| evaluate_as(graph, inputs, arithmetic, &[]))
}

/// What is known of a variant's arithmetic. ONNX Runtime has no 16-bit kernels on the CPU: it casts to 32-bit floats and
/// back, and it leaves the processor's gradual underflow on. Its graph optimisations fold BatchNormalization and the like
/// into 16-bit weights, which are rounded then as any operand of a sum might be.
pub fn arithmetic(variant: &Variant) -> Arithmetic {
    let is_optimized = variant.options.get("opt").is_none_or(|level| level != "off");
    match variant.backend {
        Backend::OrtCpu if is_optimized => Arithmetic { sums: Sums::InOperandType, ..Arithmetic::STRICT },
        Backend::Golden | Backend::OrtCpu => Arithmetic::STRICT,
        Backend::OrtCuda | Backend::Trt | Backend::TrtApi | Backend::TrtRtx | Backend::External(_) => {
            Arithmetic::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Node, Op, ValueInfo};

    use super::*;

    /// The bound of a sum of two 16-bit floats that rounds.
    fn bound(variants: &[&str]) -> f64 {
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
        let variants: Vec<Variant> = variants.iter().map(|name| name.parse().expect("a variant")).collect();
        golden_for(&variants)(&graph, &[input]).expect("valid").outputs[0].bound[0]
    }

    #[test]
    fn bounds_are_narrower_where_only_the_processor_computes() {
        let narrow = bound(&["golden", "ort:cpu,opt=off"]);
        let wide = bound(&["trt"]);
        assert!(0.0 < narrow && narrow < wide, "{narrow} {wide}");
        assert_eq!(bound(&["ort:cpu"]).to_bits(), wide.to_bits());
        assert_eq!(bound(&["ort:cpu", "trt"]).to_bits(), wide.to_bits());
    }
}
