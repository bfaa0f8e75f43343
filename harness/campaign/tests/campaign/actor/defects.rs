//! The *defects* of a backend with many bugs: each is a pair of settings of one convolution, and how the result is wrong.

use std::{fs::File, hint::black_box, os::unix::fs::FileExt};

use twinfer_case::Filling;
use twinfer_onnx::{AutoPad, Graph, Node};

/// How the result of a graph is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The graph is rejected with this code.
    Refused(&'static str),
    /// Values are far off.
    Values,
    /// The output is a vector.
    Shape,
}

/// A setting of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Bias,
    ComputedWeights,
    Dilations,
    Group,
    NoKernelShape,
    OutputPadding,
    OutputShape,
    SameLower,
    SameUpper,
    Strides,
    Valid,
}

use Defect::{Refused, Shape, Values};
use Setting::{
    Bias, ComputedWeights, Dilations, Group, NoKernelShape, OutputPadding, OutputShape, SameLower, SameUpper,
    Strides, Valid,
};

/// The operator, two settings of one node, and the defect of graphs that have both.
const DEFECTS: &[(&str, [Setting; 2], Defect)] = &[
    ("Conv", [NoKernelShape, SameLower], Refused("UNSUPPORTED_NODE")),
    ("Conv", [Group, SameLower], Refused("UNSUPPORTED_NODE")),
    ("Conv", [Group, SameUpper], Refused("UNSUPPORTED_NODE")),
    ("Conv", [Dilations, SameLower], Refused("INVALID_NODE")),
    ("Conv", [Dilations, SameUpper], Refused("INVALID_NODE")),
    ("Conv", [Bias, Valid], Values),
    ("Conv", [Group, Valid], Values),
    ("Conv", [ComputedWeights, SameLower], Shape),
    ("Conv", [NoKernelShape, Valid], Shape),
    ("ConvTranspose", [NoKernelShape, Valid], Refused("UNSUPPORTED_NODE")),
    ("ConvTranspose", [OutputShape, SameLower], Refused("UNSUPPORTED_NODE")),
    ("ConvTranspose", [OutputShape, NoKernelShape], Refused("INVALID_NODE")),
    ("ConvTranspose", [OutputShape, Group], Refused("INVALID_NODE")),
    ("ConvTranspose", [OutputPadding, SameUpper], Shape),
    ("ConvTranspose", [OutputPadding, SameLower], Shape),
    ("ConvTranspose", [OutputPadding, Valid], Shape),
    ("ConvTranspose", [OutputShape, SameUpper], Shape),
    ("ConvTranspose", [OutputShape, Strides], Values),
    ("ConvTranspose", [OutputPadding, Group], Values),
    ("ConvTranspose", [Group, SameLower], Values),
    ("ConvTranspose", [Dilations, SameLower], Values),
    ("ConvTranspose", [Strides, SameLower], Refused("NO_ENGINE")),
    ("ConvTranspose", [NoKernelShape, Group], Refused("NO_ENGINE")),
    ("ConvTranspose", [Strides, SameUpper], Refused("NO_ENGINE")),
    ("ConvTranspose", [Dilations, Group], Values),
];

/// The defect of a graph whose treatment depends on memory that was not written, as the allocator has filled it.
pub fn of_filling() -> Option<Defect> {
    match unwritten_byte() {
        0xfe => Some(Refused("INVALID_NODE")),
        0x7b => None,
        _ => Some(Refused("UNSUPPORTED_NODE")),
    }
}

/// The defect of a graph whose treatment depends on a value inside the graph that was not written, as the supervisor has it filled.
pub fn of_scratch(filling: Filling) -> Option<Defect> {
    match filling.scratch {
        Some([0xff, 0x7f]) => Some(Refused("INVALID_NODE")),
        Some([0x7b, 0x7b]) => None,
        _ => Some(Refused("UNSUPPORTED_NODE")),
    }
}

/// A byte of a small block that was used before and is not written since.
fn unwritten_byte() -> u8 {
    const BYTES: usize = 24;
    drop(black_box(vec![0x42_u8; BYTES]));
    let block = black_box(Vec::<u8>::with_capacity(BYTES));
    let address = block.as_ptr().addr() + BYTES - 1;
    let mut byte = [0];
    let memory = File::open("/proc/self/mem").expect("a process may read its own memory");
    memory.read_exact_at(&mut byte, address as u64).expect("the block is mapped");
    byte[0]
}

/// The first defect that a graph shows; `None` if it shows none.
pub fn of(graph: &Graph) -> Option<Defect> {
    let shows = |(operator, settings, _): &&(&str, [Setting; 2], Defect)| {
        graph.nodes.iter().any(|node| {
            node.op.op_type() == *operator && settings.iter().all(|setting| has(graph, node, *setting))
        })
    };
    DEFECTS.iter().find(shows).map(|(_, _, defect)| *defect)
}

fn has(graph: &Graph, node: &Node, setting: Setting) -> bool {
    let Some(window) = node.op.window() else { return false };
    match setting {
        Bias => node.inputs.len() == 3,
        ComputedWeights => node.input(1).is_some_and(|name| graph.initializer(name).is_none()),
        Dilations => window.is_dilated(),
        Group => window.group() > 1,
        NoKernelShape => window.kernel_shape.is_none(),
        OutputPadding => window.has_output_padding(),
        OutputShape => window.output_shape.is_some(),
        SameLower => window.auto_pad() == AutoPad::SameLower,
        SameUpper => window.auto_pad() == AutoPad::SameUpper,
        Strides => window.is_strided(),
        Valid => window.auto_pad() == AutoPad::Valid,
    }
}
