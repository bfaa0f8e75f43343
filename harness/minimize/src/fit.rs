//! Makes an edited case sound again: parameters that fit the data, and outputs as the nodes produce them.

use std::collections::HashMap;

use twinfer_case::{Case, Expectation};
use twinfer_onnx::{
    DataType, Dim, Node, Op, Rule, RuleViolation, ValueInfo, Window, infer_shapes, resolve_axis,
};

use crate::{
    edit::{self, Edited, select_input},
    selection::select,
};

/// The extents of the values of a case, in each run.
type Extents = HashMap<String, Vec<Vec<usize>>>;

/// What a case was before it was edited.
#[derive(Clone, Debug)]
pub struct Baseline {
    nodes: HashMap<String, Node>,
    /// Whether the graph has inputs, so that an edit must keep one.
    has_inputs: bool,
    /// For a case that is invalid, those of the values before the node that breaks the rule.
    extents: Extents,
}

impl Baseline {
    /// The baseline of `case`; `None` if the case is not as its expectation says.
    pub fn of(case: &Case) -> Option<Self> {
        if case.runs.is_empty() {
            return None;
        }
        let nodes = case.graph.nodes.iter().map(|node| (node.name.clone(), node.clone())).collect();
        let extents = match case.expectation {
            Expectation::Valid => extents(case).ok()?,
            Expectation::Invalid(_) => {
                let mut case = case.clone();
                (0..=case.graph.nodes.len()).rev().find_map(|place| extents_before(&mut case, place))?
            }
        };
        Some(Self { nodes, has_inputs: !case.graph.inputs.is_empty(), extents })
    }

    /// The extents of a value in each run.
    pub fn extents(&self, name: &str) -> Option<&[Vec<usize>]> {
        self.extents.get(name).map(Vec::as_slice)
    }

    /// The edited case with everything else brought in line, where that gives a case that is expected to be what
    /// this one was.
    pub fn fit(&self, mut case: Case) -> Option<Case> {
        edit::prune(&mut case)?;
        match &case.expectation {
            Expectation::Valid => {
                for place in 0..case.graph.nodes.len() {
                    self.fit_node(&mut case, place)?;
                }
                retype_outputs(&mut case)?;
                declare_outputs(&mut case)?;
            }
            Expectation::Invalid(rule) => {
                let rule = rule.clone();
                self.fit_sound_nodes(&mut case)?;
                if rule != Rule::DeclaredOutput.name() {
                    case.graph.outputs.iter_mut().for_each(|output| output.shape = None);
                }
                let breaks = |violation: RuleViolation| violation.rule.name() == rule;
                run_shapes(&case)
                    .all(|shapes| infer_shapes(&case.graph, &shapes).is_err_and(breaks))
                    .then_some(())?;
            }
        }
        let sound = !case.runs.is_empty() && (!self.has_inputs || !case.graph.inputs.is_empty());
        sound.then_some(case)
    }

    /// Fits the nodes that broke no rule before the edit, and so must break none after it.
    fn fit_sound_nodes(&self, case: &mut Case) -> Edited {
        for place in 0..case.graph.nodes.len() {
            let sound =
                case.graph.nodes[place].outputs.iter().all(|output| self.extents.contains_key(output));
            if !sound {
                break;
            }
            self.fit_node(case, place)?;
        }
        Some(())
    }

    fn fit_node(&self, case: &mut Case, place: usize) -> Edited {
        let extents = extents_before(case, place)?;
        let node = case.graph.nodes[place].clone();
        let shape =
            |input: usize| node.inputs.get(input).and_then(|name| extents.get(name)).map(|runs| &runs[0]);
        match &node.op {
            Op::Conv(conv) => {
                let (x, w) = (shape(0)?, shape(1)?);
                let kept = Kept::of(conv.group, *x.get(1)?, *w.get(1)?, *w.first()?)?;
                kept.apply(case, place, &node, [1, 0], [kept.inputs, kept.outputs])
            }
            Op::ConvTranspose(deconv) => {
                let (x, w) = (shape(0)?, shape(1)?);
                let (channels, outputs) = (deconv.window().channels(w)?, deconv.window().output_channels(w)?);
                let kept = Kept::of(deconv.group, *x.get(1)?, channels.inputs, outputs)?;
                self.fit_output_shape(case, place, &x[2..], w.get(2..)?);
                let weight = [kept.group * kept.inputs, kept.outputs / kept.group];
                kept.apply(case, place, &node, [0, 1], weight)
            }
            Op::BatchNormalization(_) => {
                let channels = *shape(0)?.get(1)?;
                (1..5).try_for_each(|input| match shape(input)?.first()? {
                    parameters if *parameters > channels => shorten(case, &node, input, 0, channels),
                    _ => Some(()),
                })
            }
            Op::Add => {
                fit_sum(case, &node, extents.get(node.inputs.first()?)?, extents.get(node.inputs.get(1)?)?)
            }
            Op::Concat(concat) => {
                let joined = node.inputs.iter().map(|input| extents.get(input).map(Vec::as_slice));
                fit_joined(case, &node, concat.axis, &joined.collect::<Option<Vec<_>>>()?)
            }
            _ => Some(()),
        }
    }

