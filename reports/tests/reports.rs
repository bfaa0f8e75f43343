//! Reports of a campaign in every format, as snapshots.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod browser;
mod fixture;
mod foreign;
mod page;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    sync::{Arc, Mutex},
};

use twinfer_case::{
    BlindSegment, Blindness, Budget, CaseRecord, Cause, Culprit, Event, Finding, FindingCount, Kind,
    NamedNode, NotJudged, Note, OpenPlace, ReproducingMutant, RunEnd, SegmentCounts, Shown, Signature, Stage,
    StartingWorkers, Summary, Variant, VariantRecord, Verdict,
};
use twinfer_reports::{
    COLUMNS, Difference, Format, IssueState, ListedIssue, Progress, Report, Reporter, RunFindings,
    SameMistake, first_screen, incomplete,
};
use twinfer_store::{Journal, RunDirectory};

fn rendered(format: Format) -> String {
    console::set_colors_enabled(false);
    format.render(&Report::of(&fixture::events()))
}

#[test]
fn terminal_report_shows_verdicts_and_findings() {
    insta::assert_snapshot!(rendered(Format::Terminal));
}

#[test]
fn first_screen_has_headline_and_next_step() {
    console::set_colors_enabled(false);
    insta::assert_snapshot!(first_screen(&Report::of(&fixture::events()), "runs/0001", COLUMNS));
}

#[test]
fn first_screen_fits_a_terminal() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    for index in 0..1000 {
        let mut found = report.findings[index % 3].clone();
        found.slug = format!("trt-rtx-parse-rejects-valid-{index:08x}");
        found.finding.graph = "Conv ".repeat(100);
        report.findings.push(found);
    }
    let text = first_screen(&report, "runs/0001", COLUMNS);
    for columns in [COLUMNS, 160] {
        let text = first_screen(&report, "runs/0001", columns);
        assert!((24..=40).contains(&text.lines().count()), "{text}");
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!((columns * 3 / 4..=columns).contains(&longest), "{longest} of {columns}: {text}");
    }
    assert!(text.contains(" more findings and 335 known findings: twinfer report runs/0001"), "{text}");
}

#[test]
fn first_screen_says_why_or_else_when_or_else_where() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    let mut found = report.findings.swap_remove(1);
    found.new = true;
    report.findings = vec![found];
    let changes: [fn(&mut Finding); 6] = [
        |_| (),
        |finding| mutants_of(finding).truncate(1),
        |finding| mutants_of(finding).clear(),
        // as older findings are
        |finding| finding.divergences[0].diagnosis = None,
        |finding| finding.diagnosis.clear(),
        |finding| finding.trigger = None,
    ];
    let last_lines = changes.map(|change| {
        change(&mut report.findings[0].finding);
        let text = first_screen(&report, "runs/0001", COLUMNS);
        let lines: Vec<_> = text.lines().skip_while(|line| !line.contains(" · ")).collect();
        assert_eq!(lines[3], "", "a finding has three lines\n{text}");
        lines[2].to_owned()
    });
    insta::assert_snapshot!(last_lines.join("\n"));
}

#[test]
fn first_screen_offers_no_bug_report_of_documented_limits() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    report.findings.truncate(1);
    let next = |report: &Report| {
        let text = first_screen(report, "runs/0001", COLUMNS);
        text.lines().find(|line| line.starts_with("next ")).unwrap().to_owned()
    };
    assert!(next(&report).contains("twinfer repro"), "{}", next(&report));
    for divergence in &mut report.findings[0].finding.divergences {
        divergence.documented = Some("rule".to_owned());
    }
    assert_eq!(next(&report), "next    twinfer report runs/0001   # all details of this run");
}

fn mutants_of(finding: &mut Finding) -> &mut Vec<ReproducingMutant> {
    &mut finding.divergences[0].diagnosis.as_mut().unwrap().mutants
}

#[test]
fn most_severe_finding_is_first_in_every_format() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    report.findings.iter_mut().for_each(|found| found.new = true);
    let names: Vec<_> = [1, 0, 2].map(|place| report.findings[place].slug.clone()).into();
    for format in [Format::Terminal, Format::Json, Format::Markdown, Format::Html] {
        let text = format.render(&report);
        let text =
            if format == Format::Json { &text[text.find("\"severity\"").unwrap() - 200..] } else { &text };
        let places: Vec<_> = names.iter().map(|name| text.find(name.as_str()).unwrap()).collect();
        assert!(places.is_sorted(), "{format}: {places:?}");
    }
}

