//! Text that others wrote, in every field that can hold some, in every format.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use proptest::prelude::*;
use pulldown_cmark::{Options, Parser};
use quick_xml::{Reader, XmlVersion, events::Event as Xml};
use twinfer_case::{
    Comparisons, Diagnosis, Divergence, Ending, Event, Fallback, FallbackReason, FallbackValues, Finding,
    Kind, Note, Outcome, ReproducingMutant, RunEnd, RunInfo, Stage, Topic, Uncompared, UncomparedReason,
    Variant, Verdict,
};
use twinfer_reports::{
    Answer, Difference, Format, IssueState, ListedIssue, Progress, Report, Reporter, RunFindings, Survey,
    SurveyedCase, SurveyedVariant,
};

use crate::fixture;

/// A variant with `text` in its name.
fn variant(text: &str) -> Variant {
    let external = format!("external:{text}").parse();
    external.unwrap_or_else(|_| "external:x".parse().unwrap())
}

fn run(text: &str) -> RunInfo {
    let mut run = fixture::run();
    text.clone_into(&mut run.twinfer);
    run.families = vec![text.to_owned()];
    text.clone_into(&mut run.machine.os);
    text.clone_into(&mut run.machine.arch);
    for info in &mut run.variants {
        info.variant = variant(text);
        text.clone_into(&mut info.description.name);
        text.clone_into(&mut info.description.version);
        info.description.options = [(text.to_owned(), text.to_owned())].into();
        info.description
            .limitations
            .iter_mut()
            .for_each(|limitation| text.clone_into(&mut limitation.source));
    }
    run.variants.truncate(1);
    run
}

fn divergence(text: &str, base: &Divergence) -> Divergence {
    Divergence {
        variant: variant(text),
        detail: text.to_owned(),
        diagnosis: Some(Diagnosis {
            mutants: vec![ReproducingMutant { name: text.to_owned(), clause: text.to_owned() }],
            residual: None,
            unexplained: None,
            ..Diagnosis::default()
        }),
        fallback: Some(Fallback {
            operator: text.to_owned(),
            reason: FallbackReason::Unknown,
            values: FallbackValues::NotCompared,
        }),
        documented: Some(text.to_owned()),
        ..base.clone()
    }
}

fn finding(text: &str, base: &Finding) -> Finding {
    let mut finding = base.clone();
    text.clone_into(&mut finding.graph);
    finding.diagnosis = vec![text.to_owned()];
    finding.divergences = vec![divergence(text, &base.divergences[0])];
    for seen in &mut finding.seen_in {
        seen.variant = variant(text);
        seen.version = text.into();
    }
    finding
}

/// The events of a campaign with `text` in every field that a model, a backend, a file or the user fills.
fn events(text: &str) -> Vec<Event> {
    let mut events = fixture::events();
    for event in &mut events {
        match event {
            Event::CampaignStarted { run: started } => *started = run(text),
            Event::CaseFinished { record } => {
                record.variants.truncate(1);
                record.findings = vec![text.to_owned()];
                for one in &mut record.variants {
                    one.variant = variant(text);
                    one.notes =
                        vec![Note::AcceptedDespite(text.to_owned()), Note::Placement(text.to_owned())];
                    one.verdict = match &one.verdict {
                        Verdict::Unspecified(_) => Verdict::Unspecified(text.to_owned()),
                        Verdict::Conforms => Verdict::NoReference(text.to_owned()),
                        _ => Verdict::Unsupported(text.to_owned()),
                    };
                }
            }
            Event::WorkerLost { variant: lost, reason, .. } => {
                (*lost, *reason) = (variant(text), text.to_owned());
            }
            Event::FindingRecorded { slug, finding: found, .. } => {
                (*slug, *found) = (text.to_owned(), finding(text, found));
            }
            Event::Progress { summary, .. } | Event::CampaignFinished { summary, .. } => {
                summary.findings.iter_mut().for_each(|count| count.slug = format!("{text} "));
                summary.variants.truncate(1);
                for one in &mut summary.variants {
                    one.variant = variant(text);
                    one.comparisons = Comparisons { compared: 0, uncompared: vec![uncompared(text)] };
                    one.unsupported = [(text.to_owned(), 2)].into();
                    one.unspecified = [(text.to_owned(), 2)].into();
                    one.not_computed = [(text.to_owned(), 2)].into();
                    one.accepted_despite = [(text.to_owned(), 2)].into();
                }
            }
            _ => {}
        }
        if let Event::CampaignFinished { end, .. } = event {
            *end = RunEnd::Failed(text.to_owned());
        }
    }
    let given_up =
        Event::DeviceGivenUp { variant: variant(text), device: text.to_owned(), reason: text.to_owned() };
    events.insert(1, given_up);
    events
}

fn uncompared(text: &str) -> Uncompared {
    Uncompared {
        reason: UncomparedReason::Unspecified(text.to_owned()),
        stage: Stage::Parse,
        outcome: Some(Outcome::rejected(text)),
        cases: 2,
    }
}

fn report(text: &str) -> Report {
    let issue = |state| ListedIssue {
        slug: text.to_owned(),
        reason: text.to_owned(),
        upstream: Some(text.to_owned()),
        state,
        overdue_since: Some(text.to_owned()),
    };
    Report {
        issues: vec![issue(IssueState::Fixed), issue(IssueState::NotTried)],
        advice: vec![text.to_owned()],
        resume: Some(text.to_owned()),
        ..Report::of(&events(text))
    }
}

