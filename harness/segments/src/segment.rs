use std::sync::Arc;

use twinfer_case::{
    Algorithms, Arithmetic, Blindness, Case, Culprit, Divergence, EncodedCase, Expectation, NamedNode,
    Observation, Outcome, Request, Run, RunOutput, Shown, Stage, TensorSource, VariantInfo, Verdict,
};
use twinfer_checks::{
    Evaluated, Evidence, expected_outputs, fallbacks, golden, judge, largest_difference, references,
};
use twinfer_golden::evaluate_returned;
use twinfer_onnx::{DataType, Graph, Initializer, Node, Tensor, ValueInfo, infer_shapes};

use crate::{blindness::blindness, values::Values};

/// The nodes that compute one value from others.
#[derive(Clone, Debug)]
pub struct Segment<'g> {
    pub opset: i64,
    /// With their places in the graph.
    pub nodes: Vec<(usize, &'g Node)>,
    /// The values it reads that are no constants.
    pub inputs: Vec<&'g str>,
    /// Whether a node computes each of them.
    pub computed: Vec<bool>,
    pub constants: Vec<&'g Initializer>,
    pub output: &'g str,
}

/// What golden says of a segment: that it is wrong in some way, if it is.
pub enum SegmentVerdict<W> {
    /// It is right, as far as the comparison sees.
    Conforms(Option<Blindness>),
    /// It is wrong.
    Wrong(W),
    /// Why golden cannot tell.
    NotJudged(String),
}

/// The largest difference of a segment's output from golden's; `None` if the shapes differ or a difference is not finite.
pub type LargestDifference = Option<f64>;

/// A segment as a case, on the values that a backend computed for its inputs.
pub struct SegmentCase {
    encoded: Arc<EncodedCase>,
    /// Whether a node computes each input.
    computed: Vec<bool>,
}

impl<'g> Segment<'g> {
    /// The values inside the segment.
    pub fn inner_values(&self) -> impl Iterator<Item = &'g str> {
        let values = self.nodes.iter().flat_map(|(_, node)| node.outputs.iter().map(String::as_str));
        values.filter(|name| *name != self.output)
    }

    /// The segment by its names, wrong by this largest difference.
    pub fn culprit(&self, shown: Shown, difference: Option<f64>) -> Culprit {
        Culprit {
            nodes: self.names(),
            inputs: self.inputs.iter().map(|&input| input.to_owned()).collect(),
            output: self.output.to_owned(),
            shown,
            difference,
            behind: Vec::new(),
        }
    }

    pub fn names(&self) -> Vec<NamedNode> {
        self.nodes.iter().map(|(_, node)| named(node)).collect()
    }

    /// The segment as a case with `values` as its inputs; an error says why it is none.
    pub fn case(&self, request: &Request, values: &Values<'_>) -> Result<SegmentCase, String> {
        let inputs: Vec<Vec<&Tensor>> = self
            .inputs
            .iter()
            .map(|input| values.of(input).ok_or_else(|| lacks(input)))
            .collect::<Result<_, _>>()?;
        let declared = self.inputs.iter().zip(&inputs);
        let mut graph = Graph {
            opset: self.opset,
            inputs: declared.map(|(name, runs)| declared_as(name, runs)).collect::<Result<_, _>>()?,
            initializers: self.constants.iter().map(|&constant| constant.clone()).collect(),
            nodes: self.nodes.iter().map(|(_, node)| (*node).clone()).collect(),
            outputs: Vec::new(),
        };
        let run = |run: usize| Run {
            inputs: inputs.iter().map(|runs| TensorSource::Data(runs[run].clone())).collect(),
        };
        let extents = |run: usize| inputs.iter().map(|runs| runs[run].shape.clone()).collect();
        let extents: Vec<_> = (0..values.runs()).map(extents).collect();
        let output = declared_output(&graph, self.output, &extents)?;
        graph.outputs.push(output);
        let case = Case {
            graph,
            request: request.clone(),
            runs: (0..values.runs()).map(run).collect(),
            expectation: Expectation::Valid,
            provenance: None,
        };
        let encoded = EncodedCase::encode(case).map_err(|error| error.reason.to_string())?;
        Ok(SegmentCase { encoded, computed: self.computed.clone() })
    }
}

impl SegmentCase {
    /// The case as a model of its own.
    pub fn encoded(&self) -> &Arc<EncodedCase> {
        &self.encoded
    }

    /// The type of the segment's output, as the graph states it.
    pub fn dtype(&self) -> DataType {
        self.encoded.case.graph.outputs[0].dtype
    }

