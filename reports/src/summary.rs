//! The terminal format: everything about a campaign as text.

use std::collections::BTreeMap;

use twinfer_case::{Budget, FindingCount, RunEnd, RunInfo, Stage, VariantSummary};

use crate::{
    GivenUp, Investigation, Outgrown, Report, ReportedFinding, ending, findings,
    headline::headline,
    issue, ladder,
    numbers::{bytes as bytes_of, cell, count, counted, counts, duration, rate, truncated},
    poison,
    reach::label,
    segments,
    styled::{Styled, joined},
    table::Table,
    uncompared,
};

/// The most columns of a message, which a backend may make as long as it likes.
const WHOLE: usize = 2000;
/// The most columns of the path of a model.
const PATH: usize = 200;

/// The least processor time of workers in seconds that a report mentions.
const LEAST_REPORTED: f64 = 60.0;

pub(crate) fn render(report: &Report) -> String {
    let mut lines = vec![title(report)];
    lines.extend(uncompared::listed(&uncompared::lines(report)));
    lines.extend(report.run.as_ref().map(origin));
    lines.push(Styled::default());
    lines.extend(totals(report));
    lines.push(Styled::default());
    lines.extend(verdicts(report).aligned("  "));
    lines.push(Styled::default());
    if let Some(title) = ladder::title(report) {
        lines.push(Styled::bold(title));
        lines.extend(ladder::table(report).aligned("  "));
        lines.push(Styled::default());
    }
    if let Some(title) = poison::title(report) {
        lines.push(Styled::bold(title));
        lines.extend(poison::table(report).aligned("  "));
        lines.push(Styled::default());
    }
    for variant in &report.summary.variants {
        let mut remarks = remarks(report, variant).into_iter();
        lines.extend(remarks.next().map(Styled::bold));
        lines.extend(remarks.map(Styled::plain));
        lines.push(Styled::default());
    }
    lines.extend(findings_list(report));
    lines.extend(issues(report));
    joined(&lines)
}

/// The headline.
fn title(report: &Report) -> Styled {
    emphasized(report, &headline(report))
}

/// The headline or a part of it, which stands out if a variant was not compared.
pub(crate) fn emphasized(report: &Report, headline: &str) -> Styled {
    if uncompared::is_incomplete(report) { Styled::bad(headline) } else { Styled::bold(headline) }
}

fn origin(run: &RunInfo) -> Styled {
    let mut parts =
        vec![format!("twinfer {}", run.twinfer), budget(run.budget), counted(run.jobs as u64, "job", "jobs")];
    if !run.families.is_empty() {
        parts.insert(1, format!("{}, {}, seed {}", run.families.join(", "), run.distribution, run.seed));
    }
    parts.splice(0..0, run.checked.as_deref().map(|path| truncated(path, PATH)));
    Styled::dim(parts.join(" · "))
}

pub(crate) fn budget(budget: Budget) -> String {
    match budget {
        Budget::Cases(cases) => counted(cases, "case", "cases"),
        Budget::Seconds(seconds) => duration(seconds as f64),
    }
}

/// The sentence that every format begins with, such as `60 cases in 10.3 s (6 cases/s)`.
pub(crate) fn sentence(report: &Report) -> String {
    let summary = &report.summary;
    let state = match report.end {
        Some(RunEnd::Complete) => "",
        Some(_) => "ended early: ",
        None => "unfinished: ",
    };
    let cases = counted(summary.cases, "case", "cases");
    let speed = match summary.seconds {
        // a stored run that does not say it
        0.0 => String::new(),
        seconds => {
            let now = summary.now();
            let resumed = if summary.earlier > 0 {
                format!(", {} of them since it was resumed,", count(now))
            } else {
                String::new()
            };
            format!("{resumed} in {} ({})", duration(seconds), rate(now, seconds))
        }
    };
    let compared = match summary.variants.len() {
        _ if !report.all_execute() => String::new(),
        1 => format!(", {} compared", count(summary.compared)),
        _ => format!(", {} compared on all variants", count(summary.compared)),
    };
    let open = match summary.open {
        0 => String::new(),
        open => format!(", {} not investigated ({})", count(open), ending::open_reason(report)),
    };
    format!("{state}{cases}{speed}{compared}{open}")
}