fn survey(text: &str) -> Survey {
    let diverges = Verdict::Diverges(vec![divergence(text, &fixture::findings()[0].divergences[0])]);
    let topic = Topic {
        format: 1,
        title: text.to_owned(),
        upstream: text.to_owned(),
        reported_in: text.to_owned(),
        symptom: Kind::Crash,
        expects: text.to_owned(),
        caveat: Some(text.to_owned()),
        outside: Some(text.to_owned()),
    };
    let case = |topic| SurveyedCase {
        name: text.to_owned(),
        topic,
        graph: Some(text.to_owned()),
        golden: text.to_owned(),
        answers: vec![Some(Answer {
            stage: Stage::Parse,
            ended: Ending::Rejected,
            verdict: diverges.clone(),
        })],
    };
    let variants = vec![SurveyedVariant { variant: variant(text), version: text.into() }];
    Survey { uncompared: vec![text.to_owned()], ..Survey::new(variants, vec![case(None), case(Some(topic))]) }
}

fn difference(text: &str) -> Difference {
    let (mut earlier, mut later) = (RunFindings::default(), RunFindings::default());
    for event in &events(text) {
        earlier.on_event(event);
    }
    later.on_event(&Event::CampaignStarted { run: run(text) });
    Difference::between((text, &earlier), (text, &later), |_, _| false)
}

/// What a campaign prints while it runs.
fn progress(text: &str) -> String {
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let shared = Shared::default();
    let mut progress = Progress::lines(shared.clone());
    for event in &events(text) {
        progress.on_event(event);
    }
    String::from_utf8(shared.0.lock().unwrap().clone()).unwrap()
}

/// Every text that is printed about `text`, with the name of its format.
fn rendered(text: &str) -> Vec<(&'static str, String)> {
    console::set_colors_enabled(false);
    console::set_colors_enabled_stderr(false);
    let (report, survey, difference) = (report(text), survey(text), difference(text));
    let reports = Format::ALL.map(|format| (format.name(), format.render(&report)));
    let surveys = Format::TABLES.map(|format| (format.name(), survey.render(format).unwrap()));
    let differences = Format::DIFFERENCES.map(|format| (format.name(), difference.render(format).unwrap()));
    reports.into_iter().chain(surveys).chain(differences).chain([("progress", progress(text))]).collect()
}

/// Whether nothing in a text acts on a terminal, reorders what is around it, or is outside XML.
fn is_harmless(c: char) -> bool {
    let directs = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    let is_outside_xml = c == '\u{fffe}' || c == '\u{ffff}';
    matches!(c, '\n' | '\t') || !(c.is_control() || directs || is_outside_xml)
}

fn assert_is_xml(text: &str) {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Xml::Eof) => return,
            Ok(Xml::Start(tag) | Xml::Empty(tag)) => {
                for attribute in tag.attributes() {
                    drop(attribute.unwrap().normalized_value(XmlVersion::Implicit1_0).unwrap());
                }
            }
            Ok(_) => {}
            Err(error) => panic!("{error} in {text}"),
        }
    }
}

/// The tags of a Markdown page, without the text in them.
fn structure(markdown: &str) -> Vec<String> {
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let tag = |event| match event {
        pulldown_cmark::Event::Start(tag) => Some(format!("{:?}", tag.to_end())),
        pulldown_cmark::Event::End(tag) => Some(format!("end of {tag:?}")),
        pulldown_cmark::Event::Code(_) => Some("code".to_owned()),
        pulldown_cmark::Event::Text(_) => None,
        other => Some(format!("{other:?}")),
    };
    parser.filter_map(tag).collect()
}

fn check(text: &str) {
    for ((format, page), (_, plain)) in rendered(text).iter().zip(&rendered("word")) {
        let harmful: Vec<_> = page.chars().filter(|c| !is_harmless(*c)).collect();
        assert!(harmful.is_empty(), "{format} has {harmful:?} of {text:?}");
        match *format {
            "junit" => assert_is_xml(page),
            "html" => assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{text:?}"),
            "json" => drop(serde_json::from_str::<serde_json::Value>(page).unwrap()),
            "markdown" => assert_eq!(structure(page), structure(plain), "{text:?} in {page}"),
            _ => assert_eq!(page.lines().count(), plain.lines().count(), "{format} of {text:?}: {page}"),
        }
    }
}

/// Text made of what formats and terminals give a meaning to.
fn hostile() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "\u{1b}[2J",
        "\u{9b}31m",
        "\u{1b}]8;;https://x\u{7}",
        "\r",
        "\n",
        "\n\n# ",
        "\t",
        "\0",
        "\u{202e}",
        "\u{2066}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{7f}",
        "\u{2028}",
        "`",
        "``",
        "```",
        "|",
        "<b>",
        "</table>",
        "<!--",
        "]]>",
        "&lt;",
        "&",
        "\"",
        "'",
        "[a](b)",
        "![",
        "**",
        "_",
        "~~",
        "- ",
        "> ",
        "1. ",
        "\\",
        "---",
        "a",
        " ",
        "é",
        "日",
    ];
    proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(PARTS).prop_map(str::to_owned),
            any::<char>().prop_map(String::from)
        ],
        1..8,
    )
    .prop_map(|parts| format!("w{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn foreign_text_cannot_act_in_any_format(text in hostile()) {
        check(&text);
    }
}

#[test]
fn known_attacks_cannot_act_in_any_format() {
    let attacks = [
        "node\u{1b}[2J\u{1b}]0;title\u{7}",
        "reason with \u{fffe}",
        "name | cell\n\n# heading [link](javascript:x) `code` <script>alert(1)</script>",
        "right\u{202e}tfel",
        "over\rwritten",
    ];
    attacks.into_iter().for_each(check);
}
