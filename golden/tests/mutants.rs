//! Every mutant changes what some graph computes, and none changes a graph that it has nothing to do with.

#[path = "support/sketch.rs"]
mod sketch;
mod support;

use std::fmt::Write as _;

use sketch::{Sketch, per_axis, per_tensor};
use support::one_node;
use twinfer_golden::{
    Agreement, Arithmetic, Combination, Hypothesis, Limits, Mutant, MutantPair, Nature, evaluate,
    evaluate_as, evaluate_edited,
};
use twinfer_onnx::{
    AutoPad, BatchNormalization, Concat, Conv, ConvTranspose, DataType, Dim, Graph, MaxPool, Op,
    QuantizeLinear, Tensor,
};

type Case = (&'static str, Graph, Tensor);

fn conv(name: &'static str, op: Conv, x: &[usize], w: &[usize]) -> Case {
    let (graph, input) = one_node(Op::Conv(op), x, w, w[0]);
    (name, graph, input)
}

fn deconv(name: &'static str, op: ConvTranspose, x: &[usize], w: &[usize]) -> Case {
    let channels = w[1] * op.group.unwrap_or(1) as usize;
    let (graph, input) = one_node(Op::ConvTranspose(op), x, w, channels);
    (name, graph, input)
}

fn fed(values: &[f64], shape: &[usize]) -> Tensor {
    Tensor::from_f64(DataType::Float, shape.to_vec(), values).expect("as many values as it holds")
}

/// X and W through QuantizeLinear and DequantizeLinear into a Conv: ties, saturation, zero points, a scale a channel.
fn quantized_conv() -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Float, &[2, 2, 1], &[2.0, 5.0, 1.0, -4.0]);
    let b = sketch.constant(DataType::Float, &[2], &[3.25, -2.0]);
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 0.5, 3.0));
    let w = sketch.quantized(&w, &per_axis(0, &[2.0, 4.0], 0.0));
    let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w, &b]);
    ("quantized conv", sketch.finish(&y), fed(&[0.25, 0.75, -1.25, 100.0, -70.0, 1.0], &[1, 2, 3]))
}

/// W through QuantizeLinear and DequantizeLinear with a scale an output channel, which is axis 1, into a ConvTranspose.
fn quantized_deconv() -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Float, &[2, 2, 1], &[2.0, 6.0, 1.0, -5.0]);
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 0.5, 0.0));
    let w = sketch.quantized(&w, &per_axis(1, &[2.0, 4.0], 0.0));
    let y = sketch.node(Op::ConvTranspose(ConvTranspose::default()), &[&x, &w]);
    ("quantized deconv", sketch.finish(&y), fed(&[1.0, 2.0, -3.0, 4.0, 5.0, 6.0], &[1, 2, 3]))
}

/// uint8 activations, int8 weights as initializers with a zero point, a bias, Relu, and the result quantized.
fn requantized_conv() -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Int8, &[2, 2, 1], &[2.0, 5.0, 1.0, -4.0]);
    let b = sketch.constant(DataType::Float, &[2], &[3.375, -2.0]);
    let x = sketch.quantized("X", &per_tensor(DataType::Uint8, 0.5, 128.0));
    let w = sketch.dequantized(&w, &per_axis(0, &[2.0, 4.0], 1.0));
    let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w, &b]);
    let y = sketch.node(Op::Relu, &[&y]);
    let y = sketch.quantized(&y, &per_tensor(DataType::Uint8, 4.0, 100.0));
    ("requantized conv", sketch.finish(&y), fed(&[0.25, 1.75, -1.25, 3.0, -7.0, 1.0], &[1, 2, 3]))
}

