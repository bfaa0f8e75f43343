//! Operators on single elements, and averages: results of backends that round every operation stay within the bounds, and what is off by
//! more does not.
//!
//! The other side is a backend of a few lines that rounds to 32- or 16-bit floats after each operation.

use half::f16;
use proptest::{prelude::*, test_runner::RngSeed};
use twinfer_golden::{Agreement, Arithmetic, Evaluation, Reference, Sums, evaluate, evaluate_as};
use twinfer_onnx::{
    AveragePool, DataType, Graph, Initializer, LeakyRelu, Node, Op, Tensor, Transpose, ValueInfo,
};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A model of one operator for `x` of this type and shape, with scalar constants as further inputs.
fn model(op: Op, dtype: DataType, shape: &[usize], x: &[f64], constants: &[f64]) -> (Graph, Tensor) {
    let tensor = |shape: &[usize], values: &[f64]| {
        Tensor::from_f64(dtype, shape.to_vec(), values).expect("as many values as it holds")
    };
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype, shape: None };
    let names: Vec<_> = (0..constants.len()).map(|place| format!("c{place}")).collect();
    let constants = names
        .iter()
        .zip(constants)
        .map(|(name, constant)| Initializer { name: name.clone(), tensor: tensor(&[], &[*constant]) });
    let graph = Graph {
        opset: 22,
        inputs: vec![value("x")],
        initializers: constants.collect(),
        nodes: vec![Node {
            name: "node".to_owned(),
            op,
            inputs: std::iter::once("x".to_owned()).chain(names).collect(),
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    };
    (graph, tensor(shape, x))
}

fn evaluated(op: Op, dtype: DataType, shape: &[usize], x: &[f64], constants: &[f64]) -> Evaluation {
    let (graph, x) = model(op, dtype, shape, x, constants);
    evaluate(&graph, &[x]).expect("valid")
}

fn reference(op: Op, dtype: DataType, shape: &[usize], x: &[f64]) -> Reference {
    evaluated(op, dtype, shape, x, &[]).outputs.remove(0)
}

/// The elements of a vector after an operator; `None` where any value conforms.
fn elements(op: Op, x: &[f64], constants: &[f64]) -> Vec<Option<f64>> {
    let output = evaluated(op, DataType::Float, &[x.len()], x, constants).outputs.remove(0);
    let places = output.values.iter().zip(&output.bound);
    places.map(|(value, bound)| (*bound < INF).then_some(*value)).collect()
}

#[track_caller]
fn is_right(reference: &Reference, given: &[f64]) {
    for (place, given) in given.iter().enumerate() {
        let agreement = reference.compare(place, *given);
        let value = reference.values[place];
        assert!(!matches!(agreement, Agreement::Wrong(_)), "{given} for {value}: {agreement:?}");
    }
}

/// Rounds to the type.
fn rounding(dtype: DataType) -> fn(f64) -> f64 {
    match dtype {
        DataType::Float16 => |x| f16::from_f64(x).to_f64(),
        _ => |x| f64::from(x as f32),
    }
}

fn leaky(alpha: f32) -> Op {
    Op::LeakyRelu(LeakyRelu { alpha: Some(alpha) })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(22),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn backends_that_round_every_operation_are_right(
        x in prop::collection::vec(-20.0..20.0f64, 12),
        alpha in 0.001..0.9f32,
        is_half in any::<bool>(),
    ) {
        let dtype = if is_half { DataType::Float16 } else { DataType::Float };
        let round = rounding(dtype);
        let x: Vec<_> = x.iter().map(|x| round(*x)).collect();
        let given = |of: &dyn Fn(f64) -> f64| x.iter().map(|x| of(*x)).collect::<Vec<_>>();

        let sigmoid = reference(Op::Sigmoid, dtype, &[12], &x);
        is_right(&sigmoid, &given(&|x| round(1.0 / round(1.0 + round((-x).exp())))));
        is_right(&sigmoid, &given(&|x| round(round(0.5 * round(round(0.5 * x).tanh())) + 0.5)));

        let swish = reference(Op::HardSwish, dtype, &[12], &x);
        let sixth = round(1.0 / 6.0);
        is_right(&swish, &given(&|x| round(x * round(round(x * sixth) + 0.5).clamp(0.0, 1.0))));
        is_right(&swish, &given(&|x| round(round(x * round(x + 3.0).clamp(0.0, 6.0)) / 6.0)));

        let slope = round(f64::from(alpha));
        let leaked = reference(leaky(alpha), dtype, &[12], &x);
        is_right(&leaked, &given(&|x| if x < 0.0 { round(x * slope) } else { x }));

        let averaged = reference(Op::GlobalAveragePool, dtype, &[1, 1, 12], &x);
        let sum = x.iter().fold(0.0, |sum, x| round(sum + x));
        is_right(&averaged, &[round(sum / 12.0)]);
        is_right(&averaged, &[round(sum * round(1.0 / 12.0))]);
    }

    #[test]
    fn results_that_are_off_by_a_hundredth_are_wrong(x in prop::collection::vec(0.1..2.5f64, 12), sign in any::<bool>()) {
        let x: Vec<_> = x.iter().map(|x| f64::from(*x as f32) * if sign { 1.0 } else { -1.0 }).collect();
        let ops = [Op::Sigmoid, Op::HardSwish, leaky(0.3), Op::GlobalAveragePool];
        for op in ops {
            let reference = reference(op, DataType::Float, &[1, 1, 12], &x);
            for (place, value) in reference.values.iter().enumerate() {
                let agreement = reference.compare(place, value * 1.01);
                prop_assert!(matches!(agreement, Agreement::Wrong(_)), "{value}: {agreement:?}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_decided_element_by_element() {
    let x = [NAN, INF, -INF, 2.0, -2.0];
    assert_eq!(elements(Op::Clip, &x, &[-1.0, 1.0]), [None, Some(1.0), Some(-1.0), Some(1.0), Some(-1.0)]);
    assert_eq!(elements(Op::Clip, &x, &[-1.0]), [None, None, Some(-1.0), Some(2.0), Some(-1.0)]);
    assert_eq!(elements(Op::Clip, &x, &[3.0, 1.0])[1..], [Some(1.0); 4], "the upper bound wins");
    assert_eq!(elements(leaky(0.5), &x, &[]), [None, Some(INF), Some(-INF), Some(2.0), Some(-1.0)]);
    assert_eq!(elements(Op::HardSwish, &x, &[])[..3], [None, Some(INF), None]);
    let sigmoid = elements(Op::Sigmoid, &x, &[]);
    assert!(sigmoid[0].is_some_and(f64::is_nan) && sigmoid[1..3] == [Some(1.0), Some(0.0)]);
    let products = elements(Op::Mul, &[NAN, INF, -INF, 2.0], &[0.0]);
    assert!(products[..3].iter().all(|product| product.is_some_and(f64::is_nan)) && products[3] == Some(0.0));
    assert_eq!(elements(Op::Mul, &[INF, 2.0], &[-3.0]), [Some(-INF), Some(-6.0)]);
}

#[test]
fn clip_without_a_bound_is_open_for_sums_that_overflow() {
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    let node = |op: Op, inputs: &[&str], output: &str| Node {
        name: output.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    };
    let zero = Tensor::from_f64(DataType::Float, vec![], &[0.0]).expect("a scalar");
    let clipped = |inputs: &[&str]| {
        let graph = Graph {
            opset: 22,
            inputs: vec![value("x")],
            initializers: vec![Initializer { name: "zero".to_owned(), tensor: zero.clone() }],
            nodes: vec![node(Op::Add, &["x", "x"], "sum"), node(Op::Clip, inputs, "y")],
            outputs: vec![value("y")],
        };
        let x = Tensor::from_f64(DataType::Float, vec![1], &[f64::from(f32::MAX)]).expect("a vector");
        evaluate(&graph, &[x]).expect("valid").outputs.remove(0)
    };
    assert_eq!(clipped(&["sum", "zero"]).compare(0, f64::from(f32::MAX)), Agreement::Free);
    assert_eq!(clipped(&["sum", "", "zero"]).compare(0, 0.0), Agreement::Exact);
}

#[test]
fn dyadic_operands_give_exact_results() {
    let x = [1.0, -3.0, 5.0, 7.0];
    let step = |op: Op, constants: &[f64]| {
        evaluated(op, DataType::Float, &[1, 1, 4], &x, constants).outputs[0].grid_step
    };
    assert_eq!(step(leaky(0.25), &[]), Some(0.25));
    assert_eq!(step(leaky(0.1), &[]), None);
    assert_eq!(step(Op::Clip, &[-0.5, 2.0]), Some(0.5));
    assert_eq!(step(Op::Mul, &[0.5]), Some(0.5));
    assert_eq!(step(Op::GlobalAveragePool, &[]), Some(0.25));
    assert_eq!(step(Op::Transpose(Transpose::default()), &[]), Some(1.0));
    assert_eq!(step(Op::Sigmoid, &[]), None);
}

#[test]
fn averages_count_the_padding_only_if_they_are_told_to() {
    let average = |count_include_pad: Option<i64>| {
        let op = AveragePool {
            count_include_pad,
            kernel_shape: vec![3],
            pads: Some(vec![1, 1]),
            ..AveragePool::default()
        };
        evaluated(Op::AveragePool(op), DataType::Float, &[1, 1, 3], &[3.0, 6.0, 9.0], &[]).outputs.remove(0)
    };
    assert_eq!(average(None).values, [4.5, 6.0, 7.5]);
    assert_eq!(average(Some(1)).values, [3.0, 6.0, 5.0]);
}

#[test]
fn averages_of_nothing_and_beyond_the_padding_are_unspecified() {
    let average = |op: AveragePool, extent: usize| {
        let x = vec![1.0; extent];
        let evaluation = evaluated(Op::AveragePool(op), DataType::Float, &[1, 1, extent], &x, &[]);
        let names = |entries: &[&'static twinfer_golden::Entry]| {
            entries.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        (names(&evaluation.unspecified), names(&evaluation.open))
    };
    let outside = AveragePool { kernel_shape: vec![1], pads: Some(vec![1, 0]), ..AveragePool::default() };
    assert_eq!(average(outside, 2), (vec![], vec!["average-pool-window-of-padding"]));
    let beyond = AveragePool {
        ceil_mode: Some(1),
        count_include_pad: Some(1),
        kernel_shape: vec![2],
        strides: Some(vec![2]),
        ..AveragePool::default()
    };
    assert_eq!(average(beyond.clone(), 3), (vec!["average-pool-beyond-padding"], vec![]));
    assert_eq!(average(beyond, 4), (vec![], vec![]));
}

/// ONNX defines HardSwish as a product with a `HardSigmoid`, a tensor of the type of x. A backend that runs the definition rounds that
/// once, although it computes every operator in 32-bit floats.
#[test]
fn factor_of_hard_swish_may_be_rounded_to_the_type() {
    let round = rounding(DataType::Float16);
    let x = 1.439_453_125;
    let (graph, input) = model(Op::HardSwish, DataType::Float16, &[1], &[x], &[]);
    let in_single = Arithmetic { sums: Sums::InSingle, ..Arithmetic::default() };
    let reference = evaluate_as(&graph, &[input], in_single, &[]).expect("valid").outputs.remove(0);
    is_right(&reference, &[round(x * round(x / 6.0 + 0.5))]);
    is_right(&reference, &[round(x * (x / 6.0 + 0.5))]);
    let off_by_two = round(x * (x / 6.0 + 0.5)) + 2.0_f64.powi(-9);
    assert!(matches!(reference.compare(0, off_by_two), Agreement::Wrong(_)));
}
