//! The bounds hold for arithmetic that a conforming backend may do, and are not so wide that anything passes.
//!
//! The other side here is a backend of a few lines: 32- and 16-bit floats, sums in a shuffled order.

mod support;

use half::f16;
use proptest::{prelude::*, test_runner::RngSeed};
use support::one_node;
use twinfer_golden::{
    Agreement, Arithmetic, Operands, Reference, Singles, Sums, Unknown, evaluate, evaluate_as,
};
use twinfer_onnx::{
    BatchNormalization, Conv, ConvTranspose, DataType, DequantizeLinear, Graph, Initializer, Node, Op,
    QuantizeLinear, Tensor, TensorData, ValueInfo,
};

/// The sum in which every product and every partial sum is rounded.
fn dot(products: impl Iterator<Item = (f64, f64)>, round: impl Fn(f64) -> f64) -> f64 {
    products.fold(0.0, |sum, (x, w)| round(sum + round(x * w)))
}

fn float(dtype: DataType, shape: Vec<usize>, values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("as many values as it holds")
}

fn rounding(dtype: DataType) -> fn(f64) -> f64 {
    match dtype {
        DataType::Float16 => |x| f16::from_f64(x).to_f64(),
        _ => |x| f64::from(x as f32),
    }
}

/// Conv of X [1, C, 1] with W [1, C, 1]: one dot product of C terms.
fn dot_graph(dtype: DataType, w: Tensor) -> Graph {
    let channels = w.shape[1];
    let (mut graph, _) = one_node(Op::Conv(Conv::default()), &[1, channels, 1], &[1, channels, 1], 1);
    graph.inputs[0].dtype = dtype;
    graph.outputs[0].dtype = dtype;
    graph.initializers = vec![Initializer { name: "W".to_owned(), tensor: w }];
    graph.nodes[0].inputs.truncate(2);
    graph
}

fn reference(graph: &Graph, input: Tensor) -> Reference {
    evaluate(graph, &[input]).expect("valid").outputs.remove(0)
}

fn reference_as(graph: &Graph, input: Tensor, arithmetic: Arithmetic) -> Reference {
    evaluate_as(graph, &[input], arithmetic, &[]).expect("valid").outputs.remove(0)
}

fn agrees(reference: &Reference, given: f64) -> bool {
    !matches!(reference.compare(0, given), Agreement::Wrong(_))
}

