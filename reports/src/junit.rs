//! `JUnit` XML: one suite per variant, with one test per finding of that variant and one for all other cases. Their times add up to
//! that of the suite.
//!
//! Nobody owns the format. The document satisfies the schema by which Jenkins' xUnit plugin validates, `junit-10.xsd`, and GitLab, which
//! identifies a test by its class and name, distinguishes all tests: the class is the variant.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::{DateTime, FixedOffset};
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};
use twinfer_case::{FindingCount, Signature, VariantSummary, printable};
use twinfer_store::files_of_finding;

use crate::{
    Report, ReportedFinding, RunFolder,
    case_result::CaseResult,
    ending, findings, issue,
    numbers::{count, counted},
    reach::remark,
    segments,
    summary::remarks,
    uncompared,
};

pub(crate) fn render(report: &Report, run: Option<&RunFolder>) -> String {
    let mut document = Document::new("twinfer");
    document.set_time(Duration::try_from_secs_f64(report.summary.seconds).unwrap_or_default());
    document.add_test_suites(report.summary.variants.iter().map(|variant| suite(report, run, variant)));
    document.add_test_suites(ending::sentence(report).map(|early| ended_early(&early)));
    document.add_test_suites((report.summary.open > 0).then(|| untriaged(report)));
    document.add_test_suites(uncompared::doubted(report).map(|doubted| doubts(report, &doubted)));
    document.add_test_suites(report.incomplete.as_deref().map(incomplete));
    document.add_test_suites((!report.issues.is_empty()).then(|| issues(report)));
    if let Some(started) = started(report) {
        document.test_suites.iter_mut().for_each(|suite| _ = suite.set_timestamp(started));
    }
    text(&document)
}

/// The document as text, which satisfies the schema.
pub(crate) fn text(document: &Document) -> String {
    // cannot fail: the document is written to memory
    let text = document.to_string().unwrap_or_default();
    // XML has no escapes for the characters that it forbids
    without_skipped_total(&printable(&text))
}

/// When the run started.
fn started(report: &Report) -> Option<DateTime<FixedOffset>> {
    let seconds = i64::try_from(report.run.as_ref()?.started).ok()?;
    Some(DateTime::from_timestamp(seconds, 0)?.fixed_offset())
}

/// The document without the number of skipped tests in its root, for which Jenkins' schema has no attribute there.
fn without_skipped_total(document: &str) -> String {
    let Some((head, suites)) = document.split_once("<testsuites ") else { return document.to_owned() };
    let (root, rest) = suites.split_once('>').unwrap_or((suites, ""));
    let attributes = root.split(' ').filter(|attribute| !attribute.starts_with("skipped="));
    format!("{head}<testsuites {}>{rest}", attributes.collect::<Vec<_>>().join(" "))
}

fn suite(report: &Report, run: Option<&RunFolder>, variant: &VariantSummary) -> TestSuite {
    let class = variant.variant.to_string();
    let mut suite = TestSuite::new(class.as_str());
    suite.set_time(Duration::from_micros(variant.micros));
    suite.add_property(("backend", report.backend(&variant.variant).as_str()));
    let shown = report.ranked().into_iter().filter(|found| is_shown_by(found, variant));
    suite.add_test_cases(shown.map(|found| {
        let mut test = test(report, run, found);
        test.set_time(time_of(variant, &found.slug));
        test
    }));
    suite.add_test_cases(known_by_name(report, variant));
    suite.add_test_case(other_cases(report, variant));
    let is_uncompared = report.summary.uncompared().any(|other| other.variant == variant.variant);
    suite.add_test_cases(is_uncompared.then(|| uncompared(report, variant)));
    suite.add_test_cases(not_looked_into(variant));
    suite.add_test_cases(not_judged(report, variant));
    for test in &mut suite.test_cases {
        test.set_classname(class.as_str());
    }
    suite
}

/// A failed test for a variant that was compared on no case.
fn uncompared(report: &Report, variant: &VariantSummary) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let causes = uncompared::on_one_line(&variant.comparisons.causes(&variant.variant))
        .into_iter()
        .chain(report.advice.iter().cloned());
    status.set_message(uncompared::TITLE).set_description(causes.collect::<Vec<_>>().join("\n"));
    TestCase::new("compared", status)
}

/// A failed test for cases that differ and were not investigated.
fn not_looked_into(variant: &VariantSummary) -> Option<TestCase> {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let cases = counted(variant.open, "case that differs", "cases that differ");
    status.set_message(format!("{cases} not investigated"));
    status.set_description(segments::open(variant).collect::<Vec<_>>().join("\n"));
    (variant.open > 0).then(|| TestCase::new("all differences investigated", status))
}

/// A skipped test for cases, and nodes and output elements of a model, that nothing can be said about.
fn not_judged(report: &Report, variant: &VariantSummary) -> Option<TestCase> {
    let cases = CaseResult::ALL.into_iter().filter(|result| !result.is_a_judgement());
    let cases = cases.filter(|result| result.of(variant) > 0);
    let cases =
        cases.map(|result| format!("{}: {}", result.title(), counted(result.of(variant), "case", "cases")));
    let lines: Vec<_> = uncompared::without_values(variant.reaches)
        .into_iter()
        .chain(uncompared::on_one_line(&uncompared::parts_of(variant)))
        .chain(uncompared::open_elements(report, variant))
        .chain(cases)
        .collect();
    let mut status = TestCaseStatus::skipped();
    status.set_message(lines.first()?.as_str()).set_description(lines.join("\n"));
    Some(TestCase::new("everything compared", status))
}

