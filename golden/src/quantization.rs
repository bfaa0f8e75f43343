use twinfer_onnx::DataType;

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    elementwise::{integer_range, open_where_nan},
    grid::Grid,
    rounding::rounding_to,
    rules::{self, Entry},
    special::Special,
    value::Value,
};

/// Roundings of a scaled number: two of the reciprocal or, if an integer kernel does not dequantize in between, of the
/// quotient of the scales of its operands and its result; of the product with it; and of the sum with a zero point.
const SCALING_ROUNDINGS: f64 = 4.0;

/// Roundings of a dequantized number: of the difference, of the product or of the quotient by a reciprocal, and of that reciprocal or of a scale
/// folded into another.
const ROUNDINGS: f64 = 3.0;

/// Roundings of a number that is divided by its scale and multiplied by it: of the reciprocal, and of either product.
const ROUNDINGS_THERE_AND_BACK: f64 = 3.0;

/// The rounding and saturation of a quantizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IntegerConversion {
    pub rounding: Rounding,
    pub overflow: Overflow,
    /// Whether the zero point is added before the number is rounded; only mutants do that.
    pub shifted_first: bool,
}

/// The rounding of a number between two integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest integer, ties to even, as in ONNX.
    #[default]
    HalfToEven,
    /// To the nearest integer, ties away from zero; only mutants do that.
    HalfAwayFromZero,
    /// To the nearest integer, ties to odd; only mutants do that.
    HalfToOdd,
    /// Toward zero; only mutants do that.
    TowardZero,
    /// To the nearest integer, ties toward zero; only mutants do that.
    HalfTowardZero,
    /// To the nearest integer, ties toward the larger one; only mutants do that.
    HalfUp,
    /// To the nearest integer, ties toward the smaller one; only mutants do that.
    HalfDown,
    /// Toward the smaller integer; only mutants do that.
    Down,
    /// Toward the larger integer; only mutants do that.
    Up,
}

/// The treatment of an integer beyond the type's range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// Saturates at the end of the range, as in ONNX.
    #[default]
    Saturates,
    /// Saturates, but never at the lowest integer of a signed type; only mutants do that.
    SaturatesNarrowly,
    /// Saturates one above the lowest integer; only mutants do that.
    SaturatesAboveLowest,
    /// Saturates one below the highest integer; only mutants do that.
    SaturatesBelowHighest,
    /// Saturates before the zero point is added, too; only mutants do that.
    SaturatesBeforeShift,
    /// Saturates at zero instead of a lower integer; only mutants do that.
    SaturatesAtZero,
    /// Saturates at 127 instead of a higher integer; only mutants do that.
    SaturatesAt127,
    /// Saturates at the lowest integer of the type of the other sign instead of its own; only mutants do that.
    SaturatesAtOtherLowest,
    /// Saturates at the highest integer of the type of the other sign instead of its own; only mutants do that.
    SaturatesAtOtherHighest,
    /// Saturates at the negative of the highest integer instead of the lowest one; only mutants do that.
    SaturatesAtMinusHighest,
    /// Saturates at the half of the lowest integer; only mutants do that.
    SaturatesAtHalfLowest,
    /// Saturates at the half of the highest integer; only mutants do that.
    SaturatesAtHalfHighest,
    /// Wraps around below the lowest integer; only mutants do that.
    WrapsBelow,
    /// Wraps around above the highest integer; only mutants do that.
    WrapsAbove,
    /// Wraps around; only mutants do that.
    Wraps,
    /// Saturates what a 32-bit integer holds: numbers beyond it are its lowest, and the zero point is added with wraparound; only mutants do
    /// that.
    LowestInt32,
    /// Saturates a 32-bit integer, to which the zero point is added with wraparound, and then the sum; only mutants do that.
    SaturatesInt32,
}

