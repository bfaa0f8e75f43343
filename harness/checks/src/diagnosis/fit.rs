use std::collections::BTreeSet;

use twinfer_case::{Case, Observation, RunOutput};
use twinfer_golden::{Agreement, Evaluation, Mutant, Reference, evaluate_as};
use twinfer_onnx::Tensor;

use super::{half_sums::HalfSums, input::DiagnosisInput};
use crate::References;

/// Mutants whose shares of their bounds differ by at most this factor reproduce an output equally well.
const SIMILAR: f64 = 4.0;

/// The share of a bound that rounding alone uses.
const ROUNDING: f64 = 0.02;

/// How many times as far golden has to be for the closeness of an output to tell, where the bound of a mutant holds golden's values too.
pub const FAR_CLOSER: f64 = 64.0;

/// The different elements that have to be far closer to a mutant: one or two may be by chance.
pub const MANY: usize = 4;

/// The probability up to which it is no coincidence that a mutant leaves open what golden gets wrong.
const COINCIDENCE: f64 = 1e-4;

/// The most different elements that count.
const MOST_TIES: usize = 64;

/// As [`COINCIDENCE`], if the mutant is known to be a mistake of the backend.
const POSSIBLE_COINCIDENCE: f64 = 0.05;

/// How closely mutants reproduce an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The largest difference; `None` if only shapes are known.
    pub residual: Option<f64>,
    /// The largest difference as a share of the bound that the mutants allow.
    pub share: f64,
}

impl Fit {
    /// The fit of golden with all of `mutants` applied; `None` if it does not reproduce every run, or if golden reproduces them
    /// as well.
    pub fn of(mutants: &[Mutant], input: &DiagnosisInput<'_>) -> Option<Self> {
        let DiagnosisInput { encoded, observation, .. } = input;
        if observation.runs.is_empty() {
            let evaluation = encoded.task.runs.first().and_then(|inputs| evaluate(mutants, inputs, input));
            let fits =
                evaluation.zip(observation.inferred_shapes.as_ref()).is_some_and(|(e, i)| infers(&e, i));
            return fits.then_some(Self { residual: None, share: 0.0 });
        }
        compare(mutants, input)?.fit()
    }

    /// Whether golden with all of `mutants` applied may reproduce every run, although the runs tell too little.
    pub fn is_possible(mutants: &[Mutant], input: &DiagnosisInput<'_>) -> bool {
        compare(mutants, input).is_some_and(|comparison| comparison.is_possible())
    }

    /// Whether the case does not distinguish this fit from the closest one.
    pub fn is_like(&self, closest: &Self) -> bool {
        self.share <= SIMILAR * closest.share.max(ROUNDING)
    }
}