#[test]
fn no_format_for_people_uses_words_that_only_developers_know() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    let verdicts = [Verdict::Vacuous, Verdict::Unspecified("same-below-stride".to_owned())];
    for verdict in verdicts {
        let mut record = fixture::records().remove(0);
        record.variants.iter_mut().for_each(|variant| variant.verdict = verdict.clone());
        report.summary.record(&record);
    }
    let texts = [Format::Terminal, Format::Junit, Format::Markdown, Format::Html];
    let texts =
        texts.map(|format| format.render(&report)).into_iter().chain([first_screen(&report, "run", COLUMNS)]);
    for text in texts {
        assert!(!text.contains("vacuous") && !text.contains("grid step"), "{text}");
        assert!(text.contains("exact results are multiples of 0.5") || !text.contains("&lt;5&gt;"), "{text}");
    }
}

#[test]
fn json_report_is_complete_and_has_format_number() {
    insta::assert_snapshot!(rendered(Format::Json));
}

#[test]
fn junit_report_fails_for_new_findings_only() {
    insta::assert_snapshot!(rendered(Format::Junit));
}

#[test]
fn markdown_report_escapes_backend_output() {
    insta::assert_snapshot!(rendered(Format::Markdown));
}

#[test]
fn html_report_escapes_backend_output() {
    insta::assert_snapshot!(page_body(&rendered(Format::Html)));
}

/// What a page shows, one element a line.
fn page_body(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    body.replace("><", ">\n<")
}

#[test]
fn known_issues_appear_in_every_format() {
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
            issue("resolved", IssueState::Fixed, None),
            issue("varies", IssueState::NotShown, None),
            issue("silent", IssueState::NotSeen, None),
        ],
        ..Report::default()
    };
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        assert!(text.contains("resolved") && text.contains("2026-01-31"), "{text}");
    }
}

#[test]
fn escalated_cases_appear_in_every_format() {
    console::set_colors_enabled(false);
    let report = Report::of(&fixture::escalation_events());
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        assert!(text.contains("opt=basic"), "{text}");
        assert!(text.contains("1/2") || format == Format::Junit, "{text}");
    }
}

#[test]
fn poisoned_cases_appear_in_every_format() {
    console::set_colors_enabled(false);
    let report = Report::of(&fixture::poison_events());
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        assert!(text.contains("memory=poison-nan") && text.contains("out-of-bounds-write"), "{text}");
        let is_labeled = match format {
            Format::Json => text.contains("\"only_poisoned\": true"),
            Format::Html => text.contains("<dt>seen only</dt><dd>with poisoned memory</dd>"),
            Format::Terminal | Format::Junit | Format::Markdown => {
                text.contains("seen only: with poisoned memory")
            }
        };
        assert!(is_labeled, "{text}");
    }
}

#[test]
fn left_out_cases_appear_in_every_format() {
    console::set_colors_enabled(false);
    let report = Report::of(&fixture::left_out_events());
    insta::assert_snapshot!(Format::Terminal.render(&report));
    for format in Format::ALL {
        let text = format.render(&report);
        let count = match format {
            Format::Terminal => "2 cases left out on trt-rtx",
            Format::Json => "\"left_out\"",
            Format::Junit => "left out because cases like it hang: 2 cases",
            Format::Markdown | Format::Html => "left out",
        };
        assert!(text.contains(count), "{text}");
        assert!(text.contains("Conv where group") || format == Format::Junit, "{text}");
    }
    // the bar is as long as its parts
    let page = Format::Html.render(&report);
    for part in [r#"viewBox="0 0 3 1""#, r#"<rect class="left-out" x="1" y="0" width="2""#] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn interrupted_run_blames_no_time_for_what_is_not_triaged() {
    console::set_colors_enabled(false);
    let mut report = Report::of(&fixture::events());
    assert!(report.summary.open > 0);
    for (end, reason) in [
        (Some(RunEnd::Complete), "not investigated (time budget exhausted)"),
        (Some(RunEnd::Interrupted), "not investigated (the run ended early)"),
        (None, "not investigated (the run has not ended)"),
    ] {
        report.end = end;
        for format in [Format::Terminal, Format::Junit, Format::Markdown, Format::Html] {
            let text = format.render(&report);
            assert!(text.contains(reason), "{text}");
        }
    }
}

#[test]
fn old_journal_format_is_read_and_newer_is_rejected() {
    let directory = stored_run();
    let files = ["run.json", "journal.jsonl"].map(|name| directory.path().join(name));
    let texts = files.each_ref().map(|path| fs::read_to_string(path).unwrap());
    let stored_as = |format: u32| {
        for (path, text) in files.iter().zip(&texts) {
            let current = format!("\"format\":{}", twinfer_case::JOURNAL_FORMAT);
            let text = text.replace("\"format\": ", "\"format\":");
            assert!(text.contains(&current), "{text}");
            fs::write(path, text.replace(&current, &format!("\"format\":{format}"))).unwrap();
        }
        Report::of_directory(directory.path())
    };
    assert_eq!(stored_as(3).unwrap().summary.cases, fixture::records().len() as u64);
    assert_eq!(stored_as(1).unwrap().summary.cases, fixture::records().len() as u64);
    let message = stored_as(99).unwrap_err().to_string();
    assert!(message.contains("its format is 99"), "{message}");
}

#[test]
fn empty_report_renders_in_every_format() {
    console::set_colors_enabled(false);
    let texts = Format::ALL.map(|format| format.render(&Report::default()));
    assert!(texts[0].contains("no new findings"), "{}", texts[0]);
    assert!(texts.iter().all(|text| !text.is_empty()));
}

#[test]
fn progress_without_terminal_prints_every_ten_seconds() {
    console::set_colors_enabled_stderr(false);
    console::set_colors_enabled(false);
    let out = Shared::default();
    let mut progress = Progress::lines(out.clone());
    for event in fixture::events() {
        progress.on_event(&event);
    }
    insta::assert_snapshot!(out.text());
}

#[test]
fn first_lost_workers_are_listed_and_all_are_counted() {
    let out = Shared::default();
    let mut progress = Progress::lines(out.clone());
    for index in 0..8 {
        progress.on_event(&Event::WorkerLost {
            variant: "ort:cpu".parse().unwrap(),
            index: Some(index),
            stage: Stage::Load,
            reason: "the worker ended with signal 11".to_owned(),
        });
    }
    let (summary, investigating) = (Summary::default(), Vec::new());
    let starting = StartingWorkers::default();
    progress.on_event(&Event::Progress { summary, waiting: 0, investigating, starting });
    let text = out.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[2].contains("worker lost in load of case 2 and replaced"), "{text}");
    assert_eq!(lines[3], "ort:cpu: further workers that are lost in load are only counted");
    assert!(lines[4].contains(" · 8 workers lost · "), "{text}");
}

