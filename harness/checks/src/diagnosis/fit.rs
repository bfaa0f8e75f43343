use twinfer_case::RunOutput;
use twinfer_golden::{Agreement, Evaluation, Mutant, Reference, evaluate_as};
use twinfer_onnx::Tensor;

use super::{Outcome, halves::Halves};

/// Explanations whose shares of their bounds are this close are not told apart.
const LIKE: f64 = 4.0;

/// A share of the bound that rounding alone uses up.
const ROUNDING: f64 = 0.02;

/// How closely mistakes reproduce what was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The largest difference; absent where only shapes are known.
    pub residual: Option<f64>,
    /// The largest difference as a share of what the mistakes allow.
    pub share: f64,
}

impl Fit {
    /// Of mistakes made on every run; `None` where they do not reproduce one of them, or golden does as well.
    pub fn of(mistakes: &[Mutant], outcome: &Outcome<'_>) -> Option<Self> {
        let Outcome { encoded, references, observation, arithmetic, .. } = outcome;
        let evaluate =
            |inputs: &Vec<Tensor>| evaluate_as(&encoded.case.graph, inputs, *arithmetic, mistakes).ok();
        if observation.runs.is_empty() {
            let evaluation = encoded.task.runs.first().and_then(evaluate);
            let fits =
                evaluation.zip(observation.inferred_shapes.as_ref()).is_some_and(|(e, i)| infers(&e, i));
            return fits.then_some(Self { residual: None, share: 0.0 });
        }
        let halves = mistakes.contains(&Mutant::SumsInHalf).then(Halves::default);
        let mut comparison = Comparison { halves, ..Comparison::default() };
        for ((inputs, reference), run) in encoded.task.runs.iter().zip(*references).zip(&observation.runs) {
            let (Some(mutant), Ok(golden)) = (evaluate(inputs), reference) else {
                return None;
            };
            comparison.meet(&mutant, golden, run)?;
        }
        comparison.conclude()
    }

    /// Whether the case does not tell this explanation from the closest.
    pub fn is_like(&self, closest: &Self) -> bool {
        self.share <= LIKE * closest.share.max(ROUNDING)
    }
}

/// The largest difference from golden; `None` where a shape differs or something is no number.
pub fn unexplained(Outcome { references, observation, .. }: &Outcome<'_>) -> Option<f64> {
    let mut largest = 0.0_f64;
    for (reference, run) in references.iter().zip(&observation.runs) {
        let golden = reference.as_ref().ok()?;
        for (reference, output) in golden.outputs.iter().zip(&run.outputs) {
            if reference.shape != output.shape {
                return None;
            }
            let deviations = output
                .to_f64()
                .into_iter()
                .enumerate()
                .map(|(place, given)| deviation(reference.compare(place, given)));
            largest = deviations.fold(largest, f64::max);
        }
    }
    (!observation.runs.is_empty() && largest.is_finite()).then_some(largest)
}

/// What was observed beside a mutant and golden.
#[derive(Default)]
struct Comparison {
    residual: f64,
    share: f64,
    /// Where golden is farthest from what was observed.
    worst: Option<Worst>,
    /// The largest difference from the mutant where golden is wrong.
    residual_where_wrong: f64,
    /// Where the mistake is to sum in 16-bit floats. Nobody knows in which order, so that its bound is wide, holds golden's
    /// values and much else, and proves nothing; what came out has to tell.
    halves: Option<Halves>,
}

/// An element that golden does not explain.
#[derive(Clone, Copy)]
struct Worst {
    /// From golden.
    deviation: f64,
    /// What the mutant allows there.
    allowed: f64,
}

impl Comparison {
    /// Takes in one run; `None` where the mutant does not reproduce it.
    fn meet(&mut self, mutant: &Evaluation, golden: &Evaluation, run: &RunOutput) -> Option<()> {
        if mutant.outputs.len() != run.outputs.len() {
            return None;
        }
        let outputs = mutant.outputs.iter().zip(&golden.outputs).zip(&run.outputs);
        outputs.map(|((mutant, golden), output)| self.meet_output(mutant, golden, output)).collect()
    }

    fn meet_output(&mut self, mutant: &Reference, golden: &Reference, output: &Tensor) -> Option<()> {
        if mutant.shape != output.shape {
            return None;
        }
        let same_shape = golden.shape == output.shape;
        let mut is_wrong = false;
        for (place, given) in output.to_f64().into_iter().enumerate() {
            let agreement = mutant.compare(place, given);
            if matches!(agreement, Agreement::Wrong(_)) {
                return None;
            }
            let from_mutant = deviation(agreement);
            let allowed = allowed(mutant, place);
            let from_golden =
                if same_shape { golden.compare(place, given) } else { Agreement::Wrong(f64::INFINITY) };
            if let Agreement::Wrong(deviation) = from_golden {
                is_wrong = true;
                self.residual_where_wrong = self.residual_where_wrong.max(from_mutant);
                if self.worst.is_none_or(|worst| deviation > worst.deviation) {
                    self.worst = Some(Worst { deviation, allowed });
                }
            }
            self.residual = self.residual.max(from_mutant);
            if allowed > 0.0 && allowed.is_finite() {
                self.share = self.share.max(from_mutant / allowed);
            }
        }
        if let Some(halves) = self.halves.as_mut().filter(|_| is_wrong) {
            halves.meet(golden, output);
        }
        Some(())
    }

