//! The summary that ends a campaign at a terminal.

use std::collections::BTreeMap;

use console::style;
use twinfer_case::{Budget, FindingCount, RunInfo, Stage, VariantSummary};

use crate::{
    GivenUp, Investigation, Outgrown, Report, ReportedFinding, findings, issue, ladder,
    numbers::{bytes as bytes_of, cell, count, counted, counts, duration, rate, short},
    table::Table,
};

pub(crate) fn render(report: &Report) -> String {
    let mut lines = Vec::new();
    if let Some(run) = &report.run {
        lines.push(headline(run));
        lines.push(String::new());
    }
    lines.push(totals(report));
    lines.push(String::new());
    lines.extend(verdicts(report).aligned("  "));
    lines.push(String::new());
    if let Some(title) = ladder::title(report) {
        lines.push(style(title).bold().to_string());
        lines.extend(ladder::table(report).aligned("  "));
        lines.push(String::new());
    }
    for variant in &report.summary.variants {
        let mut remarks = remarks(report, variant).into_iter();
        lines.extend(remarks.next().map(|who| style(who).bold().to_string()));
        lines.extend(remarks);
        lines.push(String::new());
    }
    lines.extend(findings_list(report));
    lines.extend(issues(report));
    lines.join("\n") + "\n"
}

fn headline(run: &RunInfo) -> String {
    let mut parts =
        vec![format!("twinfer {}", run.twinfer), budget(run.budget), counted(run.jobs as u64, "job", "jobs")];
    if !run.families.is_empty() {
        parts.insert(1, format!("{}, seed {}", run.families.join(", "), run.seed));
    }
    style(parts.join(" · ")).dim().to_string()
}

pub(crate) fn budget(budget: Budget) -> String {
    match budget {
        Budget::Cases(cases) => counted(cases, "case", "cases"),
        Budget::Seconds(seconds) => duration(seconds as f64),
    }
}

/// The sentence every format begins with.
pub(crate) fn sentence(report: &Report) -> String {
    let summary = &report.summary;
    let state = if report.finished { "" } else { "unfinished: " };
    let cases = counted(summary.cases, "case", "cases");
    let speed = match summary.seconds {
        // a run that is read back from disk has no clock
        0.0 => String::new(),
        seconds => {
            let now = summary.now();
            let of_these =
                if summary.earlier > 0 { format!(", {} of them", count(now)) } else { String::new() };
            format!("{of_these} in {} ({} a second)", duration(seconds), rate(now, seconds))
        }
    };
    let compared = if report.all_execute() {
        format!(", {} compared by all", count(summary.compared))
    } else {
        String::new()
    };
    let open = match summary.open {
        0 => String::new(),
        open => format!(", {} not investigated before time was up", count(open)),
    };
    format!("{state}{cases}{speed}{compared}{open}")
}

fn totals(report: &Report) -> String {
    let mut lines = vec![style(sentence(report)).bold().to_string()];
    if !report.lost.is_empty() {
        let workers = counted(report.lost.len() as u64, "worker was lost", "workers were lost");
        lines.push(format!("{workers} and replaced"));
    }
    if let Some(Outgrown { variant, growth }) = report.outgrown.last() {
        let workers = counted(report.outgrown.len() as u64, "worker was", "workers were");
        let (from, to) = (bytes_of(growth.from), bytes_of(growth.to));
        lines.push(format!("{workers} replaced after growing: the last, of {variant}, from {from} to {to}"));
    }
    for given_up in &report.given_up {
        let GivenUp { variant, device, reason } = given_up;
        lines.push(style(format!("device {device} was given up for {variant}: {reason}")).red().to_string());
    }
    if report.not_confirmed > 0 {
        let divergences = counted(report.not_confirmed, "divergence", "divergences");
        lines.push(format!("{divergences} did not recur in a fresh worker"));
    }
    lines.extend(investigations(report));
    lines.join("\n")
}

/// What was spent on divergences, where any were investigated.
fn investigations(report: &Report) -> Option<String> {
    let longest = report.investigations.iter().max_by_key(|investigation| investigation.millis)?;
    let sum = |part: fn(&Investigation) -> u64| report.investigations.iter().map(part).sum::<u64>();
    let investigated = counted(report.investigations.len() as u64, "divergence", "divergences");
    let candidates = counted(sum(|one| one.candidates), "candidate", "candidates");
    let seconds = |millis| duration(millis as f64 / 1e3);
    let Investigation { index, variant, millis, .. } = longest;
    Some(format!(
        "{investigated} investigated: {candidates}, {} together; the longest, case {index} on {variant}, took {}",
        seconds(sum(|one| one.millis)),
        seconds(*millis)
    ))
}

/// Verdicts by variant.
pub(crate) fn verdicts(report: &Report) -> Table {
    let head = [
        "variant",
        "executed",
        "conforms",
        "diverges",
        "unsupported",
        "unspecified",
        "vacuous",
        "deepest stage",
    ];
    let mut table = Table::new(head, 1);
    for variant in &report.summary.variants {
        table.row(vec![
            variant.variant.to_string(),
            cell(variant.stages.get(&Stage::Execute).copied().unwrap_or(0)),
            cell(variant.conforms),
            cell(diverging(variant)),
            cell(total(&variant.unsupported)),
            cell(total(&variant.unspecified)),
            cell(variant.vacuous),
            deepest(variant),
        ]);
    }
    table
}