#[test]
fn findings_of_a_resumed_campaign_are_counted_and_not_listed_again() {
    let out = Shared::default();
    let mut progress = Progress::lines(out.clone());
    let summary = Summary { cases: 150, earlier: 150, ..Summary::default() };
    for event in fixture::events() {
        if let Event::FindingRecorded { slug, finding, .. } = event {
            progress.on_event(&Event::FindingRestored { slug, finding });
        }
    }
    for _ in 0..2 {
        let (investigating, starting) = (Vec::new(), StartingWorkers::default());
        let summary = summary.clone();
        progress.on_event(&Event::Progress { summary, waiting: 0, investigating, starting });
    }
    let text = out.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "resumed with 150 cases and 3 findings");
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].contains("3 findings"), "{text}");
}

#[test]
fn resumed_run_excludes_earlier_cases_from_rate() {
    let mut report = Report::of(&fixture::events());
    (report.summary.cases, report.summary.earlier, report.summary.seconds) = (150, 100, 10.0);
    let text = Format::Terminal.render(&report);
    assert!(text.contains("150 cases, 50 of them since it was resumed, in 10.0 s (5 cases/s)"), "{text}");
}

#[test]
fn stored_run_gives_same_report_as_its_events() {
    let directory = stored_run();
    let stored = Report::of_directory(directory.path()).unwrap();
    let direct = Report::of(&fixture::events());
    assert_eq!(stored.run, direct.run);
    assert_eq!(stored.summary.variants, direct.summary.variants);
    assert_eq!(stored.findings.len(), direct.findings.len());
    assert_eq!(stored.summary.new_findings, stored.findings.len() as u64);
}

#[test]
fn truncated_last_journal_line_is_ignored() {
    let directory = stored_run();
    let journal = directory.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let report = Report::of_directory(directory.path()).unwrap();
    assert_eq!(report.summary.cases, fixture::records().len() as u64 - 1);
}

#[test]
fn invalid_journal_line_is_rejected_by_number() {
    let directory = stored_run();
    let journal = directory.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen('\n', "\n{}\n", 1)).unwrap();
    let message = Report::of_directory(directory.path()).unwrap_err().to_string();
    assert!(message.contains("journal.jsonl: line 2 was inserted"), "{message}");
}

#[test]
fn directory_without_run_is_rejected_by_path() {
    let directory = tempfile::tempdir().unwrap();
    let message = Report::of_directory(directory.path()).unwrap_err().to_string();
    assert!(message.contains("run.json") && message.contains("the directory of a run"), "{message}");
}

fn stored_run() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let claimed = RunDirectory::create(directory.path()).unwrap();
    let mut journal = Journal::create(&claimed, &fixture::run()).unwrap();
    for record in fixture::records() {
        journal.append(&record).unwrap();
    }
    journal.flush().unwrap();
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
fn events_round_trip_through_json() {
    for event in fixture::events() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}