impl IntegerConversion {
    /// The rounding and saturation of ONNX.
    pub const ONNX: Self =
        Self { rounding: Rounding::HalfToEven, overflow: Overflow::Saturates, shifted_first: false };

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let shifted = if self.shifted_first { "-after-zero-point" } else { "" };
        match self.overflow {
            Overflow::Saturates => format!("rounded-{}{shifted}", self.rounding.slug()),
            overflow => overflow.slug().to_owned(),
        }
    }

    /// What sentences say of it, behind the operator.
    pub fn clause(self) -> String {
        let shifted = if self.shifted_first { " after it adds the zero point" } else { "" };
        match self.overflow {
            Overflow::Saturates => format!("rounds {}{shifted}", self.rounding.clause()),
            overflow => overflow.clause().to_owned(),
        }
    }

    /// An element of a type divided by its scale. What saturates in 32 bits was divided in that type, where the quotient may overflow.
    fn quotient(self, element: f64, scale: f64, dtype: DataType) -> f64 {
        match self.overflow {
            Overflow::SaturatesInt32 => rounding_to(dtype)(element / scale),
            _ => element / scale,
        }
    }

    fn round(self, scaled: f64) -> f64 {
        match self.rounding {
            _ if scaled.is_nan() => 0.0,
            Rounding::HalfToEven => scaled.round_ties_even(),
            Rounding::HalfAwayFromZero => scaled.round(),
            // an odd number away, even ones are odd ones
            Rounding::HalfToOdd => (scaled - 1.0).round_ties_even() + 1.0,
            Rounding::TowardZero => scaled.trunc(),
            Rounding::HalfTowardZero => (scaled.abs() - 0.5).ceil().max(0.0).copysign(scaled),
            Rounding::HalfUp => (scaled + 0.5).floor(),
            Rounding::HalfDown => (scaled - 0.5).ceil(),
            Rounding::Down => scaled.floor(),
            Rounding::Up => scaled.ceil(),
        }
    }

    /// `scaled` as an integer of a range, shifted by the zero point.
    fn integer(self, scaled: f64, zero_point: f64, (lowest, highest): (f64, f64)) -> f64 {
        let integer = if self.shifted_first {
            self.round(scaled + zero_point)
        } else {
            self.round(scaled) + zero_point
        };
        match self.overflow {
            Overflow::Wraps => wrapped(integer, (lowest, highest)),
            Overflow::WrapsBelow => wrapped(integer.min(highest), (lowest, highest)),
            Overflow::WrapsAbove => wrapped(integer.max(lowest), (lowest, highest)),
            // what the type does not hold wraps around in its turn
            Overflow::SaturatesAtOtherLowest => {
                wrapped(integer.clamp(lowest - other_sign(lowest), highest), (lowest, highest))
            }
            Overflow::SaturatesAtMinusHighest => wrapped(integer.clamp(-highest, highest), (lowest, highest)),
            Overflow::SaturatesAtOtherHighest => {
                wrapped(integer.clamp(lowest, highest - other_sign(lowest)), (lowest, highest))
            }
            Overflow::SaturatesAtHalfLowest => integer.clamp((lowest / 2.0).round(), highest),
            Overflow::SaturatesAtHalfHighest => integer.clamp(lowest, (highest / 2.0).floor()),
            Overflow::SaturatesNarrowly => integer.clamp(lowest.max(-highest), highest),
            Overflow::SaturatesAboveLowest => integer.clamp(lowest + 1.0, highest),
            Overflow::SaturatesBelowHighest => integer.clamp(lowest, highest - 1.0),
            Overflow::SaturatesBeforeShift => {
                (self.round(scaled).clamp(lowest, highest) + zero_point).clamp(lowest, highest)
            }
            Overflow::SaturatesAtZero => integer.clamp(lowest.max(0.0), highest),
            Overflow::SaturatesAt127 => integer.clamp(lowest, highest.min(127.0)),
            Overflow::LowestInt32 => {
                int32_sum(lowest_int32_beyond(self.round(scaled)), zero_point).clamp(lowest, highest)
            }
            // the cast saturates
            Overflow::SaturatesInt32 => {
                int32_sum(self.round(scaled) as i32, zero_point).clamp(lowest, highest)
            }
            Overflow::Saturates => integer.clamp(lowest, highest),
        }
    }
}

impl Rounding {
    pub const ALL: &[Self] = &[
        Self::HalfToEven,
        Self::HalfAwayFromZero,
        Self::HalfToOdd,
        Self::TowardZero,
        Self::HalfTowardZero,
        Self::HalfUp,
        Self::HalfDown,
        Self::Down,
        Self::Up,
    ];

    const fn slug(self) -> &'static str {
        match self {
            Self::HalfToEven => "half-to-even",
            Self::HalfAwayFromZero => "half-away",
            Self::HalfToOdd => "half-to-odd",
            Self::TowardZero => "toward-zero",
            Self::HalfTowardZero => "half-toward-zero",
            Self::HalfUp => "half-up",
            Self::HalfDown => "half-down",
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    const fn clause(self) -> &'static str {
        match self {
            Self::HalfToEven => "half to even",
            Self::HalfAwayFromZero => "half away from zero",
            Self::HalfToOdd => "half to odd",
            Self::TowardZero => "toward zero",
            Self::HalfTowardZero => "half toward zero",
            Self::HalfUp => "half toward the larger integer",
            Self::HalfDown => "half toward the smaller integer",
            Self::Down => "to the next smaller integer",
            Self::Up => "to the next larger integer",
        }
    }
}

