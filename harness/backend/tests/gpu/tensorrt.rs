//! TensorRT on a GPU, by its parser and layer by layer.

use libtest_mimic::Failed;
use twinfer_case::{Outcome, PrecisionSource};
use twinfer_onnx::DataType;

use crate::{
    common::{Quantized, quantized},
    graphs::{dynamic_deconvolution, pads_that_follow, two_by_two},
    subject::{Subject, Test, layers_of, print_layers},
};

/// The tests of `trt` and `trt-api`, and those of the latter alone.
pub fn tests(variant: &str) -> Vec<Test> {
    let mut tests: Vec<Test> = vec![
        ("engine tensors are paired by name", tensors_are_paired_by_name),
        ("the level in force is told", the_level_in_force_is_told),
        ("an int8 convolution shows int8 operands and weights", a_convolution_is_fused),
        ("an int8 deconvolution shows int8 operands and weights", a_deconvolution_is_fused),
        ("a depthwise convolution tells its precision", a_depthwise_convolution_tells_its_precision),
    ];
    if variant.starts_with("trt-api") {
        tests.extend([
            ("a strip follows dynamic extents over one axis", strip_over_one_axis as fn(Subject) -> _),
            ("a strip follows dynamic extents over two axes", strip_over_two_axes),
            ("a strip follows dynamic extents over three axes", strip_over_three_axes),
            ("pads that follow a dynamic extent are refused by a rule", pads_that_follow_are_refused),
        ]);
    }
    tests
}

fn tensors_are_paired_by_name(subject: Subject) -> Result<(), Failed> {
    subject.agrees(&two_by_two()).map(|_| ())
}

fn the_level_in_force_is_told(subject: Subject) -> Result<(), Failed> {
    let description = subject.describe();
    println!("{} {}: {:?}", description.name, description.version, description.options);
    let level = description.options.get("level").ok_or("no level is told")?;
    if level == "none" || level.parse::<u8>().is_ok() { Ok(()) } else { Err(level.clone().into()) }
}

fn a_convolution_is_fused(subject: Subject) -> Result<(), Failed> {
    let form = Quantized { is_transposed: false, channels: (32, 32), group: 1, is_per_channel: true };
    is_fused(subject, form)
}

fn a_deconvolution_is_fused(subject: Subject) -> Result<(), Failed> {
    let form = Quantized { is_transposed: true, channels: (32, 32), group: 1, is_per_channel: true };
    is_fused(subject, form)
}

fn is_fused(subject: Subject, form: Quantized) -> Result<(), Failed> {
    let observation = subject.agrees(&quantized(form))?;
    print_layers("between quantiser pairs", &observation);
    let source = observation.precision.as_ref().map(|precision| precision.source);
    if source != Some(PrecisionSource::EngineInspector) {
        return Err(format!("the precision is known from {source:?}").into());
    }
    let fused = layers_of(&observation, "conv").into_iter().any(|layer| {
        layer.inputs.contains(&DataType::Int8)
            && layer.weights.is_none_or(|weights| weights == DataType::Int8)
    });
    if fused { Ok(()) } else { Err("no layer that covers conv has int8 operands".into()) }
}

fn a_depthwise_convolution_tells_its_precision(subject: Subject) -> Result<(), Failed> {
    let form = Quantized { is_transposed: false, channels: (8, 8), group: 8, is_per_channel: true };
    let observation = subject.observe(&quantized(form))?;
    print_layers("depthwise", &observation);
    let layers = layers_of(&observation, "conv");
    if layers.iter().any(|layer| !layer.inputs.is_empty()) {
        Ok(())
    } else {
        Err(format!("{:?}: no layer that covers conv tells its types", observation.outcome).into())
    }
}

fn strip_over_one_axis(subject: Subject) -> Result<(), Failed> {
    subject.agrees(&dynamic_deconvolution(1)).map(|_| ())
}

fn strip_over_two_axes(subject: Subject) -> Result<(), Failed> {
    subject.agrees(&dynamic_deconvolution(2)).map(|_| ())
}

fn strip_over_three_axes(subject: Subject) -> Result<(), Failed> {
    subject.agrees(&dynamic_deconvolution(3)).map(|_| ())
}

fn pads_that_follow_are_refused(subject: Subject) -> Result<(), Failed> {
    let case = pads_that_follow();
    let observation = subject.observe(&case)?;
    if !matches!(observation.outcome, Outcome::Rejected(_)) {
        return Err(format!("{:?} in {}", observation.outcome, observation.stage).into());
    }
    match subject.describe().refusals(&case.graph).next() {
        Some(capability) if capability.rule == "trt-api-dynamic-pads" => Ok(()),
        other => Err(format!("predicted by {other:?}").into()),
    }
}