fn wide() -> impl Strategy<Value = f64> {
    (-1.0..1.0f64, -20..20i32).prop_map(|(significand, exponent)| significand * 2f64.powi(exponent))
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 500,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sums_in_any_order_stay_within_the_bound(
        pairs in prop::collection::vec((wide(), wide()), 1..200).prop_shuffle(),
        half in any::<bool>(),
    ) {
        let dtype = if half { DataType::Float16 } else { DataType::Float };
        let round = rounding(dtype);
        let count = pairs.len();
        // 16-bit floats overflow early
        let scale = if half { 2f64.powi(-12) } else { 1.0 };
        let x: Vec<f64> = pairs.iter().map(|(x, _)| round(x * scale)).collect();
        let w: Vec<f64> = pairs.iter().map(|(_, w)| round(w * scale)).collect();
        let graph = dot_graph(dtype, float(dtype, vec![1, count, 1], &w));
        let reference = reference(&graph, float(dtype, vec![1, count, 1], &x));
        let forward = dot(x.iter().copied().zip(w.iter().copied()), round);
        let backward = dot(x.iter().copied().zip(w.iter().copied()).rev(), round);
        prop_assert!(agrees(&reference, forward), "{forward} {reference:?}");
        prop_assert!(agrees(&reference, backward), "{backward} {reference:?}");
    }

    #[test]
    fn single_sums_of_half_operands_stay_within_the_narrower_bound(
        pairs in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64), 1..200),
    ) {
        let half = rounding(DataType::Float16);
        let single = rounding(DataType::Float);
        let count = pairs.len();
        let x: Vec<f64> = pairs.iter().map(|(x, _)| half(*x)).collect();
        let w: Vec<f64> = pairs.iter().map(|(_, w)| half(*w)).collect();
        let graph = dot_graph(DataType::Float16, float(DataType::Float16, vec![1, count, 1], &w));
        let input = || float(DataType::Float16, vec![1, count, 1], &x);
        let (wide, narrow) = (reference(&graph, input()), reference_as(&graph, input(), Arithmetic::STRICT));
        let sum = half(dot(x.iter().copied().zip(w.iter().copied()), single));
        prop_assert!(agrees(&narrow, sum), "{sum} {narrow:?}");
        prop_assert!(narrow.bound[0] <= wide.bound[0]);
        let long = count > 20 && narrow.grid_step.is_none();
        prop_assert!(!long || narrow.bound[0] < wide.bound[0] / 4.0, "{narrow:?} {wide:?}");
    }

    #[test]
    fn the_bound_is_below_what_one_missing_term_changes(
        x in prop::collection::vec(prop_oneof![0.5..1.0f64, -1.0..-0.5f64], 2..200),
        missing in any::<prop::sample::Index>(),
    ) {
        let x: Vec<f64> = x.iter().map(|x| f64::from(*x as f32)).collect();
        let w: Vec<f64> = x.iter().map(|x| f64::from((1.0 / x) as f32)).collect();
        let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, w.len(), 1], &w));
        let reference = reference(&graph, float(DataType::Float, vec![1, x.len(), 1], &x));
        let skipped = missing.index(x.len());
        let kept = (0..x.len()).filter(|place| *place != skipped).map(|place| (x[place], w[place]));
        prop_assert!(!agrees(&reference, dot(kept, |x| x)));
    }

    #[test]
    fn integers_are_exact_and_any_deviation_is_wrong(
        pairs in prop::collection::vec((-9..=9i32, -9..=9i32), 1..60),
        exponent in -8..8i32,
    ) {
        let step = 2f64.powi(exponent);
        let x: Vec<f64> = pairs.iter().map(|(x, _)| f64::from(*x) * step).collect();
        let w: Vec<f64> = pairs.iter().map(|(_, w)| f64::from(*w)).collect();
        let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, w.len(), 1], &w));
        let reference = reference(&graph, float(DataType::Float, vec![1, x.len(), 1], &x));
        let sum: i32 = pairs.iter().map(|(x, w)| x * w).sum();
        let exact = f64::from(sum) * step;
        prop_assert_eq!(reference.compare(0, exact), Agreement::Exact);
        let grid_step = reference.grid_step.expect("integers are exact");
        let next = f64::from((exact as f32).next_up());
        prop_assert_eq!(reference.compare(0, next), Agreement::Wrong((next - exact).abs()));
        if pairs.iter().any(|(x, _)| x % 2 != 0) && pairs.iter().any(|(_, w)| w % 2 != 0) {
            prop_assert!((grid_step / step - 1.0).abs() < f64::EPSILON, "{grid_step}, not {step}");
        }
    }

    #[test]
    fn a_normalization_stays_within_the_bound_folded_or_not(
        x in wide(), w in wide(), scale in wide(), bias in wide(), mean in wide(), variance in 0.01..9.0f64,
    ) {
        let round = rounding(DataType::Float);
        let [x, w, scale, bias, mean, variance] = [x, w, scale, bias, mean, variance].map(round);
        let mut graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[w]));
        graph.nodes.push(normalization(&mut graph.initializers, [scale, bias, mean, variance]));
        graph.outputs[0].name = "Z".to_owned();
        let reference = reference(&graph, float(DataType::Float, vec![1, 1, 1], &[x]));
        let epsilon = f64::from(1e-5f32);
        let factor = round(scale / round(round(variance + epsilon).sqrt()));
        let stepwise = round(round(round(round(x * w) - mean) * factor) + bias);
        prop_assert!(agrees(&reference, stepwise), "{stepwise} {reference:?}");
        let folded = round(round(x * round(w * factor)) + round(bias - round(mean * factor)));
        prop_assert!(agrees(&reference, folded), "{folded} {reference:?}");
    }

    #[test]
    fn a_quantized_tie_is_open_only_where_rounding_may_break_it(scale in 0.01..0.2f32, x in -20.0..20.0f32) {
        let reference = reference(&quantization_graph(scale), float(DataType::Float, vec![1], &[f64::from(x)]));
        let quantized = |scaled: f32| f64::from(scaled.round_ties_even().clamp(-128.0, 127.0));
        let dequantized = |quantized: f64| f64::from(quantized as f32 * scale);
        prop_assert!(agrees(&reference, dequantized(quantized(x / scale))), "{reference:?}");
        prop_assert!(agrees(&reference, dequantized(quantized(x * (1.0 / scale)))), "{reference:?}");
        let far = quantized(x / scale) + 2.0;
        prop_assert!(!agrees(&reference, dequantized(far)), "two steps off: {reference:?}");
    }
}