/// int8 activations and weights, both with rounding to do, and perhaps the result quantized.
fn rounded_conv(name: &'static str, result_scale: Option<f64>) -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Float, &[2, 2, 1], &[2.25, 5.0, 1.1, -3.75]);
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 0.3, 0.0));
    let w = sketch.quantized(&w, &per_axis(0, &[0.5, 1.0], 0.0));
    let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w]);
    let y = match result_scale {
        Some(scale) => sketch.quantized(&y, &per_tensor(DataType::Int8, scale, 0.0)),
        None => y,
    };
    (name, sketch.finish(&y), fed(&[0.25, 1.75, -1.3, 3.0, -7.0, 1.0], &[1, 2, 3]))
}

/// Large uint8 activations under weights that nearly cancel, in floats or as int8; a bias, the result quantized.
fn saturating_conv(name: &'static str, weights: DataType) -> Case {
    const SCALE: f64 = 1.0 / 128.0;
    let mut sketch = Sketch::new();
    let w = match weights {
        DataType::Int8 => {
            let stored = sketch.constant(DataType::Int8, &[1, 1, 4], &[127.0, 127.0, -128.0, -126.0]);
            sketch.dequantized(&stored, &per_tensor(DataType::Int8, SCALE, 0.0))
        }
        _ => sketch.constant(DataType::Float, &[1, 1, 4], &[0.99, 0.99, -1.0, -0.982]),
    };
    let b = sketch.constant(DataType::Float, &[1], &[0.011]);
    let x = sketch.quantized("X", &per_tensor(DataType::Uint8, 1.0, 0.0));
    let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w, &b]);
    let y = sketch.quantized(&y, &per_tensor(DataType::Uint8, SCALE / 2.0, 100.0));
    let x = [255.0, 255.0, 255.0, 254.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    (name, sketch.finish(&y), fed(&x, &[1, 1, 11]))
}

/// A residual block: BatchNormalization, a branch that is quantized otherwise, Add, Relu.
fn residual_block() -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Float, &[2, 2, 1], &[2.0, 5.0, 1.0, -4.0]);
    let channel = [[0.5, 2.0], [1.0, -1.0], [0.25, 0.5], [3.0, 0.125]];
    let parameters = channel.map(|values| sketch.constant(DataType::Float, &[2], &values));
    let y = sketch.node(Op::Conv(Conv::default()), &["X", &w]);
    let inputs: Vec<&str> = [&y].into_iter().chain(&parameters).map(String::as_str).collect();
    let y = sketch.node(Op::BatchNormalization(BatchNormalization::default()), &inputs);
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 0.5, 0.0));
    let y = sketch.node(Op::Add, &[&y, &x]);
    let y = sketch.node(Op::Relu, &[&y]);
    ("residual block", sketch.finish(&y), fed(&[0.25, 0.75, -1.25, 10.0, -7.0, 1.0], &[1, 2, 3]))
}

/// BatchNormalization after a ConvTranspose of two groups of three input and two output channels.
fn normalized_deconv() -> Case {
    let mut sketch = Sketch::new();
    let w = sketch.constant(
        DataType::Float,
        &[6, 2, 1],
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
    );
    let b = sketch.constant(DataType::Float, &[4], &[0.0, 1.0, 2.0, 3.0]);
    let channel = [[1.0, 2.0, 4.0, 8.0], [10.0, 20.0, 30.0, 40.0], [0.0, 1.0, 0.0, 1.0], [0.75; 4]];
    let parameters = channel.map(|values| sketch.constant(DataType::Float, &[4], &values));
    let op = ConvTranspose { group: Some(2), ..ConvTranspose::default() };
    let y = sketch.node(Op::ConvTranspose(op), &["X", &w, &b]);
    let inputs: Vec<&str> = [&y].into_iter().chain(&parameters).map(String::as_str).collect();
    let op = BatchNormalization { epsilon: Some(0.25), ..BatchNormalization::default() };
    let y = sketch.node(Op::BatchNormalization(op), &inputs);
    ("normalized deconv", sketch.finish(&y), fed(&[1.0, 10.0, 100.0, 1.0, 10.0, 100.0], &[1, 6, 1]))
}

