use std::ops::Range;

use twinfer_onnx::DataType;

use crate::{
    Algorithms, Arithmetic,
    arithmetic::ErrorModel as _,
    format::{Format, power_of_two},
    grid::Grid,
    integer_pairs::IntegerPairs,
    partial_sums::{PartialSums, Parts},
    rounding::to_half,
    rules::{self, Entry},
    semantics::{Accumulator, Bare, GroupOrder, WeightOrder},
    special::{Special, Terms, overflowing},
    taps::Taps,
    transformed::{Norms, Transformed},
    value::Value,
};

/// The layout of a weight's extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightLayout {
    /// Conv: [M, C/group, k…].
    OutputFirst,
    /// `ConvTranspose`: [C, M/group, k…].
    InputFirst,
}

/// The channels that a convolution connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connectivity {
    pub groups: usize,
    /// The number of input channels of one group.
    pub inputs: usize,
    /// The number of output channels of one group.
    pub outputs: usize,
    pub layout: WeightLayout,
    pub order: GroupOrder,
}

impl WeightLayout {
    /// The layout in which weights of this layout are read.
    pub const fn read(self, order: WeightOrder) -> Self {
        match (self, order) {
            (layout, WeightOrder::Stated) => layout,
            (Self::OutputFirst, WeightOrder::Exchanged) => Self::InputFirst,
            (Self::InputFirst, WeightOrder::Exchanged) => Self::OutputFirst,
        }
    }
}

impl Connectivity {
    /// The index, among all input channels, of a channel of the group to which `output` belongs.
    fn input(&self, group: usize, channel: usize, output: usize) -> usize {
        match self.order {
            GroupOrder::Contiguous => group * self.inputs + channel,
            GroupOrder::Interleaved => channel * self.groups + group,
            GroupOrder::FirstOnly => channel,
            GroupOrder::Dealt => (group * self.outputs + output) % self.groups * self.inputs + channel,
        }
    }

    /// Whether every group has one input and one output channel.
    const fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.inputs == 1 && self.outputs == 1
    }

    /// The offset, in the weight, of the kernel that connects two channels of a group.
    fn kernel(&self, group: usize, input: usize, output: usize) -> usize {
        match self.layout {
            WeightLayout::OutputFirst => (group * self.outputs + output) * self.inputs + input,
            WeightLayout::InputFirst => (group * self.inputs + input) * self.outputs + output,
        }
    }
}

/// A convolution in either direction.
pub struct Convolution<'a> {
    pub x: &'a Value,
    pub w: &'a Value,
    pub bias: Option<&'a Value>,
    pub channels: Connectivity,
    pub taps: &'a Taps,
    /// The positions without a tap that do not hold the bias either.
    pub bare: Bare,
    pub arithmetic: Arithmetic,
    /// The algorithms that may transform the operands, or at least leave open what becomes of those that are not finite; `None` if only direct
    /// sums are allowed for.
    pub transformed: Option<Transformed>,
    pub accumulator: Accumulator,
    /// The number that is read where there is no data; zero except in mutants.
    pub fill: f64,
    /// The partial sums that are rounded; `None` except in mutants.
    pub partial: Option<PartialSums>,
    /// The integers whose products saturate in pairs; `None` except in mutants.
    pub pairs: Option<IntegerPairs>,
}

/// The products that one output element sums.
struct ReceptiveField<'a> {
    x: &'a Value,
    w: &'a Value,
    channels: Connectivity,
    taps: &'a Taps,
    batch: usize,
    group: usize,
    output: usize,
}

/// The places of the first elements of a channel in x and w.
struct Begin {
    x: usize,
    w: usize,
}

/// A part of a sum of products.
#[derive(Default)]
struct Part {
    sum: f64,
    absolute: f64,
    /// The error that errors of the operands cause.
    error: f64,
    count: usize,
}