/// A failed test for a run that ended early.
fn ended_early(sentence: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(sentence);
    let mut suite = TestSuite::new("run");
    suite.add_test_case(of_run("all cases ran", status));
    suite
}

/// A failed test for a comparison that had to be complete, and is not.
fn incomplete(why: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(why);
    let mut suite = TestSuite::new("complete");
    suite.add_test_case(of_run("the comparison is complete", status));
    suite
}

/// A failed test for known findings that may hide others.
fn doubts(report: &Report, doubted: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(doubted).set_description(report.doubts.join("\n"));
    let mut suite = TestSuite::new("known findings");
    suite.add_test_case(of_run("known findings are what they were", status));
    suite
}

/// A failed test for divergences that may be new but were not investigated.
fn untriaged(report: &Report) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let cases = counted(report.summary.open, "case", "cases");
    status.set_message(format!("{cases} not investigated ({})", ending::open_reason(report)));
    let mut suite = TestSuite::new("not investigated");
    suite.add_test_case(of_run("cases not investigated", status));
    suite
}

/// A test about the run as a whole.
fn of_run(name: &str, status: TestCaseStatus) -> TestCase {
    let mut test = TestCase::new(name, status);
    test.set_classname("run");
    test
}

/// One passing test per known issue.
fn issues(report: &Report) -> TestSuite {
    let mut suite = TestSuite::new("known issues");
    suite.add_test_cases(issue::descriptions(&report.issues).into_iter().map(|(word, what)| {
        let mut test = TestCase::new(what, TestCaseStatus::success());
        test.set_classname(word);
        test
    }));
    suite
}

/// The time that the cases of a finding took on a variant.
fn time_of(variant: &VariantSummary, slug: &str) -> Duration {
    Duration::from_micros(variant.finding_micros.get(slug).copied().unwrap_or_default())
}

/// A skipped test for each finding that was known before and that cases of the variant show.
fn known_by_name(report: &Report, variant: &VariantSummary) -> Vec<TestCase> {
    let is_shown = |known: &&FindingCount| {
        Signature::is_slug_of(&known.slug, &variant.variant.backend)
            && variant.finding_micros.contains_key(&known.slug)
    };
    let shown = report.known_by_name().filter(is_shown);
    let test = |FindingCount { slug, cases }: &FindingCount| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("known; {} of the run", counted(*cases, "case", "cases")));
        let mut test = TestCase::new(slug.as_str(), status);
        test.set_time(time_of(variant, slug));
        test
    };
    shown.map(test).collect()
}

fn is_shown_by(found: &ReportedFinding, variant: &VariantSummary) -> bool {
    found.finding.is_seen_in(&variant.variant)
}

/// A new finding fails and a known one is skipped, so that a nightly run fails only for new findings.
fn test(
    report: &Report,
    run: Option<&RunFolder>,
    ReportedFinding { slug, new, finding }: &ReportedFinding,
) -> TestCase {
    let mut status =
        if *new { TestCaseStatus::non_success(NonSuccessKind::Failure) } else { TestCaseStatus::skipped() };
    status.set_type(finding.kind.to_string()).set_message(findings::detail(finding));
    let mut lines = vec![finding.graph.clone()];
    let reasons = findings::reasons(report, finding);
    lines.extend(reasons.into_iter().map(|(word, sentence)| format!("{word}: {sentence}")));
    lines.push(format!("seen in {}", findings::seen_in(finding)));
    lines.push(counted(report.cases_of(slug), "case", "cases"));
    status.set_description(lines.join("\n"));
    let mut test = TestCase::new(slug.as_str(), status);
    if let Some(attached) = run.filter(|_| *new).map(|run| attachments(run, slug)) {
        test.set_system_out(attached);
    }
    test
}

/// The files of a finding, as Jenkins and GitLab find them in the output of a test.
fn attachments(run: &RunFolder, slug: &str) -> String {
    let Some(folder) = run.finding(slug) else { return String::new() };
    let parent = folder.parent().unwrap_or(Path::new(""));
    let attached = |file: &PathBuf| format!("[[ATTACHMENT|{}]]", parent.join(file).display());
    files_of_finding(&folder).iter().map(attached).collect::<Vec<_>>().join("\n")
}

fn other_cases(report: &Report, variant: &VariantSummary) -> TestCase {
    let status = if variant.conforms > 0 { TestCaseStatus::success() } else { TestCaseStatus::skipped() };
    let mut test = TestCase::new("all other cases", status);
    let shown = report.findings.iter().filter(|found| is_shown_by(found, variant));
    let all = Duration::from_micros(variant.micros);
    let shown = shown.map(|found| &found.slug).chain(report.known_by_name().map(|known| &known.slug));
    test.set_time(all.saturating_sub(shown.map(|slug| time_of(variant, slug)).sum()));
    let (conforming, cases) = (count(variant.conforms), count(variant.cases()));
    let reach = remark(variant.reaches);
    let mut lines = vec![format!("{conforming} of {cases} cases conform{reach}")];
    lines.extend(remarks(report, variant));
    test.set_system_out(lines.join("\n"));
    test
}
