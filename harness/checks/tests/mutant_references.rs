//! Golden replaced by references with a planted mutant: the checks must notice wherever the mutant changes the output.
//!
//! A case counts where the mutant changes what a backend can be held to: the shape of an output, or an element by more than
//! golden's own bound. What it changes by less, such as a bias that vanishes in a sum, no
//! reference can be expected to notice; how many cases are changed at all, and noticed, is printed beside it. Cases without a
//! reference on both sides are left out: those that touch a point that the specification leaves open, and those that a misread
//! attribute makes invalid.
//!
//! `TWINFER_FULL=1` runs 5,000 cases a family; `TWINFER_RESULTS` is a folder for the table.

use std::{env, fmt::Write as _, fs, path::Path, thread};

use twinfer_case::{
    Case, Description, Observation, Outcome, OutputFilling, RunOutput, Stage, Variant, Verdict,
};
use twinfer_checks::{Evidence, judge};
use twinfer_generators::{Distribution, Family};
use twinfer_golden::{Agreement, Evaluation, Mutant, Nature, Reference, Unknown, evaluate, evaluate_with};
use twinfer_onnx::Tensor;

const SEED: u64 = 5;

/// What became of the cases that a mutant touches.
#[derive(Clone, Copy, Debug, Default)]
struct Detection {
    /// The output differs.
    changed: u64,
    /// And a right backend was found wrong.
    detected: u64,
    /// The output differs by more than golden's bound.
    beyond: u64,
    /// And a right backend was found wrong.
    detected_beyond: u64,
}

impl Detection {
    const fn and(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            detected: self.detected + other.detected,
            beyond: self.beyond + other.beyond,
            detected_beyond: self.detected_beyond + other.detected_beyond,
        }
    }
}

/// The share that must be detected of what a mutant changes beyond golden's bound, in percent.
const fn required(mutant: Mutant) -> u64 {
    match mutant {
        // its own bound, that of 16-bit sums, holds golden's values
        Mutant::SumsInHalf => 0,
        _ => 99,
    }
}

/// Whether drawn values show the mutant: no window of these cases holds nothing but minus infinity.
const fn is_drawn(mutant: Mutant) -> bool {
    !matches!(mutant, Mutant::PoolPaddingLowest | Mutant::PoolFromLowest)
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
        algorithms: None,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
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
            self.beyond |= matches!(reference.compare(place, mutant), Agreement::Wrong(_));
        }
    }
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
fn detections((family, distribution): (Family, Distribution), count: u64) -> Vec<Detection> {
    let stream = family.stream(distribution, SEED);
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
        let is_fair = match &fair {
            Verdict::Conforms | Verdict::Vacuous => true,
            // special values may leave every element open
            Verdict::Unspecified(rule) => {
                references.iter().flatten().any(|one| one.open.iter().any(|entry| entry.name == rule))
            }
            _ => false,
        };
        assert!(is_fair, "{fair:?}\n{case:#?}");
        for (mutant, detection) in Mutant::ALL.iter().zip(&mut detections) {
            let mutantive: Vec<_> =
                inputs.iter().map(|inputs| evaluate_with(&case.graph, inputs, Some(*mutant))).collect();
            let change = Change::of(&references, &mutantive);
            if change.any {
                let detected = matches!(verdict(&case, &mutantive, &observation), Verdict::Diverges(_));
                *detection = detection.and(Detection {
                    changed: 1,
                    detected: detected.into(),
                    beyond: change.beyond.into(),
                    detected_beyond: (detected && change.beyond).into(),
                });
            }
        }
    }
    detections
}

#[test]
fn mutant_references_that_change_the_output_diverge() {
    let is_full = env::var_os("TWINFER_FULL").is_some();
    let count = if is_full { 5_000 } else { 200 };
    let by_family: Vec<_> = thread::scope(|scope| {
        let baseline = Family::VALID.map(|family| (family, Distribution::Baseline));
        // Clip is drawn in `full` alone
        let drawn = baseline.into_iter().chain([(Family::Conv, Distribution::Full)]);
        let threads: Vec<_> = drawn.map(|drawn| scope.spawn(move || detections(drawn, count))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no evaluation panics")).collect()
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
    for (mutant, detection) in Mutant::ALL.iter().zip(&detections) {
        // a few cases say less
        let (least, slack) = if is_full { (5, 0) } else { (0, 4) };
        assert!(
            detection.changed >= least || !is_drawn(*mutant),
            "{} is hardly ever touched: {detection:?}",
            mutant.name()
        );
        let enough = detection.beyond * required(*mutant).saturating_sub(slack);
        assert!(detection.detected_beyond * 100 >= enough, "{}: {detection:?}", mutant.name());
    }
}

fn table(count: u64, detections: &[Detection]) -> String {
    let families: Vec<_> = Family::VALID.iter().map(|family| family.name()).collect();
    let mut text = format!(
        "# Mutants in golden's place\n\n\
         `TWINFER_FULL=1 TWINFER_RESULTS=docs/generated cargo test --release -p twinfer-checks --test mutant_references`\n\n\
         {count} cases per family of {} in the distribution `baseline`, and of conv in `full`, which draws Clip; seed {SEED}. Golden is replaced by golden with one mutant, which judges a backend that \
         gives the right outputs. *changed*: cases in which the mutant changes a shape, or an element with a finite error \
         bound. *beyond the bound*: it changes the element by more than golden's own bound. A smaller change, such as a bias rounded to steps finer than the roundings of the sum, is within what a right \
         backend may give.\n",
        families.join(", ")
    );
    text.push_str(
        "\nNo window of these cases holds nothing but minus infinity, which `pool-padding-lowest` and `pool-from-lowest` need: \
         `golden/tests/mutants.rs` shows both.\n",
    );
    let is_precise = |mutant: Mutant| mutant.nature() != Nature::Precision;
    text.push_str("\n## Mutants of meaning\n\n");
    rows(&mut text, detections, is_precise);
    text.push_str(
        "\n## Coarse arithmetic\n\n\
         These mutants change the precision and not the meaning. The bound of `sums-in-half` is that of 16-bit sums in any \
         order. It includes the result of 32-bit sums, so it cannot find a right backend wrong.\n\n",
    );
    rows(&mut text, detections, |mutant| !is_precise(mutant));
    text
}

fn rows(text: &mut String, detections: &[Detection], is_shown: impl Fn(Mutant) -> bool) {
    text.push_str(
        "| mutant | changed | detected | | beyond the bound | detected | |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (mutant, detection) in Mutant::ALL.iter().zip(detections).filter(|(mutant, _)| is_shown(**mutant)) {
        let Detection { changed, detected, beyond, detected_beyond } = *detection;
        let percent = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let (of_changed, of_beyond) = (percent(detected, changed), percent(detected_beyond, beyond));
        let name = mutant.name();
        let row = format!(
            "| {name} | {changed} | {detected} | {of_changed:.2}% | {beyond} | {detected_beyond} | {of_beyond:.2}% |"
        );
        writeln!(text, "{row}").expect("a string takes it");
    }
}
