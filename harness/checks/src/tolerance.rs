//! The tolerance between two variants on a graph that golden does not support, and for which it gives no bound.
//!
//! Shapes and element types are equal. NaN agrees with NaN and an infinity with itself; zeros are equal whatever their
//! sign. Two numbers a and b of a floating-point type agree if
//!
//! |a − b| ≤ r·(max(|a|, |b|) + m)
//!
//! with m the largest finite magnitude of the output, in the variant in which it is smaller: a sum that cancels is as
//! uncertain as its terms, which are of the magnitude of the other elements.
//!
//! r follows from a model of the computation, which is not known. Rounding errors of n operations are about
//! independent and grow as √n (Higham and Mary, *A new approach to probabilistic rounding error analysis*, SIAM J. Sci.
//! Comput. 41, 2019). An element is taken to depend on at most 2^16 operations one after another in the type that sums
//! are kept in, of unit round-off u, and on at most 2^6 values that are stored in the element type, of unit round-off
//! v, and each of the two outputs has these errors: r = 2·(2^8·u + 2^3·v). Sums of 16-bit floats are kept in 32 bits.
//!
//! | type | u | v | r |
//! | --- | --- | --- | --- |
//! | `DOUBLE` | 2^-53 | 2^-53 | 5.9e-14 |
//! | `FLOAT` | 2^-24 | 2^-24 | 3.1e-5 |
//! | `FLOAT16` | 2^-24 | 2^-11 | 7.8e-3 |
//! | `BFLOAT16` | 2^-24 | 2^-8 | 6.3e-2 |
//!
//! The type does not say everything. What the output comes from ([`OutputSource`]) adds:
//!
//! - What is only moved from inputs and constants is equal.
//! - What a function that saturates gives may be apart by r·E + 2·2^3·v·R more, however small the output is (module `saturation`);
//!   E takes the place of m where it is larger.
//! - `INT8` and `UINT8` come from quantizers: rounding errors at a tie may make them one step apart. So they may dequantized floats, whose
//!   step is the scale. Errors of r·127 steps at most reach a tie in about 1% of all elements, and a few times that behind other
//!   quantizers: more than a quarter of the elements, and more than four, is a shift and not ties.
//! - Values that depend on random numbers are not compared.
//!
//! Other types are equal. Values behind a quantizer inside the graph may differ by more than this without a bug.

use twinfer_onnx::{DataType, Tensor};

use crate::output_source::OutputSource;

/// How two lists of outputs, which come from `sources`, differ beyond what is allowed, for the first output that does; `None` if
/// they do not. An output without a source is [`OutputSource::Computed`].
pub fn outputs_differ(one: &[Tensor], other: &[Tensor], sources: &[OutputSource]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} and {} outputs", one.len(), other.len()));
    }
    let mut pairs = one.iter().zip(other).enumerate();
    pairs.find_map(|(output, (one, other))| {
        let source = sources.get(output).copied().unwrap_or_default();
        tensors_differ(one, other, source).map(|detail| format!("output {output}: {detail}"))
    })
}

/// The outputs that differ beyond what is allowed, by their positions, each with the largest difference between two elements; without one if shapes
/// or element types differ, or if a difference is not finite.
pub fn differing_outputs(
    one: &[Tensor],
    other: &[Tensor],
    sources: &[OutputSource],
) -> Vec<(usize, Option<f64>)> {
    let pairs = one.iter().zip(other).enumerate();
    let differing = pairs.filter(|(output, (one, other))| {
        let source = sources.get(*output).copied().unwrap_or_default();
        tensors_differ(one, other, source).is_some()
    });
    differing.map(|(output, (one, other))| (output, largest_difference(one, other))).collect()
}

#[expect(clippy::float_cmp, reason = "equal is equal")]
fn largest_difference(one: &Tensor, other: &Tensor) -> Option<f64> {
    if one.shape != other.shape || one.dtype() != other.dtype() {
        return None;
    }
    let differences = one.to_f64().into_iter().zip(other.to_f64()).map(|(one, other)| {
        if one == other || one.is_nan() && other.is_nan() { 0.0 } else { (one - other).abs() }
    });
    let largest =
        |largest: f64, difference: f64| if difference.is_nan() { f64::NAN } else { largest.max(difference) };
    Some(differences.fold(0.0, largest)).filter(|largest| largest.is_finite())
}

fn tensors_differ(one: &Tensor, other: &Tensor, source: OutputSource) -> Option<String> {
    if source == OutputSource::Wrong {
        return None;
    }
    if one.shape != other.shape {
        return Some(format!("{:?} and {:?}", one.shape, other.shape));
    }
    if one.dtype() != other.dtype() {
        return Some(format!("{} and {}", one.dtype(), other.dtype()));
    }
    if one == other || !source.is_comparable() {
        return None;
    }
    let dtype = one.dtype();
    let (one, other) = (one.to_f64(), other.to_f64());
    let tolerance = Tolerance::of(dtype, source, largest(&one).min(largest(&other)), one.len());
    let pairs = || one.iter().copied().zip(other.iter().copied()).enumerate();
    let agrees =
        |one, other| tolerance.allows(one, other, 0.0) || tolerance.allows(one, other, tolerance.step);
    if let Some((place, (one, other))) = pairs().find(|(_, (one, other))| !agrees(*one, *other)) {
        return Some(format!("element {place} is {one} and {other}"));
    }
    let steps: Vec<_> = pairs().filter(|(_, (one, other))| !tolerance.allows(*one, *other, 0.0)).collect();
    let (place, (one, other)) = *steps.first().filter(|_| steps.len() > most_ties(pairs().len()))?;
    let count = pairs().len();
    let apart = steps.len();
    Some(format!("{apart} of {count} elements are one step apart; element {place} is {one} and {other}"))
}