/// BatchNormalization of Y to Z with one channel's scale, bias, mean and variance.
fn normalization(initializers: &mut Vec<Initializer>, parameters: [f64; 4]) -> Node {
    let names = ["scale", "bias", "mean", "var"];
    initializers.extend(names.iter().zip(parameters).map(|(name, value)| Initializer {
        name: (*name).to_owned(),
        tensor: float(DataType::Float, vec![1], &[value]),
    }));
    Node {
        name: "normalization".to_owned(),
        op: Op::BatchNormalization(BatchNormalization::default()),
        inputs: ["Y"].into_iter().chain(names).map(str::to_owned).collect(),
        outputs: vec!["Z".to_owned()],
    }
}

fn quantization_graph(scale: f32) -> Graph {
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    let node = |op, input: &str, output: &str| Node {
        name: output.to_owned(),
        op,
        inputs: [input, "scale", "zero"].map(str::to_owned).to_vec(),
        outputs: vec![output.to_owned()],
    };
    let scalar = |name: &str, data| Initializer {
        name: name.to_owned(),
        tensor: Tensor::new(vec![], data).expect("a scalar"),
    };
    Graph {
        opset: 13,
        inputs: vec![value("X")],
        initializers: vec![
            scalar("scale", TensorData::Float(vec![scale])),
            scalar("zero", TensorData::Int8(vec![0])),
        ],
        nodes: vec![
            node(Op::QuantizeLinear(QuantizeLinear::default()), "X", "Q"),
            node(Op::DequantizeLinear(DequantizeLinear::default()), "Q", "Y"),
        ],
        outputs: vec![value("Y")],
    }
}

#[test]
fn ties_go_to_even_and_saturate_exactly_on_a_dyadic_scale() {
    let graph = quantization_graph(0.5);
    for (x, expected) in [(0.25, 0.0), (0.75, 1.0), (1.25, 1.0), (-0.25, 0.0), (99.0, 63.5), (-99.0, -64.0)] {
        let reference = reference(&graph, float(DataType::Float, vec![1], &[x]));
        assert_eq!((reference.values[0], reference.bound[0]), (expected, 0.0), "{x}");
        assert!(reference.grid_step.is_some(), "{x}");
    }
}

#[test]
fn what_may_overflow_is_free() {
    let graph = dot_graph(DataType::Float16, float(DataType::Float16, vec![1, 2, 1], &[60000.0, -60000.0]));
    let reference = reference(&graph, float(DataType::Float16, vec![1, 2, 1], &[1.0, 1.0]));
    assert!(reference.is_vacuous(), "the partial sum rounds to 60000, its absolute parts to infinity");
    assert_eq!(reference.compare(0, f64::NAN), Agreement::Free);
}

