//! Every defect changes what some graph computes, and none changes a graph that it has nothing to do with.

mod support;

use std::fmt::Write as _;

use support::one_node;
use twinfer_golden::{Defect, evaluate, evaluate_with};
use twinfer_onnx::{AutoPad, Conv, ConvTranspose, Graph, Op, Tensor};

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
    ]
}

fn differs((_, graph, input): &Case, defect: Defect) -> bool {
    let inputs = std::slice::from_ref(input);
    let golden = evaluate(graph, inputs).expect("valid").outputs;
    let defective = evaluate_with(graph, inputs, Some(defect)).expect("valid").outputs;
    golden.iter().zip(&defective).any(|(golden, defective)| golden.values != defective.values)
}

#[test]
fn every_defect_changes_some_case() {
    let cases = cases();
    for defect in Defect::ALL {
        assert!(cases.iter().any(|case| differs(case, *defect)), "{} changes nothing", defect.name());
    }
}

#[test]
fn each_case_shows_the_defects_that_it_should() {
    let mut matrix = String::new();
    for case in cases() {
        let shown: Vec<_> = Defect::ALL.iter().filter(|defect| differs(&case, **defect)).collect();
        let names: Vec<_> = shown.iter().map(|defect| defect.name()).collect();
        writeln!(matrix, "{}: {}", case.0, names.join(", ")).expect("a string takes it");
    }
    insta::assert_snapshot!(matrix);
}

#[test]
fn defects_are_found_by_their_names() {
    for defect in Defect::ALL {
        assert_eq!(Defect::from_name(defect.name()), Some(*defect));
        assert!(defect.sentence().ends_with('.'));
    }
    assert_eq!(Defect::from_name("none"), None);
}