/// How many of so many elements may be one step apart.
const fn most_ties(elements: usize) -> usize {
    let quarter = elements / 4;
    if quarter > 4 { quarter } else { 4 }
}

/// The largest difference between two elements that agree.
struct Tolerance {
    /// The part in proportion to the larger of the two magnitudes.
    relative: f64,
    /// The constant part.
    absolute: f64,
    /// What is added at a rounding tie of a quantizer.
    step: f64,
}

impl Tolerance {
    /// The tolerance for `elements` of this type and source, the largest of which has this magnitude.
    fn of(dtype: DataType, source: OutputSource, magnitude: f64, elements: usize) -> Self {
        let exact = Self { relative: 0.0, absolute: 0.0, step: 0.0 };
        match (relative(dtype), source) {
            (_, OutputSource::Moved) => exact,
            (None, _) => Self { step: steps(dtype), ..exact },
            (Some(relative), OutputSource::Saturated(saturation)) => {
                let magnitude = magnitude.max(saturation.sensitivity(elements));
                let of_roundings = STORED * rounding(dtype) * saturation.range;
                Self { relative, absolute: relative * magnitude + of_roundings, step: 0.0 }
            }
            (Some(relative), source) => {
                let step = if let OutputSource::Dequantized(scale) = source { scale } else { 0.0 };
                Self { relative, absolute: relative * magnitude, step }
            }
        }
    }

    #[expect(clippy::float_cmp, reason = "equal is equal")]
    fn allows(&self, one: f64, other: f64, step: f64) -> bool {
        if one == other || one.is_nan() && other.is_nan() {
            return true;
        }
        let apart = (one - other).abs();
        apart.is_finite() && apart <= self.relative * one.abs().max(other.abs()) + self.absolute + step
    }
}

/// Operations one after another that are rounded to the type of sums, and to the element type: the square roots of 2^16 and 2^6.
const SUMMED: f64 = 256.0;
const STORED: f64 = 8.0;

/// The r of the module's table; `None` for types that do not round.
fn relative(dtype: DataType) -> Option<f64> {
    let sums = match dtype {
        DataType::Double => f64::EPSILON,
        DataType::Float | DataType::Float16 | DataType::Bfloat16 => f64::from(f32::EPSILON),
        _ => return None,
    };
    // an epsilon is twice the unit round-off
    Some(SUMMED * sums + STORED * rounding(dtype))
}

/// The distance from 1 to the next number of a type, which is twice its v; 0 for types that do not round.
fn rounding(dtype: DataType) -> f64 {
    match dtype {
        DataType::Double => f64::EPSILON,
        DataType::Float => f64::from(f32::EPSILON),
        DataType::Float16 => epsilon(10),
        DataType::Bfloat16 => epsilon(7),
        _ => 0.0,
    }
}

/// The distance from 1 to the next number of a type with this many bits of fraction.
fn epsilon(fraction_bits: i32) -> f64 {
    f64::from(-fraction_bits).exp2()
}

const fn steps(dtype: DataType) -> f64 {
    match dtype {
        DataType::Int8 | DataType::Uint8 => 1.0,
        _ => 0.0,
    }
}