    /// What golden computes for it, run by run, rounded to the type; `None` if golden cannot tell.
    pub fn expected(&self, info: &VariantInfo) -> Option<Vec<Tensor>> {
        let references = references(&self.encoded, &golden(), info.description.arithmetic);
        let runs = expected_outputs(&references).ok()?;
        runs.into_iter().map(|outputs| outputs?.into_iter().next()).collect()
    }

    /// Judges `outputs`, the segment's output in every run, within the bound of the segment alone. The variant computed the inputs too.
    pub fn judge(
        &self,
        info: &VariantInfo,
        arithmetic: Arithmetic,
        outputs: &[&Tensor],
    ) -> SegmentVerdict<Box<Evaluated>> {
        let observation = observation_of(outputs);
        match self.verdict(info, &observation, arithmetic, &self.computed) {
            SegmentVerdict::Conforms(blindness) => SegmentVerdict::Conforms(blindness),
            SegmentVerdict::Wrong(_) => self.judge_observation(info, observation),
            SegmentVerdict::NotJudged(reason) => SegmentVerdict::NotJudged(reason),
        }
    }

    /// Judges `outputs` in the same sense, without a diagnosis.
    pub fn compare(
        &self,
        info: &VariantInfo,
        arithmetic: Arithmetic,
        outputs: &[&Tensor],
    ) -> SegmentVerdict<LargestDifference> {
        self.verdict(info, &observation_of(outputs), arithmetic, &self.computed)
    }

    /// Judges what a backend did with the segment as a model of its own, without a diagnosis.
    pub fn compare_alone(
        &self,
        info: &VariantInfo,
        observation: &Observation,
    ) -> SegmentVerdict<LargestDifference> {
        let arithmetic = observation.arithmetic(info.description.arithmetic);
        self.verdict(info, observation, arithmetic, &vec![false; self.computed.len()])
    }

    /// The verdict on an observation, given inputs of which the variant computed those that are `computed`.
    ///
    /// As for whole cases, what is wrong by the bounds of direct algorithms is judged by those of all that `arithmetic` allows.
    fn verdict(
        &self,
        info: &VariantInfo,
        observation: &Observation,
        arithmetic: Arithmetic,
        computed: &[bool],
    ) -> SegmentVerdict<LargestDifference> {
        let Case { graph, request, .. } = &self.encoded.case;
        let by = |arithmetic: Arithmetic| {
            let arithmetic = arithmetic.for_request(request);
            let evaluate = |inputs: &Vec<Tensor>| evaluate_returned(graph, inputs, arithmetic, computed);
            let references: Vec<_> = self.encoded.task.runs.iter().map(evaluate).collect();
            let evidence = Evidence {
                case: &self.encoded.case,
                variant: &info.variant,
                description: &info.description,
                references: &references,
                observation,
                repeat: None,
                fresh: None,
            };
            match judge(&evidence).verdict {
                Verdict::Conforms => SegmentVerdict::Conforms(blindness(&references)),
                Verdict::Diverges(_) => SegmentVerdict::Wrong(largest_difference(&references, observation)),
                other => SegmentVerdict::NotJudged(reason_not_judged(&other)),
            }
        };
        match by(arithmetic.with(Algorithms::Direct)) {
            SegmentVerdict::Wrong(_) if arithmetic.algorithms != Algorithms::Direct => by(arithmetic),
            judged => judged,
        }
    }

    /// Whether `divergence` is a fallback that keeps the values, and layers of the whole model that run these nodes show no fallback of the operator. A
    /// segment can run in another precision as a model of its own than inside of one.
    pub fn falls_back_alone(&self, divergence: &Divergence, info: &VariantInfo, whole: &Observation) -> bool {
        let Some(fallback) = &divergence.fallback else { return false };
        let case = &self.encoded.case;
        let layers = whole.precision.iter().flat_map(|precision| &precision.layers);
        let telling: Vec<_> =
            layers.filter(|layer| !layer.inputs.is_empty() || layer.weights.is_some()).collect();
        let is_told = |node: &Node| telling.iter().any(|layer| layer.nodes.contains(&node.name));
        let mut concerned = case.graph.nodes.iter().filter(|node| node.op.op_type() == fallback.operator);
        let is_shown = || {
            let (of_model, _) = fallbacks(case, info, whole);
            of_model
                .iter()
                .filter_map(|one| one.fallback.as_ref())
                .any(|one| one.operator == fallback.operator)
        };
        !divergence.concerns_values() && concerned.all(is_told) && !is_shown()
    }