/// The findings of a run whose first finding is this one.
fn with_first(first: &Finding) -> RunFindings {
    let known = fixture::findings()[0].signature.slug();
    let slug = first.signature.slug();
    let mut findings = RunFindings::default();
    for event in fixture::events() {
        findings.on_event(&match event {
            Event::CaseFinished { mut record } => {
                record.findings = vec![slug.clone()];
                Event::CaseFinished { record }
            }
            Event::FindingRecorded { slug: recorded, new, .. } if recorded == known => {
                Event::FindingRecorded { slug: slug.clone(), finding: first.clone(), new }
            }
            other => other,
        });
    }
    findings
}

/// The difference between two runs no two findings of which have one mistake.
fn between(then: &RunFindings, now: &RunFindings) -> Difference {
    Difference::between(("then", then), ("now", now), |_, _| false)
}

/// A run whose cases, by the digit of their hash, show these findings.
fn run_showing(cases: &[(char, &[&Finding])]) -> RunFindings {
    let mut run = RunFindings::default();
    let mut found = BTreeMap::new();
    for event in fixture::events() {
        match event {
            Event::CampaignStarted { .. } => run.on_event(&event),
            Event::CaseFinished { record } if found.is_empty() => {
                for (digit, shown) in cases {
                    let case = digit.to_string().repeat(64).parse().unwrap();
                    let shown: Vec<_> =
                        shown.iter().map(|&finding| (finding.signature.slug(), finding)).collect();
                    let findings = shown.iter().map(|(slug, _)| slug.clone()).collect();
                    let record = CaseRecord { case, findings, open: Vec::new(), ..record.clone() };
                    run.on_event(&Event::CaseFinished { record });
                    found.extend(shown);
                }
            }
            _ => {}
        }
    }
    for (slug, finding) in found {
        run.on_event(&Event::FindingRecorded { slug, finding: finding.clone(), new: true });
    }
    run
}

#[test]
fn finding_whose_cases_show_the_same_mistake_by_another_name_is_neither_new_nor_gone() {
    let of = |class: &str| {
        let mut finding = fixture::findings().remove(0);
        finding.signature.cause = Cause::Graph(vec![class.to_owned()]);
        finding
    };
    let [one, two, other] = ["Conv", "Add", "Relu"].map(of);
    let mut unstable = one.clone();
    unstable.signature = Signature::unstable(one.signature.backend.clone(), vec!["Conv".to_owned()]);
    unstable.kind = Kind::Unstable;
    let difference = |then: &[(char, &[&Finding])], now: &[(char, &[&Finding])]| {
        let of_one_backend: SameMistake = |one, other| one.signature.backend == other.signature.backend;
        Difference::between(("then", &run_showing(then)), ("now", &run_showing(now)), of_one_backend)
    };
    let counts = |difference: &Difference| {
        let [then, now] = difference.renamed.each_ref().map(Vec::len);
        (difference.new.len(), difference.changed.len(), then, now)
    };
    let renamed = difference(&[('1', &[&one]), ('2', &[&two])], &[('1', &[&other]), ('2', &[&other])]);
    assert_eq!(counts(&renamed), (0, 0, 2, 1), "{renamed:?}");
    let text = renamed.render(Format::Terminal).unwrap();
    assert!(text.contains("same stable findings in both runs, some by other names\n"), "{text}");
    let [one_name, other_name] = [&one, &other].map(|finding| finding.signature.slug());
    let line =
        format!("renamed    {one_name} (1 case) in the earlier run, {other_name} (1 case) in the later one");
    assert!(text.contains(&line) && text.matches("renamed").count() == 2, "{text}");
    assert!(!renamed.render(Format::Junit).unwrap().contains("<failure"));

    let varied = difference(&[('1', &[&unstable]), ('2', &[&two])], &[('1', &[&other]), ('2', &[&other])]);
    assert_eq!(counts(&varied), (0, 0, 1, 1), "one case varied: {varied:?}");
    let conformed = difference(&[('1', &[]), ('2', &[&two])], &[('1', &[&other]), ('2', &[&other])]);
    assert_eq!(conformed.new.len(), 1, "a case that conformed: {conformed:?}");
    let told_apart = difference(&[('1', &[&one])], &[('1', &[&one, &other])]);
    assert_eq!(told_apart.new.len(), 1, "the later run tells them apart: {told_apart:?}");
    let mut elsewhere = unstable.clone();
    elsewhere.signature.backend = "ort:cpu".parse::<Variant>().unwrap().backend;
    let of_another = difference(&[('1', &[&elsewhere])], &[('1', &[&other])]);
    assert_eq!(of_another.new.len(), 1, "another backend varied: {of_another:?}");
    let apart = between(&run_showing(&[('1', &[&one])]), &run_showing(&[('1', &[&other])]));
    assert_eq!(counts(&apart), (1, 1, 0, 0), "{apart:?}");
}

