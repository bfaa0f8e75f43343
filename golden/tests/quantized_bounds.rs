//! Backends that fuse to integers and backends that simulate quantization in floats are both within the bounds, and a
//! step more is not.
//!
//! The other side is two backends of a few lines: one sums int8 products in integers and scales the sum by one float, the
//! other dequantizes everything and sums in 32-bit floats.

#[path = "support/sketch.rs"]
mod sketch;

use std::cell::Cell;

use proptest::{
    prelude::*,
    test_runner::{RngSeed, TestRunner},
};
use sketch::{Parameters, Sketch, per_axis, per_tensor};
use twinfer_golden::{Agreement, Reference, evaluate};
use twinfer_onnx::{Conv, DataType, Op, Tensor};

/// A quantized 1×1 convolution.
#[derive(Clone, Debug)]
struct Layer {
    /// Integers, [M, C].
    weights: Vec<Vec<i8>>,
    /// One an output channel.
    weight_scales: Vec<f32>,
    /// In products of the scales of x and w.
    bias: Vec<i32>,
    /// Scale and zero point of the result.
    result: (f32, i32),
}

/// Two convolutions, each behind a quantizer.
#[derive(Clone, Debug)]
struct Network {
    x: Vec<f32>,
    /// Scale and zero point of x.
    input: (f32, i32),
    layers: [Layer; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    Fused,
    Simulated,
}

fn quantized(scaled: f32, zero_point: i32) -> i32 {
    (scaled.round_ties_even() as i32 + zero_point).clamp(-128, 127)
}

impl Layer {
    /// The integers of the result from those of the input.
    fn run(&self, x: &[i32], (x_scale, x_zero): (f32, i32), manner: Manner) -> Vec<i32> {
        let (y_scale, y_zero) = self.result;
        let channel = |(place, weights): (usize, &Vec<i8>)| {
            let (w_scale, bias) = (self.weight_scales[place], self.bias[place]);
            let pairs = x.iter().map(|x| x - x_zero).zip(weights.iter().map(|w| i32::from(*w)));
            let scaled = match manner {
                Manner::Fused => {
                    let sum = pairs.map(|(x, w)| x * w).sum::<i32>() + bias;
                    sum as f32 * (x_scale * w_scale / y_scale)
                }
                Manner::Simulated => {
                    let terms = pairs.map(|(x, w)| x as f32 * x_scale * (w as f32 * w_scale));
                    (terms.sum::<f32>() + bias as f32 * (x_scale * w_scale)) / y_scale
                }
            };
            quantized(scaled, y_zero)
        };
        self.weights.iter().enumerate().map(channel).collect()
    }

    fn sketch(&self, sketch: &mut Sketch, x: &str, x_scale: f32) -> String {
        let shape = [self.weights.len(), self.weights[0].len(), 1];
        let weights: Vec<f64> = self.weights.iter().flatten().map(|w| f64::from(*w)).collect();
        let weight_scales: Vec<f64> = self.weight_scales.iter().map(|scale| f64::from(*scale)).collect();
        let w = sketch.constant(DataType::Int8, &shape, &weights);
        let w = sketch.dequantized(&w, &per_axis(0, &weight_scales, 0.0));
        let bias: Vec<f64> = self.bias.iter().map(|bias| f64::from(*bias)).collect();
        let b = sketch.constant(DataType::Int32, &[shape[0]], &bias);
        let scale = self.weight_scales.iter().map(|scale| f64::from(scale * x_scale)).collect();
        let b = sketch
            .dequantized(&b, &Parameters { dtype: DataType::Int32, axis: Some(0), scale, zero_point: 0.0 });
        let y = sketch.node(Op::Conv(Conv::default()), &[x, &w, &b]);
        sketch.quantized(&y, &int8(self.result))
    }
}

fn int8((scale, zero_point): (f32, i32)) -> Parameters {
    per_tensor(DataType::Int8, f64::from(scale), f64::from(zero_point))
}

impl Network {
    /// The integers of the result.
    fn run(&self, manner: Manner) -> Vec<i32> {
        let (scale, zero_point) = self.input;
        let x: Vec<i32> = self.x.iter().map(|x| quantized(x / scale, zero_point)).collect();
        let [first, second] = &self.layers;
        second.run(&first.run(&x, self.input, manner), first.result, manner)
    }

    fn reference(&self) -> Reference {
        let mut sketch = Sketch::new();
        let x = sketch.quantized("X", &int8(self.input));
        let [first, second] = &self.layers;
        let y = first.sketch(&mut sketch, &x, self.input.0);
        let z = second.sketch(&mut sketch, &y, first.result.0);
        let values: Vec<f64> = self.x.iter().map(|x| f64::from(*x)).collect();
        let input = Tensor::from_f64(DataType::Float, vec![1, values.len(), 1], &values).expect("as many");
        evaluate(&sketch.finish(&z), &[input]).expect("valid").outputs.remove(0)
    }

