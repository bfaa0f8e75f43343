use twinfer_onnx::{DequantizeLinear, Op, QuantizeLinear, resolve_axis};

use crate::{
    elementwise::integer_range,
    rounding::{to_bfloat16, to_half, to_tf32},
    value::Value,
};

use super::{
    operator::{Operator, groups},
    reindexing::{End, Reindexing},
};

/// A step of an operator's calculation that is left out, done in another order, or done otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Calculation {
    SquareRootMissing,
    EpsilonDefault,
    EpsilonOutsideRoot,
    ScaleAfterBias,
    MeanAfterScale,
    ZeroPointBeforeScaling,
    ZeroPointAfterScaling,
    RoundedBeforeScaling,
    SaturatedBeforeZeroPoint,
    ClippedAtSix,
    Minimum,
    InputsReversed,
    InputsRotated,
    FirstInputForAll,
    LastInputForAll,
    /// Other inputs are joined, as much of them as the output holds.
    InputsRead(Reindexing),
    BiasPerKernelPosition,
    BiasPerInputChannel,
    BiasDividedAmongGroups,
    LargestScaleForAll,
    MeanScaleForAll,
    FirstScaleWithoutZeroPoint,
    DifferenceWrapped,
    DifferenceSaturated,
    DifferencePositive,
    InputUnchanged,
    MeanAfterDivision,
    MultipliedByDeviation,
    EpsilonThousandth,
    EpsilonTenth,
    FactorInHalf,
    FactorInBfloat16,
    FactorInTf32,
    LowerBoundIgnored,
    UpperBoundIgnored,
    SumUndivided,
    DividedByFirstExtent,
    DividedByLastExtent,
    DividedByOneLess,
    DividedByChannelsToo,
    SixthMissing,
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
                Self::InputUnchanged,
                Self::MeanAfterDivision,
                Self::MultipliedByDeviation,
                Self::EpsilonThousandth,
                Self::EpsilonTenth,
                Self::FactorInHalf,
                Self::FactorInBfloat16,
                Self::FactorInTf32,
            ],
            Operator::Conv | Operator::ConvTranspose => {
                &[Self::BiasPerKernelPosition, Self::BiasPerInputChannel, Self::BiasDividedAmongGroups]
            }
            Operator::QuantizeLinear => &[
                Self::ZeroPointBeforeScaling,
                Self::RoundedBeforeScaling,
                Self::SaturatedBeforeZeroPoint,
                Self::LargestScaleForAll,
                Self::MeanScaleForAll,
                Self::FirstScaleWithoutZeroPoint,
            ],
            Operator::DequantizeLinear => &[
                Self::ZeroPointAfterScaling,
                Self::LargestScaleForAll,
                Self::MeanScaleForAll,
                Self::FirstScaleWithoutZeroPoint,
                Self::DifferenceWrapped,
                Self::DifferenceSaturated,
                Self::DifferencePositive,
            ],
            Operator::Clip => &[Self::LowerBoundIgnored, Self::UpperBoundIgnored],
            Operator::GlobalAveragePool => &[
                Self::SumUndivided,
                Self::DividedByFirstExtent,
                Self::DividedByLastExtent,
                Self::DividedByOneLess,
                Self::DividedByChannelsToo,
            ],
            Operator::HardSwish => &[Self::SixthMissing, Self::ClippedAtSix],
            Operator::Relu | Operator::LeakyRelu => &[Self::ClippedAtSix],
            Operator::MaxPool => &[Self::Minimum],
            Operator::Concat => &[
                Self::InputsReversed,
                Self::InputsRotated,
                Self::FirstInputForAll,
                Self::LastInputForAll,
                Self::InputsRead(Reindexing::Next(End::Clamped)),
                Self::InputsRead(Reindexing::Previous(End::Clamped)),
                Self::InputsRead(Reindexing::Previous(End::Around)),
                Self::InputsRead(Reindexing::PairsExchanged),
                Self::InputsRead(Reindexing::PairsShared),
                Self::InputsRead(Reindexing::HalfShared),
                Self::InputsRead(Reindexing::EvensFirst),
                Self::InputsRead(Reindexing::BeforeLast),
            ],
            _ => &[],
        }
    }

    /// What an average over all positions of data of this shape is to be multiplied by; `None` if nothing changes or nothing is left.
    fn factor_of_average(self, shape: &[usize]) -> Option<f64> {
        let count: usize = shape.get(2..)?.iter().product();
        let divisor = match self {
            Self::SumUndivided => 1,
            Self::DividedByFirstExtent => *shape.get(2)?,
            Self::DividedByLastExtent => *shape.last()?,
            Self::DividedByOneLess => count.checked_sub(1)?,
            Self::DividedByChannelsToo => count * shape[1],
            _ => return None,
        };
        (divisor > 0).then(|| count as f64 / divisor as f64)
    }

    /// Changes the inputs of a node such that the calculation of ONNX gives the other result.
    pub fn apply_to_inputs(self, op: &Op, inputs: &mut Inputs) {
        match op {
            Op::BatchNormalization(op) => {
                return self.apply_to_normalization(op.epsilon.map_or(EPSILON, f64::from), inputs);
            }
            Op::Conv(_) | Op::ConvTranspose(_) => return self.apply_to_bias(op, inputs),
            _ => {}
        }
        match (self, &mut *inputs) {
            (Self::ZeroPointBeforeScaling, [Some(x), _, Some(zero_point)])
                if zero_point.elements.len() == 1 =>
            {
                let shift = zero_point.elements[0];
                *x = x.map(|x| x + shift);
                *zero_point = zero_point.zeros();
            }
            (Self::RoundedBeforeScaling, [Some(x), Some(scale), zero_point @ ..]) => {
                let scale = along_axis(op, x, scale);
                let zero_point = zero_point.iter().flatten().next().map(|shift| along_axis(op, x, shift));
                let shift = |place| zero_point.as_ref().map_or(0.0, |shift| shift(place));
                *x = map_places(x, |place, x| {
                    let sum = x.round_ties_even() / scale(place) + shift(place);
                    (sum.trunc() - shift(place)) * scale(place)
                });
            }
            (Self::SaturatedBeforeZeroPoint, [Some(x), Some(scale), Some(zero_point)]) => {
                let Some((least, greatest)) = integer_range(zero_point.dtype) else { return };
                let (scale, shift) = (along_axis(op, x, scale), along_axis(op, x, zero_point));
                *x = map_places(x, |place, x| {
                    let quotient = (x / scale(place)).round_ties_even().clamp(least, greatest);
                    let wrapped =
                        (quotient + shift(place) - least).rem_euclid(greatest - least + 1.0) + least;
                    (wrapped - shift(place)) * scale(place)
                });
            }
            (Self::ZeroPointAfterScaling, [_, Some(scale), Some(zero_point)]) => {
                *zero_point = with(zero_point, scale, |zero_point, scale| zero_point / scale);
            }
            (Self::LowerBoundIgnored, [_, Some(bound), ..]) => *bound = bound.map(|_| f64::NEG_INFINITY),
            (Self::UpperBoundIgnored, [_, _, Some(bound)]) => *bound = bound.map(|_| f64::INFINITY),
            (
                Self::SumUndivided
                | Self::DividedByFirstExtent
                | Self::DividedByLastExtent
                | Self::DividedByOneLess
                | Self::DividedByChannelsToo,
                [Some(x)],
            ) => {
                if let Some(factor) = self.factor_of_average(&x.shape) {
                    *x = x.map(|x| x * factor);
                }
            }
            (Self::Minimum, [Some(x)]) => *x = x.map(|x| -x),
            (Self::InputsReversed, inputs) => inputs.reverse(),
            (Self::InputsRotated, inputs) if !inputs.is_empty() => inputs.rotate_left(1),
            (Self::FirstInputForAll, [first, others @ ..]) => copy(first.as_ref(), others),
            (Self::LastInputForAll, [others @ .., last]) => copy(last.as_ref(), others),
            (Self::InputsRead(reindexing), inputs) => {
                let count = inputs.len();
                let source = |place: usize| reindexing.source(place, count, 1).unwrap_or(place);
                let read: Vec<_> = (0..count).map(|place| inputs[source(place)].clone()).collect();
                // what is too short for the output is not made up
                if elements(&read) >= elements(inputs) {
                    inputs.clone_from_slice(&read);
                }
            }
            (Self::LargestScaleForAll, [_, Some(scale), ..]) => {
                let largest = scale.elements.iter().copied().fold(f64::MIN, f64::max);
                *scale = scale.map(|_| largest);
            }
            (Self::MeanScaleForAll, [_, Some(scale), ..]) => {
                let mean = scale.elements.iter().sum::<f64>() / scale.elements.len().max(1) as f64;
                *scale = scale.map(|_| mean);
            }
            (Self::FirstScaleWithoutZeroPoint, [_, Some(scale), zero_point @ ..]) => {
                let first = scale.elements.first().copied().unwrap_or(1.0);
                *scale = scale.map(|_| first);
                zero_point.iter_mut().flatten().for_each(|zero_point| *zero_point = zero_point.zeros());
            }
            (
                Self::DifferenceWrapped | Self::DifferenceSaturated | Self::DifferencePositive,
                [Some(x), _, Some(zero_point)],
            ) => {
                let shift = along_axis(op, x, zero_point);
                *x = map_places(x, |place, x| self.narrowed(x - shift(place)));
                *zero_point = zero_point.zeros();
            }
            (
                Self::DifferenceWrapped | Self::DifferenceSaturated | Self::DifferencePositive,
                [Some(x), ..],
            ) => *x = x.map(|x| self.narrowed(*x)),
            _ => {}
        }
    }

    fn apply_to_bias(self, op: &Op, inputs: &mut Inputs) {
        match (self, inputs) {
            (Self::BiasPerKernelPosition, [_, Some(weight), Some(bias)]) => {
                *bias = bias.scaled(weight.shape[2..].iter().product::<usize>() as f64);
            }
            (Self::BiasPerInputChannel, [_, Some(weight), Some(bias)]) => {
                let is_transposed = matches!(op, Op::ConvTranspose(_));
                let channels = if is_transposed { weight.shape[0] / groups(op) } else { weight.shape[1] };
                *bias = bias.scaled(channels as f64);
            }
            (Self::BiasDividedAmongGroups, [_, _, Some(bias)]) => {
                *bias = bias.scaled(1.0 / groups(op) as f64);
            }
            _ => {}
        }
    }

    fn apply_to_normalization(self, epsilon: f64, inputs: &mut Inputs) {
        match (self, inputs) {
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
            (Self::InputUnchanged, [_, Some(scale), Some(bias), Some(mean), Some(variance)]) => {
                (*bias, *mean) = (bias.zeros(), mean.zeros());
                (*scale, *variance) = (scale.map(|_| 1.0), variance.map(|_| 1.0 - epsilon));
            }
            (Self::MeanAfterDivision, [_, _, _, Some(mean), Some(variance)]) => {
                *mean = with(mean, variance, |mean, variance| mean * (variance + epsilon).sqrt());
            }
            (Self::MultipliedByDeviation, [.., Some(variance)]) => {
                *variance = variance.map(|v| 1.0 / (v + epsilon) - epsilon);
            }
            (Self::EpsilonThousandth, [.., Some(variance)]) => {
                *variance = variance.map(|v| v + 1e-3 - epsilon);
            }
            (Self::EpsilonTenth, [.., Some(variance)]) => {
                *variance = variance.map(|v| v - 0.9 * epsilon);
            }
            (
                Self::FactorInHalf | Self::FactorInBfloat16 | Self::FactorInTf32,
                [_, Some(scale), _, _, Some(variance)],
            ) => {
                let round = match self {
                    Self::FactorInHalf => to_half,
                    Self::FactorInBfloat16 => to_bfloat16,
                    _ => to_tf32,
                };
                *scale = with(scale, variance, |scale, variance| {
                    let deviation = (variance + epsilon).sqrt();
                    round(scale / deviation) * deviation
                });
            }
            _ => {}
        }
    }

    /// Changes the output of the calculation of ONNX.
    pub fn apply_to_output(self, output: &mut Value) {
        match self {
            Self::SixthMissing => *output = output.map(|y| y * 6.0),
            Self::ClippedAtSix => *output = output.map(|y| y.min(6.0)),
            Self::Minimum => *output = output.map(|y| -y),
            _ => {}
        }
    }

    /// The difference of an integer and its zero point, in 8 bits or at least 0.
    fn narrowed(self, difference: f64) -> f64 {
        match self {
            Self::DifferenceWrapped => (difference + 128.0).rem_euclid(256.0) - 128.0,
            Self::DifferenceSaturated => difference.clamp(-128.0, 127.0),
            _ => difference.max(0.0),
        }
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let slug = match self {
            Self::InputsRead(reindexing) => return format!("inputs-{}", reindexing.slug()),
            Self::BiasPerKernelPosition => "bias-per-kernel-position",
            Self::BiasPerInputChannel => "bias-per-input-channel",
            Self::BiasDividedAmongGroups => "bias-divided-among-groups",
            Self::LargestScaleForAll => "largest-scale-for-all",
            Self::MeanScaleForAll => "mean-scale-for-all",
            Self::FirstScaleWithoutZeroPoint => "first-scale-without-zero-point",
            Self::DifferenceWrapped => "difference-wrapped",
            Self::DifferenceSaturated => "difference-saturated",
            Self::DifferencePositive => "difference-positive",
            Self::InputUnchanged => "input-unchanged",
            Self::MeanAfterDivision => "mean-after-division",
            Self::MultipliedByDeviation => "multiplied-by-deviation",
            Self::EpsilonThousandth => "epsilon-thousandth",
            Self::EpsilonTenth => "epsilon-tenth",
            Self::FactorInHalf => "factor-in-half",
            Self::FactorInBfloat16 => "factor-in-bfloat16",
            Self::FactorInTf32 => "factor-in-tf32",
            Self::SquareRootMissing => "variance-without-root",
            Self::EpsilonDefault => "epsilon-default",
            Self::EpsilonOutsideRoot => "epsilon-outside-root",
            Self::ScaleAfterBias => "scale-after-bias",
            Self::MeanAfterScale => "mean-after-scale",
            Self::ZeroPointBeforeScaling => "zero-point-before-scaling",
            Self::ZeroPointAfterScaling => "zero-point-after-scaling",
            Self::RoundedBeforeScaling => "rounded-before-scaling",
            Self::SaturatedBeforeZeroPoint => "saturated-before-zero-point",
            Self::ClippedAtSix => "clipped-at-6",
            Self::LowerBoundIgnored => "lower-bound-unused",
            Self::UpperBoundIgnored => "upper-bound-unused",
            Self::SumUndivided => "sum-undivided",
            Self::DividedByFirstExtent => "divided-by-first-extent",
            Self::DividedByLastExtent => "divided-by-last-extent",
            Self::DividedByOneLess => "divided-by-one-less",
            Self::DividedByChannelsToo => "divided-by-channels-too",
            Self::SixthMissing => "sixth-missing",
            Self::Minimum => "minimum",
            Self::InputsReversed => "inputs-reversed",
            Self::InputsRotated => "inputs-rotated",
            Self::FirstInputForAll => "first-input-for-all",
            Self::LastInputForAll => "last-input-for-all",
        };
        slug.to_owned()
    }

    /// What sentences say of it, behind the operator.
    pub fn clause(self) -> String {
        let clause = match self {
            Self::InputsRead(reindexing) => {
                return format!("joins {}, as much of it as the output holds", reindexing.clause("input"));
            }
            Self::BiasPerKernelPosition => "adds the bias once for each position of the kernel",
            Self::BiasPerInputChannel => "adds the bias once for each input channel of a group",
            Self::BiasDividedAmongGroups => "divides the bias by `group`",
            Self::LargestScaleForAll => "applies the largest scale to all elements",
            Self::MeanScaleForAll => "applies the mean of the scales to all elements",
            Self::FirstScaleWithoutZeroPoint => "applies the first scale and no zero point",
            Self::DifferenceWrapped => "subtracts the zero point in 8 bits, and the difference wraps around",
            Self::DifferenceSaturated => "subtracts the zero point in 8 bits, and the difference saturates",
            Self::DifferencePositive => "takes a negative difference to the zero point as 0",
            Self::InputUnchanged => "gives its input as it is",
            Self::MeanAfterDivision => "subtracts the mean after it divides by the deviation",
            Self::MultipliedByDeviation => "multiplies by the deviation instead of dividing by it",
            Self::EpsilonThousandth => "takes `epsilon` as 1e-3",
            Self::EpsilonTenth => "takes a tenth of `epsilon`",
            Self::FactorInHalf => "rounds the quotient of scale and deviation to a 16-bit float",
            Self::FactorInBfloat16 => "rounds the quotient of scale and deviation to bfloat16",
            Self::FactorInTf32 => "rounds the quotient of scale and deviation to 11 bits of significand",
            Self::SquareRootMissing => "divides by the variance and epsilon without the square root",
            Self::EpsilonDefault => "takes `epsilon` as 1e-5",
            Self::EpsilonOutsideRoot => "adds epsilon to the square root of the variance",
            Self::ScaleAfterBias => "multiplies by the scale after it adds the bias",
            Self::MeanAfterScale => "subtracts the mean after it multiplies by the scale",
            Self::ZeroPointBeforeScaling => "adds the zero point before it divides by the scale",
            Self::ZeroPointAfterScaling => "subtracts the zero point after it multiplies by the scale",
            Self::RoundedBeforeScaling => {
                "rounds before it divides by the scale, and drops the fraction of the result"
            }
            Self::SaturatedBeforeZeroPoint => {
                "saturates before it adds the zero point, and the sum wraps around"
            }
            Self::ClippedAtSix => "clips at 6",
            Self::LowerBoundIgnored => "does not apply its lower bound",
            Self::UpperBoundIgnored => "does not apply its upper bound",
            Self::SumUndivided => "gives the sum of the elements and does not divide it",
            Self::DividedByFirstExtent => "divides by the extent of the first spatial axis alone",
            Self::DividedByLastExtent => "divides by the extent of the last axis alone",
            Self::DividedByOneLess => "divides by one less than the number of elements",
            Self::DividedByChannelsToo => "divides by the number of channels too",
            Self::SixthMissing => "does not divide by 6",
            Self::Minimum => "gives the least element of each window",
            Self::InputsReversed => "joins its inputs in reverse order",
            Self::InputsRotated => "joins its inputs with the first one last",
            Self::FirstInputForAll => "reads the first input in place of every other one of its shape",
            Self::LastInputForAll => "reads the last input in place of every other one of its shape",
        };
        clause.to_owned()
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

/// The value with every element changed, given its place.
fn map_places(value: &Value, change: impl Fn(usize, f64) -> f64) -> Value {
    let mut place = 0..;
    value.map(|element| change(place.next().unwrap_or(0), *element))
}

/// The element of a parameter of a quantizer for each place of `x`.
fn along_axis(op: &Op, x: &Value, parameter: &Value) -> impl Fn(usize) -> f64 + use<> {
    let axis = match op {
        Op::DequantizeLinear(DequantizeLinear { axis }) | Op::QuantizeLinear(QuantizeLinear { axis }) => {
            axis.unwrap_or(1)
        }
        _ => 1,
    };
    let axis = resolve_axis(axis, x.shape.len()).unwrap_or(0);
    let inner: usize = x.shape.iter().skip(axis + 1).product();
    let elements = parameter.elements.clone();
    move |place| elements.get(place / inner.max(1) % elements.len().max(1)).copied().unwrap_or(0.0)
}

/// The number of elements of all inputs.
fn elements(inputs: &Inputs) -> usize {
    inputs.iter().flatten().map(|input| input.elements.len()).sum()
}

fn copy(from: Option<&Value>, to: &mut Inputs) {
    let Some(from) = from else { return };
    let alike = to.iter_mut().flatten().filter(|value| value.shape == from.shape);
    alike.for_each(|value| *value = from.clone());
}