impl ReceptiveField<'_> {
    /// Calls `product` with the places in x and w of each product at output position `position`.
    #[inline]
    fn each_product(&self, position: usize, mut product: impl FnMut(usize, usize)) {
        for channel in 0..self.channels.inputs {
            let Begin { x, w } = self.begin(channel);
            for (input, kernel) in self.taps.at(position) {
                product(x + input, w + kernel);
            }
        }
    }

    /// Where an input channel of the group begins.
    #[inline]
    fn begin(&self, channel: usize) -> Begin {
        let Connectivity { groups, inputs, .. } = self.channels;
        let x_channel = self.batch * groups * inputs + self.channels.input(self.group, channel, self.output);
        let w_channel = self.channels.kernel(self.group, channel, self.output);
        Begin { x: x_channel * self.taps.input_len(), w: w_channel * self.taps.kernel_len() }
    }

    /// The products of integers, padding included, channel by channel of one kernel position after the other.
    fn products(&self, pairs: &IntegerPairs, position: usize) -> Vec<f64> {
        let (inputs, kernel_len) = (self.channels.inputs, self.taps.kernel_len());
        let mut products = vec![0.0; inputs * kernel_len];
        for channel in 0..inputs {
            let Begin { x, w } = self.begin(channel);
            for kernel in 0..kernel_len {
                products[kernel * inputs + channel] = pairs.padding(w + kernel);
            }
            for (input, kernel) in self.taps.at(position) {
                products[kernel * inputs + channel] = pairs.product(x + input, w + kernel);
            }
        }
        products
    }

    /// The sum of products and the sum of their absolute values.
    fn sums(&self, position: usize) -> (f64, f64) {
        let (mut sum, mut absolute) = (0.0, 0.0);
        self.each_product(position, |x, w| {
            let product = self.x.elements[x] * self.w.elements[w];
            sum += product;
            absolute += product.abs();
        });
        (sum, absolute)
    }

    /// Calls `visit` with each part of the sum of products.
    fn each_part(&self, position: usize, parts: Parts, mut visit: impl FnMut(Part)) {
        let size = match parts {
            Parts::Channels => self.taps.at(position).len(),
            Parts::Products => 1,
        };
        let mut part = Part::default();
        self.each_product(position, |x, w| {
            let product = self.x.elements[x] * self.w.elements[w];
            let (x_error, w_error) = (self.x.error_at(x), self.w.error_at(w));
            part.sum += product;
            part.absolute += product.abs();
            part.error += self.x.elements[x].abs() * w_error + (self.w.elements[w].abs() + w_error) * x_error;
            part.count += 1;
            if part.count == size {
                visit(std::mem::take(&mut part));
            }
        });
    }

    /// The sum of something over the weights that meet no data.
    fn sum_without_data(&self, position: usize, of: impl Fn(usize) -> f64) -> f64 {
        let taps = self.taps.at(position);
        let is_met = |kernel: usize| taps.iter().any(|(_, met)| *met == kernel);
        let without: Vec<_> = (0..self.taps.kernel_len()).filter(|kernel| !is_met(*kernel)).collect();
        self.places().map(|(_, w)| without.iter().map(|kernel| of(w.start + kernel)).sum::<f64>()).sum()
    }

    /// The norms of the operands of this output channel.
    fn norms(&self) -> Norms {
        let Connectivity { groups, inputs, .. } = self.channels;
        let (input_len, kernel_len) = (self.taps.input_len(), self.taps.kernel_len());
        let mut norms = Norms::default();
        for channel in 0..inputs {
            let x_channel =
                self.batch * groups * inputs + self.channels.input(self.group, channel, self.output);
            let w_channel = self.channels.kernel(self.group, channel, self.output);
            let x =
                || (x_channel * input_len..(x_channel + 1) * input_len).map(|place| self.x.largest_at(place));
            let kernel = w_channel * kernel_len..(w_channel + 1) * kernel_len;
            let kernel: f64 = kernel.map(|place| self.w.largest_at(place)).sum();
            let (largest, euclidean) = (x().fold(0.0, f64::max), x().map(|x| x * x).sum::<f64>().sqrt());
            norms.largest += largest * kernel;
            norms.euclidean += euclidean * kernel;
            norms.inputs = [norms.inputs[0].max(largest), norms.inputs[1].max(euclidean)];
            norms.kernel = norms.kernel.max(kernel);
        }
        norms
    }

    /// The places in x of the input channels that this output channel reads, and those in w of their kernels.
    fn places(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let Connectivity { groups, inputs, .. } = self.channels;
        let (input_len, kernel_len) = (self.taps.input_len(), self.taps.kernel_len());
        (0..inputs).map(move |channel| {
            let x = self.batch * groups * inputs + self.channels.input(self.group, channel, self.output);
            let w = self.channels.kernel(self.group, channel, self.output);
            (x * input_len..(x + 1) * input_len, w * kernel_len..(w + 1) * kernel_len)
        })
    }

    /// Whether an operand of this output channel, at any position, is not finite.
    fn reads_special(&self) -> bool {
        let is_special =
            |value: &Value, mut places: Range<usize>| places.any(|place| !value.number(place).is_finite());
        self.places().any(|(x, w)| is_special(self.x, x) || is_special(self.w, w))
    }

    /// Whether a weight that is not finite meets no input at `position`.
    fn pads_special(&self, position: usize) -> bool {
        let taps = self.taps.at(position);
        if taps.len() == self.taps.kernel_len() {
            return false;
        }
        self.places().any(|(_, mut w)| {
            let begin = w.start;
            w.any(|place| {
                !self.w.number(place).is_finite() && taps.iter().all(|(_, kernel)| begin + kernel != place)
            })
        })
    }

    /// The error of the sum caused by errors of the operands.
    fn propagated_error(&self, position: usize) -> f64 {
        // any integer times zero is zero; what may be any float may be NaN
        let is_integer = matches!(self.x.dtype, DataType::Int8 | DataType::Uint8 | DataType::Int32);
        let of_anything_times_zero = if is_integer { 0.0 } else { f64::INFINITY };
        let scaled = |factor: f64, error: f64| {
            if factor == 0.0 && error == f64::INFINITY { of_anything_times_zero } else { factor * error }
        };
        let mut error = 0.0;
        self.each_product(position, |x, w| {
            let (x_error, w_error) = (self.x.error_at(x), self.w.error_at(w));
            let (x, w) = (self.x.elements[x].abs(), self.w.elements[w].abs());
            error += scaled(x, w_error) + scaled(w + w_error, x_error);
        });
        error
    }
}