    /// Judges what a backend did with the segment as a model of its own.
    pub fn judge_observation(
        &self,
        info: &VariantInfo,
        observation: Observation,
    ) -> SegmentVerdict<Box<Evaluated>> {
        let references = references(&self.encoded, &golden(), info.description.arithmetic);
        let blindness = blindness(&references);
        let evaluated = Evaluated::new(info, Arc::clone(&self.encoded), references, observation);
        match &evaluated.judgement.verdict {
            Verdict::Conforms => SegmentVerdict::Conforms(blindness),
            Verdict::Diverges(_) => SegmentVerdict::Wrong(Box::new(evaluated)),
            other => SegmentVerdict::NotJudged(reason_not_judged(other)),
        }
    }
}

/// Why golden cannot tell whether a segment is right, of a verdict that says neither.
fn reason_not_judged(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Unspecified(reason) | Verdict::NoReference(reason) | Verdict::Unsupported(reason) => {
            reason.clone()
        }
        _ => "its error bound is too wide".to_owned(),
    }
}

/// An observation with this one output in each run.
fn observation_of(outputs: &[&Tensor]) -> Observation {
    let run = |&output: &&Tensor| RunOutput { outputs: vec![output.clone()], intermediates: Vec::new() };
    let runs = outputs.iter().map(run).collect();
    Observation { runs, ..Observation::new(Stage::Execute, Outcome::Ok) }
}

/// A node by its names.
pub fn named(node: &Node) -> NamedNode {
    NamedNode::new(&node.name, node.op.op_type(), node.outputs.first().map_or("", String::as_str))
}

/// A graph input that takes a tensor of every run.
fn declared_as(name: &str, runs: &[&Tensor]) -> Result<ValueInfo, String> {
    let first = runs.first().ok_or_else(|| "there is no run".to_owned())?;
    let shapes: Vec<_> = runs.iter().map(|tensor| tensor.shape.as_slice()).collect();
    let has_one_type = runs.iter().all(|tensor| tensor.dtype() == first.dtype());
    has_one_type
        .then(|| ValueInfo::over_runs(name, first.dtype(), &shapes))
        .flatten()
        .ok_or_else(|| varies(name))
}

/// The output of `graph` that is called `name`, given `extents` of the inputs in each run. A model without its shape is not valid ONNX.
pub fn declared_output(graph: &Graph, name: &str, extents: &[Vec<Vec<usize>>]) -> Result<ValueInfo, String> {
    let in_run = |extents: &Vec<Vec<usize>>| {
        let shapes = infer_shapes(graph, extents).map_err(|violation| violation.to_string())?;
        let value = shapes.get(name).ok_or_else(|| lacks(name))?;
        Ok((value.dtype, value.shape.clone()))
    };
    let values = extents.iter().map(in_run).collect::<Result<Vec<_>, String>>()?;
    let (dtype, _) = values.first().ok_or_else(|| "there is no run".to_owned())?;
    let shapes: Vec<_> = values.iter().map(|(_, shape)| shape.as_slice()).collect();
    ValueInfo::over_runs(name, *dtype, &shapes).ok_or_else(|| varies(name))
}

fn lacks(name: &str) -> String {
    format!("the value {name:?} was not observed")
}

fn varies(name: &str) -> String {
    format!("the value {name:?} has another rank or type in another run")
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Dim, Op};

    use super::*;

    fn relu() -> Graph {
        let input = ValueInfo::over_runs("x", DataType::Float, &[&[1, 3], &[2, 3]]);
        Graph {
            opset: 17,
            inputs: vec![input.unwrap()],
            initializers: Vec::new(),
            nodes: vec![Node {
                name: "relu".to_owned(),
                op: Op::Relu,
                inputs: vec!["x".to_owned()],
                outputs: vec!["y".to_owned()],
            }],
            outputs: Vec::new(),
        }
    }

    #[test]
    fn output_is_declared_with_a_shape_that_holds_in_every_run() {
        let output = declared_output(&relu(), "y", &[vec![vec![1, 3]], vec![vec![2, 3]]]).unwrap();
        assert_eq!(output.dtype, DataType::Float);
        assert_eq!(output.shape, Some(vec![Dim::Symbolic("D_1_2".to_owned()), Dim::Fixed(3)]));
    }

    #[test]
    fn output_of_another_rank_in_another_run_is_refused() {
        let refused = declared_output(&relu(), "y", &[vec![vec![1, 3]], vec![vec![3]]]);
        assert!(refused.is_err(), "{refused:?}");
    }
}
