//! Every mutant changes what some graph computes, and none changes a graph that it has nothing to do with.

mod support;

use std::fmt::Write as _;

use support::one_node;
use twinfer_golden::{Mutant, evaluate, evaluate_with};
use twinfer_onnx::{
    AutoPad, Conv, ConvTranspose, DataType, DequantizeLinear, Graph, Initializer, Node, Op, QuantizeLinear,
    Tensor,
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

/// X and W through QuantizeLinear and DequantizeLinear into a Conv: ties, saturation, zero points, a scale a channel.
fn quantized_conv() -> Case {
    let (mut graph, _) = one_node(Op::Conv(Conv::default()), &[1, 2, 3], &[2, 2, 1], 2);
    let mut constant = |name: &str, tensor| {
        graph.initializers.push(Initializer { name: name.to_owned(), tensor });
    };
    let tensor = |dtype, shape: &[usize], values: &[f64]| {
        Tensor::from_f64(dtype, shape.to_vec(), values).expect("as many values as it holds")
    };
    constant("x_scale", tensor(DataType::Float, &[], &[0.5]));
    constant("x_zero", tensor(DataType::Int8, &[], &[3.0]));
    constant("w_scale", tensor(DataType::Float, &[2], &[2.0, 4.0]));
    constant("w_zero", tensor(DataType::Int8, &[2], &[0.0, 0.0]));
    let node = |op, value: &str, parameters: &str, output: &str| Node {
        name: output.to_owned(),
        op,
        inputs: vec![value.to_owned(), format!("{parameters}_scale"), format!("{parameters}_zero")],
        outputs: vec![output.to_owned()],
    };
    let quantize = |axis| Op::QuantizeLinear(QuantizeLinear { axis });
    let dequantize = |axis| Op::DequantizeLinear(DequantizeLinear { axis });
    graph.nodes[0].inputs = ["x", "w", "B"].map(str::to_owned).to_vec();
    graph.nodes.splice(
        0..0,
        [
            node(quantize(None), "X", "x", "xq"),
            node(dequantize(None), "xq", "x", "x"),
            node(quantize(Some(0)), "W", "w", "wq"),
            node(dequantize(Some(0)), "wq", "w", "w"),
        ],
    );
    let input = tensor(DataType::Float, &[1, 2, 3], &[0.25, 0.75, -1.25, 100.0, -70.0, 1.0]);
    ("quantized conv", graph, input)
}

/// Operands that need every bit of a 32-bit float.
fn long_significands() -> Case {
    let (graph, _) = one_node(Op::Conv(Conv::default()), &[1, 1, 2], &[1, 1, 2], 1);
    let input =
        Tensor::from_f64(DataType::Float, vec![1, 1, 2], &[1.0 / 3.0, 2.0 / 7.0]).expect("two values");
    ("conv of long significands", graph, input)
}

fn cases() -> Vec<Case> {
    let plain = Conv::default;
    let plain_transposed = ConvTranspose::default;
    vec![
        conv("conv 1x1", plain(), &[1, 2, 3], &[2, 2, 1]),
        conv("conv padded", Conv { pads: Some(vec![2, 0]), ..plain() }, &[1, 1, 4], &[1, 1, 2]),
        conv("conv group 2", Conv { group: Some(2), ..plain() }, &[1, 4, 3], &[2, 2, 1]),
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
        quantized_conv(),
        long_significands(),
    ]
}

fn differs((_, graph, input): &Case, mutant: Mutant) -> bool {
    let inputs = std::slice::from_ref(input);
    let golden = evaluate(graph, inputs).expect("valid").outputs;
    let mutantive = evaluate_with(graph, inputs, Some(mutant)).expect("valid").outputs;
    golden.iter().zip(&mutantive).any(|(golden, mutantive)| golden.values != mutantive.values)
}

#[test]
fn every_mutant_changes_some_case() {
    let cases = cases();
    for mutant in Mutant::ALL {
        assert!(cases.iter().any(|case| differs(case, *mutant)), "{} changes nothing", mutant.name());
    }
}

#[test]
fn each_case_shows_the_mutants_that_it_should() {
    let mut matrix = String::new();
    for case in cases() {
        let shown: Vec<_> = Mutant::ALL.iter().filter(|mutant| differs(&case, **mutant)).collect();
        let names: Vec<_> = shown.iter().map(|mutant| mutant.name()).collect();
        writeln!(matrix, "{}: {}", case.0, names.join(", ")).expect("a string takes it");
    }
    insta::assert_snapshot!(matrix);
}

#[test]
fn mutants_of_values_leave_convolutions_of_small_integers_alone() {
    let of_values = || Mutant::ALL.iter().filter(|mutant| !Mutant::STRUCTURAL.contains(mutant));
    assert!(of_values().count() + Mutant::STRUCTURAL.len() == Mutant::ALL.len());
    for case in cases().iter().filter(|case| case.1.nodes.len() == 1 && case.0 != "conv of long significands")
    {
        for mutant in of_values() {
            assert!(!differs(case, *mutant), "{} changes {}", mutant.name(), case.0);
        }
    }
}

#[test]
fn mutants_are_found_by_their_names() {
    for mutant in Mutant::ALL {
        assert_eq!(Mutant::from_name(mutant.name()), Some(*mutant));
        assert!(mutant.sentence().ends_with('.'));
    }
    assert_eq!(Mutant::from_name("none"), None);
}
