//! The first screen: what a person reads who has just run a campaign. It fits a terminal of 40 lines and explains its words.

use std::path::Path;

use twinfer_case::{Trigger, VariantSummary};
use twinfer_store::findings_of;

use crate::{
    Report, ReportedFinding, Severity, ending, findings,
    headline::headline,
    meaning::meaning,
    numbers::{cell, count, counted, duration, truncated},
    reach::label,
    shell::shell_word,
    styled::{Styled, joined},
    summary::{diverging, emphasized, issues, last_stage, troubles},
    table::Table,
    uncompared,
};

/// The most lines, with a few to spare for what the command prints around them.
const LINES: usize = 36;
/// The columns of a screen that is not printed to a terminal.
pub const COLUMNS: usize = 100;
/// The most lines about known issues of the project.
const ISSUES: usize = 10;
/// The lines of one finding.
const LINES_PER_FINDING: usize = 3;
/// The most variants in the table.
const VARIANTS: usize = 8;
/// The most causes for which something was not compared.
const CAUSES: usize = 6;

/// The first screen about the campaign in the directory `run`, which ends with the next step. Its lines have at most `columns` columns,
/// [`COLUMNS`] unless a terminal has others; commands and paths are not cut.
pub fn first_screen(report: &Report, run: &str, columns: usize) -> String {
    let mut lines = title(report, columns);
    let causes = uncompared::lines(report).into_iter().take(CAUSES);
    let causes = causes.map(|line| truncated(&line, columns.saturating_sub(6)));
    lines.extend(uncompared::listed(&causes.collect::<Vec<_>>()));
    lines.push(Styled::dim(cases(report)));
    lines.extend(troubles(report).into_iter().take(CAUSES));
    lines.push(Styled::default());
    lines.extend(verdicts(report, columns));
    let issues: Vec<_> = issues(report).into_iter().take(ISSUES).collect();
    let last = ending_lines(report, run);
    let ranked = report.ranked();
    let worth_a_look = ranked.iter().filter(|found| found.severity() < Severity::Documented).count();
    let room = LINES.saturating_sub(lines.len() + issues.len() + last.len() + 2) / LINES_PER_FINDING;
    let shown = room.max(1).min(worth_a_look.max(1)).min(ranked.len());
    for found in &ranked[..shown] {
        lines.extend(finding(report, found, columns));
    }
    let left_out = left_out(report, &ranked[shown..]);
    lines.extend(issues);
    if shown > 0 {
        lines.push(Styled::default());
    }
    if let Some(left_out) = left_out {
        lines.push(Styled::plain(format!("… {left_out}: twinfer report {}", shell_word(run))));
    }
    lines.extend(last);
    joined(&lines)
}

/// The findings that are not shown: `hidden` ones, and known ones of which only cases are recorded; `None` if there are none.
fn left_out(report: &Report, hidden: &[&ReportedFinding]) -> Option<String> {
    let known = hidden.iter().filter(|found| found.severity() == Severity::Known).count() as u64;
    let (others, known) = (hidden.len() as u64 - known, known + report.known_by_name().count() as u64);
    match (others, known) {
        (0, 0) => None,
        (0, known) => Some(counted(known, "known finding", "known findings")),
        (others, 0) => Some(counted(others, "more finding", "more findings")),
        (others, known) => Some(format!(
            "{} and {}",
            counted(others, "more finding", "more findings"),
            counted(known, "known finding", "known findings")
        )),
    }
}

/// The headline, on two lines if it is too long for one.
fn title(report: &Report, columns: usize) -> Vec<Styled> {
    let headline = headline(report);
    let is_long = headline.chars().count() > columns;
    match headline.rsplit_once("; ").filter(|_| is_long) {
        Some((first, second)) => vec![emphasized(report, first), emphasized(report, second)],
        None => vec![emphasized(report, &headline)],
    }
}

/// Such as `1,870 cases in 1 min 02 s; 132 cases that differ are not investigated (time budget exhausted)`.
fn cases(report: &Report) -> String {
    let summary = &report.summary;
    let cases = counted(summary.cases, "case", "cases");
    let resumed =
        (summary.earlier > 0).then(|| format!(", {} of them since it was resumed,", count(summary.now())));
    let time = (summary.seconds > 0.0).then(|| format!(" in {}", duration(summary.seconds)));
    let open = (summary.open > 0).then(|| {
        let open = counted(summary.open, "case that differs", "cases that differ");
        format!("; {open} not investigated ({})", ending::open_reason(report))
    });
    [Some(cases), resumed, time, open].into_iter().flatten().collect()
}

