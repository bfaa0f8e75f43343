//! How often errors that are planted in one node of a chain are seen, and named.

use std::fmt;

use twinfer_case::{Task, Verdict};
use twinfer_golden::evaluate_as;
use twinfer_onnx::{DataType, Graph, PartialGraph, Tensor, ValueInfo};
use twinfer_segments::Cutting;

use crate::{
    bench::{Bench, Checked, changed},
    chain::{Error, Links, Numbers, chain, end},
};

/// Above this many times its segment's bound, an error must be named.
const CLEAR: f64 = 3.0;
/// Above this many times what the variant deviates without the error, it must be seen even where nothing can be observed.
const CLEAR_AT_OUTPUTS: f64 = 300.0;

/// What chains of one kind and depth come to on one variant.
pub struct Row {
    pub variant: String,
    pub links: Links,
    pub depth: usize,
    /// Chains without an error.
    pub unchanged: u64,
    /// Chains without an error that conform.
    pub conforming: u64,
    /// Chains with an error that is [`CLEAR`].
    pub clear: u64,
    /// Chains with a clear error whose segment is named.
    pub named: u64,
    /// Chains with a clear error that would conform by their outputs alone.
    pub unseen_at_outputs: u64,
    /// Chains with an error that is [`CLEAR_AT_OUTPUTS`], on a backend that returns no values inside.
    pub clear_at_outputs: u64,
    /// Chains with an error that is clear at the outputs, and that diverge.
    pub accused: u64,
    /// Chains with an error beyond its segment's bound that conform.
    pub missed: u64,
    /// Chains with one error whose wrong segments are said not to account for the outputs, which is wrong.
    pub unaccounted: u64,
}

impl Row {
    /// Checks `count` chains without an error, and as many with one.
    pub fn of(bench: &Bench, links: Links, depth: usize, count: u64) -> Self {
        let mut row = Self {
            variant: bench.info().variant.to_string(),
            links,
            depth,
            unchanged: 0,
            conforming: 0,
            clear: 0,
            named: 0,
            unseen_at_outputs: 0,
            clear_at_outputs: 0,
            accused: 0,
            missed: 0,
            unaccounted: 0,
        };
        (0..count).for_each(|seed| row.add(bench, seed));
        row
    }

    fn add(&mut self, bench: &Bench, seed: u64) {
        let case = || chain(self.links, self.depth, seed);
        let mut numbers = Numbers::new(seed ^ 0x00c0_ffee);
        let (link, error) = (numbers.below(self.depth), Error::ALL[numbers.below(Error::ALL.len())]);
        let unchanged = bench.check(case(), |graph| graph);
        self.unchanged += 1;
        self.conforming += u64::from(*unchanged.verdict() == Verdict::Conforms);

        let planted = bench.check(case(), |graph| error.plant(graph, link));
        let excess =
            Excess::of(bench, self.links, &case().graph, (error, link), &unchanged.evaluated.encoded.task);
        let is_named = planted.blames(&format!("conv{link}"));
        let conforms = *planted.verdict() == Verdict::Conforms;
        self.missed += u64::from(excess.0 > 1.0 && conforms);
        self.unaccounted += u64::from(!planted.is_accounted_for);
        if excess.0 > CLEAR {
            self.clear += 1;
            self.named += u64::from(is_named);
            self.unseen_at_outputs += u64::from(planted.from_outputs.divergences().is_empty());
        }

        let output = |checked: &Checked| checked.evaluated.observation.runs[0].outputs[0].to_f64();
        let own =
            unchanged.evaluated.references[0].as_ref().expect("a chain is known").outputs[0].values.clone();
        let (right, wrong) = (output(&unchanged), output(&planted));
        if distance(&wrong, &right) > CLEAR_AT_OUTPUTS * distance(&right, &own)
            && distance(&wrong, &right) > 0.0
        {
            let graph = PartialGraph::from(&case().graph);
            let backend =
                |task: &Task| changed(&task.clone().observing(Vec::new()), |graph| error.plant(graph, link));
            let alone = bench.check_cutting(case(), &graph, &backend, |graph| Cutting::IfSuspicious(graph));
            self.clear_at_outputs += 1;
            self.accused += u64::from(!alone.verdict().divergences().is_empty());
            self.unaccounted += u64::from(!alone.is_accounted_for);
        }
    }
}

/// How far an error leaves the bound of its segment, in bounds.
struct Excess(f64);

impl Excess {
    fn of(bench: &Bench, links: Links, graph: &Graph, (error, link): (Error, usize), task: &Task) -> Self {
        let before = link.checked_sub(1).map(|before| end(links, before));
        let observing = before.iter().cloned().collect();
        let observation = bench.observe(&task.clone().observing(observing));
        let run = &observation.runs[0];
        let given = run.intermediates.first().map_or(&task.runs[0][0], |value| &value.tensor);
        let first = &task.runs[0][0];
        let part = part_of(graph, before.as_deref().unwrap_or("x"), &end(links, link));
        let evaluate = |graph: &Graph| {
            let inputs: Vec<Tensor> = graph
                .inputs
                .iter()
                .map(|input| if input.name == "x" { first } else { given }.clone())
                .collect();
            let evaluation = evaluate_as(graph, &inputs, bench.info().description.arithmetic, &[]);
            evaluation.expect("a link is known").outputs.remove(0)
        };
        let (right, wrong) = (evaluate(&part), evaluate(&error.plant(part.clone(), link)));
        let share = |place: usize| {
            let deviation = (right.values[place] - wrong.values[place]).abs();
            if deviation == 0.0 { 0.0 } else { deviation / right.bound[place] }
        };
        Self((0..right.values.len()).map(share).fold(0.0, f64::max))
    }
}

/// The nodes between two values.
fn part_of(graph: &Graph, from: &str, to: &str) -> Graph {
    let begin = graph.nodes.iter().position(|node| node.outputs[0] == from).map_or(0, |place| place + 1);
    let until = graph.nodes.iter().position(|node| node.outputs[0] == to).expect("it is computed");
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    Graph {
        inputs: vec![value(from)],
        nodes: graph.nodes[begin..=until].to_vec(),
        outputs: vec![value(to)],
        ..graph.clone()
    }
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// A table of rows.
pub struct Table<'a>(pub &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| variant | links | depth | unchanged | conform | clear errors | segment named | outputs alone miss | clear at outputs | accused without intermediates | missed |"
        )?;
        writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for row in self.0 {
            let Row {
                variant,
                links,
                depth,
                unchanged,
                conforming,
                clear,
                named,
                unseen_at_outputs,
                clear_at_outputs,
                accused,
                missed,
                ..
            } = row;
            writeln!(
                f,
                "| `{variant}` | {} | {depth} | {unchanged} | {conforming} | {clear} | {named} | {unseen_at_outputs} | {clear_at_outputs} | {accused} | {missed} |",
                format!("{links:?}").to_lowercase()
            )?;
        }
        Ok(())
    }
}