/// A Clip to bounds of more than seven digits, and one to bounds that are not in order.
fn clipped() -> Case {
    let mut sketch = Sketch::new();
    let bounds = [0.25 + 1.0 / 1_048_576.0, 4.0, 8.0, 6.0];
    let bounds = bounds.map(|bound| sketch.constant(DataType::Float, &[], &[bound]));
    let y = sketch.node(Op::Clip, &["X", &bounds[0], &bounds[1]]);
    let z = sketch.node(Op::Clip, &[&y, &bounds[2], &bounds[3]]);
    let sum = sketch.node(Op::Add, &[&y, &z]);
    ("clipped", sketch.finish(&sum), fed(&[-1.0, 0.5, 2.0], &[3]))
}

/// Two quantizations of X, padded pooling of negative numbers, one behind the other.
fn pooled_concat() -> Case {
    let mut sketch = Sketch::new();
    let fine = sketch.quantized("X", &per_tensor(DataType::Int8, 0.5, 0.0));
    let coarse = sketch.quantized("X", &per_tensor(DataType::Int8, 2.0, 0.0));
    let both = sketch.node(Op::Concat(Concat { axis: 1 }), &[&fine, &coarse]);
    let pool = MaxPool {
        kernel_shape: vec![2],
        pads: Some(vec![1, 0]),
        strides: Some(vec![2]),
        ceil_mode: Some(1),
        ..MaxPool::default()
    };
    let y = sketch.node(Op::MaxPool(pool), &[&both]);
    ("pooled concat", sketch.finish(&y), fed(&[-6.0, -8.0, -4.0, -2.0], &[1, 1, 4]))
}

/// X through two pairs of quantizers, of which the first one is coarser and the second one saturates.
fn quantized_twice() -> Case {
    let mut sketch = Sketch::new();
    let once = sketch.quantized("X", &per_tensor(DataType::Int8, 2.0, 0.0));
    let twice = sketch.quantized(&once, &per_tensor(DataType::Int8, 0.5, 0.0));
    ("quantized twice", sketch.finish(&twice), fed(&[1.5, 3.25, -3.0, 100.0, 7.0], &[1, 1, 5]))
}

/// Two samples of three channels, each with a scale of its own.
fn quantized_along_axis() -> Case {
    let mut sketch = Sketch::new();
    let y = sketch.quantized("X", &per_axis(1, &[1.0, 2.0, 0.5], 0.0));
    ("quantized along axis", sketch.finish(&y), fed(&[1.0, 2.0, 4.0, 6.0, 3.0, 5.0], &[2, 3, 1]))
}

/// Infinities and a number beyond 32-bit integers, quantized with this zero point.
fn quantized_infinities(name: &'static str, zero_point: f64) -> Case {
    let mut sketch = Sketch::new();
    let y = sketch.quantized("X", &per_tensor(DataType::Int8, 0.5, zero_point));
    let x = [f64::INFINITY, f64::NEG_INFINITY, 1e12, -1e12, 4.0];
    (name, sketch.finish(&y), fed(&x, &[1, 1, 5]))
}

/// Windows of minus infinity, one of which is padded.
fn pooled_infinities() -> Case {
    let mut sketch = Sketch::new();
    let twice = sketch.node(Op::Concat(Concat { axis: 1 }), &["X", "X"]);
    let pool = MaxPool { kernel_shape: vec![2], pads: Some(vec![1, 0]), ..MaxPool::default() };
    let y = sketch.node(Op::MaxPool(pool), &[&twice]);
    let infinity = f64::NEG_INFINITY;
    ("pooled infinities", sketch.finish(&y), fed(&[infinity, infinity, infinity, 2.0], &[1, 1, 4]))
}

/// Operands that need every bit of a 32-bit float, or are below what a 16-bit float holds.
fn long_significands() -> Case {
    let (graph, _) = one_node(Op::Conv(Conv::default()), &[1, 1, 4], &[1, 1, 2], 1);
    ("conv of long significands", graph, fed(&[1.0 / 3.0, 1e-3, 1e-8, 2.0 / 7.0], &[1, 1, 4]))
}