impl Overflow {
    pub const ALL: &[Self] = &[
        Self::Saturates,
        Self::SaturatesNarrowly,
        Self::SaturatesAboveLowest,
        Self::SaturatesBelowHighest,
        Self::SaturatesBeforeShift,
        Self::SaturatesAtZero,
        Self::SaturatesAt127,
        Self::Wraps,
        Self::LowestInt32,
        Self::SaturatesInt32,
        Self::SaturatesAtOtherLowest,
        Self::SaturatesAtOtherHighest,
        Self::SaturatesAtMinusHighest,
        Self::SaturatesAtHalfLowest,
        Self::SaturatesAtHalfHighest,
        Self::WrapsBelow,
        Self::WrapsAbove,
    ];

    const fn slug(self) -> &'static str {
        match self {
            Self::Saturates => "saturates",
            Self::SaturatesNarrowly => "narrow-range",
            Self::SaturatesAboveLowest => "saturates-above-lowest",
            Self::SaturatesBelowHighest => "saturates-below-highest",
            Self::SaturatesBeforeShift => "saturates-before-zero-point",
            Self::SaturatesAtZero => "saturates-at-zero",
            Self::SaturatesAt127 => "saturates-at-127",
            Self::SaturatesAtOtherLowest => "saturates-at-lowest-of-other-sign",
            Self::SaturatesAtOtherHighest => "saturates-at-highest-of-other-sign",
            Self::SaturatesAtMinusHighest => "saturates-at-minus-highest",
            Self::SaturatesAtHalfLowest => "saturates-at-half-of-lowest",
            Self::SaturatesAtHalfHighest => "saturates-at-half-of-highest",
            Self::WrapsBelow => "wraps-below-lowest",
            Self::WrapsAbove => "wraps-above-highest",
            Self::Wraps => "wraps",
            Self::LowestInt32 => "saturates-int32",
            Self::SaturatesInt32 => "saturates-int32-at-both-ends",
        }
    }

    const fn clause(self) -> &'static str {
        match self {
            Self::Saturates => "saturates",
            Self::SaturatesNarrowly => "saturates int8 at -127 instead of -128",
            Self::SaturatesAboveLowest => "saturates one above the lowest integer of the type",
            Self::SaturatesBelowHighest => "saturates one below the highest integer of the type",
            Self::SaturatesBeforeShift => "saturates before it adds the zero point, and again afterwards",
            Self::SaturatesAtZero => "saturates at 0 instead of a lower integer",
            Self::SaturatesAt127 => "saturates at 127 instead of a higher integer",
            Self::SaturatesAtOtherLowest => {
                "saturates at the lowest integer of the other signedness: int8 at 0, and uint8 at -128, which wraps around"
            }
            Self::SaturatesAtOtherHighest => {
                "saturates at the highest integer of the other signedness: uint8 at 127, and int8 at 255, which wraps around"
            }
            Self::SaturatesAtMinusHighest => {
                "saturates at the negative of the highest integer: int8 at -127, and uint8 at -255, which wraps around"
            }
            Self::SaturatesAtHalfLowest => "saturates at half of the lowest integer of the type",
            Self::SaturatesAtHalfHighest => {
                "saturates at half of the highest integer of the type, rounded down"
            }
            Self::WrapsBelow => "wraps around below the lowest integer instead of saturating",
            Self::WrapsAbove => "wraps around above the highest integer instead of saturating",
            Self::Wraps => "wraps around instead of saturating",
            Self::LowestInt32 => {
                "converts to a 32-bit integer first, which is the lowest one for numbers beyond its range, and adds the zero point to that with wraparound"
            }
            Self::SaturatesInt32 => {
                "converts to a 32-bit integer first, which saturates, and adds the zero point to that with wraparound"
            }
        }
    }
}

/// An integer of a range that differs by a multiple of the size of the range; the nearer end for infinities.
fn wrapped(integer: f64, (lowest, highest): (f64, f64)) -> f64 {
    if integer.is_finite() {
        lowest + (integer - lowest).rem_euclid(highest - lowest + 1.0)
    } else {
        integer.clamp(lowest, highest)
    }
}

/// By how much a range of 8 bits with this lowest integer lies below that of the type of the other sign.
fn other_sign(lowest: f64) -> f64 {
    if lowest < 0.0 { -128.0 } else { 128.0 }
}

