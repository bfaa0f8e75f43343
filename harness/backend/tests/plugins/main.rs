//! Execution providers that ONNX Runtime loads as plugins: what each says of this machine, and where nodes run.
//!
//! OpenVINO's has a device on processors made by Intel only. `TWINFER_OPENVINO_PLUGIN` names the library of a build that has one here.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::env;

use twinfer_backend::{Backend, OpenError, open};
use twinfer_case::{Outcome, PrecisionSource, Request, Stage, Task, Variant};
use twinfer_onnx::{DataType, Tensor};

/// A `Conv`, which OpenVINO takes, and an `LpPool`, which it does not.
const CONV_LP_POOL: &[u8] = include_bytes!("conv_lp_pool.onnx");

/// OpenVINO's provider, unless it is not installed or has no device here.
fn openvino() -> Option<Box<dyn Backend>> {
    let plugin = env::var("TWINFER_OPENVINO_PLUGIN").map(|path| format!(",plugin={path}"));
    let variant: Variant = format!("ort:ep=openvino{}", plugin.unwrap_or_default()).parse().unwrap();
    match open(&variant) {
        Ok(backend) => Some(backend),
        Err(error @ (OpenError::Library(_) | OpenError::NoDevice { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn nodes_that_a_plugin_leaves_are_reported() {
    let Some(mut backend) = openvino() else { return };
    let input = Tensor::from_f64(DataType::Float, vec![1, 2, 6, 6], &[1.0; 72]).unwrap();
    let request = Request { precision: DataType::Float, tf32: false };
    let task = Task::new(CONV_LP_POOL.to_vec(), request, vec![vec![input]]);
    let observation = backend.run(&task, &mut |_| {});
    assert_eq!((observation.outcome, observation.stage), (Outcome::Ok, Stage::Execute));
    let precision = observation.precision.unwrap();
    assert_eq!(precision.source, PrecisionSource::NodePlacement);
    let [layer] = &precision.layers[..] else { panic!("{:?}", precision.layers) };
    assert_eq!((layer.name.as_str(), layer.operator.as_str()), ("pool", "LpPool"));
    assert_eq!(layer.placement.as_deref(), Some("CPUExecutionProvider"));
}

#[test]
fn plugin_that_is_no_library_is_an_error_of_its_own() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let variant = format!("ort:ep=openvino,plugin={}", file.path().display()).parse().unwrap();
    let Err(error) = open(&variant) else { panic!("an empty file is a plugin") };
    if matches!(error, OpenError::Library(_)) {
        eprintln!("skipped: {error}");
        return;
    }
    let text = error.to_string();
    assert!(text.starts_with("ONNX Runtime does not load the plugin "), "{text}");
}