/// Convolutions by themselves.
fn convolutions() -> Vec<Case> {
    let plain = Conv::default;
    let plain_transposed = ConvTranspose::default;
    vec![
        conv("conv 1x1", plain(), &[1, 2, 3], &[2, 2, 1]),
        conv("conv padded", Conv { pads: Some(vec![2, 0]), ..plain() }, &[1, 1, 4], &[1, 1, 2]),
        conv("conv group 2", Conv { group: Some(2), ..plain() }, &[1, 4, 3], &[2, 2, 1]),
        conv("conv group 2, 2 to 4", Conv { group: Some(2), ..plain() }, &[1, 2, 3], &[4, 1, 1]),
        conv("conv depthwise", Conv { group: Some(3), ..plain() }, &[1, 3, 3], &[3, 1, 1]),
        conv("conv stride 2", Conv { strides: Some(vec![2]), ..plain() }, &[1, 1, 5], &[1, 1, 1]),
        conv("conv dilation 2", Conv { dilations: Some(vec![2]), ..plain() }, &[1, 1, 4], &[1, 1, 2]),
        conv("conv same", Conv { auto_pad: Some(AutoPad::SameUpper), ..plain() }, &[1, 1, 4], &[1, 1, 2]),
        deconv("deconv 2D", plain_transposed(), &[1, 1, 2, 2], &[1, 1, 2, 2]),
        deconv(
            "deconv output_padding",
            ConvTranspose { output_padding: Some(vec![1]), strides: Some(vec![2]), ..plain_transposed() },
            &[1, 1, 3],
            &[1, 1, 1],
        ),
        deconv(
            "deconv output_padding behind a gap",
            ConvTranspose {
                output_padding: Some(vec![2, 0]),
                pads: Some(vec![0, 0, 1, 0]),
                strides: Some(vec![3, 2]),
                ..plain_transposed()
            },
            &[1, 1, 2, 2],
            &[1, 1, 1, 1],
        ),
        deconv(
            "deconv output_padding over pad_end",
            ConvTranspose {
                output_padding: Some(vec![1]),
                pads: Some(vec![0, 2]),
                strides: Some(vec![2]),
                ..plain_transposed()
            },
            &[1, 1, 3],
            &[1, 1, 3],
        ),
        deconv(
            "deconv output_shape",
            ConvTranspose { output_shape: Some(vec![4]), strides: Some(vec![2]), ..plain_transposed() },
            &[1, 1, 2],
            &[1, 1, 3],
        ),
        deconv(
            "deconv odd output_shape and output_padding",
            ConvTranspose {
                output_padding: Some(vec![1]),
                output_shape: Some(vec![5]),
                strides: Some(vec![2]),
                ..plain_transposed()
            },
            &[1, 1, 3],
            &[1, 1, 3],
        ),
        deconv(
            "deconv odd output_shape that leaves output_padding",
            ConvTranspose {
                output_padding: Some(vec![2]),
                output_shape: Some(vec![5]),
                strides: Some(vec![3]),
                ..plain_transposed()
            },
            &[1, 1, 2],
            &[1, 1, 1],
        ),
        deconv(
            "deconv same lower",
            ConvTranspose {
                auto_pad: Some(AutoPad::SameLower),
                strides: Some(vec![2]),
                ..plain_transposed()
            },
            &[1, 1, 3],
            &[1, 1, 3],
        ),
        deconv(
            "deconv group 2",
            ConvTranspose { group: Some(2), ..plain_transposed() },
            &[1, 4, 3],
            &[4, 1, 1],
        ),
    ]
}

