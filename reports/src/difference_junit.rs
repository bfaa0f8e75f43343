//! A difference as `JUnit` XML: what is new fails, what is gone passes, and what cannot be told is skipped.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};
use twinfer_case::FindingCount;

use crate::{
    Changed, Difference, Renamed, junit::text, numbers::counted, run_findings::described, uncompared,
};

/// The class of the tests, which tells them from those of a campaign.
const CLASS: &str = "diff";

pub fn render(difference: &Difference) -> String {
    let mut suite = TestSuite::new(CLASS);
    suite.add_test_case(compared(difference));
    suite.add_test_cases(difference.new.iter().map(|new| failed(new, "new in the later run")));
    suite.add_test_cases(difference.changed.iter().map(changed));
    let [renamed_now, renamed_then] = &difference.renamed;
    suite.add_test_cases(renamed_now.iter().map(|one| renamed(one, ["earlier", "later"])));
    suite.add_test_cases(renamed_then.iter().map(|one| renamed(one, ["later", "earlier"])));
    suite.add_test_cases(
        difference.gone.iter().map(|gone| TestCase::new(&*gone.slug, TestCaseStatus::success())),
    );
    suite.add_test_cases(
        difference.unjudged.iter().map(|one| skipped(one, "its cases were not judged in the later run")),
    );
    let [not_run_now, not_run_then] = &difference.untried;
    suite.add_test_cases(
        not_run_now.iter().map(|one| skipped(one, "its cases were not run by the later run")),
    );
    suite.add_test_cases(
        not_run_then.iter().map(|one| skipped(one, "its cases were not run by the earlier run")),
    );
    let [open_now, open_then] = &difference.open;
    suite.add_test_cases(
        open_now.iter().map(|one| skipped(one, "its cases were not investigated by the later run")),
    );
    suite.add_test_cases(
        open_then.iter().map(|one| skipped(one, "its cases were not investigated by the earlier run")),
    );
    // one that varies in both runs is one test
    let varying: BTreeMap<_, _> = difference.varying.iter().flatten().map(|one| (&one.slug, one)).collect();
    suite.add_test_cases(varying.into_values().map(|one| skipped(one, "it varies from run to run")));
    suite.test_cases.iter_mut().for_each(|test| _ = test.set_classname(CLASS));
    let mut document = Document::new("twinfer");
    document.add_test_suite(suite);
    text(&document)
}

/// A test that fails if a backend was not compared in one of the runs, or if no case is in both.
fn compared(difference: &Difference) -> TestCase {
    let status = if difference.uncompared.is_empty() {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(uncompared::TITLE).set_description(difference.uncompared.join("\n"));
        status
    };
    let mut test = TestCase::new("the runs can be compared", status);
    test.set_system_out(difference.sides().join("\n"));
    test
}

fn failed(finding: &FindingCount, message: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(format!("{message} ({})", counted(finding.cases, "case", "cases")));
    TestCase::new(&*finding.slug, status)
}

/// A finding whose cases show other ones is neither new nor gone.
fn changed(Changed { was, is }: &Changed) -> TestCase {
    let is: Vec<_> = is.iter().map(described).collect();
    skipped(was, &format!("its cases now show {}", is.join(", ")))
}

/// A finding that has another name in the other run is no other one.
fn renamed(renamed: &Renamed, runs: [&str; 2]) -> TestCase {
    let mut test = TestCase::new(&*renamed.finding.slug, TestCaseStatus::success());
    test.set_system_out(renamed.described(runs));
    test
}

fn skipped(finding: &FindingCount, message: &str) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    TestCase::new(&*finding.slug, status)
}
