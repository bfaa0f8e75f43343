use twinfer_onnx::{DataType, Tensor};

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    format::{Format, power_of_two},
    grid::Grid,
    rules::{self, Entry},
    special::{Number, Special},
};

/// A value of the graph during evaluation: its elements and the error that a conforming backend may make in each.
#[derive(Clone, Debug)]
pub struct Value {
    pub dtype: DataType,
    /// The coarsest format in which a backend may hold the value.
    pub format: Format,
    pub shape: Vec<usize>,
    /// The elements of exact arithmetic.
    pub elements: Vec<f64>,
    /// The sums of absolute products of the elements; `None` if they equal the absolute elements.
    pub magnitude: Option<Vec<f64>>,
    /// The largest error of a conforming backend's elements; `None` if it is zero for all.
    pub error: Option<Vec<f64>>,
    /// The grid of the elements, if a conforming backend computes them exactly; `None` otherwise.
    pub grid: Option<Grid>,
    /// The distance of neighboring values, where they are integers that a quantizer gave or what one scale made of
    /// those.
    pub quantization_step: Option<f64>,
    /// Whether the signs of zeros are determined, since no operator computed the elements.
    pub has_signed_zeros: bool,
}

impl Value {
    /// A graph input or an initializer. A backend may flush a subnormal operand to zero, and round to a format in which it holds values
    /// of this type.
    pub fn given(tensor: &Tensor, arithmetic: Arithmetic) -> Self {
        let dtype = tensor.dtype();
        let elements = tensor.to_f64();
        let (declared, format) = (Format::of(dtype), arithmetic.format(dtype));
        let flushes = arithmetic.flushes(dtype);
        let is_flushed = |element: f64| flushes && element != 0.0 && element.abs() < declared.min_normal();
        let error = |element: &f64| {
            let flushed = if is_flushed(*element) { element.abs() } else { 0.0 };
            if format == declared { flushed } else { rounding(*element, format).max(flushed) }
        };
        let errors =
            (format != declared || flushes).then(|| elements.iter().map(error).collect::<Vec<f64>>());
        let errors = errors.filter(|errors| errors.iter().any(|error| *error > 0.0));
        let grid = if errors.is_some() { None } else { Grid::of(&elements) };
        let shape = tensor.shape.clone();
        Self { has_signed_zeros: true, ..Self::of((dtype, format), shape, elements, errors, grid) }
            .beyond_f64()
    }

    /// A value that is in no steps of a quantizer and whose zeros may have any sign.
    const fn of(
        (dtype, format): (DataType, Format),
        shape: Vec<usize>,
        elements: Vec<f64>,
        error: Option<Vec<f64>>,
        grid: Option<Grid>,
    ) -> Self {
        let (magnitude, quantization_step, has_signed_zeros) = (None, None, false);
        Self { dtype, format, shape, elements, magnitude, error, grid, quantization_step, has_signed_zeros }
    }

    /// The elements at these places of the value, as many as a tensor of `shape` has; zero where a place is `None`.
    pub fn gathered(&self, shape: &[usize], places: &[Option<usize>]) -> Self {
        let gather = |of: &[f64]| places.iter().map(|place| place.map_or(0.0, |place| of[place])).collect();
        Self {
            dtype: self.dtype,
            format: self.format,
            shape: shape.to_vec(),
            elements: gather(&self.elements),
            magnitude: self.magnitude.as_deref().map(gather),
            error: self.error.as_deref().map(gather),
            grid: self.grid,
            quantization_step: self.quantization_step,
            has_signed_zeros: self.has_signed_zeros,
        }
    }

    /// The value with every element changed, and the error that an erroneous element has then.
    pub fn changed(&self, change: impl Fn(f64) -> f64) -> Self {
        let changed = self.map(|element| change(*element));
        let Some(error) = &self.error else { return changed };
        let places = self.elements.iter().zip(&changed.elements).zip(error);
        let error = places.map(|((element, changed), error)| {
            let deviation = |element: f64| (change(element) - changed).abs();
            deviation(element + error).max(deviation(element - error))
        });
        Self { error: Some(error.collect()), ..changed }
    }

    /// The elements of `other` where `is_other` holds, and its own elsewhere.
    pub fn merged(&self, other: &Self, is_other: &[bool]) -> Self {
        let merge = |of: &dyn Fn(&Self, usize) -> f64| {
            let places = is_other.iter().enumerate();
            places.map(|(place, is_other)| of(if *is_other { other } else { self }, place)).collect()
        };
        let has_error = self.error.is_some() || other.error.is_some();
        Self {
            dtype: self.dtype,
            format: self.format,
            shape: self.shape.clone(),
            elements: merge(&|value, place| value.elements[place]),
            magnitude: Some(merge(&|value, place| value.magnitude_at(place))),
            error: has_error.then(|| merge(&|value, place| value.error_at(place))),
            grid: self.grid.zip(other.grid).map(|(one, other)| one.and(other)),
            quantization_step: self.quantization_step,
            has_signed_zeros: self.has_signed_zeros && other.has_signed_zeros,
        }
    }