#[test]
fn a_normalization_whose_difference_may_overflow_is_free() {
    let mut graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[1.0]));
    graph.nodes.push(normalization(&mut graph.initializers, [0.125, 0.0, -3e38, 1.0]));
    graph.outputs[0].name = "Z".to_owned();
    let reference = reference(&graph, float(DataType::Float, vec![1, 1, 1], &[3e38]));
    assert!(reference.values[0] < f64::from(f32::MAX), "the result itself is finite");
    assert_eq!(reference.compare(0, f64::INFINITY), Agreement::Free);
}

#[test]
fn a_normalization_that_may_overflow_if_it_is_scaled_before_it_is_divided_is_free() {
    let normalized = |scale: f64| {
        let mut graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[1.0]));
        graph.nodes.push(normalization(&mut graph.initializers, [scale, 0.0, 0.0, 16.0]));
        graph.outputs[0].name = "Z".to_owned();
        reference(&graph, float(DataType::Float, vec![1, 1, 1], &[3e38]))
    };
    let scaled = normalized(2.0);
    assert!(scaled.values[0] < f64::from(f32::MAX) / 2.0, "the result itself is finite");
    assert_eq!(scaled.compare(0, f64::INFINITY), Agreement::Free);
    assert!(matches!(normalized(1.0).compare(0, f64::INFINITY), Agreement::Wrong(_)));
}

#[test]
fn a_subnormal_operand_may_be_flushed() {
    let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[1e30]));
    let reference = reference(&graph, float(DataType::Float, vec![1, 1, 1], &[1e-40]));
    assert!(agrees(&reference, 0.0) && agrees(&reference, 1e-10));
    assert!(!agrees(&reference, 3e-10));
}

#[test]
fn integers_that_f64_does_not_hold_are_not_called_exact() {
    let (mut graph, _) = one_node(Op::Identity, &[], &[], 1);
    graph.nodes[0].inputs.truncate(1);
    graph.inputs[0].dtype = DataType::Int64;
    graph.outputs[0].dtype = DataType::Int64;
    let integer = |x| Tensor::new(vec![], TensorData::Int64(vec![x])).expect("a scalar");
    assert!(reference(&graph, integer(1 << 52)).grid_step.is_some());
    let large = reference(&graph, integer((1 << 53) + 1));
    assert_eq!((large.grid_step, large.compare(0, 2f64.powi(53))), (None, Agreement::Exact));
    assert!(large.bound[0] >= 1.0);
}

#[test]
fn a_position_that_no_tap_reaches_holds_the_bias() {
    let op =
        ConvTranspose { output_padding: Some(vec![1]), strides: Some(vec![2]), ..ConvTranspose::default() };
    let (graph, _) = one_node(Op::ConvTranspose(op), &[1, 1, 3], &[1, 1, 1], 1);
    let reference = reference(&graph, float(DataType::Float, vec![1, 1, 3], &[1.0, 2.0, 3.0]));
    let bias = graph.initializers[1].tensor.to_f64()[0];
    assert!([1, 3, 5].into_iter().all(|place| reference.compare(place, bias) == Agreement::Exact));
}

#[test]
fn gradual_underflow_does_not_take_a_subnormal_operand_for_zero() {
    let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[1e30]));
    let reference = reference_as(&graph, float(DataType::Float, vec![1, 1, 1], &[1e-40]), Arithmetic::STRICT);
    assert!(!agrees(&reference, 0.0));
    assert!(agrees(&reference, f64::from(1e-40f32 * 1e30)));
}