/// An integer in 32 bits, the lowest one if it does not fit.
pub fn lowest_int32_beyond(integer: f64) -> i32 {
    let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&integer);
    if fits { integer as i32 } else { i32::MIN }
}

/// The sum with a zero point in 32 bits, with wraparound.
fn int32_sum(integer: i32, zero_point: f64) -> f64 {
    f64::from(integer.wrapping_add(zero_point as i32))
}

/// The scale with which the integers from `lowest` to `highest` span these numbers, and the zero point before it is rounded; in 32-bit floats
/// as backends compute them.
pub fn spanning((least, largest): (f32, f32), (lowest, highest): (f32, f32)) -> (f32, f32) {
    let scale = (largest - least) / (highest - lowest);
    (scale, lowest - least / scale)
}

/// Scale and zero point, each a scalar or one value per position along `axis`.
pub struct Parameters<'a> {
    pub scale: &'a Value,
    pub zero_point: Option<&'a Value>,
    pub axis: usize,
    pub choice: ScaleChoice,
    pub conversion: IntegerConversion,
}

/// Which scale and zero point an element gets. Only mutants that apply scales along another axis meet positions without one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ScaleChoice {
    /// Its own. Positions without one have them in turn, from the first one again.
    Own,
    /// Its own. Positions without one have the first, as the weights of ConvTranspose in TensorRT 8.5.3 and 8.6.0.
    OwnOrFirst,
    /// The first; only mutants do that.
    First,
}

impl ScaleChoice {
    /// The place of the scale for `position`, of `scales`.
    const fn place(self, position: usize, scales: usize) -> usize {
        match self {
            Self::Own => position % scales,
            Self::OwnOrFirst if position < scales => position,
            Self::OwnOrFirst | Self::First => 0,
        }
    }
}

/// The parameters that apply to one element.
struct At {
    scale: f64,
    scale_error: f64,
    zero_point: f64,
}

impl Parameters<'_> {
    /// For each element of `x` in turn, the parameters that apply to it.
    fn along<'b>(&'b self, x: &'b Value) -> impl Iterator<Item = At> + 'b {
        let is_per_tensor = self.scale.elements.len() == 1 || self.choice == ScaleChoice::First;
        let (extent, inner) = if is_per_tensor {
            (1, 1)
        } else {
            (x.shape[self.axis], x.shape[self.axis + 1..].iter().product())
        };
        (0..x.elements.len()).map(move |place| {
            let channel = self.choice.place(place / inner % extent, self.scale.elements.len());
            At {
                scale: self.scale.elements[channel],
                scale_error: self.scale.error_at(channel),
                zero_point: self.zero_point.map_or(0.0, |zero_point| zero_point.elements[channel]),
            }
        })
    }

    /// The places of `x` whose scale is not positive or not finite, which are open.
    fn without_scale(&self, x: &Value) -> Vec<(usize, Special)> {
        if self.scale.elements.iter().all(|scale| scale.is_finite() && *scale > 0.0) {
            return Vec::new();
        }
        let scales = self.along(x).enumerate().filter(|(_, at)| !at.scale.is_finite() || at.scale <= 0.0);
        scales.map(|(place, _)| (place, Special::Open(Some(&rules::SCALE_NOT_POSITIVE)))).collect()
    }
}

/// `saturate(round(x / scale) + zero_point)`, rounding half to even.
pub fn quantize(x: &Value, parameters: &Parameters, dtype: DataType) -> (Value, Vec<&'static Entry>) {
    let range = integer_range(dtype).unwrap_or((f64::MIN, f64::MAX));
    let conversion = parameters.conversion;
    let unit_roundoff = x.format.unit_roundoff();
    let mut elements = Vec::with_capacity(x.elements.len());
    let mut errors = Vec::with_capacity(x.elements.len());
    for (place, at) in parameters.along(x).enumerate() {
        let quantized = |scaled: f64| conversion.integer(scaled, at.zero_point, range);
        let scaled = conversion.quotient(x.elements[place], at.scale, x.dtype);
        let error = scaled_error(x.error_at(place), scaled, &at, unit_roundoff);
        let element = quantized(scaled);
        elements.push(element);
        // if anything conforms, so does every integer; a mutant need not give the ends of the range for infinities
        let ends =
            if error.is_finite() { (quantized(scaled - error), quantized(scaled + error)) } else { range };
        errors.push((ends.0 - element).abs().max((ends.1 - element).abs()));
    }
    let mut value = Value::quantized(dtype, x.shape.clone(), elements, errors);
    value.quantization_step = Some(1.0);
    let nan = open_where_nan(x, &rules::QUANTIZE_NAN);
    // a backend that sees the infinity saturates
    let unsaturated = parameters.along(x).enumerate().filter(|(place, at)| {
        let saturated =
            conversion.integer(f64::INFINITY.copysign(x.elements[*place]) / at.scale, at.zero_point, range);
        x.is_overflow(*place) && (saturated - value.elements[*place]).abs() > 0.0
    });
    let unsaturated = unsaturated.map(|(place, _)| place);
    let open = (0..x.elements.len())
        .filter(|place| x.error_at(*place) == f64::INFINITY && !x.elements[*place].is_finite());
    let open = unsaturated.chain(open).map(|place| (place, Special::Open(None))).collect::<Vec<_>>();
    let decided = open.into_iter().chain(parameters.without_scale(x)).chain(nan);
    let touched = value.settle(decided);
    (value, touched)
}