    /// The value as a backend may have had it inside before it rounded it to 16 bits to return it.
    pub fn returned(self) -> Self {
        if !matches!(self.dtype, DataType::Float16 | DataType::Bfloat16) {
            return self;
        }
        let format = Format::of(self.dtype);
        // half the distance to the next number, also among subnormal ones
        let rounding = |x: f64| x.abs().max(format.min_normal()) * power_of_two(-format.precision);
        let error = |(place, x): (usize, &f64)| {
            if x.is_finite() { self.error_at(place) + rounding(*x) } else { f64::INFINITY }
        };
        let error = self.elements.iter().enumerate().map(error).collect();
        Self { error: Some(error), grid: None, ..self }
    }

    /// The value with every element changed; the errors stay, and the change itself adds none.
    pub fn map(&self, change: impl FnMut(&f64) -> f64) -> Self {
        let elements: Vec<f64> = self.elements.iter().map(change).collect();
        let grid = if self.error.is_some() { None } else { Grid::of(&elements) };
        let (shape, error) = (self.shape.clone(), self.error.clone());
        Self::of((self.dtype, self.format), shape, elements, error, grid)
    }

    /// The value with every element off by as much more.
    pub fn with_error(&self, more: impl Fn(f64) -> f64) -> Self {
        let places = self.elements.iter().enumerate();
        let error = places.map(|(place, element)| self.error_at(place) + more(*element)).collect();
        Self { error: Some(error), grid: None, ..self.clone() }
    }

    /// The same elements in another shape.
    pub fn reshaped(&self, shape: Vec<usize>) -> Self {
        Self { shape, ..self.clone() }
    }

    /// The bytes of int8 as uint8: what may lie on either side of zero may be off by the whole range.
    pub fn as_unsigned(&self) -> Self {
        let unsigned = self.map(|signed| if *signed < 0.0 { signed + 256.0 } else { *signed });
        let error = self.error.as_ref().map(|error| {
            let places = self.elements.iter().zip(error);
            let changes_sign = |element: f64, error: f64| (element - error < 0.0) != (element + error < 0.0);
            places
                .map(|(element, error)| if changes_sign(*element, *error) { 255.0 } else { *error })
                .collect()
        });
        Self { dtype: DataType::Uint8, error, quantization_step: self.quantization_step, ..unsigned }
    }

    /// Every element, and how far it may be off, times `factor`; taken for exact otherwise.
    pub fn scaled(&self, factor: f64) -> Self {
        let error = self.error.as_ref().map(|error| error.iter().map(|error| error * factor.abs()).collect());
        Self { error, ..self.map(|element| element * factor) }
    }

    /// Zeros of the same type and shape.
    pub fn zeros(&self) -> Self {
        Self { error: None, grid: Some(Grid::ZERO), ..self.map(|_| 0.0) }
    }

    /// The result of arithmetic: exact where `grid` is known and holds every partial sum, otherwise with `error`.
    pub fn computed(
        (dtype, format): (DataType, Format),
        shape: Vec<usize>,
        elements: Vec<f64>,
        magnitude: Vec<f64>,
        grid: Option<Grid>,
        error: impl FnOnce(&[f64], &[f64]) -> Vec<f64>,
    ) -> Self {
        let largest = magnitude
            .iter()
            .fold(0.0, |largest: f64, x| if *x >= largest || x.is_nan() { *x } else { largest });
        let grid = grid.filter(|grid| grid.is_exact_in(format, largest));
        let error = grid.is_none().then(|| {
            let mut error = error(&elements, &magnitude);
            for (error, magnitude) in error.iter_mut().zip(&magnitude) {
                // beyond the largest number, or with infinities, every result conforms
                if error.is_nan() || magnitude.is_nan() || magnitude + *error > format.max {
                    *error = f64::INFINITY;
                }
            }
            error
        });
        let magnitude = Some(magnitude);
        Self { magnitude, ..Self::of((dtype, format), shape, elements, error, grid) }
    }

    /// Integers that arithmetic computed exactly or to within `error`.
    pub fn quantized(dtype: DataType, shape: Vec<usize>, elements: Vec<f64>, error: Vec<f64>) -> Self {
        let exact = error.iter().all(|error| *error == 0.0);
        let grid = if exact { Grid::of(&elements) } else { None };
        let error = (!exact).then_some(error);
        Self::of((dtype, Format::of(dtype)), shape, elements, error, grid).beyond_f64()
    }

    /// Allows for what f64 does not hold of 64-bit integers.
    fn beyond_f64(mut self) -> Self {
        let lost = |x: &f64| if x.abs() >= power_of_two(53) { x.abs() * power_of_two(-52) } else { 0.0 };
        if self.dtype == DataType::Int64 && self.elements.iter().any(|x| lost(x) > 0.0) {
            let places = self.elements.iter().enumerate();
            self.error = Some(places.map(|(place, x)| self.error_at(place) + lost(x)).collect());
            self.grid = None;
        }
        self
    }