fn cases() -> Vec<Case> {
    let others = vec![
        quantized_conv(),
        quantized_deconv(),
        requantized_conv(),
        rounded_conv("rounded conv", None),
        rounded_conv("rounded conv, quantized result", Some(4.0)),
        saturating_conv("requantized conv of large products", DataType::Int8),
        saturating_conv("requantized conv of large products, float weights", DataType::Float),
        residual_block(),
        normalized_deconv(),
        clipped(),
        pooled_concat(),
        quantized_twice(),
        quantized_along_axis(),
        quantized_infinities("quantized infinities", -3.0),
        quantized_infinities("quantized infinities, zero point 0", 0.0),
        pooled_infinities(),
        long_significands(),
    ];
    convolutions().into_iter().chain(others).collect()
}

fn differs((_, graph, input): &Case, mutants: &[Mutant]) -> bool {
    let inputs = std::slice::from_ref(input);
    let golden = evaluate(graph, inputs).expect("valid").outputs;
    let mutantive = evaluate_as(graph, inputs, Arithmetic::default(), mutants).expect("valid").outputs;
    golden
        .iter()
        .zip(&mutantive)
        .any(|(golden, mutantive)| (&golden.shape, &golden.values) != (&mutantive.shape, &mutantive.values))
}

#[test]
fn every_mutant_changes_some_case() {
    let cases = cases();
    for mutant in Mutant::ALL {
        assert!(cases.iter().any(|case| differs(case, &[*mutant])), "{} changes nothing", mutant.name());
    }
}

#[test]
fn no_two_mutants_are_the_same() {
    let outputs = |mutant: Mutant| {
        let given = |(_, graph, input): &Case| {
            let evaluation =
                evaluate_as(graph, std::slice::from_ref(input), Arithmetic::default(), &[mutant])
                    .expect("valid");
            let outputs = evaluation.outputs.into_iter();
            outputs.map(|output| (output.shape, output.values)).collect::<Vec<_>>()
        };
        cases().iter().map(given).collect::<Vec<_>>()
    };
    let all: Vec<_> = Mutant::ALL.iter().map(|mutant| outputs(*mutant)).collect();
    for (place, one) in all.iter().enumerate() {
        for (other_place, other) in all.iter().enumerate().skip(place + 1) {
            let (name, other_name) = (Mutant::ALL[place].name(), Mutant::ALL[other_place].name());
            assert!(one != other, "{name} and {other_name} agree on every case");
        }
    }
}

#[test]
fn merged_pairs_quantize_once() {
    let (_, graph, input) = quantized_twice();
    let given = |mutants: &[Mutant]| {
        let evaluation = evaluate_as(&graph, std::slice::from_ref(&input), Arithmetic::default(), mutants);
        evaluation.expect("valid").outputs[0].values.clone()
    };
    assert_eq!(given(&[]), [2.0, 4.0, -4.0, 63.5, 8.0]);
    assert_eq!(given(&[Mutant::QuantizerPairsMerged]), [1.5, 3.0, -3.0, 63.5, 7.0]);
}

#[test]
fn exchanged_axes_are_read_as_far_as_they_reach() {
    let (_, graph, input) = quantized_along_axis();
    let mutants = [Mutant::QuantizedAxesExchanged];
    let evaluation = evaluate_as(&graph, &[input], Arithmetic::default(), &mutants).expect("valid");
    // the integers are 1, 1, 8 and 6, 2 (a tie to even), 10
    assert_eq!(evaluation.outputs[0].values, [1.0, 12.0, 0.0, 1.0, 4.0, 0.0]);
}

