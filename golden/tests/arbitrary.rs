//! Any graph is evaluated or refused: no panic, and never half an answer.

use proptest::{collection::vec, option, prelude::*, test_runner::RngSeed};
use twinfer_golden::{Mutant, Nature, evaluate, evaluate_with};
use twinfer_onnx::{
    AutoPad, AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DataType, DequantizeLinear, Graph,
    LeakyRelu, MaxPool, Node, Op, QuantizeLinear, Tensor, Transpose, ValueInfo, element_count,
};

fn auto_pad() -> impl Strategy<Value = Option<AutoPad>> {
    option::weighted(0.3, prop::sample::select(AutoPad::ALL.to_vec()))
}

/// A per-axis attribute, mostly of a length and values that fit two spatial axes.
fn ints(least: i64) -> impl Strategy<Value = Option<Vec<i64>>> {
    option::weighted(0.4, vec(prop_oneof![9 => least..4, 1 => -1..9i64], 2))
}

fn pads() -> impl Strategy<Value = Option<Vec<i64>>> {
    option::weighted(0.4, vec(prop_oneof![9 => 0..3i64, 1 => -1..9i64], 4))
}

fn conv() -> impl Strategy<Value = Op> {
    (auto_pad(), ints(1), option::of(1..4i64), pads(), ints(1)).prop_map(
        |(auto_pad, dilations, group, pads, strides)| {
            Op::Conv(Conv { auto_pad, dilations, group, kernel_shape: None, pads, strides })
        },
    )
}

fn conv_transpose() -> impl Strategy<Value = Op> {
    (auto_pad(), ints(1), option::of(1..4i64), ints(0), ints(1), pads(), ints(1)).prop_map(
        |(auto_pad, dilations, group, output_padding, output_shape, pads, strides)| {
            Op::ConvTranspose(ConvTranspose {
                auto_pad,
                dilations,
                group,
                kernel_shape: None,
                output_padding,
                output_shape,
                pads,
                strides,
            })
        },
    )
}

fn max_pool() -> impl Strategy<Value = Op> {
    (auto_pad(), option::of(0..2i64), ints(1), vec(1..4i64, 2), pads(), ints(1)).prop_map(
        |(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides)| {
            Op::MaxPool(MaxPool {
                auto_pad,
                ceil_mode,
                dilations,
                kernel_shape,
                pads,
                storage_order: None,
                strides,
            })
        },
    )
}

fn average_pool() -> impl Strategy<Value = Op> {
    (auto_pad(), option::of(0..2i64), option::of(0..2i64), vec(1..4i64, 2), pads(), ints(1)).prop_map(
        |(auto_pad, ceil_mode, count_include_pad, kernel_shape, pads, strides)| {
            let dilations = None;
            Op::AveragePool(AveragePool {
                auto_pad,
                ceil_mode,
                count_include_pad,
                dilations,
                kernel_shape,
                pads,
                strides,
            })
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => prop::sample::select(vec![Op::Add, Op::Mul, Op::Relu, Op::Identity]),
        2 => prop::sample::select(vec![Op::Clip, Op::GlobalAveragePool, Op::HardSwish, Op::Sigmoid]),
        1 => option::of(-2f32..2.0).prop_map(|alpha| Op::LeakyRelu(LeakyRelu { alpha })),
        1 => option::of(Just(vec![0i64, 3, 1, 2]).prop_shuffle()).prop_map(|perm| Op::Transpose(Transpose { perm })),
        2 => average_pool(),
        1 => Just(Op::BatchNormalization(BatchNormalization::default())),
        1 => (-3..4i64).prop_map(|axis| Op::Concat(Concat { axis })),
        4 => conv(),
        4 => conv_transpose(),
        2 => max_pool(),
        1 => option::of(-3..4i64).prop_map(|axis| Op::QuantizeLinear(QuantizeLinear { axis })),
        1 => option::of(-3..4i64).prop_map(|axis| Op::DequantizeLinear(DequantizeLinear { axis })),
    ]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    vec(0..4usize, 0..5)
}

/// Input shapes that fit the operator, whatever its attributes then make of them.
fn fitting_shapes(op: &Op) -> BoxedStrategy<Vec<Vec<usize>>> {
    let extents = (0..3usize, 1..4usize, 1..4usize, vec(0..6usize, 2), vec(1..4usize, 2));
    let op = op.clone();
    extents
        .prop_map(move |(batch, inputs, outputs, spatial, kernel)| {
            let data = |channels| [vec![batch, channels], spatial.clone()].concat();
            let weight = |first, second| [vec![first, second], kernel.clone()].concat();
            match &op {
                Op::Conv(op) => {
                    let group = op.group.unwrap_or(1) as usize;
                    vec![data(inputs * group), weight(outputs * group, inputs), vec![outputs * group]]
                }
                Op::ConvTranspose(op) => {
                    let group = op.group.unwrap_or(1) as usize;
                    vec![data(inputs * group), weight(inputs * group, outputs), vec![outputs * group]]
                }
                Op::BatchNormalization(_) => {
                    vec![data(inputs), vec![inputs], vec![inputs], vec![inputs], vec![inputs]]
                }
                Op::Add | Op::Mul => vec![data(inputs), kernel.iter().map(|_| 1).collect()],
                Op::Concat(_) => vec![data(inputs), data(inputs), data(inputs)],
                Op::Clip | Op::DequantizeLinear(_) => vec![data(inputs), vec![], vec![]],
                Op::QuantizeLinear(_) => vec![data(inputs), vec![inputs], vec![inputs]],
                _ => vec![data(inputs)],
            }
        })
        .boxed()
}

/// A type for each input, mostly one that fits the operator.
fn fitting_types(op: &Op) -> Vec<DataType> {
    match op {
        Op::QuantizeLinear(_) => vec![DataType::Float, DataType::Float, DataType::Int8],
        Op::DequantizeLinear(_) => vec![DataType::Int8, DataType::Float, DataType::Int8],
        _ => vec![DataType::Float; 5],
    }
}

fn dtype() -> impl Strategy<Value = DataType> {
    prop::sample::select(vec![DataType::Float, DataType::Float16, DataType::Int8])
}

fn tensor(dtype: DataType, shape: Vec<usize>) -> impl Strategy<Value = Tensor> {
    let element = prop_oneof![
        10 => (-4..5i32).prop_map(f64::from),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40, 3e38, -0.0]),
    ];
    vec(element, element_count(&shape).expect("small"))
        .prop_map(move |values| Tensor::from_f64(dtype, shape.clone(), &values).expect("as many values"))
}