fn totals(report: &Report) -> Vec<Styled> {
    let mut lines = vec![Styled::plain(sentence(report))];
    lines.extend(troubles(report));
    lines.extend(investigations(report).map(Styled::plain));
    lines.extend(processor(report).map(Styled::plain));
    lines
}

/// What went wrong with the run itself.
pub(crate) fn troubles(report: &Report) -> Vec<Styled> {
    let early = ending::sentence(report).map(Styled::bad);
    let disabled = disabled(report).map(Styled::bad);
    let others = left_out(report).chain(replaced(report)).chain(not_reproduced(report)).map(Styled::plain);
    early.into_iter().chain(disabled).chain(others).collect()
}

/// The cases that did not run because earlier ones hung, one sentence for each variant and condition.
pub(crate) fn left_out(report: &Report) -> impl Iterator<Item = String> {
    report.summary.variants.iter().flat_map(|variant| {
        variant.left_out.iter().map(|(condition, cases)| {
            let cases = counted(*cases, "case", "cases");
            format!("{cases} left out on {}, where cases like them hang: {condition}", variant.variant)
        })
    })
}

/// The workers that were replaced, one sentence for each reason.
pub(crate) fn replaced(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    let lost = report.summary.workers_lost.max(report.lost.len() as u64);
    if lost > 0 {
        let workers = counted(lost, "worker", "workers");
        sentences.push(format!("{workers} lost and replaced"));
    }
    if let Some(Outgrown { variant, growth }) = report.outgrown.last() {
        let workers = counted(report.outgrown.len() as u64, "worker", "workers");
        let (from, to) = (bytes_of(growth.from), bytes_of(growth.to));
        sentences
            .push(format!("{workers} replaced because of memory growth (last: {variant}, {from} → {to})"));
    }
    sentences
}

/// The devices that were disabled, one sentence each.
pub(crate) fn disabled(report: &Report) -> impl Iterator<Item = String> {
    report.given_up.iter().map(|GivenUp { variant, device, reason }| {
        format!("device {device} disabled for {variant}: {reason}")
    })
}

/// The number of divergences that did not recur; `None` if all did.
pub(crate) fn not_reproduced(report: &Report) -> Option<String> {
    let divergences = counted(report.not_confirmed, "divergence", "divergences");
    (report.not_confirmed > 0).then(|| format!("{divergences} not reproduced in a fresh worker"))
}

/// The cost of investigations; `None` if there was none.
fn investigations(report: &Report) -> Option<String> {
    let longest = report.investigations.iter().max_by_key(|investigation| investigation.millis)?;
    let sum = |part: fn(&Investigation) -> u64| report.investigations.iter().map(part).sum::<u64>();
    let triaged = counted(report.investigations.len() as u64, "divergence", "divergences");
    let candidates = counted(sum(|one| one.candidates), "case", "cases");
    let seconds = |millis| duration(millis as f64 / 1e3);
    let Investigation { index, variant, millis, .. } = longest;
    Some(format!(
        "{triaged} investigated: {candidates} tried, {} in total; longest: {}, case {index} on {variant}",
        seconds(sum(|one| one.millis)),
        seconds(*millis)
    ))
}

/// The processor time of workers; `None` if it is not known, or so little that starts of workers are most of it.
pub(crate) fn processor(report: &Report) -> Option<String> {
    let processor = report.run.as_ref()?.processor?;
    let seconds = processor.total_millis() as f64 / 1e3;
    let percent = (100.0 * processor.share_beside_cases()).round();
    (seconds >= LEAST_REPORTED).then(|| {
        format!(
            "workers took {} of processor time, {percent}% of it for investigations and rungs",
            duration(seconds)
        )
    })
}