    /// Keeps what an `output_shape` crops, unless the edit was to change it.
    fn fit_output_shape(
        &self,
        case: &mut Case,
        place: usize,
        input: &[usize],
        kernel: &[usize],
    ) -> Option<()> {
        let node = &mut case.graph.nodes[place];
        let before = self.nodes.get(&node.name)?;
        let (Op::ConvTranspose(new), Op::ConvTranspose(old)) = (&mut node.op, &before.op) else {
            return None;
        };
        if new.output_shape != old.output_shape {
            return None;
        }
        let old_spatial = |input: usize| self.extents(before.inputs.get(input)?)?.first()?.get(2..);
        let (old_input, old_kernel) = (old_spatial(0)?, old_spatial(1)?);
        let grown = |axis: usize| {
            let after = natural(&new.window(), axis, *input.get(axis)?, *kernel.get(axis)?);
            Some(after - natural(&old.window(), axis, *old_input.get(axis)?, *old_kernel.get(axis)?))
        };
        let fitted = old.output_shape.as_ref()?.iter().enumerate();
        let fitted =
            fitted.map(|(axis, extent)| Some((extent + grown(axis)?).max(1))).collect::<Option<_>>()?;
        new.output_shape = Some(fitted);
        Some(())
    }
}

/// Extent of a ConvTranspose along an axis before it is cropped.
fn natural(window: &Window, axis: usize, input: usize, kernel: usize) -> i64 {
    let kernel = (kernel as i64 - 1) * window.dilation(axis) + 1;
    window.stride(axis) * (input as i64 - 1) + window.output_padding(axis) + kernel
}

/// The groups of a convolution that data of fewer channels leaves: the first ones.
#[derive(Clone, Copy)]
struct Kept {
    group: usize,
    /// Input channels of a group.
    inputs: usize,
    /// Output channels of all of them.
    outputs: usize,
}

impl Kept {
    /// Of `outputs` channels in `group` groups, each of `inputs` channels, for data of `channels`.
    fn of(group: Option<i64>, channels: usize, inputs: usize, outputs: usize) -> Option<Self> {
        let group = usize::try_from(group.unwrap_or(1)).ok()?;
        let per_group = outputs.checked_div(group)?;
        if channels < inputs {
            return Some(Self { group: 1, inputs: channels, outputs: per_group });
        }
        let kept = channels.checked_div(inputs).filter(|kept| *kept <= group && kept * inputs == channels)?;
        Some(Self { group: kept, inputs, outputs: per_group * kept })
    }

    /// Cuts weight and bias; the weight keeps so many indices of these axes.
    fn apply(
        self,
        case: &mut Case,
        place: usize,
        node: &Node,
        axes: [usize; 2],
        weight: [usize; 2],
    ) -> Edited {
        for (axis, extent) in axes.into_iter().zip(weight) {
            shorten(case, node, 1, axis, extent)?;
        }
        if node.input(2).is_some() {
            shorten(case, node, 2, 0, self.outputs)?;
        }
        let group = case.graph.nodes[place].op.window_mut()?.group;
        if group.unwrap_or(1) != self.group as i64 {
            *group = Some(self.group as i64);
        }
        Some(())
    }
}

/// Keeps the first `extent` indices of an axis of an input of `node`.
fn shorten(case: &mut Case, node: &Node, input: usize, axis: usize, extent: usize) -> Edited {
    select(case, node.inputs.get(input)?, axis, &(0..extent).collect::<Vec<_>>())
}

/// Makes the summands of an Add broadcast: where both have an extent other than 1, the larger gives in.
fn fit_sum(case: &mut Case, node: &Node, left: &[Vec<usize>], right: &[Vec<usize>]) -> Edited {
    let common = left[0].len().min(right[0].len());
    for back in 1..=common {
        let of = |runs: &[Vec<usize>]| runs.iter().map(|shape| shape[shape.len() - back]).collect::<Vec<_>>();
        let (lefts, rights) = (of(left), of(right));
        let larger = |a: &[usize], b: &[usize]| a.iter().zip(b).any(|(a, b)| a > b && *b != 1);
        if larger(&lefts, &rights) {
            shorten_runs(case, &node.inputs[0], left[0].len() - back, &rights)?;
        } else if larger(&rights, &lefts) {
            shorten_runs(case, &node.inputs[1], right[0].len() - back, &lefts)?;
        }
    }
    Some(())
}