impl Convolution<'_> {
    /// The result, of the given shape [N, M, d…], and the rules that leave elements of it open.
    pub fn evaluate(&self, shape: Vec<usize>) -> (Value, Vec<&'static Entry>) {
        let count = shape.iter().product();
        let mut elements = Vec::with_capacity(count);
        let mut magnitude = Vec::with_capacity(count);
        let mut decided = Vec::new();
        let operands = [Some(self.x), Some(self.w), self.bias];
        let has_special = operands.into_iter().flatten().any(Value::has_special);
        let may_overflow = Format::of(self.x.dtype).max / 2.0;
        self.each_window(|window, position, channel| {
            let (sum, absolute) = self.sums(window, position);
            let bias =
                self.bias.filter(|_| !self.is_bare(position)).map_or(0.0, |bias| bias.elements[channel]);
            let pairs = self.pairs.as_ref().filter(|_| !self.channels.is_depthwise());
            let excess = pairs.map_or(0.0, |pairs| pairs.excess(&window.products(pairs, position), channel));
            if has_special || absolute + bias.abs() > may_overflow {
                let special = self.special(window, position, channel, sum + bias);
                decided.extend(special.map(|special| (elements.len(), special)));
            }
            elements.push(sum + bias + excess);
            magnitude.push(absolute + bias.abs());
        });
        let mut grid = self.grid();
        if let Some(PartialSums { precision, .. }) = self.partial {
            let largest = magnitude.iter().copied().fold(0.0, f64::max);
            grid = grid.filter(|grid| grid.is_exact_in(precision.format(), largest));
        }
        if self.accumulator == Accumulator::Half {
            let largest = magnitude.iter().copied().fold(0.0, f64::max);
            grid = grid.filter(|grid| grid.is_exact_in(Format::of(DataType::Float16), largest));
            if grid.is_none() {
                for element in &mut elements {
                    *element = to_half(*element);
                }
            }
        }
        let mut value = Value::computed(
            (self.x.dtype, self.x.format),
            shape,
            elements,
            magnitude,
            grid,
            |elements, magnitude| self.error(elements, magnitude),
        );
        let touched = value.settle(decided);
        (value, touched)
    }

    /// The sum of products and the sum of their absolute values.
    fn sums(&self, window: &ReceptiveField, position: usize) -> (f64, f64) {
        if self.is_filled() {
            let (sum, absolute) = window.sums(position);
            let of_fill = self.fill * window.sum_without_data(position, |place| self.w.elements[place]);
            let magnitude = window.sum_without_data(position, |place| self.w.elements[place].abs());
            return (sum + of_fill, absolute + self.fill.abs() * magnitude);
        }
        let Some(PartialSums { parts, precision }) = self.partial else { return window.sums(position) };
        let (mut sum, mut absolute) = (0.0, 0.0);
        window.each_part(position, parts, |part| {
            sum += precision.round(part.sum);
            absolute += part.absolute;
        });
        (sum, absolute)
    }

    /// How far what is read where there is no data may be off because weights are.
    fn fill_error(&self, window: &ReceptiveField, position: usize) -> f64 {
        match &self.w.error {
            Some(error) if self.is_filled() => window.sum_without_data(position, |place| error[place]),
            _ => 0.0,
        }
    }

    const fn is_filled(&self) -> bool {
        self.fill.abs() > 0.0
    }

    /// How far the rounded partial sums may be off because the partial sums are.
    fn partial_error(&self, window: &ReceptiveField, position: usize, within: Format) -> f64 {
        let Some(PartialSums { parts, precision }) = self.partial else { return 0.0 };
        let mut error = 0.0;
        window.each_part(position, parts, |Part { sum, absolute, error: propagated, count }| {
            let own = propagated + count as f64 * within.unit_roundoff() * absolute;
            let rounded = precision.round(sum);
            let deviation = |sum: f64| (precision.round(sum) - rounded).abs();
            error += deviation(sum + own).max(deviation(sum - own));
        });
        error
    }

    /// What is decided on the element at `position` of output channel `channel`, which is exactly `sum`, because an operand is not finite or
    /// the sum overflows; `None` if neither holds.
    fn special(&self, window: &ReceptiveField, position: usize, channel: usize, sum: f64) -> Option<Special> {
        let mut terms = Terms::default();
        window.each_product(position, |x, w| terms.product(self.x.number(x), self.w.number(w)));
        if let Some(bias) = self.bias.filter(|_| !self.is_bare(position)) {
            terms.number(bias.number(channel));
        }
        let format = Format::of(self.x.dtype);
        let of_terms = terms.sum(format);
        let is_nan = matches!(of_terms, Some(Special::Settled(value)) if value.is_nan());
        if self.transformed.is_some() && window.reads_special() {
            return Some(Special::Open(Some(&rules::TRANSFORMED_NON_FINITE)));
        }
        if !is_nan && window.pads_special(position) {
            return Some(Special::Open(Some(&rules::PADDING_TIMES_NON_FINITE)));
        }
        of_terms.or_else(|| {
            let (_, absolute) = window.sums(position);
            let bias = self.bias.map_or(0.0, |bias| bias.largest_at(channel));
            let propagated = window.propagated_error(position) + self.operand_rounding() * absolute;
            let magnitude = absolute + bias + propagated;
            let (dtype, within) = (self.x.dtype, self.accumulator());
            let rounding =
                self.arithmetic.error_within(within, dtype, self.roundings(), magnitude, magnitude);
            let special = terms.overflow(sum, propagated + rounding, format)?;
            let is_transformed = self.transformed.is_some();
            Some(if is_transformed { Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)) } else { special })
        })
    }

    /// One rounding per product, one for the bias.
    fn roundings(&self) -> f64 {
        (self.channels.inputs * self.taps.kernel_len() + 1) as f64
    }

    /// The result in integers, of the given shape, and the rules entries that it touches: sums that exceed 32 bits.
    pub fn evaluate_integers(&self, shape: Vec<usize>) -> (Value, Vec<&'static Entry>) {
        let count = shape.iter().product();
        let (mut elements, mut errors) = (Vec::with_capacity(count), Vec::with_capacity(count));
        self.each_window(|window, position, channel| {
            let bias = self.bias.map_or(0.0, |bias| bias.elements[channel]);
            elements.push(window.sums(position).0 + bias);
            let bias_error = self.bias.map_or(0.0, |bias| bias.error_at(channel));
            errors.push(window.propagated_error(position) + bias_error);
        });
        let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
        let overflows = overflowing(&elements, &range, &rules::SUM_OVERFLOW);
        let elements = elements.into_iter().map(|sum| sum.clamp(*range.start(), *range.end())).collect();
        let mut sums = Value::quantized(DataType::Int32, shape, elements, errors);
        let touched = sums.settle(overflows);
        (sums, touched)
    }

    /// The format in which the products are summed.
    fn accumulator(&self) -> Format {
        match self.accumulator {
            Accumulator::Known | Accumulator::SaturatingPairs => self.arithmetic.accumulator(self.x.dtype),
            Accumulator::Half => Format::of(DataType::Float16),
        }
    }

    /// Whether an output position omits the bias; only mutants have such positions.
    fn is_bare(&self, position: usize) -> bool {
        if self.taps.is_on_strip(position) {
            self.bare.strip
        } else {
            self.bare.gaps && self.taps.at(position).is_empty()
        }
    }

    fn each_window(&self, mut visit: impl FnMut(&ReceptiveField, usize, usize)) {
        // there may be any number of groups without channels
        let batches = if self.channels.outputs == 0 { 0 } else { self.x.shape[0] };
        for batch in 0..batches {
            for group in 0..self.channels.groups {
                for output in 0..self.channels.outputs {
                    let Self { x, w, channels, taps, .. } = *self;
                    let window = ReceptiveField { x, w, channels, taps, batch, group, output };
                    for position in 0..taps.len() {
                        visit(&window, position, group * channels.outputs + output);
                    }
                }
            }
        }
    }

    /// The grid of the sums; `None` unless every operand is exact and no algorithm rounds them.
    fn grid(&self) -> Option<Grid> {
        if self.transforms().is_some() {
            return None;
        }
        let kept = self.arithmetic.operand_precision(self.x.dtype);
        if self.rounds_operands() && [self.x, self.w].iter().any(|operand| !operand.fits(kept)) {
            return None;
        }
        let products = self.x.grid?.times(self.w.grid?);
        match self.bias {
            None => Some(products),
            Some(bias) => Some(products.and(bias.grid?)),
        }
    }

    fn rounds_operands(&self) -> bool {
        self.arithmetic.operand_precision(self.x.dtype) < Format::of(self.x.dtype).precision
    }

    /// The share of a product that rounding both operands may change.
    fn operand_rounding(&self) -> f64 {
        if !self.rounds_operands() {
            return 0.0;
        }
        // a kernel may cut the bits that are too many instead of rounding them
        let each = power_of_two(1 - self.arithmetic.operand_precision(self.x.dtype));
        2.0 * each + each * each
    }

    /// The error of a sum of products in any order, including the operands' errors and the rounding of the result.
    fn error(&self, elements: &[f64], magnitude: &[f64]) -> Vec<f64> {
        let roundings = self.roundings();
        let operand_rounding = self.operand_rounding();
        let operands_err = self.x.error.is_some() || self.w.error.is_some();
        let (dtype, within) = (self.x.dtype, self.accumulator());
        let mut error = Vec::with_capacity(magnitude.len());
        let mut of_transforms = 0.0;
        self.each_window(|window, position, channel| {
            if position == 0 {
                of_transforms = self.transform_error(window, within);
            }
            let of_products = if operands_err { window.propagated_error(position) } else { 0.0 };
            let of_products = of_products
                + self.partial_error(window, position, within)
                + self.fill_error(window, position);
            let place = error.len();
            let of_rounding = operand_rounding * (magnitude[place] + of_products);
            let of_bias = self.bias.map_or(0.0, |bias| bias.error_at(channel));
            let propagated = of_products + of_rounding + of_bias;
            let (magnitude, result) = (magnitude[place] + propagated, elements[place].abs() + propagated);
            let direct = self.arithmetic.error_within(within, dtype, roundings, magnitude, result);
            let result = result + of_transforms;
            let transformed =
                of_transforms + self.arithmetic.error_within(within, dtype, 1.0, result, result);
            error.push(propagated + if of_transforms > 0.0 { direct.max(transformed) } else { direct });
        });
        error
    }

    /// The algorithms that may transform finite operands.
    fn transforms(&self) -> Option<Transformed> {
        self.transformed.filter(|_| self.arithmetic.algorithms == Algorithms::Any)
    }

    /// The error of the sums of one output channel in algorithms that transform their operands; 0 if none is allowed for.
    fn transform_error(&self, window: &ReceptiveField, within: Format) -> f64 {
        self.transforms().map_or(0.0, |transformed| {
            let (channels, underflow) = (self.channels.inputs, self.arithmetic.underflow(within));
            transformed.error(window.norms(), channels, within, underflow)
        })
    }
}