/// The table of verdicts, one row per variant.
pub(crate) fn verdicts(report: &Report) -> Table {
    let variants = &report.summary.variants;
    // most runs have no such case
    let has_column = variants.iter().any(|variant| !variant.not_computed.is_empty());
    let column = has_column.then_some("without reference");
    let head = ["variant", "executed", "conforms", "diverges", "unsupported", "unspecified", "undecided"];
    let mut table = Table::new(head.into_iter().chain(column).chain(["last stage"]), 1);
    for variant in variants {
        let counts = [
            label(variant),
            cell(variant.stages.get(&Stage::Execute).copied().unwrap_or(0)),
            cell(variant.conforms),
            cell(diverging(variant)),
            cell(total(&variant.unsupported)),
            cell(total(&variant.unspecified)),
            cell(variant.vacuous),
        ];
        let not_computed = has_column.then(|| cell(total(&variant.not_computed)));
        table.row(counts.into_iter().chain(not_computed).chain([last_stage(variant)]).collect());
    }
    table
}

/// Cases that diverge; a case with several divergences counts once.
pub(crate) fn diverging(variant: &VariantSummary) -> u64 {
    let open = total(&variant.unsupported) + total(&variant.unspecified) + total(&variant.not_computed);
    variant.cases().saturating_sub(variant.conforms + variant.vacuous + open)
}

/// The sum of counts.
pub(crate) fn total<K>(counts: &BTreeMap<K, u64>) -> u64 {
    counts.values().sum()
}

pub(crate) fn last_stage(variant: &VariantSummary) -> String {
    variant.stages.keys().max().map_or_else(|| "-".to_owned(), Stage::to_string)
}

/// The details of a variant beyond its row in the table of verdicts; the first line names its backend.
pub(crate) fn remarks(report: &Report, variant: &VariantSummary) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", variant.variant, report.backend(&variant.variant))];
    let mut add = |title: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("  {title}: {text}"));
        }
    };
    let (from, first_seen) = if poison::is_poisoned(variant) {
        ("a sample of the cases of", "seen only with poisoned memory")
    } else {
        ("escalated from", "not seen at lower levels")
    };
    add(from, variant.rung_of.as_ref().map(ToString::to_string).unwrap_or_default());
    add("options", options(report, variant));
    add("workers", workers(report, variant));
    add("divergences", counts(&variant.divergences));
    add(first_seen, counts(&variant.first_seen));
    segments::open(variant).for_each(|place| add("not investigated", place));
    add(
        "cases by last stage",
        if variant.stages.len() > 1 { counts(&variant.stages) } else { String::new() },
    );
    add("unsupported", counts(&variant.unsupported));
    add("unspecified", counts(&variant.unspecified));
    add("without a reference", counts(&variant.not_computed));
    add("left out, because cases hang", counts(&variant.left_out));
    add("accepted although predicted as unsupported", counts(&variant.accepted_despite));
    add("off by the rounding of an algorithm", nonzero(variant.algorithm_rounding));
    add("quantized operators", counts(&variant.quantized_execution));
    add("cases with nodes that ran elsewhere", counts(&variant.placements));
    add("within the bounds of Winograd or FFT only", nonzero(variant.transforms));
    add("cannot be seen at the outputs", segments::unseen(variant));
    add("segments", segments::judged(variant));
    add("cannot be seen in the segments", segments::unseen_in_segments(variant));
    add("nodes not compared with the reference", segments::not_judged(variant));
    lines
}

/// The effective options of a variant, including defaults.
fn options(report: &Report, variant: &VariantSummary) -> String {
    let options = report.description(&variant.variant).into_iter().flat_map(|found| &found.options);
    options.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" · ")
}

