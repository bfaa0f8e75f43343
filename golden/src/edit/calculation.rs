use twinfer_onnx::Op;

use crate::value::Value;

use super::operator::Operator;

/// A step of an operator's calculation that is left out, done in another order, or done otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calculation {
    SquareRootMissing,
    EpsilonDefault,
    EpsilonOutsideRoot,
    ScaleAfterBias,
    MeanAfterScale,
    ZeroPointBeforeScaling,
    ZeroPointAfterScaling,
    ClippedAtSix,
    Minimum,
    InputsReversed,
    InputsRotated,
    FirstInputForAll,
    LastInputForAll,
}

/// The default of `epsilon` in ONNX.
const EPSILON: f64 = 1e-5_f32 as f64;

/// The inputs of a node; `None` for one that is absent.
pub type Inputs = [Option<Value>];

impl Calculation {
    /// What may be done otherwise in an operator.
    pub const fn all_of(operator: Operator) -> &'static [Self] {
        match operator {
            Operator::BatchNormalization => &[
                Self::SquareRootMissing,
                Self::EpsilonDefault,
                Self::EpsilonOutsideRoot,
                Self::ScaleAfterBias,
                Self::MeanAfterScale,
            ],
            Operator::QuantizeLinear => &[Self::ZeroPointBeforeScaling],
            Operator::DequantizeLinear => &[Self::ZeroPointAfterScaling],
            Operator::Relu => &[Self::ClippedAtSix],
            Operator::MaxPool => &[Self::Minimum],
            Operator::Concat => {
                &[Self::InputsReversed, Self::InputsRotated, Self::FirstInputForAll, Self::LastInputForAll]
            }
            _ => &[],
        }
    }

    /// Changes the inputs of a node such that the calculation of ONNX gives the other result.
    pub fn apply_to_inputs(self, op: &Op, inputs: &mut Inputs) {
        let epsilon = match op {
            Op::BatchNormalization(op) => op.epsilon.map_or(EPSILON, f64::from),
            _ => 0.0,
        };
        match (self, &mut *inputs) {
            (Self::SquareRootMissing, [.., Some(variance)]) => {
                *variance = variance.map(|v| (v + epsilon).powi(2) - epsilon);
            }
            (Self::EpsilonDefault, [.., Some(variance)]) => {
                *variance = variance.map(|v| v + EPSILON - epsilon);
            }
            (Self::EpsilonOutsideRoot, [.., Some(variance)]) => {
                *variance = variance.map(|v| (v.max(0.0).sqrt() + epsilon).powi(2) - epsilon);
            }
            (Self::ScaleAfterBias, [_, Some(scale), Some(bias), ..]) => {
                *bias = with(bias, scale, |bias, scale| bias * scale);
            }
            (Self::MeanAfterScale, [_, _, Some(bias), Some(mean), ..]) => {
                *bias = with(bias, mean, |bias, mean| bias - mean);
                *mean = mean.zeros();
            }
            (Self::ZeroPointBeforeScaling, [Some(x), _, Some(zero_point)])
                if zero_point.elements.len() == 1 =>
            {
                let shift = zero_point.elements[0];
                *x = x.map(|x| x + shift);
                *zero_point = zero_point.zeros();
            }
            (Self::ZeroPointAfterScaling, [_, Some(scale), Some(zero_point)]) => {
                *zero_point = with(zero_point, scale, |zero_point, scale| zero_point / scale);
            }
            (Self::Minimum, [Some(x)]) => *x = x.map(|x| -x),
            (Self::InputsReversed, inputs) => inputs.reverse(),
            (Self::InputsRotated, inputs) if !inputs.is_empty() => inputs.rotate_left(1),
            (Self::FirstInputForAll, [first, others @ ..]) => copy(first.as_ref(), others),
            (Self::LastInputForAll, [others @ .., last]) => copy(last.as_ref(), others),
            _ => {}
        }
    }

    /// Changes the output of the calculation of ONNX.
    pub fn apply_to_output(self, output: &mut Value) {
        match self {
            Self::ClippedAtSix => *output = output.map(|y| y.min(6.0)),
            Self::Minimum => *output = output.map(|y| -y),
            _ => {}
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::SquareRootMissing => "variance-without-root",
            Self::EpsilonDefault => "epsilon-default",
            Self::EpsilonOutsideRoot => "epsilon-outside-root",
            Self::ScaleAfterBias => "scale-after-bias",
            Self::MeanAfterScale => "mean-after-scale",
            Self::ZeroPointBeforeScaling => "zero-point-before-scaling",
            Self::ZeroPointAfterScaling => "zero-point-after-scaling",
            Self::ClippedAtSix => "clipped-at-6",
            Self::Minimum => "minimum",
            Self::InputsReversed => "inputs-reversed",
            Self::InputsRotated => "inputs-rotated",
            Self::FirstInputForAll => "first-input-for-all",
            Self::LastInputForAll => "last-input-for-all",
        }
    }

    /// What sentences say of it, behind the operator.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::SquareRootMissing => "divides by the variance and epsilon without the square root",
            Self::EpsilonDefault => "takes `epsilon` as 1e-5",
            Self::EpsilonOutsideRoot => "adds epsilon to the square root of the variance",
            Self::ScaleAfterBias => "multiplies by the scale after it adds the bias",
            Self::MeanAfterScale => "subtracts the mean after it multiplies by the scale",
            Self::ZeroPointBeforeScaling => "adds the zero point before it divides by the scale",
            Self::ZeroPointAfterScaling => "subtracts the zero point after it multiplies by the scale",
            Self::ClippedAtSix => "clips at 6",
            Self::Minimum => "gives the least element of each window",
            Self::InputsReversed => "joins its inputs in reverse order",
            Self::InputsRotated => "joins its inputs with the first one last",
            Self::FirstInputForAll => "reads the first input in place of every other one of its shape",
            Self::LastInputForAll => "reads the last input in place of every other one of its shape",
        }
    }
}

/// The elements of one parameter combined with those of another at the same places; the last of the other serves places beyond it.
fn with(one: &Value, other: &Value, combine: impl Fn(f64, f64) -> f64) -> Value {
    let mut place = 0..;
    one.map(|element| {
        let at = place.next().unwrap_or(0).min(other.elements.len().saturating_sub(1));
        other.elements.get(at).map_or(*element, |other| combine(*element, *other))
    })
}

fn copy(from: Option<&Value>, to: &mut Inputs) {
    let Some(from) = from else { return };
    let alike = to.iter_mut().flatten().filter(|value| value.shape == from.shape);
    alike.for_each(|value| *value = from.clone());
}
