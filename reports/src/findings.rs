//! Descriptions of a finding that every format shows in the same words.

use twinfer_case::{CaseSize, Divergence, Finding, Kind, WrongSegment};

use crate::{
    Report,
    numbers::{counted, truncated},
};

/// Whether only poisoned memory shows it, why it diverges, and whether that is documented: each a word that introduces a sentence, and the sentence.
pub(crate) fn reasons(report: &Report, finding: &Finding) -> Vec<(&'static str, String)> {
    let mut reasons = Vec::new();
    reasons.extend(finding.only_poisoned.then(|| ("seen only", "with poisoned memory".to_owned())));
    // what else diverges may go wrong elsewhere
    let culprit = finding.divergences.first().and_then(|divergence| divergence.culprit.as_ref());
    reasons.extend(culprit.map(|culprit| ("culprit", culprit.to_string())));
    let behind = culprit.and_then(|culprit| wrong_behind(&culprit.behind));
    reasons.extend(behind.map(|behind| ("also wrong", behind)));
    let documented = finding.divergences.iter().filter_map(|divergence| documented(report, divergence));
    let documented: Vec<_> = documented.collect();
    // what is documented needs no mutants to explain it
    let is_possible = finding.detailed_diagnosis().is_some_and(|diagnosis| !diagnosis.possible.is_empty());
    let says_nothing = finding.diagnosis.is_empty() && !documented.is_empty() && !is_possible;
    reasons.extend(explanation(finding).filter(|_| !says_nothing).map(|why| ("because", why)));
    reasons.extend(finding.trigger.as_ref().map(|trigger| ("trigger", trigger.to_string())));
    // the first divergence says in its detail how it falls back
    let beside = finding.divergences.iter().skip(1);
    let fallbacks = beside.filter(|divergence| divergence.fallback.is_some());
    reasons.extend(fallbacks.map(|fallback| ("falls back", fallback.readable_detail())));
    reasons.extend(documented.into_iter().map(|rule| ("documented", rule)));
    let needed = finding.fewest_options.as_ref();
    reasons.extend(
        needed.map(|variant| ("options", format!("{variant} shows it, and with fewer options nothing does"))),
    );
    reasons.extend(repeats(finding).into_iter().map(|outcome| ("repeated", outcome)));
    reasons.dedup();
    reasons
}

/// The most wrong segments behind a culprit that are named.
const BEHIND: usize = 5;

/// Such as `"conv5" (Conv); "conv7" (Conv) + "relu7" (Relu); and 2 more`, in the order of the model; `None` if there are none.
fn wrong_behind(segments: &[WrongSegment]) -> Option<String> {
    let named = segments.iter().take(BEHIND).map(ToString::to_string);
    let left_out = segments.len().saturating_sub(BEHIND);
    let left_out = (left_out > 0).then(|| format!("and {left_out} more"));
    let parts: Vec<_> = named.chain(left_out).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The digits that end the name of a finding's folder.
pub(crate) fn digest(slug: &str) -> &str {
    slug.rsplit('-').next().unwrap_or(slug)
}

/// The number of runs after which a case with one outcome counts as stable.
const ALL_REPEATS: u32 = 10;

/// What repeats of the case came to, if they differ or are fewer than usual.
fn repeats(finding: &Finding) -> Vec<String> {
    match finding.outcomes.as_slice() {
        [] => Vec::new(),
        [one] if one.total() >= ALL_REPEATS => Vec::new(),
        [one] => {
            let runs = counted(one.total().into(), "run", "runs");
            vec![format!("{} in all of {runs}, where {ALL_REPEATS} are usual", one.outcome)]
        }
        several => several.iter().map(ToString::to_string).collect(),
    }
}

/// The rule that says so, with its source where the backend stated it in this run.
fn documented(report: &Report, divergence: &Divergence) -> Option<String> {
    let rule = divergence.documented.as_ref()?;
    let source = report.source_of(&divergence.variant, rule);
    Some(source.map_or_else(|| rule.clone(), |source| format!("{rule} ({source})")))
}

/// What explains it, or that nothing does; nothing where there are no values to explain.
pub(crate) fn explanation(finding: &Finding) -> Option<String> {
    finding.detailed_diagnosis().map(ToString::to_string).or_else(|| mutants(finding))
}

/// The mutants alone, as older findings hold them.
fn mutants(finding: &Finding) -> Option<String> {
    let unexplained = (finding.kind == Kind::WrongValues).then(|| "unexplained".to_owned());
    one_of(&finding.diagnosis, ", ").or(unexplained)
}

/// What the mutants that explain it change, such as `the bias is not added`, or their names in older findings; `None` if nothing explains it.
pub(crate) fn cause(finding: &Finding) -> Option<String> {
    let Some(diagnosis) = finding.detailed_diagnosis() else { return one_of(&finding.diagnosis, ", ") };
    let clauses: Vec<_> = diagnosis.mutants.iter().map(|mutant| mutant.clause.clone()).collect();
    one_of(&clauses, "; ")
}

/// The only alternative, or all of them; `None` if there are none.
fn one_of(alternatives: &[String], separator: &str) -> Option<String> {
    match alternatives {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("one of: {}", several.join(separator))),
    }
}

/// The variants and versions that showed a finding, such as `trt-rtx (TensorRT-RTX 1.7.1.116)`.
pub(crate) fn seen_in(finding: &Finding) -> String {
    let sightings = finding.seen_in.iter().map(|seen| format!("{} ({})", seen.variant, seen.version));
    sightings.collect::<Vec<_>>().join(", ")
}

/// The sizes before and after minimization, such as `3 nodes, 96 input elements → 1 node, 4 input elements`.
pub(crate) fn sizes(finding: &Finding) -> String {
    let left = match finding {
        unfinished if unfinished.is_unfinished() => " (neither minimized nor confirmed: time was up)",
        Finding { cut_short: true, .. } => " (time budget exhausted)",
        _ => "",
    };
    if finding.before == finding.after {
        return format!("{}{left}", size(finding.after));
    }
    format!("{} → {}{left}", size(finding.before), size(finding.after))
}

/// The most nodes of a model that is shown whole.
const NODES: usize = 8;

/// The model, of a large one its beginning.
pub(crate) fn model(finding: &Finding) -> String {
    const WHOLE: usize = 2000;
    const BEGINNING: usize = 100;
    truncated(&finding.graph, if finding.after.nodes > NODES { BEGINNING } else { WHOLE })
}

/// The expected and observed results of the divergence that the signature is made of.
pub(crate) fn detail(finding: &Finding) -> String {
    finding.divergences.first().map_or_else(String::new, Divergence::readable_detail)
}

fn size(size: CaseSize) -> String {
    let nodes = counted(size.nodes as u64, "node", "nodes");
    format!("{nodes}, {}", counted(size.input_elements as u64, "input element", "input elements"))
}