fn verdicts(report: &Report, columns: usize) -> Vec<Styled> {
    let all = &report.summary.variants;
    let mut table = Table::new(["backend", "cases", "agree", "differ", "not judged", "got as far as"], 1);
    for variant in all.iter().take(VARIANTS) {
        table.row(row(variant));
    }
    let mut lines = table.aligned("  ");
    if all.len() > VARIANTS {
        lines.push(Styled::dim(format!("  … and {} more", count((all.len() - VARIANTS) as u64))));
    }
    if all.iter().any(|variant| not_judged(variant) > 0) {
        let why = "  not judged: documented as unsupported, left open by ONNX, or rounding may explain any difference";
        lines.push(Styled::dim(console::truncate_str(why, columns, "…")));
    }
    lines.push(Styled::default());
    lines
}

fn row(variant: &VariantSummary) -> Vec<String> {
    vec![
        label(variant),
        cell(variant.cases()),
        cell(variant.conforms),
        cell(diverging(variant)),
        cell(not_judged(variant)),
        last_stage(variant),
    ]
}

fn not_judged(variant: &VariantSummary) -> u64 {
    variant.cases().saturating_sub(variant.conforms + diverging(variant))
}

/// What it is, what differs, and why, or when if nothing explains it, or the model if no condition was found either.
fn finding(report: &Report, found: &ReportedFinding, columns: usize) -> [Styled; LINES_PER_FINDING] {
    let ReportedFinding { slug, finding, .. } = found;
    let severity = found.severity();
    let what = meaning(finding.kind);
    let mark = match severity {
        Severity::Known | Severity::Documented | Severity::Unconfirmed => {
            format!("{what} ({})", severity.title())
        }
        _ => what.to_owned(),
    };
    let mark = if severity.is_bug() { Styled::bad(mark) } else { Styled::bold(mark) };
    let cases = counted(report.cases_of(slug), "case", "cases");
    let where_ = format!(" · {} · {cases} · {}", finding.signature.backend.label(), id(report, slug));
    let because = findings::cause(finding).map(|cause| format!("because: {cause}"));
    let when = || Some(format!("when: {}", finding.trigger.as_ref().and_then(Trigger::remark)?));
    let last = because.or_else(when).unwrap_or_else(|| format!("model: {}", finding.graph));
    let line = |text: &str| Styled::plain(format!("    {}", truncated(text, columns.saturating_sub(4))));
    [Styled::plain("  ") + mark + Styled::dim(where_), line(&findings::detail(finding)), line(&last)]
}

/// The report as a page, and the next step.
fn ending_lines(report: &Report, run: &str) -> Vec<Styled> {
    let run_word = shell_word(run);
    let is_worth_reporting = |found: &&&ReportedFinding| found.new && found.severity() < Severity::Documented;
    let (command, purpose) = match report.ranked().first().filter(is_worth_reporting) {
        Some(found) => {
            let folder = findings_of(Path::new(&run_word)).join(id_pattern(report, &found.slug));
            if found.finding.only_inside {
                (format!("twinfer check {}", folder.display()), "the first finding once more")
            } else {
                (
                    format!("twinfer repro {} --out bug", folder.display()),
                    "a bug report for the first finding",
                )
            }
        }
        None => (format!("twinfer report {run_word}"), "all details of this run"),
    };
    vec![Styled::bold("next    ") + Styled::plain(command) + Styled::dim(format!("   # {purpose}"))]
}

/// The digits that end the name of a finding, if no other finding has them; otherwise the whole name.
fn id<'a>(report: &Report, slug: &'a str) -> &'a str {
    let digits = findings::digest(slug);
    let is_digest = digits.len() == 8 && digits.chars().all(|c| c.is_ascii_hexdigit());
    let same = report.findings.iter().filter(|other| other.slug.ends_with(digits)).count();
    if is_digest && same == 1 { digits } else { slug }
}

/// A word that a shell expands to the name of the finding.
fn id_pattern(report: &Report, slug: &str) -> String {
    let id = id(report, slug);
    if id.len() < slug.len() { format!("*-{id}") } else { shell_word(slug) }
}
