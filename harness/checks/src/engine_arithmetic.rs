//! What of a backend's arithmetic holds for one engine.

use twinfer_case::{Algorithms, Arithmetic, Observation};

/// ONNX Runtime's execution provider for the CPU. Its convolutions need none of the bounds of transforming algorithms (docs/performance.md,
/// "Which allowances backends use").
const CPU_PROVIDER: &str = "CPUExecutionProvider";

/// Whether an operator with this name in ONNX or in a backend is a convolution, of floats or integers.
pub fn convolves(operator: &str) -> bool {
    operator.contains("Conv")
}

/// The arithmetic of an engine: that of its backend, and direct sums where the backend says that all of the graph's `convolutions` run on
/// the CPU.
pub fn arithmetic_of(observation: &Observation, convolutions: usize, of_backend: Arithmetic) -> Arithmetic {
    let layers = observation.precision.iter().flat_map(|precision| &precision.layers);
    let on_cpu = layers.filter(|layer| layer.placement.as_deref() == Some(CPU_PROVIDER));
    let are_all_on_cpu = on_cpu.filter(|layer| convolves(&layer.operator)).count() >= convolutions;
    if are_all_on_cpu { of_backend.with(Algorithms::Direct) } else { of_backend }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{ChosenPrecision, LayerInfo, Outcome, PrecisionSource, Stage};

    use super::*;

    fn layer(operator: &str, placement: Option<&str>) -> LayerInfo {
        LayerInfo {
            name: String::new(),
            operator: operator.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            weights: None,
            tactic: None,
            placement: placement.map(str::to_owned),
            nodes: Vec::new(),
        }
    }

    fn algorithms(layers: Vec<LayerInfo>, convolutions: usize) -> Algorithms {
        let precision = ChosenPrecision { source: PrecisionSource::NodePlacement, layers };
        let observation =
            Observation { precision: Some(precision), ..Observation::new(Stage::Execute, Outcome::Ok) };
        let of_backend = Arithmetic { algorithms: Algorithms::Any, ..Arithmetic::default() };
        arithmetic_of(&observation, convolutions, of_backend).algorithms
    }

    #[test]
    fn convolutions_on_the_cpu_are_direct() {
        let on_cpu = || layer("QLinearConv", Some(CPU_PROVIDER));
        assert_eq!(algorithms(vec![on_cpu()], 1), Algorithms::Direct);
        assert_eq!(algorithms(vec![on_cpu()], 2), Algorithms::Any, "one of two runs on the device");
        assert_eq!(algorithms(vec![layer("Relu", Some(CPU_PROVIDER))], 1), Algorithms::Any);
        assert_eq!(algorithms(vec![layer("Conv", None)], 1), Algorithms::Any);
        assert_eq!(algorithms(vec![layer("Conv", Some("PyTorch"))], 1), Algorithms::Any);
    }
}