/// Makes the inputs of a Concat alike but for the axis along which it joins them: along the others the larger ones give in.
fn fit_joined(case: &mut Case, node: &Node, axis: i64, inputs: &[&[Vec<usize>]]) -> Edited {
    let rank = inputs.first()?.first()?.len();
    let joined = resolve_axis(axis, rank).ok()?;
    for axis in (0..rank).filter(|axis| *axis != joined) {
        let of = |runs: &[Vec<usize>]| {
            runs.iter().map(|shape| shape.get(axis).copied()).collect::<Option<Vec<_>>>()
        };
        let extents = inputs.iter().map(|runs| of(runs)).collect::<Option<Vec<_>>>()?;
        let smaller = |one: Vec<usize>, other: &Vec<usize>| {
            one.iter().zip(other).map(|(one, other)| *one.min(other)).collect()
        };
        let least = extents.iter().skip(1).fold(extents.first()?.clone(), smaller);
        for (input, _) in node.inputs.iter().zip(&extents).filter(|(_, extents)| **extents != least) {
            shorten_runs(case, input, axis, &least)?;
        }
    }
    Some(())
}

/// Keeps so many indices of an axis of a value in each run.
fn shorten_runs(case: &mut Case, name: &str, axis: usize, extents: &[usize]) -> Edited {
    if let Some(place) = case.graph.inputs.iter().position(|input| input.name == name) {
        let run = std::cell::Cell::new(0);
        return select_input(case, place, axis, |extent| {
            let wanted = *extents.get(run.replace(run.get() + 1))?;
            (wanted <= extent).then(|| (0..wanted).collect())
        });
    }
    let extent = extents.first().filter(|first| extents.iter().all(|extent| extent == *first))?;
    select(case, name, axis, &(0..*extent).collect::<Vec<_>>())
}

/// Declares integers only where the nodes still give them.
fn retype_outputs(case: &mut Case) -> Edited {
    let mut outputs = std::mem::take(&mut case.graph.outputs);
    let shapes = run_shapes(case).next()?;
    let inferred = infer_shapes(&case.graph, &shapes).ok()?;
    let is_integer = |output: &&mut ValueInfo| matches!(output.dtype, DataType::Int8 | DataType::Uint8);
    for output in outputs.iter_mut().filter(is_integer) {
        output.dtype = inferred.get(&output.name)?.dtype;
    }
    case.graph.outputs = outputs;
    Some(())
}

/// Declares the outputs as the nodes give them, and so checks the whole graph in every run.
fn declare_outputs(case: &mut Case) -> Edited {
    let declared: Vec<_> = case.graph.outputs.iter_mut().map(|output| output.shape.take()).collect();
    let extents = extents(case).ok()?;
    let dynamic = case.graph.inputs.iter().flat_map(|input| input.shape.iter().flatten());
    let dynamic = dynamic.clone().any(|dim| matches!(dim, Dim::Symbolic(_)));
    for (output, declared) in case.graph.outputs.iter_mut().zip(declared) {
        let found = &extents.get(&output.name)?[0];
        output.shape = declared.map(|dims| {
            let dims = dims.into_iter().map(Some).chain(std::iter::repeat(None)).zip(found);
            dims.map(|(dim, extent)| match dim {
                Some(Dim::Symbolic(name)) if dynamic => Dim::Symbolic(name),
                _ => Dim::Fixed(*extent),
            })
            .collect()
        });
    }
    run_shapes(case).all(|shapes| infer_shapes(&case.graph, &shapes).is_ok()).then_some(())
}

/// The extents of all values in every run, or what is wrong with the graph.
fn extents(case: &Case) -> Result<Extents, RuleViolation> {
    let graph = &case.graph;
    let fed = graph.inputs.iter().map(|input| &input.name);
    let constant = graph.initializers.iter().map(|initializer| &initializer.name);
    let computed = graph.nodes.iter().flat_map(|node| &node.outputs);
    let names: Vec<_> = fed.chain(constant).chain(computed).collect();
    let mut extents = Extents::new();
    for shapes in run_shapes(case) {
        let inferred = infer_shapes(graph, &shapes)?;
        for name in &names {
            if let Some(found) = inferred.get(name) {
                extents.entry((*name).clone()).or_default().push(found.shape.clone());
            }
        }
    }
    Ok(extents)
}

/// The extents of what is known before the node at `place`; `None` where an earlier node breaks a rule.
fn extents_before(case: &mut Case, place: usize) -> Option<Extents> {
    let behind = case.graph.nodes.split_off(place);
    let outputs = std::mem::take(&mut case.graph.outputs);
    let found = extents(case);
    case.graph.nodes.extend(behind);
    case.graph.outputs = outputs;
    found.ok()
}

fn run_shapes(case: &Case) -> impl Iterator<Item = Vec<Vec<usize>>> + '_ {
    case.runs.iter().map(|run| run.inputs.iter().map(|source| source.shape().to_vec()).collect())
}