/// The largest finite magnitude; 0 if no value is finite.
fn largest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::FlowNode;

    use super::*;
    use crate::saturation::Saturation;

    fn tensor(dtype: DataType, values: &[f64]) -> Tensor {
        Tensor::from_f64(dtype, vec![values.len()], values).expect("a vector")
    }

    fn differ(dtype: DataType, one: &[f64], other: &[f64]) -> bool {
        outputs_differ(&[tensor(dtype, one)], &[tensor(dtype, other)], &[]).is_some()
    }

    #[test]
    fn relative_tolerances_are_those_of_the_table() {
        use DataType::{Bfloat16, Double, Float, Float16};
        let r = |dtype| format!("{:.1e}", relative(dtype).expect("a float"));
        assert_eq!([Double, Float, Float16, Bfloat16].map(r), ["5.9e-14", "3.1e-5", "7.8e-3", "6.3e-2"]);
    }

    #[test]
    fn floats_agree_within_the_tolerance_of_their_type() {
        for dtype in [DataType::Double, DataType::Float, DataType::Float16, DataType::Bfloat16] {
            let r = relative(dtype).expect("a float");
            assert!(!differ(dtype, &[1.0], &[1.0 + 1.5 * r]), "{dtype}");
            assert!(differ(dtype, &[1.0], &[1.0 + 3.0 * r]), "{dtype}");
        }
    }

    #[test]
    fn small_elements_get_the_tolerance_of_large_ones() {
        assert!(!differ(DataType::Float, &[1.0, 0.0], &[1.0, 2e-5]));
        assert!(differ(DataType::Float, &[1e-3, 0.0], &[1e-3, 2e-5]));
    }

    #[test]
    fn one_wild_element_does_not_widen_the_tolerance() {
        let (one, other) = (tensor(DataType::Float, &[1.0, 1.0]), tensor(DataType::Float, &[2.0, 1e30]));
        let detail = outputs_differ(&[one], &[other], &[]).expect("both elements differ");
        assert!(detail.contains("element 0 is 1 and 2"), "{detail}");
    }

    #[test]
    fn nan_and_infinities_agree_only_with_themselves() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert!(!differ(DataType::Float, &[nan, inf, -inf], &[nan, inf, -inf]));
        for (one, other) in [(nan, 1.0), (inf, 1.0), (inf, -inf), (nan, inf)] {
            assert!(differ(DataType::Float, &[one], &[other]), "{one} {other}");
        }
    }

    #[test]
    fn only_other_outputs_than_wrong_ones_are_compared() {
        let outputs = |shape: usize, last: f64| {
            [tensor(DataType::Float, &vec![1.0; shape]), tensor(DataType::Float, &[last])]
        };
        let differ = |one: &[Tensor], other: &[Tensor]| outputs_differ(one, other, &[OutputSource::Wrong]);
        assert_eq!(differ(&outputs(3, 1.0), &outputs(4, 1.0)), None);
        let detail = differ(&outputs(3, 1.0), &outputs(4, 2.0)).expect("the other output differs");
        assert_eq!(detail, "output 1: element 0 is 1 and 2");
    }

    #[test]
    fn quantized_values_agree_within_one_step() {
        assert!(!differ(DataType::Int8, &[3.0], &[4.0]));
        assert!(differ(DataType::Int8, &[3.0], &[5.0]));
        assert!(differ(DataType::Int64, &[3.0], &[4.0]));
        assert!(differ(DataType::Bool, &[0.0], &[1.0]));
    }

    fn differ_from(source: OutputSource, dtype: DataType, one: &[f64], other: &[f64]) -> bool {
        outputs_differ(&[tensor(dtype, one)], &[tensor(dtype, other)], &[source]).is_some()
    }

    fn saturated(op_type: &str) -> OutputSource {
        let node = FlowNode { op_type: op_type.to_owned(), ..FlowNode::default() };
        OutputSource::Saturated(Saturation::of(&node).expect("it saturates"))
    }

    #[test]
    fn tiny_values_of_saturating_functions_agree() {
        for operator in ["Sigmoid", "Tanh", "Softmax", "Erf", "HardSigmoid", "Softsign", "Elu", "Selu"] {
            let differ = |one, other| differ_from(saturated(operator), DataType::Float, &[one], &[other]);
            assert!(!differ(1e-7, 2e-7), "{operator}");
            assert!(differ(1e-7, 1e-3), "{operator}");
        }
        assert!(differ(DataType::Float, &[1e-7], &[2e-7]), "no floor for other operators");
    }

    #[test]
    fn moved_values_are_equal() {
        assert!(differ_from(OutputSource::Moved, DataType::Float, &[1.0], &[1.0 + 1e-6]));
        assert!(differ_from(OutputSource::Moved, DataType::Int8, &[3.0], &[4.0]));
        assert!(!differ_from(OutputSource::Moved, DataType::Float, &[f64::NAN], &[f64::NAN]));
    }

    #[test]
    fn dequantized_values_agree_within_one_step() {
        let differ = |one: &[f64], other: &[f64]| {
            differ_from(OutputSource::Dequantized(0.5), DataType::Float, one, other)
        };
        assert!(!differ(&[3.0, 1.0], &[3.5, 1.0]));
        assert!(differ(&[3.0, 1.0], &[4.0, 1.0]));
    }

    #[test]
    fn one_step_in_most_elements_is_no_tie() {
        let shifted = |count: usize| {
            let other: Vec<_> = (0..40).map(|place| f64::from(u8::from(place < count))).collect();
            differ(DataType::Int8, &[0.0; 40], &other)
        };
        assert!(!shifted(10));
        assert!(shifted(11));
    }

    #[test]
    fn outputs_differ_in_shape_type_or_number() {
        let vector = tensor(DataType::Float, &[1.0]);
        let scalar = Tensor { shape: vec![], ..vector.clone() };
        let detail = |other: Vec<Tensor>| outputs_differ(std::slice::from_ref(&vector), &other, &[]);
        assert_eq!(detail(vec![scalar]).as_deref(), Some("output 0: [1] and []"));
        let double = tensor(DataType::Double, &[1.0]);
        assert_eq!(detail(vec![double]).as_deref(), Some("output 0: FLOAT and DOUBLE"));
        assert_eq!(detail(vec![]).as_deref(), Some("1 and 0 outputs"));
    }
}
