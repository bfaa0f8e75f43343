//! What a campaign did not compare, and what known findings may hide, which every format says before anything that could be taken for a success.

use twinfer_case::{Kind, Reach, VariantSummary};

use crate::{
    Report,
    numbers::{count, counted, truncated},
    segments,
    styled::Styled,
};

/// The result of a campaign in which no variant was compared.
pub(crate) const TITLE: &str = "nothing was compared";

/// The most columns of a cause, which holds what a backend reported.
const WIDTH: usize = 500;
/// The most variants that the first line names.
const NAMED: usize = 3;

/// What the first line says besides findings; `None` if everything was compared.
pub(crate) fn caveat(report: &Report) -> Option<String> {
    let with_reference = only_with_each_other(report).or_else(|| partly(report));
    let mut caveats: Vec<_> = match nothing(report) {
        Some(nothing) => vec![nothing],
        None => with_reference.into_iter().chain(not_executed(report)).chain(open(report)).collect(),
    };
    caveats.extend(doubted(report));
    (!caveats.is_empty()).then(|| caveats.join("; "))
}

/// What is left open of a given model: input sets and elements of its outputs.
fn open(report: &Report) -> Vec<String> {
    if !is_about_a_model(report) {
        return Vec::new();
    }
    not_all_cases(report).into_iter().chain(not_all_elements(report)).collect()
}

/// Why the comparison of a model is incomplete; `None` if every backend executed it on all inputs, and every node was compared with golden, in all
/// elements, or with another backend.
#[must_use]
pub fn incomplete(report: &Report) -> Option<String> {
    let in_part = || only_with_each_other(report).or_else(|| partly(report));
    let in_part = in_part().filter(|_| !are_compared_with_each_other(report));
    let reasons: Vec<_> = match nothing(report) {
        Some(nothing) if nothing == TITLE => vec![nothing],
        nothing => {
            nothing.into_iter().chain(in_part).chain(not_executed(report)).chain(open(report)).collect()
        }
    };
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Such as `some output elements were not checked on ort:cpu, because ONNX allows any value in them`.
fn not_all_elements(report: &Report) -> Option<String> {
    let open: Vec<_> = executing(report).filter(|variant| segments::has_open_elements(variant)).collect();
    let names: Vec<_> = open.iter().map(|variant| variant.variant.to_string()).collect();
    (!open.is_empty()).then(|| {
        let names = named(&names);
        format!("some output elements were not checked on {names}, because ONNX allows any value in them")
    })
}

/// Such as `some output elements were not checked, because ONNX allows any value in them`, of a given model on one variant.
pub(crate) fn open_elements(report: &Report, variant: &VariantSummary) -> Option<String> {
    (is_about_a_model(report) && segments::has_open_elements(variant))
        .then(|| "some output elements were not checked, because ONNX allows any value in them".to_owned())
}

/// Such as `2 of 8 cases were not compared on ort:cpu`.
fn not_all_cases(report: &Report) -> Vec<String> {
    let of_variant = |variant: &VariantSummary| {
        let left_out: u64 = variant.left_out.values().sum();
        let cases = variant.cases() + left_out;
        let uncompared = cases.saturating_sub(variant.comparisons.compared);
        let of_cases = format!("{} of {}", count(uncompared), counted(cases, "case", "cases"));
        let were = if uncompared == 1 { "was" } else { "were" };
        let is_partial = uncompared > 0 && uncompared < cases;
        is_partial.then(|| format!("{of_cases} {were} not compared on {}", variant.variant))
    };
    executing(report).filter_map(of_variant).collect()
}

/// Whether a variant was compared on no case.
pub(crate) fn is_incomplete(report: &Report) -> bool {
    report.summary.uncompared().next().is_some()
}

/// Such as `1 known finding may hide another bug`.
pub(crate) fn doubted(report: &Report) -> Option<String> {
    let doubted = counted(report.doubts.len() as u64, "known finding", "known findings");
    (!report.doubts.is_empty()).then(|| format!("{doubted} may hide another bug"))
}

/// Such as `nothing was compared on trt-rtx`.
fn nothing(report: &Report) -> Option<String> {
    let uncompared: Vec<_> = report.summary.uncompared().map(|variant| variant.variant.to_string()).collect();
    match uncompared.len() {
        0 => None,
        all if all == bases(report).count() => Some(TITLE.to_owned()),
        _ => Some(format!("{TITLE} on {}", named(&uncompared))),
    }
}

/// Some variants by their names, or how many they are.
fn named(variants: &[String]) -> String {
    match variants.len() {
        few if few <= NAMED => variants.join(", "),
        many => format!("{} backends", count(many as u64)),
    }
}

fn only_with_each_other(report: &Report) -> Option<String> {
    let is_judged =
        executing(report).any(|variant| variant.without_reference.is_empty() || variant.segments > 0);
    (executing(report).next().is_some() && !is_judged)
        .then(|| "backends were compared with each other only, not with the reference".to_owned())
}

fn partly(report: &Report) -> Option<String> {
    let is_partial =
        is_about_a_model(report) && executing(report).any(|variant| !variant.not_judged.is_empty());
    let between =
        if are_compared_with_each_other(report) { ", but all of it between the backends" } else { "" };
    is_partial.then(|| format!("only part of the model was compared with the reference{between}"))
}

/// Whether the outputs of a model that golden does not support were compared between all variants: one that is wrong by itself is compared with none.
fn are_compared_with_each_other(report: &Report) -> bool {
    executing(report).count() > 1 && executing(report).all(is_compared_with_others)
}

fn is_compared_with_others(variant: &VariantSummary) -> bool {
    variant.comparisons.compared > 0
        && !variant.without_reference.is_empty()
        && variant.uncompared_outputs.is_empty()
        && variant.divergences.keys().all(|kind| matches!(kind, Kind::Disagree | Kind::PrecisionFallback))
}

/// Such as `no values were compared on trt-rtx (built, not executed)`, without the names if no variant executes.
fn not_executed(report: &Report) -> Option<String> {
    let (executed, others): (Vec<_>, Vec<_>) =
        bases(report).partition(|variant| variant.reaches == Reach::Executed);
    let furthest = others.iter().map(|variant| variant.reaches).max()?;
    if executed.is_empty() {
        return without_values(furthest);
    }
    let others: Vec<_> = others.iter().map(|variant| variant.variant.to_string()).collect();
    Some(format!("no values were compared on {} ({furthest})", named(&others)))
}

/// What is not compared on a variant that goes this far; `None` if it executes.
pub(crate) fn without_values(reach: Reach) -> Option<String> {
    (reach != Reach::Executed).then(|| format!("no values were compared ({reach})"))
}

/// The variants that run every case.
fn bases(report: &Report) -> impl Iterator<Item = &VariantSummary> {
    report.summary.variants.iter().filter(|variant| variant.rung_of.is_none())
}

fn executing(report: &Report) -> impl Iterator<Item = &VariantSummary> {
    bases(report).filter(|variant| variant.reaches == Reach::Executed)
}

/// Whether the cases are inputs of a given model instead of generated graphs.
pub(crate) fn is_about_a_model(report: &Report) -> bool {
    report.run.as_ref().is_some_and(|run| run.families.is_empty())
}

/// What known findings may hide, and what was not compared and why, one line each, then the advice; empty if everything was compared.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let causes = on_one_line(&report.summary.causes());
    let advice: &[_] = if causes.is_empty() { &[] } else { &report.advice };
    let mut lines: Vec<_> = report.doubts.iter().chain(&causes).chain(advice).cloned().collect();
    if is_about_a_model(report) {
        lines.extend(on_one_line(&parts(report)));
        let has_rest = partly(report).is_some() && executing(report).count() == 1;
        let here = if bases(report).count() > 1 { " that executes here" } else { "" };
        lines.extend(
            has_rest
                .then(|| format!("to have the rest compared between two backends, add a second one{here}")),
        );
    }
    lines
}