#[test]
fn tf32_is_within_the_bound_only_where_it_is_asked_for() {
    let (x, w) = (1.0 + 2f64.powi(-12), 1.0 - 2f64.powi(-13));
    let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[w]));
    let input = || float(DataType::Float, vec![1, 1, 1], &[x]);
    let tf32 = Arithmetic { operands: Operands::Tf32, ..Arithmetic::STRICT };
    assert!(!agrees(&reference_as(&graph, input(), Arithmetic::STRICT), 1.0));
    assert!(agrees(&reference_as(&graph, input(), tf32), 1.0));
    let integers = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[3.0]));
    let short = reference_as(&integers, float(DataType::Float, vec![1, 1, 1], &[2047.0]), tf32);
    assert!(short.grid_step.is_some(), "11 bits hold the operands");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_allocated() {
    let (graph, _) = one_node(Op::Add, &[], &[], 1);
    let column = float(DataType::Float, vec![1 << 13, 1], &vec![0.0; 1 << 13]);
    let mut graph = Graph { initializers: vec![], ..graph };
    graph.initializers.push(Initializer {
        name: "W".to_owned(),
        tensor: float(DataType::Float, vec![1 << 13], &vec![0.0; 1 << 13]),
    });
    graph.nodes[0].inputs.truncate(2);
    assert!(matches!(evaluate(&graph, &[column]), Err(Unknown::TooLarge { .. })));
}

/// The check that the vendor of one backend prints: ones, input [1, 2, 3], kernel 2, stride 2.
#[test]
fn transposed_convolution_of_ones_pads_and_appends() {
    for (pads, output_padding, expected) in [
        (0, 0, vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
        (0, 1, vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0]),
        (1, 0, vec![1.0, 2.0, 2.0, 3.0]),
        (1, 1, vec![1.0, 2.0, 2.0, 3.0, 3.0]),
    ] {
        let op = ConvTranspose {
            output_padding: Some(vec![output_padding]),
            pads: Some(vec![pads, pads]),
            strides: Some(vec![2]),
            ..ConvTranspose::default()
        };
        let (mut graph, _) = one_node(Op::ConvTranspose(op), &[1, 1, 3], &[1, 1, 2], 1);
        graph.initializers[0].tensor = float(DataType::Float, vec![1, 1, 2], &[1.0, 1.0]);
        graph.nodes[0].inputs.truncate(2);
        let reference = reference(&graph, float(DataType::Float, vec![1, 1, 3], &[1.0, 2.0, 3.0]));
        assert_eq!(reference.values, expected, "pads {pads}, output_padding {output_padding}");
    }
}

/// Rounds to nearest in the format of `dtype`.
fn narrowing(singles: Singles) -> fn(f64) -> f64 {
    match singles {
        Singles::Half => |x| f16::from_f64(x).to_f64(),
        _ => |x| half::bf16::from_f64(x).to_f64(),
    }
}

/// TF32 as hardware takes operands that nothing has rounded: it ignores the last 13 bits.
fn cut_to_tf32(x: f64) -> f64 {
    f64::from(f32::from_bits((x as f32).to_bits() & !0x1fff))
}

fn narrow(singles: Singles) -> Arithmetic {
    Arithmetic { singles, ..Arithmetic::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn narrow_sums_of_single_operands_stay_within_the_bound(
        pairs in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64), 1..200),
        half in any::<bool>(),
        in_single in any::<bool>(),
    ) {
        let singles = if half { Singles::Half } else { Singles::Bfloat16 };
        let (narrow_to, single) = (narrowing(singles), rounding(DataType::Float));
        let (x, w): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(x, w)| (single(*x), single(*w))).unzip();
        let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, w.len(), 1], &w));
        let sums = if in_single { Sums::InSingle } else { Sums::InOperandType };
        let arithmetic = Arithmetic { sums, ..narrow(singles) };
        let reference = reference_as(&graph, float(DataType::Float, vec![1, x.len(), 1], &x), arithmetic);
        let products = || x.iter().zip(&w).map(|(x, w)| (narrow_to(*x), narrow_to(*w)));
        let within = if in_single { single } else { narrow_to };
        let sum = narrow_to(dot(products(), within));
        prop_assert!(agrees(&reference, sum), "{sum} {reference:?}");
        // an operator that runs in 32 bits beside others is right, too
        let sum = dot(x.iter().copied().zip(w.iter().copied()), single);
        prop_assert!(agrees(&reference, sum), "{sum} {reference:?}");
    }

    #[test]
    fn tf32_operands_stay_within_the_bound_rounded_or_cut(
        pairs in prop::collection::vec((wide(), wide()), 1..200),
    ) {
        let single = rounding(DataType::Float);
        let (x, w): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(x, w)| (single(*x), single(*w))).unzip();
        let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, w.len(), 1], &w));
        let tf32 = Arithmetic { operands: Operands::Tf32, ..Arithmetic::default() };
        let reference = reference_as(&graph, float(DataType::Float, vec![1, x.len(), 1], &x), tf32);
        let sum = dot(x.iter().zip(&w).map(|(x, w)| (cut_to_tf32(*x), cut_to_tf32(*w))), single);
        prop_assert!(agrees(&reference, sum), "{sum} {reference:?}");
    }
}

