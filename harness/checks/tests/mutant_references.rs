//! Golden replaced by references with a planted mutant: the checks must notice wherever the mutant changes the output.
//!
//! A case counts where nothing conforms to both golden and the mutant: the shape of an output differs, or an element by more
//! than the bounds of both allow. What differs by less, such as a bias that vanishes in a sum, no reference can be expected to
//! notice; how many cases are changed at all is printed beside it. Cases without a reference on both sides are left out:
//! those that touch a point that the specification leaves open, and those that a misread attribute makes invalid.
//!
//! `TWINFER_FULL=1` runs 5,000 cases a family; `TWINFER_RESULTS` is a folder for the table.

use std::{env, fmt::Write as _, fs, path::Path, thread};

use twinfer_case::{Case, Description, Observation, Outcome, RunOutput, Stage, Variant, Verdict};
use twinfer_checks::{Evidence, judge};
use twinfer_generators::Family;
use twinfer_golden::{Evaluation, Mutant, Reference, Unknown, evaluate, evaluate_with};
use twinfer_onnx::Tensor;

const SEED: u64 = 5;

/// What became of the cases that a mutant touches.
#[derive(Clone, Copy, Debug, Default)]
struct Detection {
    /// The output differs.
    changed: u64,
    /// By more than both bounds allow.
    beyond: u64,
    /// And a right backend was found wrong.
    detected: u64,
}

impl Detection {
    const fn and(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            beyond: self.beyond + other.beyond,
            detected: self.detected + other.detected,
        }
    }
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

/// How a mutant's references differ from golden's.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    any: bool,
    beyond: bool,
}

impl Change {
    /// Nothing where one of the two has no answer that a backend must meet.
    fn of(references: &[Result<Evaluation, Unknown>], mutantive: &[Result<Evaluation, Unknown>]) -> Self {
        let mut change = Self::default();
        for (reference, mutantive) in references.iter().zip(mutantive) {
            let (Ok(reference), Ok(mutantive)) = (reference, mutantive) else { return Self::default() };
            if !mutantive.unspecified.is_empty() {
                return Self::default();
            }
            for (reference, mutantive) in reference.outputs.iter().zip(&mutantive.outputs) {
                change.take(reference, mutantive);
            }
        }
        change
    }

    fn take(&mut self, reference: &Reference, mutantive: &Reference) {
        if reference.shape != mutantive.shape {
            *self = Self { any: true, beyond: true };
            return;
        }
        let finite =
            |place: &usize| reference.bound[*place].is_finite() && mutantive.bound[*place].is_finite();
        for place in (0..reference.values.len()).filter(finite) {
            let (golden, mutant) = (reference.values[place], mutantive.values[place]);
            self.any |= golden.to_bits() != mutant.to_bits();
            self.beyond |= (golden - mutant).abs() > allowed(reference, place) + allowed(mutantive, place);
        }
    }
}

/// How far a conforming element may be off.
fn allowed(reference: &Reference, place: usize) -> f64 {
    reference.grid_step.map_or(reference.bound[place], |step| step / 2.0)
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

/// One entry a mutant.
fn detections(family: Family, count: u64) -> Vec<Detection> {
    let stream = family.stream(SEED);
    let mut detections = vec![Detection::default(); Mutant::ALL.len()];
    for case in (0..count).map(|index| stream.case(index)) {
        let inputs: Vec<Vec<Tensor>> = case
            .runs
            .iter()
            .map(|run| run.inputs.iter().map(|source| source.tensor().expect("small").into_owned()).collect())
            .collect();
        let references: Vec<_> = inputs.iter().map(|inputs| evaluate(&case.graph, inputs)).collect();
        let Some(truth) = outputs(&references) else { continue };
        let observation = truthful(truth);
        let fair = verdict(&case, &references, &observation);
        assert!(matches!(fair, Verdict::Conforms | Verdict::Vacuous), "{fair:?}\n{case:#?}");
        for (mutant, detection) in Mutant::ALL.iter().zip(&mut detections) {
            let mutantive: Vec<_> =
                inputs.iter().map(|inputs| evaluate_with(&case.graph, inputs, Some(*mutant))).collect();
            let change = Change::of(&references, &mutantive);
            detection.changed += u64::from(change.any);
            if change.beyond {
                detection.beyond += 1;
                let verdict = verdict(&case, &mutantive, &observation);
                detection.detected += u64::from(matches!(verdict, Verdict::Diverges(_)));
            }
        }
    }
    detections
}

#[test]
fn mutant_references_are_noticed_wherever_they_change_the_output() {
    let is_full = env::var_os("TWINFER_FULL").is_some();
    let count = if is_full { 5_000 } else { 200 };
    let by_family: Vec<_> = thread::scope(|scope| {
        let families = Family::VALID.map(|family| scope.spawn(move || detections(family, count)));
        families.into_iter().map(|family| family.join().expect("no evaluation panics")).collect()
    });
    let detections: Vec<_> = (0..Mutant::ALL.len())
        .map(|place| by_family.iter().map(|family| family[place]).fold(Detection::default(), Detection::and))
        .collect();
    let text = table(count, &detections);
    println!("{text}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        fs::write(folder.join("mutant-references.md"), &text).expect("the results folder can be written");
    }
    // a few cases say less
    let (least, percent) = if is_full { (5, 99) } else { (0, 95) };
    for (mutant, Detection { changed, beyond, detected }) in Mutant::ALL.iter().zip(&detections) {
        let name = mutant.name();
        assert!(*changed >= least, "{name} is hardly ever touched: {changed}");
        assert!(detected * 100 >= beyond * percent, "{name}: {detected} of {beyond}");
    }
}

fn table(count: u64, detections: &[Detection]) -> String {
    let families: Vec<_> = Family::VALID.iter().map(|family| family.name()).collect();
    let mut text = format!(
        "# Mutants in golden's place\n\n\
         `TWINFER_FULL=1 TWINFER_RESULTS=docs/results cargo test --release -p twinfer-checks --test mutant_references`\n\n\
         {count} cases of each of {}, seed {SEED}: golden replaced by golden with one mutant, and a backend that gives the right \
         outputs judged by that. A case is changed where the mutant changes a shape or an element that has a finite error \
         bound; beyond the bounds where no output conforms to both, since the two differ by more than both bounds \
         (in the exact regime half a step) allow.\n\n\
         | mutant | changed | beyond the bounds | detected | of these | of all changed |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
        families.join(", ")
    );
    for (mutant, Detection { changed, beyond, detected }) in Mutant::ALL.iter().zip(detections) {
        let percent = |of: u64| 100.0 * *detected as f64 / of.max(1) as f64;
        let (name, of_these, of_all) = (mutant.name(), percent(*beyond), percent(*changed));
        let row = format!("| {name} | {changed} | {beyond} | {detected} | {of_these:.2}% | {of_all:.2}% |");
        writeln!(text, "{row}").expect("a string takes it");
    }
    text
}