/// The parts of the model that were not compared, those of several variants once.
fn parts(report: &Report) -> Vec<String> {
    let mut parts: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for variant in executing(report).filter(|variant| variant.comparisons.compared > 0) {
        let lines = parts_of(variant);
        let name = variant.variant.to_string();
        match parts.iter_mut().find(|(_, known)| *known == lines) {
            Some((variants, _)) => variants.push(name),
            None => parts.push((vec![name], lines)),
        }
    }
    let named = |(variants, lines): &(Vec<String>, Vec<String>)| -> Vec<_> {
        lines.iter().map(|line| format!("{}: {line}", variants.join(" and "))).collect()
    };
    parts.iter().flat_map(named).collect()
}

/// The parts of the model that were not compared on a variant.
pub(crate) fn parts_of(variant: &VariantSummary) -> Vec<String> {
    let whole = (variant.segments == 0).then(|| variant.without_reference.keys()).into_iter().flatten();
    let whole = whole.map(|reason| format!("the model was not compared with the reference: {reason}"));
    let nodes = variant.not_judged.iter().map(|(reason, nodes)| {
        let first = variant.first_not_judged.get(reason).map(ToString::to_string).unwrap_or_default();
        nodes_not_compared(*nodes, variant.cases(), &first) + reason
    });
    whole.chain(nodes).chain(variant.uncompared_outputs.keys().cloned()).collect()
}

/// Such as `12 nodes were not compared with the reference, first "sm" (Softmax): `, of so many nodes in all cases together.
fn nodes_not_compared(nodes: u64, cases: u64, first: &str) -> String {
    let what = "not compared with the reference";
    match nodes.checked_div(cases) {
        Some(1) if nodes == cases => format!("{first} was {what}: "),
        Some(each) if each * cases == nodes => format!("{} nodes were {what}, first {first}: ", count(each)),
        _ => {
            let (nodes, cases) = (counted(nodes, "node", "nodes"), counted(cases, "case", "cases"));
            format!("{nodes} in {cases} {what}, first {first}: ")
        }
    }
}

/// The lines below the headline, for a terminal; nothing if there are none.
pub(crate) fn listed(lines: &[String]) -> Vec<Styled> {
    lines.iter().map(|line| Styled::plain(format!("      {line}"))).collect()
}

/// The lines below their title, for a terminal; nothing if there are none.
pub(crate) fn titled(lines: &[String]) -> Vec<Styled> {
    if lines.is_empty() {
        return Vec::new();
    }
    [vec![Styled::bad(TITLE)], listed(lines), vec![Styled::default()]].concat()
}

/// Each cause on one line.
pub(crate) fn on_one_line(causes: &[String]) -> Vec<String> {
    causes.iter().map(|cause| truncated(cause, WIDTH)).collect()
}
