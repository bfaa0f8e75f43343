//! Golden replaced by references with a planted mutant: the checks must notice wherever the mutant changes the output.
//!
//! `TWINFER_FULL=1` runs 20,000 cases a family and prints what was detected, mutant by mutant.

use twinfer_case::{Case, Description, Observation, Outcome, RunOutput, Stage, Variant, Verdict};
use twinfer_checks::{Evidence, judge};
use twinfer_generators::Family;
use twinfer_golden::{Evaluation, Mutant, Unknown, evaluate, evaluate_with};
use twinfer_onnx::Tensor;

/// The mutants of Conv and `ConvTranspose`; operands rounded to another type are what a bound may allow for.
const DEFECTS: [Mutant; 12] = [
    Mutant::PadShifted,
    Mutant::PadsSwapped,
    Mutant::GroupsInterleaved,
    Mutant::GroupsCollapsed,
    Mutant::KernelReversed,
    Mutant::OutputPaddingIgnored,
    Mutant::OutputPaddingInFront,
    Mutant::DilationIgnored,
    Mutant::StrideShort,
    Mutant::BiasDropped,
    Mutant::BiasOnlyWhereReached,
    Mutant::SameSwapped,
];

/// What became of the cases that a mutant touches.
#[derive(Clone, Debug, Default)]
struct Detection {
    changed: u64,
    detected: u64,
}

fn cases() -> impl Iterator<Item = Case> {
    let count = if std::env::var_os("TWINFER_FULL").is_some() { 20_000 } else { 400 };
    [Family::Conv, Family::Deconv].into_iter().flat_map(move |family| {
        let stream = family.stream(5);
        (0..count).map(move |index| stream.case(index))
    })
}

/// What a backend answers that is right in every way.
fn truthful(outputs: Vec<Vec<Tensor>>) -> Observation {
    let run = |outputs| RunOutput { outputs, intermediates: Vec::new() };
    Observation {
        stage: Stage::Execute,
        outcome: Outcome::Ok,
        inferred_shapes: None,
        runs: outputs.into_iter().map(run).collect(),
        precision: None,
        log: Vec::new(),
        timings: Vec::new(),
    }
}

fn outputs(references: &[Result<Evaluation, Unknown>]) -> Option<Vec<Vec<Tensor>>> {
    let tensors = |evaluation: &Evaluation| -> Option<Vec<Tensor>> {
        if !evaluation.unspecified.is_empty() {
            return None;
        }
        evaluation.outputs.iter().map(|output| output.to_tensor().ok()).collect()
    };
    references.iter().map(|reference| reference.as_ref().ok().and_then(tensors)).collect()
}

/// Whether the mutant changes an output that a backend can be held to: one whose bound is not infinite, as it is where
/// the values overflow.
fn changes(references: &[Result<Evaluation, Unknown>], mutantive: &[Result<Evaluation, Unknown>]) -> bool {
    references.iter().zip(mutantive).any(|pair| match pair {
        (Ok(reference), Ok(mutantive)) if mutantive.unspecified.is_empty() => {
            reference.outputs.iter().zip(&mutantive.outputs).any(|(reference, mutantive)| {
                reference.shape != mutantive.shape
                    || (0..reference.values.len()).any(|place| {
                        reference.values[place].to_bits() != mutantive.values[place].to_bits()
                            && reference.bound[place].is_finite()
                            && mutantive.bound[place].is_finite()
                    })
            })
        }
        _ => false,
    })
}

fn verdict(case: &Case, references: &[Result<Evaluation, Unknown>], observation: &Observation) -> Verdict {
    let variant: Variant = "ort:cpu".parse().expect("a variant");
    let description = Description::new("golden", "1", Stage::Execute);
    let evidence = Evidence {
        case,
        variant: &variant,
        description: &description,
        references,
        observation,
        repeat: None,
        fresh: None,
    };
    judge(&evidence).verdict
}

#[test]
fn mutant_references_are_noticed_wherever_they_change_the_output() {
    let mut detections = vec![Detection::default(); DEFECTS.len()];
    for case in cases() {
        let inputs: Vec<Vec<Tensor>> = case
            .runs
            .iter()
            .map(|run| run.inputs.iter().map(|source| source.tensor().expect("small").into_owned()).collect())
            .collect();
        let references: Vec<_> = inputs.iter().map(|inputs| evaluate(&case.graph, inputs)).collect();
        let Some(truth) = outputs(&references) else { continue };
        let observation = truthful(truth.clone());
        let fair = verdict(&case, &references, &observation);
        assert!(matches!(fair, Verdict::Conforms | Verdict::Vacuous), "{fair:?}\n{case:#?}");
        for (mutant, detection) in DEFECTS.iter().zip(&mut detections) {
            let mutantive: Vec<_> =
                inputs.iter().map(|inputs| evaluate_with(&case.graph, inputs, Some(*mutant))).collect();
            if changes(&references, &mutantive) {
                detection.changed += 1;
                let verdict = verdict(&case, &mutantive, &observation);
                detection.detected += u64::from(matches!(verdict, Verdict::Diverges(_)));
            }
        }
    }
    for (mutant, Detection { changed, detected }) in DEFECTS.iter().zip(&detections) {
        println!("{:<24} {detected:>6} of {changed:>6}", mutant.name());
        assert!(*changed >= 50, "{} is hardly ever touched", mutant.name());
        assert!(detected * 100 >= changed * 97, "{}: {detected} of {changed}", mutant.name());
    }
    let sum = |count: fn(&Detection) -> u64| detections.iter().map(count).sum::<u64>();
    let (changed, detected) = (sum(|one| one.changed), sum(|one| one.detected));
    println!("{:<24} {detected:>6} of {changed:>6}", "together");
    assert!(detected * 100 >= changed * 99, "{detected} of {changed}");
}
