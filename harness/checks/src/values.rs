//! Every element of an output agrees with golden: `wrong-values`, `unwritten-output`.

use twinfer_case::{Kind, Note, Stage, is_poison};
use twinfer_golden::{Agreement, Evaluation, Reference};
use twinfer_onnx::Tensor;

use crate::report::Report;

/// How the elements of one output compare.
#[derive(Default)]
struct Tally {
    wrong: usize,
    unwritten: usize,
    worst: Option<(usize, f64)>,
    /// The largest explained deviation: in grid steps, or as a share of the bound.
    steps: f64,
    share: f64,
}

pub fn check(evaluation: &Evaluation, outputs: &[Tensor], report: &mut Report<'_>) {
    for (index, (reference, output)) in evaluation.outputs.iter().zip(outputs).enumerate() {
        let given = output.to_f64();
        let tally = Tally::of(reference, output, &given);
        if let Some((place, _)) = tally.worst {
            let kind = if tally.wrong == tally.unwritten { Kind::UnwrittenOutput } else { Kind::WrongValues };
            report.diverges(Stage::Execute, kind, tally.detail(index, reference, place, given[place]));
        }
        if tally.steps > 0.0 {
            report.note(Note::AlgorithmRounding(tally.steps));
        }
        if tally.share > 0.0 {
            report.note(Note::BoundUsed(tally.share));
        }
    }
}

impl Tally {
    fn of(reference: &Reference, output: &Tensor, given: &[f64]) -> Self {
        let mut tally = Self::default();
        for (place, &value) in given.iter().enumerate() {
            match reference.compare(place, value) {
                Agreement::Exact | Agreement::Free => {}
                Agreement::Rounded(deviation) => tally.rounded(reference, place, deviation),
                Agreement::Wrong(deviation) => {
                    tally.wrong += 1;
                    tally.unwritten += usize::from(is_poison(output, place));
                    if tally.worst.is_none_or(|(_, worst)| deviation > worst) {
                        tally.worst = Some((place, deviation));
                    }
                }
            }
        }
        tally
    }

    fn rounded(&mut self, reference: &Reference, place: usize, deviation: f64) {
        match reference.grid_step {
            Some(step) => self.steps = self.steps.max(deviation / step),
            None => self.share = self.share.max(deviation / reference.bound[place]),
        }
    }

    fn detail(&self, output: usize, reference: &Reference, place: usize, given: f64) -> String {
        let Self { wrong, unwritten, .. } = self;
        let total = reference.values.len();
        let position = position(&reference.shape, place);
        let expected = reference.values[place];
        let allowed = match reference.grid_step {
            Some(step) => format!("grid step {step:e}"),
            None => format!("bound {:e}", reference.bound[place]),
        };
        let unwritten =
            if *unwritten > 0 { format!(", {unwritten} of them unwritten") } else { String::new() };
        format!(
            "output {output}: {wrong} of {total} elements differ{unwritten}; at {position:?} {given} instead of \
             {expected} ({allowed})"
        )
    }
}

/// The indices of the element at `place` in row-major order.
fn position(shape: &[usize], mut place: usize) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (index, extent) in position.iter_mut().zip(shape).rev() {
        *index = place % extent.max(&1);
        place /= extent.max(&1);
    }
    position
}