#[test]
fn finding_whose_cases_vary_in_the_other_run_varies() {
    let [stable, mut unstable, mut other] = [(); 3].map(|()| fixture::findings().remove(0));
    let classes = vec!["ConvTranspose".to_owned()];
    unstable.signature = Signature::unstable(stable.signature.backend.clone(), classes);
    unstable.kind = Kind::Unstable;
    other.signature.cause = Cause::Graph(vec!["Conv".to_owned()]);
    let between = |one: &Finding, two: &Finding| between(&with_first(one), &with_first(two));
    let slug = stable.signature.slug();
    let varies = |difference: &Difference| difference.varying[0].iter().any(|one| one.slug == slug);
    let varying = between(&stable, &unstable);
    assert!(varies(&varying) && varying.changed.is_empty() && varying.gone.is_empty(), "{varying:?}");
    let changed = between(&stable, &other);
    assert!(!varies(&changed) && changed.changed.len() == 1, "{changed:?}");
}

#[test]
fn finding_that_an_earlier_version_called_otherwise_is_the_same() {
    let mut earlier = fixture::findings().remove(0);
    assert_eq!(earlier.kind, Kind::RejectsValid);
    earlier.divergences[0].detail = "kINVALID_NODE: Assertion failed: dims == 2: no".to_owned();
    let mut later = earlier.clone();
    later.signature.error.get_or_insert_with(|| "kINVALID_NODE".to_owned());
    earlier.signature = later.signature.clone();
    later.signature = later.signature.with_check(Some("dims == 2"));
    assert_ne!(earlier.signature.slug(), later.signature.slug());
    let difference = between(&with_first(&earlier), &with_first(&later));
    assert!(difference.new.is_empty() && difference.gone.is_empty(), "{difference:?}");
    assert!(difference.changed.is_empty(), "{difference:?}");
    later.signature = earlier.signature.clone().with_check(Some("dims == 3"));
    let difference = between(&with_first(&earlier), &with_first(&later));
    assert_eq!(difference.changed.len(), 1, "{difference:?}");
}

#[test]
fn finding_of_a_backend_that_the_other_run_lacks_is_not_gone() {
    let mut without = RunFindings::default();
    for event in fixture::events() {
        match event {
            Event::CampaignStarted { mut run } => {
                run.variants.retain(|info| info.variant != fixture::variant("trt-rtx"));
                without.on_event(&Event::CampaignStarted { run });
            }
            Event::CaseFinished { mut record } => {
                record.findings.clear();
                without.on_event(&Event::CaseFinished { record });
            }
            Event::FindingRecorded { .. } => {}
            other => without.on_event(&other),
        }
    }
    let of_rtx = fixture::findings().remove(0);
    let difference = between(&with_first(&of_rtx), &without);
    let slug = of_rtx.signature.slug();
    let names = |findings: &[FindingCount]| findings.iter().any(|one| one.slug == slug);
    assert!(names(&difference.untried[0]) && !names(&difference.gone), "{difference:?}");
    let text = difference.render(Format::Terminal).unwrap();
    assert!(text.contains(&format!("not run    by the later run: {slug}")), "{text}");
}

/// The later run knows the finding of the other backend, so that it names it without holding it.
#[test]
fn finding_is_not_changed_into_a_known_one_of_another_backend() {
    let of = |backend: &str, class: &str| {
        let mut finding = fixture::findings().remove(0);
        finding.signature.backend = backend.parse::<Variant>().unwrap().backend;
        finding.signature.cause = Cause::Graph(vec![class.to_owned()]);
        finding
    };
    let (was, is, elsewhere) = (of("trt-rtx", "Conv"), of("trt-rtx", "Relu"), of("ort:cpu", "Conv"));
    let earlier = run_showing(&[('1', &[&was, &elsewhere])]);
    let mut later = run_showing(&[]);
    for event in fixture::events() {
        if let Event::CaseFinished { mut record } = event {
            record.case = "1".repeat(64).parse().unwrap();
            record.findings = [&is, &elsewhere].map(|finding| finding.signature.slug()).to_vec();
            record.open.clear();
            later.on_event(&Event::CaseFinished { record });
        }
    }
    let [changed] = &between(&earlier, &later).changed[..] else { panic!("one finding changed") };
    assert_eq!(changed.was.slug, was.signature.slug());
    let names: Vec<_> = changed.is.iter().map(|one| &*one.slug).collect();
    assert_eq!(names, [is.signature.slug()]);
}