/// One node, perhaps with a Relu behind it, and tensors to feed; now and then one that does not fit.
fn fed_graph() -> impl Strategy<Value = (Graph, Vec<Tensor>)> {
    let misfit = option::weighted(0.2, (any::<prop::sample::Index>(), dtype(), shape()));
    let node = op().prop_flat_map(|op| (fitting_shapes(&op), Just(op)));
    (node, misfit, any::<bool>()).prop_flat_map(|((shapes, op), misfit, relu)| {
        let mut types: Vec<_> = fitting_types(&op).into_iter().zip(shapes).collect();
        if let Some((place, dtype, shape)) = misfit {
            *place.get_mut(&mut types) = (dtype, shape);
        }
        let inputs: Vec<_> = types.into_iter().map(|(dtype, shape)| tensor(dtype, shape)).collect();
        inputs.prop_map(move |inputs| (graph(op.clone(), relu, &inputs), inputs))
    })
}

fn graph(op: Op, relu: bool, inputs: &[Tensor]) -> Graph {
    let name = |place: usize| format!("x{place}");
    let value = |name: String, dtype| ValueInfo { name, dtype, shape: None };
    let node =
        |op, inputs, output: &str| Node { name: String::new(), op, inputs, outputs: vec![output.to_owned()] };
    let output = if matches!(op, Op::QuantizeLinear(_)) { DataType::Int8 } else { DataType::Float };
    let mut nodes = vec![node(op, (0..inputs.len()).map(name).collect(), "y")];
    if relu {
        nodes.push(node(Op::Relu, vec!["y".to_owned()], "z"));
    }
    let infos = inputs.iter().enumerate();
    Graph {
        opset: 22,
        inputs: infos.map(|(place, tensor)| value(name(place), tensor.dtype())).collect(),
        initializers: vec![],
        nodes,
        outputs: vec![value(if relu { "z" } else { "y" }.to_owned(), output)],
    }
}

#[test]
fn an_evaluation_is_whole_or_refused() {
    let config = ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        ..ProptestConfig::default()
    };
    let evaluated = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let mutants = prop::sample::select(Mutant::ALL.to_vec());
    let result = runner.run(&(fed_graph(), mutants), |((graph, inputs), mutant)| {
        let mutantive = evaluate_with(&graph, &inputs, Some(mutant));
        let Ok(evaluation) = evaluate(&graph, &inputs) else {
            return Ok(());
        };
        evaluated.set(evaluated.get() + 1);
        for reference in &evaluation.outputs {
            let count = element_count(&reference.shape).expect("small");
            prop_assert_eq!((reference.values.len(), reference.bound.len()), (count, count));
            prop_assert!(reference.bound.iter().all(|bound| *bound >= 0.0), "{:?}", reference.bound);
            prop_assert!(reference.to_tensor().is_ok());
        }
        let shapes = |outputs: &[twinfer_golden::Reference]| -> Vec<_> {
            outputs.iter().map(|reference| reference.shape.clone()).collect()
        };
        if mutant.nature() != Nature::Attribute {
            let mutantive = mutantive.expect("only attributes make a graph invalid").outputs;
            prop_assert_eq!(shapes(&mutantive), shapes(&evaluation.outputs), "{}", mutant.name());
        }
        Ok(())
    });
    result.expect("every evaluation is whole");
    assert!(evaluated.get() > 1_500, "only {} graphs were valid", evaluated.get());
}