/// One product in each precision, whose operands lose all that the precision can take from them.
fn product(x: f64, w: f64, arithmetic: Arithmetic) -> Reference {
    let graph = dot_graph(DataType::Float, float(DataType::Float, vec![1, 1, 1], &[w]));
    reference_as(&graph, float(DataType::Float, vec![1, 1, 1], &[x]), arithmetic)
}

#[test]
fn every_bound_is_exceeded_by_the_error_of_the_next_coarser_precision() {
    // what one operand loses if it is rounded to one bit less than the precision has
    for (arithmetic, bits) in [
        (narrow(Singles::Half), 11),
        (narrow(Singles::Bfloat16), 8),
        (narrow(Singles::Either), 8),
        (Arithmetic { operands: Operands::Tf32, ..Arithmetic::default() }, 11),
    ] {
        let roundoff = 2f64.powi(-bits);
        // no precision holds these operands
        let x = 1.0 + 2f64.powi(-20);
        let reference = product(x, x, arithmetic);
        let bound = reference.bound[0];
        assert!(bound > 2.0 * roundoff, "{arithmetic:?} allows both operands to be rounded: {bound}");
        assert!(bound < 8.0 * roundoff, "{arithmetic:?}: {bound} is more than a few roundings");
        // the smallest errors of mistakes in the operands: half of one is missing, or one is another integer
        assert!(!agrees(&reference, 1.0 - 16.0 * roundoff) && !agrees(&reference, 1.0 + 16.0 * roundoff));
    }
}

#[test]
fn what_a_precision_holds_is_exact_in_it() {
    for singles in [Singles::Half, Singles::Bfloat16, Singles::Either] {
        let reference = product(3.0, 5.0, narrow(singles));
        assert_eq!((reference.bound[0], reference.grid_step), (0.0, Some(1.0)), "{singles:?}");
    }
    assert!(product(45.0, 45.0, narrow(Singles::Half)).grid_step.is_some(), "2025 is below 2048");
    assert!(product(47.0, 47.0, narrow(Singles::Half)).grid_step.is_none(), "2209 is not");
    assert!(product(17.0, 17.0, narrow(Singles::Bfloat16)).grid_step.is_none(), "289 is not below 256");
}

#[test]
fn what_may_overflow_in_float16_is_free_only_there() {
    let free = |singles| product(300.0, 300.0, narrow(singles)).compare(0, f64::INFINITY) == Agreement::Free;
    assert!(free(Singles::Half) && free(Singles::Either));
    assert!(!free(Singles::Bfloat16) && !free(Singles::Single));
    let given = |x| product(x, 0.5, narrow(Singles::Half)).compare(0, f64::INFINITY);
    assert_eq!(given(70_000.0), Agreement::Free, "the operand overflows, and not its product");
    assert!(matches!(given(60_000.0), Agreement::Wrong(_)), "{:?}", given(60_000.0));
}

#[test]
fn what_underflows_in_float16_may_be_zero_only_there() {
    let (x, w) = (2f64.powi(-13), 2f64.powi(-13));
    assert!(agrees(&product(x, w, narrow(Singles::Half)), 0.0));
    assert!(!agrees(&product(x, w, narrow(Singles::Bfloat16)), 0.0));
    assert!(!agrees(&product(x, w, narrow(Singles::Half)), 1e-6));
}