/// How far a backend's `x / scale` may be from `scaled`: zero if x is exact and the scale is a power of two.
fn scaled_error(x_error: f64, scaled: f64, at: &At, unit_roundoff: f64) -> f64 {
    let smallest_scale = at.scale.abs() - at.scale_error;
    if smallest_scale <= 0.0 {
        return f64::INFINITY;
    }
    if scaled.is_infinite() && x_error.is_finite() {
        return 0.0;
    }
    let propagated = (x_error + scaled.abs() * at.scale_error) / smallest_scale;
    if is_power_of_two(at.scale) && propagated == 0.0 {
        return 0.0;
    }
    let rounded = SCALING_ROUNDINGS * (scaled.abs() + propagated) + at.zero_point.abs();
    propagated + unit_roundoff * rounded
}

/// Whether a backend may as well divide by the reciprocal: no rounding changes it.
fn is_power_of_two(scale: f64) -> bool {
    scale.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1
}

/// `(x - zero_point) * scale`, the open point of all elements, and those of single ones.
pub fn dequantize(
    x: &Value,
    parameters: &Parameters,
    arithmetic: Arithmetic,
) -> (Value, Option<&'static Entry>, Vec<&'static Entry>) {
    let dtype = parameters.scale.dtype;
    let shifted: Vec<f64> = parameters.along(x).zip(&x.elements).map(|(at, x)| x - at.zero_point).collect();
    let elements: Vec<f64> =
        parameters.along(x).zip(&shifted).map(|(at, shifted)| shifted * at.scale).collect();
    let magnitude = elements.iter().map(|element| element.abs()).collect();
    let grid = (|| {
        x.grid?;
        let scale = parameters
            .scale
            .grid
            .filter(|_| parameters.scale.elements.iter().copied().all(is_power_of_two))?;
        Some(Grid::of(&shifted)?.times(scale))
    })();
    let format = arithmetic.format(dtype);
    let mut value =
        Value::computed((dtype, format), x.shape.clone(), elements, magnitude, grid, |_, magnitude| {
            let parts = parameters.along(x).zip(&shifted).zip(magnitude).enumerate();
            parts
                .map(|(place, ((at, shifted), magnitude))| {
                    let is_zero = *shifted == 0.0 && x.error_at(place) == 0.0 && at.scale.is_finite();
                    if is_zero {
                        return 0.0;
                    }
                    let propagated = x.error_at(place) * (at.scale.abs() + at.scale_error)
                        + shifted.abs() * at.scale_error;
                    let magnitude = magnitude + propagated;
                    propagated + arithmetic.error(dtype, ROUNDINGS, magnitude, magnitude)
                })
                .collect()
        });
    value.quantization_step = match parameters.scale.elements[..] {
        [scale] => Some(scale.abs()),
        _ => None,
    };
    let open = value.settle(parameters.without_scale(x));
    let zero_points = parameters.zero_point.map_or(&[][..], |zero_point| &zero_point.elements);
    let is_shifted = x.dtype == DataType::Int32 && zero_points.iter().any(|zero_point| *zero_point != 0.0);
    (value, is_shifted.then_some(&rules::INT32_ZERO_POINT), open)
}

/// What a skipped pair of quantizers leaves of `x`: backends that neither round nor saturate may still divide by the scale and multiply by it,
/// as TensorRT 8.6.0 seems to with constants.
pub fn unrounded(x: &Value, scale: &Value) -> Value {
    if scale.elements.iter().copied().all(is_power_of_two) {
        return x.clone();
    }
    let unit_roundoff = x.format.unit_roundoff();
    x.with_error(|element| ROUNDINGS_THERE_AND_BACK * unit_roundoff * element.abs())
}