/// The number of workers, what limits it, and their memory, such as `3, idle capacity left, 3.2 GB each`; empty for a given model,
/// whose cases one worker runs.
fn workers(report: &Report, variant: &VariantSummary) -> String {
    if uncompared::is_about_a_model(report) {
        return String::new();
    }
    let workforce = report.run.iter().flat_map(|run| &run.workforce);
    let Some(found) = workforce.into_iter().find(|found| found.variant == variant.variant) else {
        return String::new();
    };
    let each = found.footprint.map(|bytes| format!(", {} each", bytes_of(bytes))).unwrap_or_default();
    format!("{}, {}{each}", count(found.workers as u64), found.bound)
}

fn nonzero(number: u64) -> String {
    if number == 0 { String::new() } else { counted(number, "case", "cases") }
}

fn findings_list(report: &Report) -> Vec<Styled> {
    // a headline without findings says so already
    let title = findings_title(report).filter(|_| !report.findings.is_empty());
    let mut lines: Vec<_> = title.map(Styled::bold).into_iter().collect();
    lines.extend(report.ranked().into_iter().flat_map(|finding| one_finding(report, finding)));
    lines.extend(known_list(report));
    lines
}

/// Known findings that cases showed again, without their details.
fn known_list(report: &Report) -> Vec<Styled> {
    let lines = report.known_by_name().map(|FindingCount { slug, cases }| {
        Styled::plain(format!("      {slug} ")) + Styled::dim(counted(*cases, "case", "cases"))
    });
    let mut lines: Vec<Styled> = lines.collect();
    if !lines.is_empty() {
        lines.splice(0..0, [Styled::default(), Styled::bold("known findings seen again")]);
    }
    lines
}

/// The known issues with their states.
pub(crate) fn issues(report: &Report) -> Vec<Styled> {
    let descriptions = issue::descriptions(&report.issues);
    let line = |(word, what)| Styled::bold(format!("{word:<9}")) + " " + Styled::plain(what);
    let mut lines: Vec<_> = descriptions.into_iter().map(line).collect();
    if !lines.is_empty() {
        lines.splice(0..0, [Styled::default(), Styled::bold("known issues")]);
    }
    lines
}

/// The number of findings, such as `3 findings, 2 of them new`; `None` if there are none because a variant was not compared.
pub(crate) fn findings_title(report: &Report) -> Option<String> {
    if report.findings.is_empty() {
        return (!uncompared::is_incomplete(report)).then(|| "no new findings".to_owned());
    }
    let new = report.findings.iter().filter(|finding| finding.new).count() as u64;
    let all = counted(report.findings.len() as u64, "finding", "findings");
    Some(match new {
        0 if report.findings.len() == 1 => format!("{all}, not new"),
        0 => format!("{all}, none of them new"),
        _ if new == report.findings.len() as u64 => counted(new, "new finding", "new findings"),
        _ => format!("{all}, {} of them new", count(new)),
    })
}

fn one_finding(report: &Report, ReportedFinding { slug, new, finding }: &ReportedFinding) -> Vec<Styled> {
    let mark = if *new { Styled::bad("new  ") } else { Styled::dim("known") };
    let cases = counted(report.cases_of(slug), "case", "cases");
    let mut lines = vec![
        Styled::default(),
        mark + " " + Styled::bold(slug) + " " + Styled::dim(cases),
        Styled::plain(format!("      {}", findings::model(finding))),
        Styled::plain(format!("      {}: {}", finding.kind, truncated(&findings::detail(finding), WHOLE))),
    ];
    let reasons = findings::reasons(report, finding);
    let reason = |(word, sentence)| Styled::plain(format!("      {word}: {sentence}"));
    lines.extend(reasons.into_iter().map(reason));
    let origin = format!("      seen in {}; {}", findings::seen_in(finding), findings::sizes(finding));
    lines.push(Styled::dim(origin));
    lines
}
