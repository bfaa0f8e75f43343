//! Small graphs of the exact regime.

use twinfer_case::{Case, Recipe, Regime, TensorSource};
use twinfer_onnx::{AutoPad, Conv, ConvTranspose, DataType, Dim, Graph, Op, ValueInfo};

use crate::common::{case, fixed, floats, initializer, node, value};

pub fn symbolic(name: &str) -> Dim {
    Dim::Symbolic(name.to_owned())
}

/// Two convolutions side by side, with inputs and outputs declared in another order than they are used.
pub fn two_by_two() -> Case {
    let conv = |name: &str, input: &str, weights: &str, output: &str| {
        node(
            name,
            Op::Conv(Conv { kernel_shape: Some(vec![3, 3]), ..Conv::default() }),
            &[input, weights],
            output,
        )
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("b", &fixed(&[1, 2, 5, 6])), value("a", &fixed(&[1, 3, 6, 5]))],
        initializers: vec![
            initializer("v", floats(&[4, 3, 3, 3], 1)),
            initializer("w", floats(&[3, 2, 3, 3], 2)),
        ],
        nodes: vec![conv("of_a", "a", "v", "y"), conv("of_b", "b", "w", "z")],
        outputs: vec![value("z", &fixed(&[1, 3, 3, 4])), value("y", &fixed(&[1, 4, 4, 3]))],
    };
    case(graph, vec![vec![floats(&[1, 2, 5, 6], 3), floats(&[1, 3, 6, 5], 4)]])
}

/// A deconvolution over this many axes, whose `output_padding` goes beyond its pads, with a bias and dynamic extents,
/// run with shape A, then B, then A.
pub fn dynamic_deconvolution(axes: usize) -> Case {
    let extents = |batch: usize, extent: usize| [vec![batch, 2], vec![extent; axes]].concat();
    let names = (0..axes).map(|axis| symbolic(&format!("d{axis}")));
    let shape: Vec<Dim> = [symbolic("n"), Dim::Fixed(2)].into_iter().chain(names).collect();
    let op = ConvTranspose {
        strides: Some(vec![2; axes]),
        output_padding: Some(vec![1; axes]),
        ..ConvTranspose::default()
    };
    let kernel = [vec![2, 3], vec![2; axes]].concat();
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &shape)],
        initializers: vec![initializer("w", floats(&kernel, 1)), initializer("c", floats(&[3], 2))],
        nodes: vec![node("deconv", Op::ConvTranspose(op), &["x", "w", "c"], "y")],
        outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
    };
    let runs = [(1, 3), (2, 4), (1, 3)].map(|(batch, extent)| vec![floats(&extents(batch, extent), 5)]);
    case(graph, runs.to_vec())
}

/// A convolution whose pads follow a dynamic extent.
pub fn pads_that_follow() -> Case {
    let op = Conv { auto_pad: Some(AutoPad::SameUpper), strides: Some(vec![2, 2]), ..Conv::default() };
    let shape = [Dim::Fixed(1), Dim::Fixed(2), symbolic("h"), symbolic("w")];
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &shape)],
        initializers: vec![initializer("k", floats(&[3, 2, 3, 3], 1))],
        nodes: vec![node("conv", Op::Conv(op), &["x", "k"], "y")],
        outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
    };
    case(graph, vec![vec![floats(&[1, 2, 5, 5], 3)]])
}

/// The same with fixed extents and nothing dynamic.
pub fn convolution() -> Case {
    let op = Conv { kernel_shape: Some(vec![3, 3]), ..Conv::default() };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &fixed(&[1, 8, 16, 16]))],
        initializers: vec![initializer("k", floats(&[8, 8, 3, 3], 1))],
        nodes: vec![node("conv", Op::Conv(op), &["x", "k"], "y")],
        outputs: vec![value("y", &fixed(&[1, 8, 14, 14]))],
    };
    case(graph, vec![vec![floats(&[1, 8, 16, 16], 3)]])
}

/// Data of the rounding regime, where another algorithm gives other bits.
pub fn gaussian(mut case: Case) -> Case {
    for run in &mut case.runs {
        for (seed, input) in run.inputs.iter_mut().enumerate() {
            let shape = input.tensor().map(|tensor| tensor.shape.clone()).unwrap_or_default();
            *input = TensorSource::Recipe(Recipe {
                dtype: DataType::Float,
                shape,
                regime: Regime::Gaussian,
                seed: seed as u64,
            });
        }
    }
    case
}

/// A deconvolution that ONNX Runtime's CUDA provider leaves to the CPU.
pub fn same_lower_deconvolution() -> Case {
    let op = ConvTranspose {
        auto_pad: Some(AutoPad::SameLower),
        strides: Some(vec![2, 2]),
        ..ConvTranspose::default()
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &fixed(&[1, 2, 4, 4]))],
        initializers: vec![initializer("w", floats(&[2, 3, 3, 3], 1))],
        nodes: vec![
            node("relu", Op::Relu, &["x"], "r"),
            node("deconv", Op::ConvTranspose(op), &["r", "w"], "y"),
        ],
        outputs: vec![value("y", &fixed(&[1, 3, 8, 8]))],
    };
    case(graph, vec![vec![floats(&[1, 2, 4, 4], 3)]])
}