#[test]
fn finding_whose_cases_are_not_judged_any_more_is_not_gone() {
    let finding = fixture::findings().remove(0);
    let earlier = run_showing(&[('1', &[&finding]), ('2', &[&finding])]);
    let later = |verdicts: [(Verdict, bool); 2]| {
        let mut later = RunFindings::default();
        for event in fixture::events() {
            if let Event::CampaignStarted { .. } = event {
                later.on_event(&event);
            }
        }
        for (digit, (verdict, compared)) in ["1", "2"].into_iter().zip(verdicts) {
            let mut record = fixture::records().remove(0);
            record.case = digit.repeat(64).parse().unwrap();
            (record.findings, record.open) = (Vec::new(), Vec::new());
            record.variants.retain(|one| one.variant.backend == finding.signature.backend);
            for one in &mut record.variants {
                (one.verdict, one.compared) = (verdict.clone(), compared);
            }
            assert!(record.variants.iter().any(|one| one.outcome.is_some()));
            later.on_event(&Event::CaseFinished { record });
        }
        later
    };
    let refused = || (Verdict::Unsupported("a-rule".to_owned()), false);
    let slug = finding.signature.slug();
    let unjudged = between(&earlier, &later([refused(), (Verdict::Conforms, false)]));
    assert!(unjudged.gone.is_empty() && unjudged.changed.is_empty(), "{unjudged:?}");
    assert_eq!(unjudged.unjudged.iter().map(|one| &*one.slug).collect::<Vec<_>>(), [&*slug]);
    assert!(unjudged.render(Format::Terminal).unwrap().contains(&format!("not judged {slug}")));
    assert!(unjudged.render(Format::Junit).unwrap().contains("its cases were not judged"));
    let gone = between(&earlier, &later([refused(), (Verdict::Conforms, true)]));
    assert_eq!((gone.gone.len(), gone.unjudged.len()), (1, 0), "{gone:?}");
}

#[test]
fn difference_says_which_run_ended_early() {
    let [mut whole, mut interrupted] = [(); 2].map(|()| RunFindings::default());
    for event in fixture::events() {
        whole.on_event(&event);
        match event {
            Event::CampaignFinished { summary, .. } => {
                interrupted.on_event(&Event::CampaignFinished { summary, end: RunEnd::Interrupted });
            }
            other => interrupted.on_event(&other),
        }
    }
    let difference = between(&whole, &interrupted);
    assert_eq!(difference.runs[0].ending, None);
    for format in [Format::Terminal, Format::Markdown, Format::Junit, Format::Json] {
        let text = difference.render(format).unwrap();
        assert_eq!(text.matches("ended early").count(), 1, "{format}: {text}");
    }
}

#[test]
fn finding_whose_cases_the_other_run_left_out_is_not_gone() {
    let mut without = RunFindings::default();
    for event in fixture::events() {
        match event {
            Event::CaseFinished { mut record } => {
                record.findings.clear();
                for variant in &mut record.variants {
                    *variant = VariantRecord::left_out(variant.variant.clone(), "Conv".to_owned());
                }
                without.on_event(&Event::CaseFinished { record });
            }
            Event::FindingRecorded { .. } => {}
            other => without.on_event(&other),
        }
    }
    let of_rtx = fixture::findings().remove(0);
    let difference = between(&with_first(&of_rtx), &without);
    let names = |findings: &[FindingCount]| findings.iter().any(|one| one.slug == of_rtx.signature.slug());
    assert!(names(&difference.untried[0]) && !names(&difference.gone), "{difference:?}");
}

#[test]
fn finding_whose_cases_the_other_run_did_not_investigate_is_open() {
    let mut without = RunFindings::default();
    for event in fixture::events() {
        match event {
            Event::CaseFinished { mut record } => {
                record.findings.clear();
                record.open = vec![fixture::variant("trt-rtx")];
                without.on_event(&Event::CaseFinished { record });
            }
            Event::FindingRecorded { .. } => {}
            other => without.on_event(&other),
        }
    }
    let of_rtx = fixture::findings().remove(0);
    let slug = of_rtx.signature.slug();
    let difference = between(&with_first(&of_rtx), &without);
    let names = |findings: &[FindingCount]| findings.iter().any(|one| one.slug == slug);
    assert!(names(&difference.open[0]) && !names(&difference.untried[0]), "{difference:?}");
    assert!(!names(&difference.gone), "{difference:?}");
    let text = difference.render(Format::Terminal).unwrap();
    assert!(text.contains(&format!("open       in the later run: {slug}")), "{text}");
}

#[test]
fn runs_of_two_seeds_without_a_common_case_name_the_seeds() {
    let run = |seed: u64| {
        let mut findings = RunFindings::default();
        for event in fixture::events() {
            if let Event::CampaignStarted { mut run } = event {
                run.seed = seed;
                findings.on_event(&Event::CampaignStarted { run });
            }
        }
        findings
    };
    let text = |one: &RunFindings, other: &RunFindings| between(one, other).render(Format::Terminal).unwrap();
    let [one, other] = [run(5), run(6)];
    let differ = text(&one, &other);
    assert!(differ.contains("no case is in both runs: their seeds are 5 and 6"), "{differ}");
    assert!(!text(&one, &one).contains("seeds"));
}