    fn dequantized(&self, integer: i32) -> f64 {
        let (scale, zero_point) = self.layers[1].result;
        f64::from((integer - zero_point) as f32 * scale)
    }
}

fn scale() -> impl Strategy<Value = f32> {
    (1.0..2.0f32, -6..-2i32).prop_map(|(significand, exponent)| significand * 2f32.powi(exponent))
}

/// A layer whose result has, for one output channel, steps of `ties` products: sums half-way between two of them are
/// common.
fn layer(inputs: usize, outputs: usize) -> impl Strategy<Value = (Layer, Option<f32>)> {
    let weights = prop::collection::vec(prop::collection::vec(-128..=127i8, inputs), outputs);
    let scales = prop::collection::vec(scale(), outputs);
    let bias = prop::collection::vec(-5000..5000i32, outputs);
    let result = (1.0..40.0f32, -100..100i32);
    let ties = prop::option::of(prop::sample::select(vec![16.0f32, 64.0, 512.0]));
    (weights, scales, bias, result, ties).prop_map(|(weights, weight_scales, bias, result, ties)| {
        (Layer { weights, weight_scales, bias, result }, ties)
    })
}

fn network() -> impl Strategy<Value = Network> {
    (1..40usize, 1..8usize).prop_flat_map(|(inputs, hidden)| {
        let x = prop::collection::vec(-8.0..8.0f32, inputs);
        let layers = (layer(inputs, hidden), layer(hidden, 3));
        (x, (scale(), -60..60i32), layers).prop_map(
            |(x, input, ((mut first, ties), (mut second, more_ties)))| {
                if let Some(ties) = ties {
                    first.result.0 = input.0 * first.weight_scales[0] * ties;
                }
                if let Some(ties) = more_ties {
                    second.result.0 = first.result.0 * second.weight_scales[0] * ties;
                }
                Network { x, input, layers: [first, second] }
            },
        )
    })
}

/// How often something is open, over all elements.
#[derive(Default)]
struct Share {
    of: Cell<u32>,
    all: Cell<u32>,
}

impl Share {
    fn count(&self, counts: bool) {
        self.all.set(self.all.get() + 1);
        self.of.set(self.of.get() + u32::from(counts));
    }

    fn percent(&self) -> f64 {
        100.0 * f64::from(self.of.get()) / f64::from(self.all.get())
    }
}

#[test]
fn fused_and_simulated_quantization_stay_within_the_bound() {
    let config = ProptestConfig {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(17),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (open, differing) = (Share::default(), Share::default());
    let result = TestRunner::new(config).run(&network(), |network| {
        let reference = network.reference();
        let (fused, simulated) = (network.run(Manner::Fused), network.run(Manner::Simulated));
        let step = reference.quantization_step.expect("one scale serves the output");
        for place in 0..fused.len() {
            let agrees = |integer: i32| {
                !matches!(reference.compare(place, network.dequantized(integer)), Agreement::Wrong(_))
            };
            prop_assert!(agrees(fused[place]), "{place} of {fused:?}, {reference:?}");
            prop_assert!(agrees(simulated[place]), "{place} of {simulated:?}, {reference:?}");
            let is_open = reference.bound[place] > step / 2.0;
            prop_assert!(is_open || !agrees(fused[place] + 1) && !agrees(fused[place] - 1));
            open.count(is_open);
            differing.count(fused[place] != simulated[place]);
        }
        Ok(())
    });
    result.expect("both are within the bound");
    assert!(open.percent() < 2.0, "{} % of the elements may be a step off", open.percent());
    assert!(differing.of.get() > 0, "the two backends never differ: nothing was tried");
    println!("open {} %, differing {} %", open.percent(), differing.percent());
}

/// `scale * integer` as three right implementations compute it in 32-bit floats.
fn products(integer: i8, scale: f32) -> [f32; 3] {
    let (integer, reciprocal) = (f32::from(integer), 1.0 / scale);
    [integer * scale, integer / reciprocal, integer * (1.0 / reciprocal)]
}

#[test]
fn dequantization_may_use_the_reciprocal_of_the_scale() {
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(17), ..ProptestConfig::default() };
    let differing = Share::default();
    // scales of which every product is exact
    let steps = (prop::collection::vec(any::<i8>(), 1..20), 1..64u8);
    let result = TestRunner::new(config).run(&steps, |(integers, sixteenths)| {
        let scale = f32::from(sixteenths) / 16.0;
        let mut sketch = Sketch::new();
        let x = sketch.quantized("X", &per_tensor(DataType::Int8, f64::from(scale), 0.0));
        let values: Vec<f64> =
            integers.iter().map(|integer| f64::from(products(*integer, scale)[0])).collect();
        let input = Tensor::from_f64(DataType::Float, vec![1, values.len(), 1], &values).expect("as many");
        let reference = evaluate(&sketch.finish(&x), &[input]).expect("valid").outputs.remove(0);
        for (place, integer) in integers.iter().enumerate() {
            let agrees =
                |value: f32| !matches!(reference.compare(place, f64::from(value)), Agreement::Wrong(_));
            let products = products(*integer, scale);
            prop_assert!(products.into_iter().all(agrees), "{products:?}, {reference:?}");
            prop_assert!(*integer == 0 || !agrees(products[0] * (1.0 + 1e-6)), "{products:?}, {reference:?}");
            differing.count(products[0].to_bits() != products[1].to_bits());
        }
        Ok(())
    });
    result.expect("all are within the bound");
    assert!(differing.of.get() > 0, "the implementations never differ: nothing was tried");
}

#[test]
fn dequantization_with_a_power_of_two_is_exact() {
    let mut sketch = Sketch::new();
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 0.25, 0.0));
    let input = Tensor::from_f64(DataType::Float, vec![1, 1, 1], &[12.5]).expect("one");
    let reference = evaluate(&sketch.finish(&x), &[input]).expect("valid").outputs.remove(0);
    assert_eq!((reference.values[0], reference.bound[0]), (12.5, 0.0));
}
