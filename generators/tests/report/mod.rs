//! What the judges said, counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use twinfer_case::{Case, Expectation};
use twinfer_generators::Family;
use twinfer_golden::evaluate;

use crate::judges::{PACKAGES, Ruling};

/// The judgement of a family of valid cases.
pub struct ValidReport {
    pub family: Family,
    cases: usize,
    accepted: usize,
    /// Refusals by the entry of the rules list that the model touches, and by judge.
    explained: BTreeMap<(&'static str, &'static str), usize>,
    /// Refusals of models that touch no entry.
    pub unexplained: Vec<String>,
}

/// The judgement of the family of invalid cases, by rule.
pub struct InvalidReport {
    rules: BTreeMap<String, Breaches>,
}

#[derive(Default)]
struct Breaches {
    cases: usize,
    /// Models that a judge accepts.
    accepted: BTreeMap<&'static str, usize>,
    crashes: usize,
    /// Models that no judge refuses.
    passed: usize,
}

const JUDGES: [&str; 3] = ["checker", "inference", "onnxruntime"];

/// What ONNX Runtime says of a `QLinearConv` whose types it has no kernel for, which is nothing about the model: the rule
/// `q-linear-conv-types` of its capabilities.
const NO_KERNEL: &str = "Could not find an implementation for QLinearConv";

impl ValidReport {
    pub fn of(family: Family, ruled: &[(Case, Ruling)]) -> Self {
        let mut report =
            Self { family, cases: ruled.len(), accepted: 0, explained: BTreeMap::new(), unexplained: vec![] };
        for (index, (case, ruling)) in ruled.iter().enumerate() {
            if ruling.refusals().next().is_none() {
                report.accepted += 1;
                continue;
            }
            let entries = entries(case);
            for (judge, refusal) in ruling.refusals() {
                if refusal.contains(NO_KERNEL) {
                    *report.explained.entry((NO_KERNEL, judge)).or_default() += 1;
                    continue;
                }
                if entries.is_empty() {
                    report.unexplained.push(format!("case {index}, {judge}: {refusal}"));
                }
                for entry in &entries {
                    *report.explained.entry((entry, judge)).or_default() += 1;
                }
            }
        }
        report
    }
}

/// The entries of the rules list that a case touches in any run.
fn entries(case: &Case) -> BTreeSet<&'static str> {
    let touched = |run: &twinfer_case::Run| {
        let tensors = run.inputs.iter().map(|source| source.tensor().map(std::borrow::Cow::into_owned));
        let tensors = tensors.collect::<Result<Vec<_>, _>>().expect("a generated tensor is small");
        let evaluation = evaluate(&case.graph, &tensors).expect("golden knows generated graphs");
        evaluation.unspecified.into_iter().map(|entry| entry.name)
    };
    case.runs.iter().flat_map(touched).collect()
}

impl InvalidReport {
    pub fn of(ruled: &[(Case, Ruling)]) -> Self {
        let mut rules: BTreeMap<String, Breaches> = BTreeMap::new();
        for (case, ruling) in ruled {
            let Expectation::Invalid(rule) = &case.expectation else {
                panic!("a case of the family invalid is expected to be valid");
            };
            let breaches = rules.entry(rule.clone()).or_default();
            let refusals: BTreeMap<_, _> = ruling.refusals().collect();
            breaches.cases += 1;
            breaches.passed += usize::from(refusals.is_empty());
            breaches.crashes += refusals.values().filter(|refusal| **refusal == "crashed").count();
            for judge in JUDGES.into_iter().filter(|judge| !refusals.contains_key(judge)) {
                *breaches.accepted.entry(judge).or_default() += 1;
            }
        }
        Self { rules }
    }

    /// The rules that some model breaks without any judge refusing it.
    pub fn passed_by_all(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|(_, breaches)| breaches.passed > 0).map(|(rule, _)| rule.as_str())
    }
}

/// The report as Markdown.
pub fn text(count: u64, valid: &[ValidReport], invalid: &InvalidReport) -> String {
    let mut text = format!(
        "# Generated models judged by independent programs\n\n\
         `TWINFER_CHECKED_CASES={count} TWINFER_RESULTS=docs/generated \
         cargo test --release -p twinfer-generators --test independent_check`\n\n\
         {count} cases per family, judged by the ONNX checker with full shape inference, by its strict shape inference, \
         and by creating an ONNX Runtime session without graph optimizations ({}).\n",
        PACKAGES.join(", ")
    );
    for report in valid {
        append_valid(&mut text, report);
    }
    append_invalid(&mut text, invalid);
    text
}

fn append_valid(text: &mut String, report: &ValidReport) {
    let ValidReport { family, cases, accepted, explained, unexplained } = report;
    let refused = cases - accepted;
    let _ = writeln!(
        text,
        "\n## {family}\n\nAll three accept {accepted} of {cases} models; at least one refuses {refused}. The rules list \
         explains all but {} of these refusals.",
        unexplained.len()
    );
    if !explained.is_empty() {
        let _ = writeln!(text, "\n| entry of the rules list | judge | refusals |\n| --- | --- | ---: |");
    }
    for ((entry, judge), refusals) in explained {
        let _ = writeln!(text, "| {entry} | {judge} | {refusals} |");
    }
}

fn append_invalid(text: &mut String, report: &InvalidReport) {
    let _ = writeln!(
        text,
        "\n## invalid\n\nModels by the rule they break, and how many of them each judge accepts nevertheless.\n\n\
         | rule | models | {} | no judge refuses | a judge crashes |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        JUDGES.join(" | ")
    );
    for (rule, Breaches { cases, accepted, crashes, passed }) in &report.rules {
        let [checker, inference, onnxruntime] = JUDGES.map(|judge| accepted.get(judge).unwrap_or(&0));
        let _ = writeln!(
            text,
            "| {rule} | {cases} | {checker} | {inference} | {onnxruntime} | {passed} | {crashes} |"
        );
    }
}