    /// An explanation is wrong nowhere, far closer than golden where golden is wrong, and says something there: one that
    /// agrees with every value explains none.
    fn conclude(self) -> Option<Fit> {
        let worst = self.worst?;
        let tells = worst.allowed < worst.deviation;
        let is_closer = 2.0 * self.residual_where_wrong <= worst.deviation;
        let is_told = match self.halves {
            Some(halves) => halves.tell(),
            None => tells && is_closer,
        };
        is_told.then_some(Fit { residual: Some(self.residual), share: self.share })
    }
}

/// Whether these are the shapes that a mutant gives and golden does not; −1 stands for an extent that is not known yet.
fn infers(evaluation: &Evaluation, inferred: &[Vec<i64>]) -> bool {
    let is_shape = |(reference, inferred): (&Reference, &Vec<i64>)| {
        reference.shape.len() == inferred.len()
            && reference
                .shape
                .iter()
                .zip(inferred)
                .all(|(extent, inferred)| *inferred < 0 || usize::try_from(*inferred) == Ok(*extent))
    };
    evaluation.outputs.len() == inferred.len() && evaluation.outputs.iter().zip(inferred).all(is_shape)
}

const fn deviation(agreement: Agreement) -> f64 {
    match agreement {
        Agreement::Exact | Agreement::Free => 0.0,
        Agreement::Rounded(deviation) | Agreement::Wrong(deviation) => deviation,
    }
}

/// The largest deviation that is no error.
fn allowed(reference: &Reference, place: usize) -> f64 {
    match reference.grid_step {
        Some(step) => step / 2.0,
        None => reference.bound[place],
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    fn evaluation(value: f64, bound: f64) -> Evaluation {
        let reference = Reference {
            dtype: DataType::Float,
            shape: vec![1],
            values: vec![value],
            bound: vec![bound],
            grid_step: None,
            quantization_step: None,
        };
        Evaluation { outputs: vec![reference], unspecified: Vec::new() }
    }

    /// How a mutant with this value and bound fits an output, where golden has `golden` within 0.01.
    fn fit(mutant: (f64, f64), golden: f64, output: f64) -> Option<Fit> {
        let output = Tensor::from_f64(DataType::Float, vec![1], &[output]).expect("a vector");
        let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
        let mut comparison = Comparison::default();
        comparison.meet(&evaluation(mutant.0, mutant.1), &evaluation(golden, 0.01), &run)?;
        comparison.conclude()
    }

    #[test]
    fn a_mutant_that_reproduces_what_golden_does_not_explains_it() {
        assert_eq!(fit((3.0, 0.01), 1.0, 3.0), Some(Fit { residual: Some(0.0), share: 0.0 }));
        assert_eq!(fit((7.0, 0.01), 1.0, 3.0), None);
    }

    #[test]
    fn a_mutant_that_changes_nothing_explains_nothing() {
        assert_eq!(fit((1.0, 0.01), 1.0, 1.0), None, "golden is right");
        assert_eq!(fit((1.0, 2.5), 1.0, 3.0), None, "it is no closer than golden");
    }

    #[test]
    fn a_mutant_that_agrees_with_everything_explains_nothing() {
        assert_eq!(fit((7.0, f64::INFINITY), 1.0, 3.0), None);
        assert_eq!(fit((3.0, 5.0), 1.0, 3.0), None, "its bound holds golden's value too");
    }

    #[test]
    fn sums_in_half_are_told_by_what_came_out_and_not_by_their_bound() {
        let fit = |expected: f64, given: f64| {
            let output = Tensor::from_f64(DataType::Float, vec![1], &[given]).expect("a vector");
            let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
            let mut comparison = Comparison { halves: Some(Halves::default()), ..Comparison::default() };
            comparison.meet(&evaluation(expected, 0.5), &evaluation(expected, 0.01), &run)?;
            comparison.conclude()
        };
        assert!(fit(1.2, 1.5).is_some());
        assert!(fit(1.2, f64::from(1.3_f32)).is_none(), "no 16-bit float, though within the bound");
    }

    #[test]
    fn explanations_are_told_apart_by_how_much_of_their_bounds_they_use() {
        let fit = |share| Fit { residual: Some(share), share };
        assert!(fit(0.0).is_like(&fit(0.0)));
        assert!(fit(0.3).is_like(&fit(0.1)));
        assert!(!fit(0.9).is_like(&fit(0.1)));
        assert!(!fit(0.1).is_like(&fit(0.0)));
    }

    #[test]
    fn a_shape_that_is_known_in_part_is_compared_in_part() {
        assert!(infers(&evaluation(0.0, 0.0), &[vec![-1]]));
        assert!(infers(&evaluation(0.0, 0.0), &[vec![1]]));
        assert!(!infers(&evaluation(0.0, 0.0), &[vec![2]]));
        assert!(!infers(&evaluation(0.0, 0.0), &[vec![1, 1]]));
    }
}