#[test]
fn infinities_are_quantized_through_int32_with_wraparound() {
    let given = |mutants: &[Mutant], zero_point: f64| {
        let (_, graph, input) = quantized_infinities("quantized infinities", zero_point);
        let evaluation = evaluate_as(&graph, &[input], Arithmetic::default(), mutants).expect("valid");
        evaluation.outputs[0].values.clone()
    };
    let (lowest, saturating) = ([Mutant::QuantizedThroughInt32], [Mutant::QuantizedThroughSaturatingInt32]);
    assert_eq!(given(&[], -3.0), [65.0, -62.5, 65.0, -62.5, 4.0]);
    // the lowest 32-bit integer and the zero point of -3 make the highest but two
    assert_eq!(given(&lowest, -3.0), [65.0, 65.0, 65.0, 65.0, 4.0]);
    assert_eq!(given(&saturating, -3.0), [65.0, 65.0, 65.0, 65.0, 4.0]);
    assert_eq!(given(&lowest, 0.0), [-64.0, -64.0, -64.0, -64.0, 4.0]);
    assert_eq!(given(&saturating, 0.0), given(&[], 0.0), "the lowest and the highest are in range");
    assert_eq!(given(&saturating, 3.0), [-65.5, -65.5, -65.5, -65.5, 4.0]);
}

#[test]
fn element_that_is_open_in_golden_is_open_in_mutants() {
    let mut sketch = Sketch::new();
    let open = sketch.quantized("X", &per_tensor(DataType::Int8, 1.0, 0.0));
    let y = sketch.quantized(&open, &per_tensor(DataType::Uint8, 1.0, 0.0));
    let (graph, x) = (sketch.finish(&y), fed(&[f64::NAN], &[1]));
    for mutants in [&[][..], &[Mutant::QuantizedThroughInt32], &[Mutant::Wrapped]] {
        let evaluation = evaluate_as(&graph, std::slice::from_ref(&x), Arithmetic::default(), mutants);
        let outputs = evaluation.expect("valid").outputs;
        for given in [0.0, 127.0, 255.0] {
            let agreement = outputs[0].compare(0, given);
            assert!(!matches!(agreement, Agreement::Wrong(_)), "{mutants:?} {given}: {agreement:?}");
        }
    }
}

#[test]
fn windows_of_minus_infinity_give_the_lowest_number() {
    let (_, graph, input) = pooled_infinities();
    let given = |mutant: Mutant| {
        let inputs = std::slice::from_ref(&input);
        let evaluation = evaluate_as(&graph, inputs, Arithmetic::default(), &[mutant]).expect("valid");
        evaluation.outputs[0].values[..4].to_vec()
    };
    let (lowest, infinity) = (f64::from(f32::MIN), f64::NEG_INFINITY);
    assert_eq!(given(Mutant::PoolFromLowest), [lowest, lowest, lowest, 2.0]);
    assert_eq!(given(Mutant::PoolPaddingLowest), [lowest, infinity, infinity, 2.0]);
}

#[test]
fn declared_output_shape_does_not_stop_attribute_mutants() {
    let op =
        ConvTranspose { output_padding: Some(vec![1]), strides: Some(vec![2]), ..ConvTranspose::default() };
    let (mut graph, input) = one_node(Op::ConvTranspose(op), &[1, 1, 3], &[1, 1, 1], 1);
    graph.outputs[0].shape = Some([1, 1, 6].map(Dim::Fixed).to_vec());
    let evaluation =
        evaluate_as(&graph, &[input], Arithmetic::default(), &[Mutant::OutputPaddingDropped]).expect("valid");
    assert_eq!(evaluation.outputs[0].shape, [1, 1, 5]);
}

#[test]
fn strip_follows_last_tap_and_other_unreached_places_are_gaps() {
    let op = ConvTranspose {
        output_padding: Some(vec![2]),
        pads: Some(vec![0, 1]),
        strides: Some(vec![3]),
        ..ConvTranspose::default()
    };
    let (graph, input) = one_node(Op::ConvTranspose(op), &[1, 1, 2], &[1, 1, 1], 1);
    let given = |mutants: &[Mutant]| {
        let inputs = std::slice::from_ref(&input);
        let evaluation = evaluate_as(&graph, inputs, Arithmetic::default(), mutants).expect("valid");
        evaluation.outputs[0].values.clone()
    };
    let golden = given(&[]);
    let [first, last] = [golden[0], golden[3]];
    assert_eq!(golden, [first, -2.0, -2.0, last, -2.0]);
    assert_eq!(given(&[Mutant::BiasNotOnStrip]), [first, -2.0, -2.0, last, 0.0]);
    assert_eq!(given(&[Mutant::BiasNotInGaps]), [first, 0.0, 0.0, last, -2.0]);
    assert_eq!(given(&[Mutant::BiasNotInGaps, Mutant::BiasNotOnStrip]), [first, 0.0, 0.0, last, 0.0]);
}

