//! What a person or a program reads of a campaign, in every format.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod fixture;

use std::{
    fs,
    io::{self, Write},
    sync::{Arc, Mutex},
};

use twinfer_case::Event;
use twinfer_reports::{Format, IssueState, ListedIssue, Progress, Report, Reporter};

fn rendered(format: Format) -> String {
    console::set_colors_enabled(false);
    format.render(&Report::of(&fixture::events()))
}

#[test]
fn the_terminal_summary_shows_verdicts_and_findings() {
    insta::assert_snapshot!(rendered(Format::Terminal));
}

#[test]
fn the_json_report_holds_everything_and_a_format_number() {
    insta::assert_snapshot!(rendered(Format::Json));
}

#[test]
fn the_junit_report_fails_for_new_findings_and_skips_known_ones() {
    insta::assert_snapshot!(rendered(Format::Junit));
}

#[test]
fn the_markdown_report_keeps_its_tables_whatever_a_backend_says() {
    insta::assert_snapshot!(rendered(Format::Markdown));
}

#[test]
fn the_html_report_escapes_what_a_backend_says() {
    insta::assert_snapshot!(rendered(Format::Html));
}

#[test]
fn what_became_of_listed_issues_stands_in_every_format() {
    console::set_colors_enabled(false);
    let issue = |slug: &str, state, overdue_since: Option<&str>| ListedIssue {
        slug: slug.to_owned(),
        reason: "reported".to_owned(),
        upstream: Some("https://example.org/1".to_owned()),
        state,
        overdue_since: overdue_since.map(str::to_owned),
    };
    let report = Report {
        issues: vec![
            issue("elsewhere", IssueState::NotTried, None),
            issue("still-there", IssueState::Occurs { cases: 3 }, Some("2026-01-31")),
            issue("mended", IssueState::Fixed, None),
            issue("silent", IssueState::NotSeen, None),
        ],
        ..Report::default()
    };
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        assert!(text.contains("mended") && text.contains("2026-01-31"), "{text}");
    }
}

#[test]
fn what_climbed_stands_in_every_format() {
    console::set_colors_enabled(false);
    let report = Report::of(&fixture::climbing_events());
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        assert!(text.contains("opt=basic"), "{text}");
        assert!(text.contains("1/2") || format == Format::Junit, "{text}");
    }
}

#[test]
fn a_journal_of_the_time_before_ladders_is_read_and_one_of_a_later_time_refused() {
    let directory = stored_run();
    let journal = directory.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let current = format!("\"format\":{}", twinfer_case::JOURNAL_FORMAT);
    assert!(text.contains(&current));
    fs::write(&journal, text.replace(&current, "\"format\":1")).unwrap();
    assert!(Report::of_directory(directory.path()).is_ok());
    fs::write(&journal, text.replace(&current, "\"format\":99")).unwrap();
    let message = Report::of_directory(directory.path()).unwrap_err().to_string();
    assert!(message.contains("its format is 99"), "{message}");
}

#[test]
fn a_report_of_nothing_is_still_a_report() {
    console::set_colors_enabled(false);
    let texts = Format::ALL.map(|format| format.render(&Report::default()));
    assert!(texts[0].contains("no new findings"), "{}", texts[0]);
    assert!(texts.iter().all(|text| !text.is_empty()));
}

#[test]
fn without_a_terminal_progress_is_plain_lines_ten_seconds_apart() {
    console::set_colors_enabled_stderr(false);
    console::set_colors_enabled(false);
    let out = Shared::default();
    let mut progress = Progress::lines(out.clone());
    for event in fixture::events() {
        progress.hear(&event);
    }
    insta::assert_snapshot!(out.text());
}

#[test]
fn a_run_that_was_resumed_has_no_rate_of_cases_that_were_there_before() {
    let mut report = Report::of(&fixture::events());
    (report.summary.cases, report.summary.earlier, report.summary.seconds) = (150, 100, 10.0);
    let text = Format::Terminal.render(&report);
    assert!(text.contains("150 cases, 50 of them in 10.0 s (5 a second)"), "{text}");
}

#[test]
fn a_finished_run_is_reported_again_from_its_directory() {
    let directory = stored_run();
    let stored = Report::of_directory(directory.path()).unwrap();
    let told = Report::of(&fixture::events());
    assert_eq!(stored.run, told.run);
    assert_eq!(stored.summary.variants, told.summary.variants);
    assert_eq!(stored.findings.len(), told.findings.len());
}

#[test]
fn a_journal_cut_off_in_the_middle_of_a_line_is_taken_up_to_there() {
    let directory = stored_run();
    let journal = directory.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let report = Report::of_directory(directory.path()).unwrap();
    assert_eq!(report.summary.cases, fixture::records().len() as u64 - 1);
}

#[test]
fn a_journal_with_a_line_that_makes_no_sense_is_refused_by_that_line() {
    let directory = stored_run();
    let journal = directory.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen('\n', "\n{}\n", 1)).unwrap();
    let message = Report::of_directory(directory.path()).unwrap_err().to_string();
    assert!(message.contains("journal.jsonl: line 2: missing field"), "{message}");
}

#[test]
fn a_directory_that_is_no_run_is_told_by_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let message = Report::of_directory(directory.path()).unwrap_err().to_string();
    assert!(message.contains("run.json") && message.contains("twinfer fuzz --out"), "{message}");
}

fn stored_run() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(directory.path().join(name), text).unwrap();
    write("run.json", serde_json::to_string(&fixture::run()).unwrap());
    let lines =
        fixture::records().iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
    write("journal.jsonl", lines);
    for finding in fixture::findings() {
        let folder = directory.path().join("findings").join(finding.signature.slug());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("finding.json"), serde_json::to_string(&finding).unwrap()).unwrap();
    }
    directory
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn events_survive_being_stored_as_json() {
    for event in fixture::events() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
