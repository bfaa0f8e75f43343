//! The precision that real libraries chose, as they tell it on a machine without a GPU.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod installed;

use common::{Quantized, quantized};
use installed::opened;
use twinfer_backend::Backend;
use twinfer_case::{ChosenPrecision, LayerInfo, Outcome, PrecisionSource, Task};
use twinfer_libraries::Store;
use twinfer_onnx::DataType::{Float, Int8, Uint8};

const CONVOLUTION: Quantized =
    Quantized { is_transposed: false, channels: (8, 8), group: 1, is_per_channel: true };
const DEPTHWISE: Quantized = Quantized { group: 8, ..CONVOLUTION };
const DECONVOLUTION: Quantized = Quantized { is_transposed: true, ..CONVOLUTION };

fn chosen(backend: &mut dyn Backend, form: Quantized) -> ChosenPrecision {
    let observation = backend.run(&Task::of(&quantized(form)).unwrap(), &mut |_| {});
    assert_eq!(observation.outcome, Outcome::Ok);
    assert_eq!(observation.log, [], "what is asked of a library for this leaves no trace in the log");
    observation.precision.unwrap()
}

/// The layer that computes the convolution.
fn window(precision: &ChosenPrecision) -> &LayerInfo {
    let covers = |layer: &&LayerInfo| layer.nodes.iter().any(|node| node == "conv");
    precision.layers.iter().filter(covers).find(|layer| layer.weights.is_some()).unwrap()
}

/// One test, since a process has one logger for TensorRT, which tells the backend that was opened last.
#[test]
fn tensorrt_rtx_tells_from_its_build_log_what_runs_on_int8() {
    let installed = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let Ok(installed) = installed.map_err(|error| eprintln!("skipped: {error}")) else { return };
    for variant in ["trt-rtx", "trt-api"] {
        let variant = format!("{variant},lib={}", installed.directory.display());
        let Some(mut backend) = opened(&variant) else { return };
        tells_what_runs_on_int8(backend.as_mut());
    }
}

fn tells_what_runs_on_int8(backend: &mut dyn Backend) {
    for form in [CONVOLUTION, DEPTHWISE] {
        let precision = chosen(backend, form);
        assert_eq!(precision.source, PrecisionSource::BuildLog);
        let layer = window(&precision);
        assert_eq!((&layer.inputs[..], layer.weights), (&[Int8][..], Some(Int8)));
        assert!(layer.tactic.is_some());
    }
    let precision = chosen(backend, DECONVOLUTION);
    let layer = window(&precision);
    assert_eq!((&layer.inputs[..], layer.weights), (&[Float, Float][..], Some(Float)));
}

#[test]
fn onnx_runtime_tells_from_its_optimized_graph_what_it_fused() {
    let Some(mut backend) = opened("ort:cpu") else { return };
    for form in [CONVOLUTION, DEPTHWISE] {
        let precision = chosen(backend.as_mut(), form);
        assert_eq!(precision.source, PrecisionSource::OptimizedGraph);
        let layer = window(&precision);
        assert_eq!(layer.operator, "QLinearConv");
        // it changes int8 activations to uint8, and their zero points with them
        assert_eq!((&layer.inputs[..], layer.weights), (&[Uint8][..], Some(Int8)));
    }
    let precision = chosen(backend.as_mut(), DECONVOLUTION);
    let layer = window(&precision);
    assert_eq!((layer.operator.as_str(), layer.weights), ("ConvTranspose", Some(Float)));
}
