//! TensorRT on a GPU, by its parser and layer by layer.

use twinfer_case::{BackendName, Outcome, PrecisionSource};
use twinfer_onnx::DataType;

use crate::{
    common::{Quantized, quantized},
    graphs::{dynamic_deconvolution, pads_that_follow, two_by_two},
    process::{TestResult, on_each},
    subject::{Subject, layers_of, print_layers},
};

const BOTH: &[BackendName] = &[BackendName::Trt, BackendName::TrtApi];
const LAYER_BY_LAYER: &[BackendName] = &[BackendName::TrtApi];

#[test]
fn engine_tensors_are_paired_by_name() {
    on_each(BOTH, |subject| subject.agrees(&two_by_two()).map(drop));
}

#[test]
fn the_level_in_force_is_described() {
    on_each(BOTH, |subject| {
        let description = subject.describe();
        println!("{}: {:?}", description.backend_version(), description.options);
        let level = description.options.get("level").ok_or("no level is described")?;
        if level == "none" || level.parse::<u8>().is_ok() { Ok(()) } else { Err(level.as_str().into()) }
    });
}

#[test]
fn an_int8_convolution_has_int8_operands_and_weights() {
    on_each(BOTH, |subject| {
        is_fused(
            subject,
            Quantized { is_transposed: false, channels: (32, 32), group: 1, is_per_channel: true },
        )
    });
}

#[test]
fn an_int8_deconvolution_has_int8_operands_and_weights() {
    on_each(BOTH, |subject| {
        is_fused(
            subject,
            Quantized { is_transposed: true, channels: (32, 32), group: 1, is_per_channel: true },
        )
    });
}

fn is_fused(subject: &mut Subject, form: Quantized) -> TestResult {
    let observation = subject.agrees(&quantized(form))?;
    print_layers("between pairs of quantizers", &observation);
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

#[test]
fn a_depthwise_convolution_reports_its_precision() {
    on_each(BOTH, |subject| {
        let form = Quantized { is_transposed: false, channels: (8, 8), group: 8, is_per_channel: true };
        let observation = subject.observe(&quantized(form))?;
        print_layers("depthwise", &observation);
        if layers_of(&observation, "conv").iter().any(|layer| !layer.inputs.is_empty()) {
            Ok(())
        } else {
            Err(format!("{:?}: no layer that covers conv reports its types", observation.outcome).into())
        }
    });
}

#[test]
fn a_strip_follows_dynamic_extents_over_one_axis() {
    on_each(LAYER_BY_LAYER, |subject| subject.agrees(&dynamic_deconvolution(1)).map(drop));
}

#[test]
fn a_strip_follows_dynamic_extents_over_two_axes() {
    on_each(LAYER_BY_LAYER, |subject| subject.agrees(&dynamic_deconvolution(2)).map(drop));
}

#[test]
fn a_strip_follows_dynamic_extents_over_three_axes() {
    on_each(LAYER_BY_LAYER, |subject| subject.agrees(&dynamic_deconvolution(3)).map(drop));
}

#[test]
fn pads_that_follow_a_dynamic_extent_are_refused_by_a_rule() {
    on_each(LAYER_BY_LAYER, |subject| {
        let case = pads_that_follow();
        let observation = subject.observe(&case)?;
        if !matches!(observation.outcome, Outcome::Rejected(_)) {
            return Err(format!("{:?} in {}", observation.outcome, observation.stage).into());
        }
        match subject.describe().refusals(&case.graph).next() {
            Some(capability) if capability.rule == "trt-api-dynamic-pads" => Ok(()),
            other => Err(format!("predicted by {other:?}").into()),
        }
    });
}
