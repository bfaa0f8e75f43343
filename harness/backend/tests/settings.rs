//! What variants choose of a build, on a release that builds without a GPU.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod installed;

use common::{Quantized, case, floats, initializer, node, quantized, value};
use installed::opened;
use twinfer_backend::open;
use twinfer_case::{Case, FloatPrecision, Operands, Outcome, Stage, Task};
use twinfer_libraries::Store;
use twinfer_onnx::{Conv, DataType, Dim, Graph, Op, ValueInfo};
use twinfer_prerequisites::skip;

/// A convolution whose batch and extents are dynamic.
fn dynamic() -> Case {
    let extents =
        [Dim::Symbolic("n".to_owned()), Dim::Fixed(2), Dim::Symbolic("h".to_owned()), Dim::Fixed(8)];
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &extents)],
        initializers: vec![initializer("w", floats(&[4, 2, 3, 3], 1))],
        nodes: vec![node("conv", Op::Conv(Conv::default()), &["x", "w"], "y")],
        outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
    };
    case(graph, vec![vec![floats(&[1, 2, 8, 8], 3)], vec![floats(&[2, 2, 5, 8], 4)]])
}

/// One test, since a process has one logger for TensorRT, which tells the backend that was opened last.
#[test]
fn every_setting_builds_what_the_defaults_build() {
    let installed = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let Ok(installed) = installed.map_err(|error| skip("tensorrt-rtx", error)) else { return };
    let cases = [
        dynamic(),
        quantized(Quantized { is_transposed: false, channels: (8, 8), group: 1, is_per_channel: true }),
    ];
    for setting in [
        "precision=graph",
        "precision=fp32",
        "precision=tf32",
        "profile=smallest",
        "profile=largest",
        "profile=beyond",
        "timing=worker",
        "timing=off",
        "vc=on",
        "level=0,vc=on,profile=beyond",
    ] {
        let variant = format!("trt-rtx,lib={},{setting}", installed.directory.display());
        let Some(mut backend) = opened(&variant) else { return };
        for case in &cases {
            let observation = backend.run(&Task::of(case).unwrap(), &mut |_| {});
            assert_eq!(observation.outcome, Outcome::Ok, "{setting}");
            assert!(observation.stage >= Stage::Build, "{setting}");
        }
        let description = backend.describe();
        let (key, word) = setting.split(',').next_back().unwrap().split_once('=').unwrap();
        assert_eq!(description.options[key], word, "the setting is described");
        let operands = match setting {
            "precision=fp32" => Operands::Exact,
            "precision=tf32" => Operands::Tf32,
            _ => Operands::Tf32IfAsked,
        };
        assert_eq!(description.arithmetic.operands, operands, "{setting}");
        assert_eq!(description.float_precision, Some(FloatPrecision::default()), "{setting}");
    }
    for (setting, reason) in [
        ("precision=fp16", "option precision=fp16 is not in TensorRT-RTX"),
        ("precision=best", "option precision=best is not in TensorRT-RTX"),
        ("layers=fp16", r#"trt-rtx has no option "layers": use one of device, level,"#),
        ("profile=none", "option profile=none: use one of first, smallest, largest, beyond"),
    ] {
        let variant = format!("trt-rtx,lib={},{setting}", installed.directory.display());
        let refused = open(&variant.parse().unwrap()).err().unwrap().to_string();
        assert!(refused.starts_with(reason), "{refused}");
    }
    let without_gpu =
        open(&format!("trt-rtx,lib={},refit=on", installed.directory.display()).parse().unwrap());
    if twinfer_backend::has_cuda_device() {
        eprintln!("skipped: refit=on is refused only without a CUDA device");
    } else {
        let refused = without_gpu.err().unwrap().to_string();
        assert!(refused.starts_with("option refit=on needs a GPU"), "{refused}");
    }
}