/// The largest difference of the outputs from golden's; `None` if a shape differs or a difference is not finite.
pub fn largest_difference(references: &References, observation: &Observation) -> Option<f64> {
    let mut largest = 0.0_f64;
    for (reference, run) in references.iter().zip(&observation.runs) {
        let golden = reference.as_ref().ok()?;
        if golden.outputs.len() != run.outputs.len() {
            return None;
        }
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

/// What golden with all of `mutants` applied computes in a run.
fn evaluate(mutants: &[Mutant], inputs: &[Tensor], input: &DiagnosisInput<'_>) -> Option<Evaluation> {
    let Case { graph, request, .. } = &input.encoded.case;
    evaluate_as(graph, inputs, input.arithmetic.for_request(request), mutants).ok()
}

/// Compares every run with `mutants`; `None` if they do not reproduce one, or cannot be compared.
fn compare(mutants: &[Mutant], input: &DiagnosisInput<'_>) -> Option<Comparison> {
    let DiagnosisInput { encoded, references, observation, .. } = input;
    let half_sums = mutants.contains(&Mutant::SumsInHalf).then(HalfSums::default);
    let mut comparison = Comparison { half_sums, ..Comparison::default() };
    for ((inputs, reference), run) in encoded.task.runs.iter().zip(*references).zip(&observation.runs) {
        let (Some(mutant), Ok(golden)) = (evaluate(mutants, inputs, input), reference) else {
            return None;
        };
        comparison.add_run(&mutant, golden, run)?;
    }
    Some(comparison)
}

/// Compares observed runs with a mutant and with golden.
#[derive(Default)]
struct Comparison {
    residual: f64,
    share: f64,
    /// The element where golden is farthest from the observation, of several the one that tells most; `None` while golden is right everywhere.
    worst: Option<Worst>,
    /// The largest difference from the mutant where golden is wrong.
    residual_where_wrong: f64,
    /// The largest difference from the mutant, also of an element that golden leaves open.
    distance: f64,
    /// The different elements where golden is farthest off, with their differences from golden, [`MANY`] at most.
    farthest: Vec<(f64, f64)>,
    /// What a mutant leaves open of quantized elements.
    ties: Ties,
    /// The evidence of sums in 16-bit floats, if that is the mutant. The order of the sums is unknown, so the mutant's bound is
    /// wide enough to hold golden's values too and proves nothing.
    half_sums: Option<HalfSums>,
}

/// Quantized elements that a mutant leaves open because they are close to a tie, so that its bound holds golden's values too.
#[derive(Default)]
struct Ties {
    elements: u32,
    open: u32,
    /// The different pairs of golden's value and the given one where golden is wrong: equal elements may be one tie.
    wrong: BTreeSet<(u64, u64)>,
    /// Whether golden is wrong about an element that is not left open.
    is_elsewhere: bool,
}

impl Ties {
    /// Adds an element; `wrong` are golden's value and the given one if golden is wrong about it.
    fn add(&mut self, mutant: &Reference, place: usize, wrong: Option<(f64, f64)>) {
        let is_open = mutant.quantization_step.is_some_and(|step| mutant.bound[place] >= step);
        self.elements += 1;
        self.open += u32::from(is_open);
        self.is_elsewhere |= wrong.is_some() && !is_open;
        if let Some((golden, given)) = wrong.filter(|_| self.wrong.len() < MOST_TIES) {
            self.wrong.insert((golden.to_bits(), given.to_bits()));
        }
    }

    /// Whether golden is wrong about elements that are left open and no others, of which there are so few that this is no coincidence.
    fn are_telling(&self) -> bool {
        self.probability().is_some_and(|probability| probability <= COINCIDENCE)
    }

    /// Whether golden is wrong about elements that are left open and no others, and this is probably no coincidence.
    fn may_tell(&self) -> bool {
        self.probability().is_some_and(|probability| probability <= POSSIBLE_COINCIDENCE)
    }

    /// The probability that elements about which golden is wrong are all left open; `None` if they are not, or if there are none.
    fn probability(&self) -> Option<f64> {
        let share = f64::from(self.open) / f64::from(self.elements.max(1));
        let different = self.wrong.len() as f64;
        (!self.is_elsewhere && !self.wrong.is_empty()).then(|| share.powf(different))
    }
}

/// An element that golden does not explain.
#[derive(Clone, Copy)]
struct Worst {
    /// The difference from golden.
    deviation: f64,
    /// The difference that the mutant allows.
    allowed: f64,
}

impl Worst {
    /// Whether golden is farther off here than at `other`, or as far where the mutant allows less.
    fn tells_more_than(self, other: Self) -> bool {
        let by_deviation = self.deviation.total_cmp(&other.deviation);
        by_deviation.then_with(|| other.allowed.total_cmp(&self.allowed)).is_gt()
    }
}

impl Comparison {
    /// Adds a run; `None` if the mutant does not reproduce it.
    fn add_run(&mut self, mutant: &Evaluation, golden: &Evaluation, run: &RunOutput) -> Option<()> {
        if mutant.outputs.len() != run.outputs.len() {
            return None;
        }
        let outputs = mutant.outputs.iter().zip(&golden.outputs).zip(&run.outputs);
        outputs.map(|((mutant, golden), output)| self.add_output(mutant, golden, output)).collect()
    }

    fn add_output(&mut self, mutant: &Reference, golden: &Reference, output: &Tensor) -> Option<()> {
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
            self.distance = self.distance.max(distance(mutant, (place, given), agreement));
            let allowed = mutant.bound[place];
            let from_golden =
                if same_shape { golden.compare(place, given) } else { Agreement::Wrong(f64::INFINITY) };
            let wrong = matches!(from_golden, Agreement::Wrong(_));
            let wrong = wrong.then(|| (golden.values.get(place).copied().unwrap_or(f64::NAN), given));
            self.ties.add(mutant, place, wrong);
            if let Agreement::Wrong(deviation) = from_golden {
                is_wrong = true;
                self.add_wrong(given, deviation);
                self.residual_where_wrong = self.residual_where_wrong.max(from_mutant);
                let wrong = Worst { deviation, allowed };
                if self.worst.is_none_or(|worst| wrong.tells_more_than(worst)) {
                    self.worst = Some(wrong);
                }
            }
            self.residual = self.residual.max(from_mutant);
            if allowed > 0.0 && allowed.is_finite() {
                self.share = self.share.max(from_mutant / allowed);
            }
        }
        if let Some(half_sums) = self.half_sums.as_mut().filter(|_| is_wrong) {
            half_sums.add(golden, output);
        }
        Some(())
    }

    /// Adds an element that golden does not explain.
    fn add_wrong(&mut self, given: f64, deviation: f64) {
        if self.farthest.iter().all(|(other, _)| other.to_bits() != given.to_bits()) {
            self.farthest.push((given, deviation));
            self.farthest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            self.farthest.truncate(MANY);
        }
    }

    /// The fit of a mutant that is wrong nowhere; `None` unless it is closer than golden where golden is wrong, and its bound excludes
    /// golden's value there, or what it leaves open is [no coincidence](Ties::are_telling), or it is far closer everywhere.
    fn fit(self) -> Option<Fit> {
        let worst = self.worst?;
        let excludes_golden = worst.allowed < worst.deviation;
        let is_closer = 2.0 * self.residual_where_wrong <= worst.deviation;
        let is_far = |(_, deviation): &(f64, f64)| FAR_CLOSER * self.distance < *deviation;
        let is_far_closer = self.farthest.len() == MANY && self.farthest.iter().all(is_far);
        let is_conclusive = match self.half_sums {
            Some(half_sums) => half_sums.is_conclusive(),
            None => (excludes_golden || self.ties.are_telling()) && is_closer || is_far_closer,
        };
        is_conclusive.then_some(Fit { residual: Some(self.residual), share: self.share })
    }

    /// Whether a mutant that is wrong nowhere is closer than golden where golden is wrong, which is about ties of the mutant only.
    fn is_possible(&self) -> bool {
        self.worst.is_some_and(|worst| 2.0 * self.residual_where_wrong <= worst.deviation)
            && self.ties.may_tell()
    }
}

/// Whether the inferred shapes are those of `evaluation`; −1 stands for an extent that is not known yet.
pub fn infers(evaluation: &Evaluation, inferred: &[Vec<i64>]) -> bool {
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

/// How far the element `given` is from the number that is expected at its place. One that golden leaves open counts like any other; its
/// distance is infinite unless both numbers are finite.
pub fn distance(reference: &Reference, (place, given): (usize, f64), agreement: Agreement) -> f64 {
    if !matches!(agreement, Agreement::Free) {
        return deviation(agreement);
    }
    let distance = reference.values.get(place).map_or(f64::INFINITY, |expected| (given - expected).abs());
    if distance.is_finite() { distance } else { f64::INFINITY }
}

/// How far an element is from the expected number; zero if golden leaves it open.
pub const fn deviation(agreement: Agreement) -> f64 {
    match agreement {
        Agreement::Exact | Agreement::Free => 0.0,
        Agreement::Rounded(deviation) | Agreement::Wrong(deviation) => deviation,
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

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
            has_signed_zeros: false,
        };
        Evaluation { outputs: vec![reference], unspecified: Vec::new(), open: Vec::new() }
    }

    /// The fit of a mutant with this value and bound to `output`, if golden has `golden` with the bound 0.01.
    fn fit(mutant: (f64, f64), golden: f64, output: f64) -> Option<Fit> {
        let output = Tensor::from_f64(DataType::Float, vec![1], &[output]).expect("a vector");
        let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
        let mut comparison = Comparison::default();
        comparison.add_run(&evaluation(mutant.0, mutant.1), &evaluation(golden, 0.01), &run)?;
        comparison.fit()
    }

    #[test]
    fn mutants_that_reproduce_what_golden_does_not_fit() {
        assert_eq!(fit((3.0, 0.01), 1.0, 3.0), Some(Fit { residual: Some(0.0), share: 0.0 }));
        assert_eq!(fit((7.0, 0.01), 1.0, 3.0), None);
    }

    #[test]
    fn mutants_no_closer_than_golden_do_not_fit() {
        assert_eq!(fit((1.0, 0.01), 1.0, 1.0), None, "golden is right");
        assert_eq!(fit((1.0, 2.5), 1.0, 3.0), None, "it is no closer than golden");
    }

    #[test]
    fn mutants_that_agree_with_everything_do_not_fit() {
        assert_eq!(fit((7.0, f64::INFINITY), 1.0, 3.0), None);
        assert_eq!(fit((3.0, 5.0), 1.0, 3.0), None, "its bound holds golden's value too");
    }

    /// Of 1,000 quantized elements, `open` are close to a tie for a mutant, which is right about all. Golden is one step off at the first of them,
    /// where it has `wrong`.
    fn with_ties(open: usize, wrong: &[f64]) -> Comparison {
        let reference = |values: Vec<f64>, bound: Vec<f64>| Reference {
            dtype: DataType::Int8,
            shape: vec![values.len()],
            values,
            bound,
            grid_step: None,
            quantization_step: Some(1.0),
            has_signed_zeros: false,
        };
        let evaluation =
            |output| Evaluation { outputs: vec![output], unspecified: Vec::new(), open: Vec::new() };
        let elements = |first: Vec<f64>| first.into_iter().chain(iter::repeat(0.0)).take(1000).collect();
        let right: Vec<f64> = elements(wrong.iter().map(|wrong| wrong + 1.0).collect());
        let mutant = evaluation(reference(right.clone(), elements(vec![1.0; open])));
        let golden = evaluation(reference(elements(wrong.to_vec()), elements(Vec::new())));
        let output = Tensor::from_f64(DataType::Int8, vec![1000], &right).expect("a vector");
        let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
        let mut comparison = Comparison::default();
        comparison.add_run(&mutant, &golden, &run).expect("the mutant is right");
        comparison
    }

    #[test]
    fn ties_tell_if_they_are_few() {
        let fits = |open, wrong: &[f64]| with_ties(open, wrong).fit().is_some();
        let two = [4.0, 7.0];
        assert!(fits(10, &two), "two of 10 in 1,000");
        assert!(!fits(20, &two), "two of 20 in 1,000 may be by chance");
        assert!(fits(0, &two), "the mutant is certain");
        assert!(fits(1, &two), "golden is wrong about one that is certain, too");
        assert!(!fits(500, &[4.0; 14]), "equal elements may be one tie");
        assert!(with_ties(20, &two).is_possible());
        assert!(!with_ties(500, &two).is_possible(), "half of all elements are left open");
        assert!(!with_ties(1, &two).is_possible(), "it is not about ties only");
    }

    #[test]
    fn mutant_that_is_far_closer_fits_whatever_its_bound() {
        let evaluation = |values: &[f64], bound: f64| {
            let Evaluation { mut outputs, .. } = evaluation(0.0, 0.0);
            let (shape, bound) = (vec![values.len()], vec![bound; values.len()]);
            outputs[0] = Reference { shape, values: values.to_vec(), bound, ..outputs[0].clone() };
            Evaluation { outputs, unspecified: Vec::new(), open: Vec::new() }
        };
        let fit = |mutant: &[f64], given: &[f64]| {
            let output = Tensor::from_f64(DataType::Float, vec![given.len()], given).expect("a vector");
            let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
            let mut comparison = Comparison::default();
            comparison.add_run(&evaluation(mutant, 9.0), &evaluation(&vec![0.0; given.len()], 0.5), &run)?;
            comparison.fit()
        };
        let values = [1.0, 2.0, 3.0, 4.0, 0.25];
        assert!(fit(&values, &[1.01, 2.0, 3.0, 4.0, 0.25]).is_some(), "golden is wrong about four");
        assert!(fit(&values, &[1.1, 2.0, 3.0, 4.0, 0.25]).is_none(), "the first is not far closer");
        assert!(fit(&[1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 1.0]).is_none(), "all are alike");
    }

    #[test]
    fn sums_in_half_are_judged_by_values_and_not_by_the_bound() {
        let fit = |expected: f64, given: f64| {
            let output = Tensor::from_f64(DataType::Float, vec![1], &[given]).expect("a vector");
            let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
            let mut comparison = Comparison { half_sums: Some(HalfSums::default()), ..Comparison::default() };
            comparison.add_run(&evaluation(expected, 0.5), &evaluation(expected, 0.01), &run)?;
            comparison.fit()
        };
        assert!(fit(1.2, 1.5).is_some());
        assert!(fit(1.2, f64::from(1.3_f32)).is_none(), "no 16-bit float, though within the bound");
    }

    #[test]
    fn fits_are_distinguished_by_the_share_of_their_bounds() {
        let fit = |share| Fit { residual: Some(share), share };
        assert!(fit(0.0).is_like(&fit(0.0)));
        assert!(fit(0.3).is_like(&fit(0.1)));
        assert!(!fit(0.9).is_like(&fit(0.1)));
        assert!(!fit(0.1).is_like(&fit(0.0)));
    }

    #[test]
    fn partly_known_shapes_are_compared_in_part() {
        assert!(infers(&evaluation(0.0, 0.0), &[vec![-1]]));
        assert!(infers(&evaluation(0.0, 0.0), &[vec![1]]));
        assert!(!infers(&evaluation(0.0, 0.0), &[vec![2]]));
        assert!(!infers(&evaluation(0.0, 0.0), &[vec![1, 1]]));
    }
}
