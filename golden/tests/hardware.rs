//! What hardware was seen to do with quantized graphs is what mutants give, to the size of the error.
//!
//! TensorRT 8.5.3 and 8.6.0 on an H200 against ONNX Runtime: a deconvolution of 64 to 10 channels whose weight is scaled along
//! axis 0 was off by 0.243 of the largest value; depthwise and grouped convolutions and a grouped deconvolution, which ran
//! in floats with float weights, by 3.9e-3 to 5.5e-3. The data here is other data of the same kind.

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/sketch.rs"]
mod sketch;

use sketch::{Parameters, Sketch, per_tensor};
use twinfer_golden::{Mutant, evaluate, evaluate_with};
use twinfer_onnx::{Conv, ConvTranspose, DataType, Graph, Op, Tensor};

/// About normally distributed: twelve draws of a linear congruential generator, summed.
struct Normal(u64);

impl Normal {
    fn draw(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 40) as f64 / f64::from(1 << 24)
        };
        let sum: f64 = (0..12).map(|_| uniform()).sum();
        f64::from((sum - 6.0) as f32)
    }

    fn tensor(&mut self, shape: &[usize], deviation: f64) -> Vec<f64> {
        (0..shape.iter().product()).map(|_| f64::from((self.draw() * deviation) as f32)).collect()
    }
}

/// The scale that takes the largest value to 127.
fn scale(values: impl Iterator<Item = f64>) -> f64 {
    f64::from((values.fold(0.0, |largest: f64, value| largest.max(value.abs())) / 127.0) as f32)
}

/// X and W quantized, per tensor and along `axis`, into `op`.
fn quantized(op: Op, x_shape: &[usize], w_shape: &[usize], axis: usize) -> (Graph, Tensor) {
    let mut normal = Normal(7);
    let (x, w) = (normal.tensor(x_shape, 1.0), normal.tensor(w_shape, 0.1));
    let inner: usize = w_shape[axis + 1..].iter().product();
    let along = |channel: usize| {
        let is_of_channel = move |place: &usize| place / inner % w_shape[axis] == channel;
        (0..w.len()).filter(is_of_channel).map(|place| w[place])
    };
    let scales = (0..w_shape[axis]).map(|channel| scale(along(channel))).collect();
    let mut sketch = Sketch::new();
    let weight = sketch.constant(DataType::Float, w_shape, &w);
    let data = sketch.quantized("X", &per_tensor(DataType::Int8, scale(x.iter().copied()), 0.0));
    let of_weight =
        Parameters { dtype: DataType::Int8, axis: Some(axis as i64), scale: scales, zero_point: 0.0 };
    let weight = sketch.quantized(&weight, &of_weight);
    let y = sketch.node(op, &[&data, &weight]);
    let input = Tensor::from_f64(DataType::Float, x_shape.to_vec(), &x).expect("as many values as it holds");
    (sketch.finish(&y), input)
}

/// The largest difference that a mutant makes, as a share of the largest value.
fn relative_error((graph, input): &(Graph, Tensor), mutant: Mutant) -> f64 {
    let inputs = std::slice::from_ref(input);
    let golden = evaluate(graph, inputs).expect("valid").outputs.remove(0).values;
    let mutantive = evaluate_with(graph, inputs, Some(mutant)).expect("valid").outputs.remove(0).values;
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |a: f64, b| a.max(b.abs()));
    largest(&mut golden.iter().zip(&mutantive).map(|(a, b)| a - b)) / largest(&mut golden.iter().copied())
}

#[test]
fn deconvolution_scales_on_wrong_axis_show_in_first_digit() {
    let op = || Op::ConvTranspose(ConvTranspose { strides: Some(vec![2, 2]), ..ConvTranspose::default() });
    let wrong = quantized(op(), &[1, 64, 6, 6], &[64, 10, 2, 2], 0);
    for mutant in [Mutant::ScaleOnOtherAxis, Mutant::DequantizedOnOtherAxis] {
        let error = relative_error(&wrong, mutant);
        assert!((0.08..0.8).contains(&error), "{}: {error}", mutant.name());
    }
    let elided = relative_error(&wrong, Mutant::WeightsUnquantized);
    assert!(elided < 0.02, "nothing else comes near: {elided}");
}

#[test]
fn float_weights_of_grouped_convolution_show_in_third_digit() {
    let conv = |group| Op::Conv(Conv { group: Some(group), pads: Some(vec![1; 4]), ..Conv::default() });
    let deconv = ConvTranspose { group: Some(2), strides: Some(vec![2, 2]), ..ConvTranspose::default() };
    for (graph, name) in [
        (quantized(conv(8), &[1, 8, 8, 8], &[8, 1, 3, 3], 0), "depthwise, 8 channels"),
        (quantized(conv(6), &[1, 6, 8, 8], &[6, 1, 3, 3], 0), "depthwise, 6 channels"),
        (quantized(conv(32), &[1, 32, 8, 8], &[32, 1, 3, 3], 0), "depthwise, 32 channels"),
        (quantized(conv(2), &[1, 6, 8, 8], &[6, 3, 3, 3], 0), "2 groups of 3"),
        (quantized(conv(2), &[1, 8, 8, 8], &[8, 4, 3, 3], 0), "2 groups of 4"),
        (quantized(Op::ConvTranspose(deconv), &[1, 8, 6, 6], &[8, 4, 2, 2], 1), "deconvolution of 2 groups"),
    ] {
        let error = relative_error(&graph, Mutant::WeightsUnquantized);
        assert!((1e-3..1e-2).contains(&error), "{name}: {error}");
    }
}