#[test]
fn cases_that_stay_open_say_why() {
    let mut report = Report::of(&fixture::events());
    assert!(Format::Terminal.render(&report).contains("1 not investigated (time budget exhausted)"));
    let conv3 = NamedNode::new("conv3", "Conv", "");
    let (nodes, inputs, output) = (vec![conv3], vec!["x".to_owned()], "y".to_owned());
    let culprit =
        Culprit { nodes, inputs, output, shown: Shown::InPlace, difference: None, behind: Vec::new() };
    let place = OpenPlace { culprit, detail: "value \"y\": 2 of 4 elements differ".to_owned(), cases: 1 };
    report.summary.variants[0].open_at.push(place);
    for format in [Format::Terminal, Format::Markdown, Format::Html, Format::Junit] {
        let text = format.render(&report).replace("&quot;", "\"").replace("&#34;", "\"");
        let place = r#"node "conv3" (Conv); from "x" to "y"; only inside this model; 1 case; value "y": 2 of 4 elements differ"#;
        assert!(text.contains(place), "{format}: {text}");
    }
}

/// The report on a model of which `nodes` were not judged in each of three cases.
fn report_on_a_model(notes: &[Note], verdict: &Verdict) -> Report {
    let mut run = fixture::run();
    (run.families, run.budget) = (Vec::new(), Budget::Cases(3));
    run.variants.truncate(1);
    let mut summary = Summary::new(&run.variants);
    for mut record in fixture::records() {
        record.variants.truncate(1);
        record.findings.clear();
        let variant = &mut record.variants[0];
        variant.notes.extend(notes.iter().cloned());
        variant.verdict = verdict.clone();
        variant.compared = *verdict == Verdict::Conforms;
        summary.record(&record);
    }
    Report::of(&[Event::CampaignStarted { run }, Event::CampaignFinished { summary, end: RunEnd::Complete }])
}

#[test]
fn comparison_is_complete_if_every_case_and_every_node_was_compared() {
    let conforming = || report_on_a_model(&[], &Verdict::Conforms);
    assert_eq!(incomplete(&conforming()), None);
    let softmax = NamedNode::new("sm", "Softmax", "");
    let not_judged = NotJudged { reason: "golden does not support it".to_owned(), nodes: 1, first: softmax };
    let segments = SegmentCounts { judged: 4, not_judged: vec![not_judged], blindest: None };
    let partly = report_on_a_model(&[Note::Segments(segments)], &Verdict::Conforms);
    assert_eq!(
        incomplete(&partly).as_deref(),
        Some("only part of the model was compared with the reference")
    );
    let mut undecided = conforming();
    let variant = &mut undecided.summary.variants[0];
    (variant.conforms, variant.vacuous, variant.comparisons.compared) = (2, 1, 2);
    let why = "1 of 3 cases was not compared on ort:cpu,opt=off";
    assert_eq!(incomplete(&undecided).as_deref(), Some(why));
    let nothing = report_on_a_model(&[], &Verdict::Vacuous);
    assert_eq!(incomplete(&nothing).as_deref(), Some("nothing was compared"));
}

#[test]
fn every_format_begins_with_what_was_not_compared() {
    console::set_colors_enabled(false);
    let softmax = NamedNode::new("sm", "Softmax", "");
    let not_judged =
        NotJudged { reason: "golden does not support Softmax".to_owned(), nodes: 1, first: softmax };
    let segments = |judged| {
        Note::Segments(SegmentCounts { judged, not_judged: vec![not_judged.clone()], blindest: None })
    };
    let unknown = || Note::NoReference("golden does not support the operator Softmax".to_owned());
    let without_reference = Verdict::NoReference("golden does not support the operator Softmax".to_owned());
    for (notes, verdict, headline, detail) in [
        (vec![], Verdict::Conforms, "no new findings", None),
        (
            vec![unknown(), segments(4)],
            Verdict::Conforms,
            "only part of the model was compared with the reference; no new findings",
            Some("\"sm\" (Softmax) was not compared with the reference: golden does not support Softmax"),
        ),
        (
            vec![unknown()],
            Verdict::Conforms,
            "backends were compared with each other only, not with the reference; no new findings",
            Some(
                "the model was not compared with the reference: golden does not support the operator Softmax",
            ),
        ),
        (
            vec![unknown()],
            without_reference,
            "nothing was compared",
            Some("3 cases without a reference (golden does not support the operator Softmax)"),
        ),
    ] {
        let report = report_on_a_model(&notes, &verdict);
        let terminal = Format::Terminal.render(&report);
        assert_eq!(terminal.lines().next(), Some(headline));
        assert_eq!(first_screen(&report, "run", COLUMNS).lines().next(), Some(headline));
        let json: serde_json::Value = serde_json::from_str(&Format::Json.render(&report)).unwrap();
        assert_eq!(json["headline"], headline);
        let markdown = Format::Markdown.render(&report).to_lowercase();
        assert_eq!(markdown.lines().next(), Some(format!("# {headline}").as_str()));
        let page = Format::Html.render(&report).to_lowercase();
        assert!(page.contains(&format!("<h1>{headline}</h1>")), "{page}");
        let junit = Format::Junit.render(&report);
        let is_open = junit.contains("<skipped") || junit.contains("<failure");
        assert_eq!(is_open, detail.is_some(), "{junit}");
        if let Some(detail) = detail {
            assert!(terminal.lines().nth(1).unwrap().contains(detail), "{terminal}");
            assert!(junit.replace("&quot;", "\"").replace("&apos;", "'").contains(detail), "{junit}");
        }
    }
}

