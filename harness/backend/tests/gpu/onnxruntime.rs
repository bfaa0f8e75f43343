//! ONNX Runtime's CUDA provider.

use twinfer_case::BackendName;

use crate::{
    graphs::{convolution, gaussian, same_lower_deconvolution},
    process::on_each,
    subject::{layers_of, print_layers},
};

const CUDA: &[BackendName] = &[BackendName::OrtCuda];

/// How often the same model is loaded and run to see whether the choice of an algorithm is fixed.
const SESSIONS: usize = 8;

#[test]
fn a_convolution_agrees_with_golden_and_stays_on_the_gpu() {
    on_each(CUDA, |subject| {
        let observation = subject.agrees(&convolution())?;
        match observation.precision {
            Some(precision) if precision.layers.iter().any(|layer| layer.placement.is_some()) => {
                Err(format!("{precision:?}").into())
            }
            _ => Ok(()),
        }
    });
}

#[test]
fn the_algorithm_search_is_fixed_and_described() {
    on_each(CUDA, |subject| {
        let options = subject.describe().options;
        println!("{options:?}");
        if options.get("algo").map(String::as_str) != Some("heuristic") {
            return Err(format!("the options in force are {options:?}").into());
        }
        let case = gaussian(convolution());
        let first = subject.agrees(&case)?.runs;
        for _ in 1..SESSIONS {
            if subject.observe(&case)?.runs != first {
                return Err("two sessions gave different bits".into());
            }
        }
        Ok(())
    });
}

#[test]
fn nodes_that_run_on_the_cpu_are_reported_one_by_one() {
    on_each(CUDA, |subject| {
        let observation = subject.observe(&same_lower_deconvolution())?;
        print_layers("with a node on the CPU", &observation);
        let is_on_cpu = layers_of(&observation, "deconv")
            .iter()
            .any(|layer| layer.placement.as_deref() == Some("CPUExecutionProvider"));
        if is_on_cpu { Ok(()) } else { Err(format!("{:?}", observation.outcome).into()) }
    });
}