/// Cases, not divergences: a case may show several.
fn diverging(variant: &VariantSummary) -> u64 {
    let others =
        variant.conforms + variant.vacuous + total(&variant.unsupported) + total(&variant.unspecified);
    variant.cases().saturating_sub(others)
}

fn total<K>(counts: &BTreeMap<K, u64>) -> u64 {
    counts.values().sum()
}

fn deepest(variant: &VariantSummary) -> String {
    variant.stages.keys().max().map_or_else(|| "-".to_owned(), Stage::to_string)
}

/// What there is to say about one variant beyond its row: first who it is.
pub(crate) fn remarks(report: &Report, variant: &VariantSummary) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", variant.variant, report.version(&variant.variant))];
    let mut add = |title: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("  {title}: {text}"));
        }
    };
    add("rung above", variant.rung_of.as_ref().map(ToString::to_string).unwrap_or_default());
    add("options in force", options(report, variant));
    add("workers", workers(report, variant));
    add("divergences", counts(&variant.divergences));
    add("first seen here", counts(&variant.first_seen));
    add("deepest stage", if variant.stages.len() > 1 { counts(&variant.stages) } else { String::new() });
    add("unsupported", counts(&variant.unsupported));
    add("unspecified", counts(&variant.unspecified));
    add("accepted although a rule predicts a refusal", counts(&variant.accepted_despite));
    add("below half a grid step", nonzero(variant.algorithm_rounding));
    add("quantised operators", counts(&variant.quantized_execution));
    lines
}

/// Those left to their defaults too.
fn options(report: &Report, variant: &VariantSummary) -> String {
    let options = report.description(&variant.variant).into_iter().flat_map(|found| &found.options);
    options.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" · ")
}

/// `3, no cases waited for more; 3.2 GB each`
fn workers(report: &Report, variant: &VariantSummary) -> String {
    let workforce = report.run.iter().flat_map(|run| &run.workforce);
    let Some(found) = workforce.into_iter().find(|found| found.variant == variant.variant) else {
        return String::new();
    };
    let each = found.footprint.map(|bytes| format!("; {} each", bytes_of(bytes))).unwrap_or_default();
    format!("{}, {}{each}", count(found.workers as u64), found.bound)
}

fn nonzero(number: u64) -> String {
    if number == 0 { String::new() } else { counted(number, "case", "cases") }
}

fn findings_list(report: &Report) -> Vec<String> {
    let mut lines = vec![style(findings_title(report)).bold().to_string()];
    let mut findings: Vec<_> = report.findings.iter().collect();
    findings.sort_by_key(|found| (!found.new, found.finding.kind));
    lines.extend(findings.iter().take(SHOWN).flat_map(|finding| one_finding(report, finding)));
    let hidden = report.findings.len().saturating_sub(SHOWN);
    if hidden > 0 {
        lines.extend([String::new(), format!("… and {} more in the run directory", count(hidden as u64))]);
    }
    lines.extend(known_list(report));
    lines
}

/// What cases showed that was known before and not recorded again.
fn known_list(report: &Report) -> Vec<String> {
    let recorded = |slug: &str| report.findings.iter().any(|found| found.slug == slug);
    let known = report.summary.findings.iter().filter(|count| !recorded(&count.slug));
    let lines = known.map(|FindingCount { slug, cases }| {
        format!("      {slug} {}", style(counted(*cases, "case", "cases")).dim())
    });
    let mut lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        lines.splice(0..0, [String::new(), style("known already").bold().to_string()]);
    }
    lines
}

/// What became of the issues that the project lists.
fn issues(report: &Report) -> Vec<String> {
    let told = issue::told(report);
    let mut lines: Vec<_> =
        told.into_iter().map(|(word, what)| format!("{:<9} {what}", style(word).bold())).collect();
    if !lines.is_empty() {
        lines.splice(0..0, [String::new(), style("listed as known").bold().to_string()]);
    }
    lines
}

/// More findings than this are a page to read, not a summary.
const SHOWN: usize = 12;

/// `3 findings, 2 of them new`
pub(crate) fn findings_title(report: &Report) -> String {
    let new = report.findings.iter().filter(|finding| finding.new).count() as u64;
    if report.findings.is_empty() {
        return "no new findings".to_owned();
    }
    let all = counted(report.findings.len() as u64, "finding", "findings");
    match new {
        0 => format!("{all}, none of them new"),
        _ if new == report.findings.len() as u64 => counted(new, "new finding", "new findings"),
        _ => format!("{all}, {} of them new", count(new)),
    }
}

fn one_finding(report: &Report, ReportedFinding { slug, new, finding }: &ReportedFinding) -> Vec<String> {
    let mark = if *new { style("new  ").red().bold() } else { style("known").dim() };
    let cases = counted(report.cases_of(slug), "case", "cases");
    let mut lines = vec![
        String::new(),
        format!("{mark} {} {}", style(slug).bold(), style(cases).dim()),
        format!("      {}", short(&finding.graph)),
        format!("      {}: {}", finding.kind, short(findings::detail(finding))),
    ];
    let reasons = findings::reasons(report, finding);
    lines.extend(reasons.into_iter().map(|(word, sentence)| format!("      {word}: {sentence}")));
    let origin = format!("      seen in {}; {}", findings::seen_in(finding), findings::shrunk(finding));
    lines.push(style(origin).dim().to_string());
    lines
}
