//! A model that golden evaluates: the first byte selects the mutant, the second the regime of the inputs.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use twinfer_case::{Recipe, Regime};
use twinfer_golden::{Agreement, Arithmetic, Evaluation, Limits, Mutant, Reference, evaluate_within};
use twinfer_onnx::{Dim, Graph, Tensor, element_count, infer_shapes};

/// The value of symbolic extents.
const EXTENT: usize = 2;

/// Limits so small that every evaluation within them is fast.
const LIMITS: Limits = Limits { elements: 1 << 16, multiply_accumulates: 1 << 20 };

/// Indices into the regimes below.
const REGIMES: [Regime; 6] = [
    Regime::Exact { limit: 8, exponent: -1 },
    Regime::Gaussian,
    Regime::WideRange,
    Regime::Denormal,
    Regime::Saturating,
    Regime::Special,
];

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [mutant, regime, model @ ..] = bytes else { return Corpus::Reject };
    let Ok(graph) = Graph::decode(model) else { return Corpus::Reject };
    let Some(inputs) = inputs(&graph, REGIMES[usize::from(*regime) % REGIMES.len()]) else {
        return Corpus::Reject;
    };
    let within =
        |mutants: &[Mutant]| evaluate_within(&graph, &inputs, Arithmetic::default(), mutants, LIMITS);
    if let Ok(evaluation) = within(&[]) {
        check(&graph, &inputs, &evaluation);
    }
    if let Some(mutant) = Mutant::ALL.get(usize::from(*mutant))
        && let Ok(evaluation) = within(&[*mutant])
    {
        evaluation.outputs.iter().for_each(well_formed);
    }
    Corpus::Keep
});

/// Small inputs of the declared types and shapes.
fn inputs(graph: &Graph, regime: Regime) -> Option<Vec<Tensor>> {
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Symbolic(_) => EXTENT,
    };
    let mut left = LIMITS.elements as usize;
    let draw = |(seed, input): (u64, &twinfer_onnx::ValueInfo)| {
        let shape: Vec<_> = input.shape.as_deref().unwrap_or_default().iter().map(extent).collect();
        left = left.checked_sub(element_count(&shape)?)?;
        Recipe { dtype: input.dtype, shape, regime, seed }.materialize().ok()
    };
    (0..).zip(&graph.inputs).map(draw).collect()
}

fn check(graph: &Graph, inputs: &[Tensor], evaluation: &Evaluation) {
    let shapes: Vec<_> = inputs.iter().map(|tensor| tensor.shape.clone()).collect();
    let shapes = infer_shapes(graph, &shapes).expect("golden evaluated it");
    let found = evaluation.outputs.iter().map(|output| (output.dtype, &output.shape));
    assert!(found.eq(shapes.outputs().iter().map(|output| (output.dtype, &output.shape))));
    for output in &evaluation.outputs {
        well_formed(output);
        agrees_with_itself(output);
    }
}

fn well_formed(output: &Reference) {
    assert_eq!(Some(output.values.len()), element_count(&output.shape));
    assert_eq!(output.values.len(), output.bound.len());
    assert!(output.bound.iter().all(|bound| *bound >= 0.0), "{:?}", output.bound);
    assert!(output.grid_step.is_none_or(|step| step > 0.0));
}

/// The true result, rounded to nearest, agrees with the reference.
fn agrees_with_itself(output: &Reference) {
    let rounded = output.to_tensor().expect("as many values as the shape says");
    for (place, given) in rounded.to_f64().into_iter().enumerate() {
        let agreement = output.compare(place, given);
        assert!(!matches!(agreement, Agreement::Wrong(_)), "{agreement:?} at {place} of {output:?}");
    }
}
