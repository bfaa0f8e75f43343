//! `JUnit` XML: a suite a variant, in it one test for each finding of that variant and one for everything else.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};
use twinfer_case::VariantSummary;

use crate::{
    Report, ReportedFinding, findings, issue,
    numbers::{count, counted},
    summary::remarks,
};

pub(crate) fn render(report: &Report) -> String {
    let mut document = Document::new("twinfer");
    document.set_time(Duration::from_secs_f64(report.summary.seconds.max(0.0)));
    document.add_test_suites(report.summary.variants.iter().map(|variant| suite(report, variant)));
    document.add_test_suites((report.summary.open > 0).then(|| left_open(report)));
    document.add_test_suites((!report.issues.is_empty()).then(|| issues(report)));
    // writing into memory fails for no text that XmlString has let through
    document.to_string().unwrap_or_default()
}

fn suite(report: &Report, variant: &VariantSummary) -> TestSuite {
    let mut suite = TestSuite::new(variant.variant.to_string());
    suite.add_property(("backend", report.version(&variant.variant).as_str()));
    let shown = report.findings.iter().filter(|found| is_shown_by(found, variant));
    suite.add_test_cases(shown.map(|found| test(report, found)));
    suite.add_test_case(everything_else(report, variant));
    suite
}

/// What may be news, and nobody knows.
fn left_open(report: &Report) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let cases = counted(report.summary.open, "case diverges", "cases diverge");
    status.set_message(format!("{cases}, and nobody had the time to find out why"));
    let mut suite = TestSuite::new("not investigated before time was up");
    suite.add_test_case(TestCase::new("open", status));
    suite
}

/// The issues that the project lists: none of them fails.
fn issues(report: &Report) -> TestSuite {
    let mut suite = TestSuite::new("listed as known");
    suite.add_test_cases(issue::told(report).into_iter().map(|(word, what)| {
        let mut test = TestCase::new(what, TestCaseStatus::success());
        test.set_classname(word);
        test
    }));
    suite
}

fn is_shown_by(found: &ReportedFinding, variant: &VariantSummary) -> bool {
    found.finding.seen_in.iter().any(|seen| seen.variant == variant.variant)
}

/// A new finding fails; one that is known already is skipped, so that a nightly run is red only for news.
fn test(report: &Report, ReportedFinding { slug, new, finding }: &ReportedFinding) -> TestCase {
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
    test.set_classname(finding.kind.to_string());
    test
}

fn everything_else(report: &Report, variant: &VariantSummary) -> TestCase {
    let mut test = TestCase::new("every other case", TestCaseStatus::success());
    let cases = counted(variant.cases(), "case", "cases");
    let mut lines = vec![format!("{} of {cases} conform", count(variant.conforms))];
    lines.extend(remarks(report, variant));
    test.set_system_out(lines.join("\n"));
    test
}