#[test]
fn what_is_quantized_as_int8_leaves_a_uint8_output_as_its_bytes() {
    let mut sketch = Sketch::new();
    let scale = sketch.constant(DataType::Float, &[], &[1.0]);
    let zero = sketch.constant(DataType::Uint8, &[], &[0.0]);
    let y = sketch.node(Op::QuantizeLinear(QuantizeLinear::default()), &["X", &scale, &zero]);
    let mut graph = sketch.finish(&y);
    graph.outputs[0].dtype = DataType::Uint8;
    let input = fed(&[-3.0, 5.0, 200.0], &[3]);
    let evaluation =
        evaluate_as(&graph, &[input], Arithmetic::default(), &[Mutant::Uint8AsInt8]).expect("valid");
    let output = &evaluation.outputs[0];
    assert_eq!((output.dtype, &output.values[..]), (DataType::Uint8, &[253.0, 5.0, 127.0][..]));
    assert_eq!(output.quantization_step, Some(1.0));
}

#[test]
fn normalization_in_interleaved_groups_takes_the_scales_in_turn() {
    let (_, graph, input) = normalized_deconv();
    let output = |mutants: &[Mutant]| {
        let evaluation = evaluate_as(&graph, std::slice::from_ref(&input), Arithmetic::default(), mutants);
        evaluation.expect("valid").outputs[0].values.clone()
    };
    let right = [10.0 + 531.0, 20.0 + 2.0 * 642.0, 30.0 + 4.0 * (1197.0 + 2.0), 40.0 + 8.0 * (1308.0 + 2.0)];
    assert_eq!(output(&[]), right);
    // input channels 0, 2 and 4 have the scales of the first group, and the others those of the second
    let wrong = [
        10.0 + 501.0 + 4.0 * 30.0,
        20.0 + 2.0 * 602.0 + 8.0 * 40.0,
        30.0 + 4.0 * (1107.0 + 2.0) + 90.0,
        40.0 + 8.0 * (1208.0 + 2.0) + 2.0 * 100.0,
    ];
    assert_eq!(output(&[Mutant::NormalizedByInterleavedGroup]), wrong);
}

#[test]
fn normalization_of_no_output_channels_is_empty() {
    let mut sketch = Sketch::new();
    let w = sketch.constant(DataType::Float, &[2, 0, 1], &[]);
    let parameters = [(); 4].map(|()| sketch.constant(DataType::Float, &[0], &[]));
    let y = sketch.node(Op::ConvTranspose(ConvTranspose::default()), &["X", &w]);
    let inputs: Vec<&str> = [&y].into_iter().chain(&parameters).map(String::as_str).collect();
    let y = sketch.node(Op::BatchNormalization(BatchNormalization::default()), &inputs);
    let input = fed(&[1.0, 2.0], &[1, 2, 1]);
    let mutants = [Mutant::NormalizedByInterleavedGroup];
    let evaluation = evaluate_as(&sketch.finish(&y), &[input], Arithmetic::default(), &mutants);
    assert_eq!(evaluation.expect("valid").outputs[0].shape, [1, 0, 1]);
}

