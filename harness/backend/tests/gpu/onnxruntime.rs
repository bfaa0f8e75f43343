//! ONNX Runtime's CUDA provider.

use libtest_mimic::Failed;

use crate::{
    graphs::{convolution, gaussian, same_lower_deconvolution},
    subject::{Subject, Test, layers_of, print_layers},
};

/// How often the same model is loaded and run to see whether the choice of an algorithm is fixed.
const SESSIONS: usize = 8;

pub fn tests() -> Vec<Test> {
    vec![
        ("a convolution agrees with golden and stays on the GPU", a_convolution_stays_on_the_gpu),
        ("the algorithm search is fixed, and is told", the_algorithm_search_is_fixed),
        ("what runs on the CPU is told node by node", a_fallback_is_told),
    ]
}

fn a_convolution_stays_on_the_gpu(subject: Subject) -> Result<(), Failed> {
    let observation = subject.agrees(&convolution())?;
    match observation.precision {
        Some(precision) if precision.layers.iter().any(|layer| layer.placement.is_some()) => {
            Err(format!("{precision:?}").into())
        }
        _ => Ok(()),
    }
}

fn the_algorithm_search_is_fixed(subject: Subject) -> Result<(), Failed> {
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
}

fn a_fallback_is_told(subject: Subject) -> Result<(), Failed> {
    let observation = subject.observe(&same_lower_deconvolution())?;
    print_layers("with a node on the CPU", &observation);
    let on_cpu = |node| {
        layers_of(&observation, node)
            .iter()
            .any(|layer| layer.placement.as_deref() == Some("CPUExecutionProvider"))
    };
    if on_cpu("deconv") { Ok(()) } else { Err(format!("{:?}", observation.outcome).into()) }
}