#[test]
fn headline_says_that_backends_were_compared_with_each_other() {
    let resize = NamedNode::new("up", "Resize", "");
    let reason = "golden does not support Resize".to_owned();
    let segments = SegmentCounts {
        judged: 4,
        not_judged: vec![NotJudged { reason, nodes: 1, first: resize }],
        blindest: None,
    };
    let notes = [
        Note::NoReference("golden does not support the operator Resize".to_owned()),
        Note::Segments(segments),
    ];
    let mut report = report_on_a_model(&notes, &Verdict::Conforms);
    let mut second = report.summary.variants[0].clone();
    second.variant = "ort:cpu,opt=all".parse().unwrap();
    report.summary.variants.push(second);
    assert_eq!(
        Format::Terminal.render(&report).lines().next(),
        Some(
            "only part of the model was compared with the reference, but all of it between the backends; no new findings"
        )
    );
}

#[test]
fn known_finding_that_may_hide_another_is_told_in_every_format() {
    console::set_colors_enabled(false);
    let mut report = report_on_a_model(&[], &Verdict::Conforms);
    report.doubts = vec!["known finding conv-1: its stored case conforms now".to_owned()];
    let headline = "1 known finding may hide another bug; no new findings";
    let terminal = Format::Terminal.render(&report);
    assert!(terminal.starts_with(headline), "{terminal}");
    for format in [Format::Terminal, Format::Json, Format::Markdown, Format::Html, Format::Junit] {
        let rendered = format.render(&report);
        assert!(rendered.contains(&report.doubts[0]), "{format}: {rendered}");
    }
    assert!(Format::Junit.render(&report).contains("<failure"));
}

#[test]
fn blindness_of_segments_is_told() {
    let node = [NamedNode::new("conv2", "Conv", "")];
    let blindest = BlindSegment::new(&node, Blindness { below: Some(2.47), largest: 32.0 });
    let segments = SegmentCounts { judged: 4, blindest, ..SegmentCounts::default() };
    let report = report_on_a_model(&[Note::Segments(segments)], &Verdict::Conforms);
    let told =
        r#"cannot be seen in the segments: errors below 2.47 in outputs of at most 32, at "conv2" (Conv)"#;
    let terminal = Format::Terminal.render(&report);
    assert!(terminal.contains(told), "{terminal}");
}

#[test]
fn junit_of_a_difference_fails_for_what_is_new() {
    let [then, mut now] = [(); 2].map(|()| fixture::findings().remove(0));
    now.signature.cause = Cause::Graph(vec!["Conv".to_owned()]);
    let mut empty = RunFindings::default();
    for event in fixture::events() {
        match event {
            Event::CaseFinished { mut record } => {
                record.findings.clear();
                empty.on_event(&Event::CaseFinished { record });
            }
            Event::FindingRecorded { .. } => {}
            other => empty.on_event(&other),
        }
    }
    let test = |one: &RunFindings, two: &RunFindings, slug: &str| {
        let xml = between(one, two).render(Format::Junit).unwrap();
        let start = xml.find(&format!("<testcase name=\"{slug}\"")).unwrap_or_else(|| panic!("{xml}"));
        xml[start..].lines().nth(1).unwrap().trim().to_owned()
    };
    let slug = now.signature.slug();
    assert_eq!(
        test(&empty, &with_first(&now), &slug),
        "<failure message=\"new in the later run (1 case)\"/>"
    );
    assert!(!test(&with_first(&now), &empty, &slug).contains("failure"));
    let changed = test(&with_first(&then), &with_first(&now), &then.signature.slug());
    assert!(changed.starts_with("<skipped message=\"its cases now show "), "{changed}");
}