#[test]
fn lower_bound_of_clip_above_its_upper_one_is_open_before_operator_set_13() {
    let clip = |opset: i64| {
        let mut sketch = Sketch::new();
        let bounds = [3.0, 1.0].map(|bound| sketch.constant(DataType::Float, &[], &[bound]));
        let y = sketch.node(Op::Clip, &["X", &bounds[0], &bounds[1]]);
        let graph = Graph { opset, ..sketch.finish(&y) };
        let evaluation = evaluate(&graph, &[fed(&[2.0], &[1])]).expect("valid");
        let names: Vec<_> = evaluation.unspecified.iter().map(|entry| entry.name).collect();
        (evaluation.outputs[0].values.clone(), names)
    };
    assert_eq!(clip(12), (vec![1.0], vec!["clip-bounds-before-opset-13"]));
    assert_eq!(clip(13), (vec![1.0], vec![]));
}

#[test]
fn each_case_shows_the_mutants_that_it_should() {
    let mut matrix = String::new();
    for case in cases() {
        let shown: Vec<_> = Mutant::ALL.iter().filter(|mutant| differs(&case, &[**mutant])).collect();
        let names: Vec<_> = shown.iter().map(|mutant| mutant.name()).collect();
        writeln!(matrix, "{}: {}", case.0, names.join(", ")).expect("a string takes it");
    }
    insta::assert_snapshot!(matrix);
}

#[test]
fn mutants_of_values_leave_convolutions_of_small_integers_alone() {
    let of_values = || {
        Mutant::ALL
            .iter()
            .filter(|mutant| !matches!(mutant.nature(), Nature::Convolution | Nature::Attribute))
    };
    for case in cases().iter().filter(|case| case.1.nodes.len() == 1 && case.0 != "conv of long significands")
    {
        for mutant in of_values() {
            assert!(!differs(case, &[*mutant]), "{} changes {}", mutant.name(), case.0);
        }
    }
}

#[test]
fn a_combination_does_what_none_of_its_parts_does_alone() {
    for combination in Combination::several() {
        assert!(combination.mutants.len() > 1 && Mutant::from_name(combination.name).is_none());
        let outputs = |(_, graph, input): &Case, mutants: &[Mutant]| {
            let evaluation = evaluate_as(graph, std::slice::from_ref(input), Arithmetic::default(), mutants);
            let outputs = evaluation.expect("valid").outputs.into_iter();
            outputs.map(|output| (output.shape, output.values)).collect::<Vec<_>>()
        };
        let is_new = |case: &Case| {
            let together = outputs(case, combination.mutants);
            differs(case, combination.mutants)
                && combination.mutants.iter().all(|mutant| outputs(case, &[*mutant]) != together)
        };
        assert!(cases().iter().any(is_new), "{} is no more than its parts", combination.name);
    }
}

#[test]
fn any_two_mutants_can_be_applied_at_once() {
    let cases = cases();
    let pairs = || {
        let places = Mutant::ALL.iter().enumerate();
        places.flat_map(|(place, first)| Mutant::ALL[..place].iter().map(|second| [*second, *first]))
    };
    for ((name, graph, input), pair) in cases.iter().flat_map(|case| pairs().map(move |pair| (case, pair))) {
        let hypothesis = MutantPair::new(pair[0], pair[1]).map(Hypothesis::Both);
        let Some(hypothesis) = hypothesis else { continue };
        let (arithmetic, limits) = (Arithmetic::default(), Limits::default());
        let inputs = std::slice::from_ref(input);
        let edited = evaluate_edited(graph, inputs, arithmetic, hypothesis, None, limits);
        assert_eq!(edited.is_ok(), evaluate_as(graph, inputs, arithmetic, &pair).is_ok(), "{name}, {pair:?}");
    }
}

#[test]
fn mutants_are_found_by_their_names() {
    for mutant in Mutant::ALL {
        assert_eq!(Mutant::from_name(mutant.name()), Some(*mutant));
        assert!(mutant.sentence().ends_with('.'));
    }
    assert_eq!(Mutant::from_name("none"), None);
    for combination in Combination::singles().chain(Combination::several()) {
        assert_eq!(Combination::from_name(combination.name), Some(combination));
        assert!(combination.sentence.ends_with('.'));
    }
}