    /// Whether every element is exact and known to need no more than `precision` bits.
    pub fn fits(&self, precision: i32) -> bool {
        let largest = self.elements.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let format = Format { precision, ..Format::of(self.dtype) };
        self.grid.is_some_and(|grid| grid.is_exact_in(format, largest))
    }

    /// Gives single elements what was decided on them, and returns the rules that leave some of them open, each once.
    pub fn settle(&mut self, decided: impl IntoIterator<Item = (usize, Special)>) -> Vec<&'static Entry> {
        let mut touched = Vec::new();
        for (place, special) in decided {
            let errors = self.error.get_or_insert_with(|| vec![0.0; self.elements.len()]);
            self.grid = None;
            match special {
                Special::Settled(value) => {
                    self.elements[place] = value;
                    errors[place] = 0.0;
                }
                // the element stays what exact arithmetic gives
                Special::Overflow => {
                    errors[place] = 0.0;
                    touched.extend(Some(&rules::OVERFLOW_INSIDE).filter(|entry| !touched.contains(entry)));
                }
                Special::Open(entry) => {
                    errors[place] = f64::INFINITY;
                    touched.extend(entry.filter(|entry| !touched.contains(entry)));
                }
            }
        }
        touched
    }

    /// Whether an element is not finite, or may not be.
    pub fn has_special(&self) -> bool {
        let open = self.error.as_ref().is_some_and(|error| error.contains(&f64::INFINITY));
        let largest = Format::of(self.dtype).max;
        open || self.elements.iter().any(|element| element.is_nan() || element.abs() > largest)
    }

    /// The element at `place` as an operand: any value conforms if it is a sum that overflowed.
    pub fn number(&self, place: usize) -> Number {
        let error = if self.is_overflow(place) { f64::INFINITY } else { self.error_at(place) };
        Number { value: self.elements[place], error }
    }

    /// Whether the element at `place` is a sum that overflowed.
    pub fn is_overflow(&self, place: usize) -> bool {
        let element = self.elements[place];
        element.is_finite() && element.abs() > Format::of(self.dtype).max
    }

    /// What a conforming backend gives for each element: exact numbers, and infinities for sums that overflowed.
    pub fn given_elements(&self) -> Vec<f64> {
        let given = |(place, element): (usize, &f64)| {
            if self.is_overflow(place) { f64::INFINITY.copysign(*element) } else { *element }
        };
        self.elements.iter().enumerate().map(given).collect()
    }

    pub fn error_at(&self, place: usize) -> f64 {
        self.error.as_ref().map_or(0.0, |error| error[place])
    }

    /// The largest absolute element that a conforming backend may have at `place`.
    pub fn largest_at(&self, place: usize) -> f64 {
        self.elements[place].abs() + self.error_at(place)
    }

    pub fn magnitude_at(&self, place: usize) -> f64 {
        self.magnitude.as_ref().map_or_else(|| self.elements[place].abs(), |magnitude| magnitude[place])
    }
}

/// The error of a number that is rounded to `format`: none if the format holds it, infinite if it may overflow.
fn rounding(number: f64, format: Format) -> f64 {
    let magnitude = number.abs();
    if !magnitude.is_finite() || Grid::of(&[number]).is_some_and(|grid| grid.is_exact_in(format, magnitude)) {
        return 0.0;
    }
    // among subnormal numbers, half the distance of two of them
    let error = format.unit_roundoff() * magnitude.max(format.min_normal());
    if magnitude + error > format.max { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_16_bit_values_may_be_off_by_one_rounding() {
        let value = |dtype| {
            let elements = [1.0, 0.0, f64::INFINITY];
            let tensor = Tensor::from_f64(dtype, vec![3], &elements).expect("a vector");
            Value::given(&tensor, Arithmetic::STRICT).returned()
        };
        let errors = [power_of_two(-11), power_of_two(-25), f64::INFINITY];
        assert_eq!(value(DataType::Float16).error, Some(errors.to_vec()));
        assert_eq!(value(DataType::Float).error, None);
    }

    #[test]
    fn bytes_that_may_lie_on_either_side_of_zero_may_be_anything() {
        let signed =
            Value::quantized(DataType::Int8, vec![4], vec![-3.0, -1.0, 0.0, 5.0], vec![2.0, 1.0, 1.0, 0.0]);
        let unsigned = signed.as_unsigned();
        assert_eq!(unsigned.dtype, DataType::Uint8);
        assert_eq!(unsigned.elements, [253.0, 255.0, 0.0, 5.0]);
        assert_eq!(unsigned.error, Some(vec![2.0, 255.0, 255.0, 0.0]));
    }
}
