use std::borrow::Cow;

use twinfer_onnx::{Graph, Node, RuleViolation, Shapes, Tensor, infer_misread_shapes, infer_shapes};

use crate::{
    Arithmetic, Evaluation, Hypothesis, Limits, Reference, Unknown, edited::Edited, evaluator::Evaluator,
    mutants::Mutant, semantics::Semantics, value::Value,
};

/// Evaluates `graph` for `inputs`: one tensor per graph input, in the graph's order.
pub fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Evaluation, Unknown> {
    evaluate_as(graph, inputs, Arithmetic::default(), &[])
}

/// Evaluates `graph` for `inputs` with the semantics of ONNX or, if it is `Some`, of `mutant`.
pub fn evaluate_with(
    graph: &Graph,
    inputs: &[Tensor],
    mutant: Option<Mutant>,
) -> Result<Evaluation, Unknown> {
    evaluate_as(graph, inputs, Arithmetic::default(), mutant.as_slice())
}

/// Evaluates `graph` for `inputs`, with bounds for backends of this arithmetic and with all of `mutants` applied.
///
/// A mutant that misreads an attribute may change shapes, or make the graph invalid.
pub fn evaluate_as(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    mutants: &[Mutant],
) -> Result<Evaluation, Unknown> {
    evaluate_within(graph, inputs, arithmetic, mutants, Limits::default())
}

/// As [`evaluate_as`], with a limit on size and work.
pub fn evaluate_within(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    mutants: &[Mutant],
    limits: Limits,
) -> Result<Evaluation, Unknown> {
    let semantics = Semantics::of(mutants);
    let graph = &*misread(graph, &semantics, |_| true);
    let shapes = shapes_for(graph, inputs, infer_shapes)?;
    Evaluator::new(graph, &shapes, arithmetic, &semantics, limits).run(inputs)
}

/// As [`evaluate_within`], as a hypothesis says, which changes every node that it may concern or, if it is `Some`, those of `only`.
pub fn evaluate_edited(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    hypothesis: Hypothesis,
    only: Option<&[&Node]>,
    limits: Limits,
) -> Result<Evaluation, Unknown> {
    let edited = Edited::new(hypothesis, only);
    let graph = &*misread(graph, edited.semantics(), |node| edited.concerns(node));
    let shapes = shapes_for(graph, inputs, infer_misread_shapes)?;
    let semantics = Semantics::of(&[]);
    Evaluator::new(graph, &shapes, arithmetic, &semantics, limits).with_edit(&edited).run(inputs)
}

/// As [`evaluate_as`] without mutants, for inputs of which a backend computed and returned those that are `returned`.
///
/// A backend may keep more of a value inside than the 16 bits that the graph asks for, and round it only to return it. So each
/// element of such an input of 16 bits may have been off by one rounding, and anything if it is not finite.
pub fn evaluate_returned(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    returned: &[bool],
) -> Result<Evaluation, Unknown> {
    let semantics = Semantics::of(&[]);
    let shapes = shapes_for(graph, inputs, infer_shapes)?;
    Evaluator::new(graph, &shapes, arithmetic, &semantics, Limits::default())
        .with_returned_inputs(returned)
        .run(inputs)
}

/// As [`evaluate_as`] without mutants, with errors such as rounding makes in every value that is not exact, drawn from `seed`. The bounds of
/// the result are those of its last operators alone, and say nothing.
///
/// How far several such results are apart shows what a backend is likely to be off by. That raises suspicion and accuses nobody: rounding
/// errors of structured data, quantizers and constants that are folded are not random.
pub fn evaluate_rounding_randomly(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    seed: u64,
) -> Result<Evaluation, Unknown> {
    let semantics = Semantics::of(&[]);
    let shapes = shapes_for(graph, inputs, infer_shapes)?;
    let evaluator = Evaluator::new(graph, &shapes, arithmetic, &semantics, Limits::default());
    evaluator.rounding_randomly(seed).run(inputs)
}

/// The type of every value of `graph` for `inputs`, which must be of the types that it declares.
fn shapes_for<'a>(
    graph: &'a Graph,
    inputs: &[Tensor],
    infer: impl Fn(&'a Graph, &[Vec<usize>]) -> Result<Shapes<'a>, RuleViolation>,
) -> Result<Shapes<'a>, Unknown> {
    for (input, tensor) in graph.inputs.iter().zip(inputs) {
        let (declared, fed) = (input.dtype, tensor.dtype());
        if declared != fed {
            return Err(Unknown::Input { name: input.name.clone(), declared, fed });
        }
    }
    let extents: Vec<_> = inputs.iter().map(|tensor| tensor.shape.clone()).collect();
    Ok(infer(graph, &extents)?)
}

/// The graph with the attributes that mutants read into the nodes that they concern, and with the output shapes that follow from these
/// instead of those that it declares.
fn misread<'a>(graph: &'a Graph, semantics: &Semantics, concerns: impl Fn(&Node) -> bool) -> Cow<'a, Graph> {
    let numbers = semantics.numbers.filter(|numbers| numbers.changes_shapes());
    if semantics.attributes.is_empty() && numbers.is_none() && semantics.attribute.is_none() {
        return Cow::Borrowed(graph);
    }
    let mut graph = graph.clone();
    // the declared shapes of outputs may not apply to the mutant
    graph.outputs.iter_mut().for_each(|output| output.shape = None);
    for node in graph.nodes.iter_mut().filter(|node| concerns(node)) {
        semantics.attributes.iter().for_each(|change| change(&mut node.op));
        if let Some(attribute) = semantics.attribute {
            attribute.apply(&mut node.op);
        }
        if let Some(numbers) = numbers {
            numbers.apply_to_attributes(&mut node.op);
        }
    }
    Cow::Owned(graph)
}

impl From<&Value> for Reference {
    fn from(value: &Value) -> Self {
        Self {
            dtype: value.dtype,
            shape: value.shape.clone(),
            values: value.given_elements(),
            bound: value.error.clone().unwrap_or_else(|| vec![0.0; value.elements.len()]),
            grid_step: value.grid.map(crate::grid::Grid::size),
            quantization_step: value.quantization_step,
            has_signed_zeros: value.has_signed_zeros,
        }
    }
}
