//! The `JUnit` document against what Jenkins validates and GitLab reads.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod fixture;

use std::{collections::BTreeSet, fs};

use quick_xml::{Reader, events::BytesStart, events::Event};
use twinfer_case::{Stage, Summary, Timing};
use twinfer_reports::{Format, Report, RunFolder};

/// An element with the attributes that it must and may have, and the elements that may be in it.
struct Element {
    name: &'static str,
    required: &'static str,
    optional: &'static str,
    children: &'static str,
}

/// What the schema `junit-10.xsd` of Jenkins' xUnit plugin allows.
const SCHEMA: &[Element] = &[
    Element {
        name: "testsuites",
        required: "",
        optional: "name time tests failures errors",
        children: "testsuite",
    },
    Element {
        name: "testsuite",
        required: "name tests failures errors",
        optional: "group time skipped timestamp hostname id package file log url",
        children: "testsuite properties testcase system-out system-err",
    },
    Element {
        name: "testcase",
        required: "name",
        optional: "time classname group",
        children: "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err",
    },
    Element { name: "properties", required: "", optional: "", children: "property" },
    Element { name: "property", required: "name value", optional: "", children: "" },
    Element { name: "failure", required: "", optional: "type message", children: "" },
    Element { name: "error", required: "", optional: "type message", children: "" },
    Element { name: "skipped", required: "", optional: "type message", children: "" },
    Element { name: "system-out", required: "", optional: "", children: "" },
    Element { name: "system-err", required: "", optional: "", children: "" },
];

fn allowed(name: &str) -> &'static Element {
    SCHEMA.iter().find(|element| element.name == name).unwrap_or_else(|| panic!("no element {name}"))
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

fn name(start: &BytesStart) -> String {
    String::from_utf8(start.name().as_ref().to_vec()).unwrap()
}

fn attributes(start: &BytesStart) -> Vec<(String, String)> {
    let attribute = |attribute: quick_xml::events::attributes::Attribute| {
        let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
        (key, String::from_utf8(attribute.value.to_vec()).unwrap())
    };
    start.attributes().map(|one| attribute(one.unwrap())).collect()
}

/// Checks an element against the schema, and returns the class and the name of a test.
fn check(start: &BytesStart, parent: Option<&str>) -> Option<(String, String)> {
    let element = name(start);
    let rules = allowed(&element);
    if let Some(parent) = parent {
        assert!(has(allowed(parent).children, &element), "{element} in {parent}");
    } else {
        assert_eq!(element, "testsuites");
    }
    let attributes = attributes(start);
    for (key, value) in &attributes {
        assert!(has(rules.required, key) || has(rules.optional, key), "{element} has {key}");
        let is_number = || value.parse::<f64>().is_ok_and(|seconds| seconds < 1000.0 || !value.contains('e'));
        assert!(key != "time" || is_number(), "{element} has time {value}");
    }
    for key in rules.required.split_whitespace() {
        assert!(attributes.iter().any(|(present, _)| present == key), "{element} lacks {key}");
    }
    let value =
        |key: &str| attributes.iter().find(|(present, _)| present == key).map(|(_, value)| value.clone());
    (element == "testcase").then(|| (value("classname").unwrap_or_default(), value("name").unwrap()))
}

/// The classes and names of the tests of a document that satisfies the schema.
fn tests(document: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(document);
    let (mut open, mut tests): (Vec<String>, Vec<_>) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                tests.extend(check(&start, open.last().map(String::as_str)));
                open.push(name(&start));
            }
            Event::Empty(start) => tests.extend(check(&start, open.last().map(String::as_str))),
            Event::End(_) => drop(open.pop()),
            Event::Eof => return tests,
            _ => {}
        }
    }
}

#[test]
fn document_satisfies_the_schema_of_jenkins() {
    let of_all = [
        fixture::events(),
        fixture::escalation_events(),
        fixture::poison_events(),
        fixture::left_out_events(),
    ];
    for events in of_all {
        assert!(!tests(&Format::Junit.render(&Report::of(&events))).is_empty());
    }
}

/// GitLab ignores a test whose class and name another one has.
#[test]
fn no_two_tests_have_the_same_class_and_name() {
    let tests = tests(&Format::Junit.render(&Report::of(&fixture::events())));
    assert!(tests.iter().all(|(class, _)| !class.is_empty()), "{tests:?}");
    let distinct: BTreeSet<_> = tests.iter().collect();
    assert_eq!(distinct.len(), tests.len(), "{tests:?}");
}

#[test]
fn files_of_new_findings_are_attached() {
    let run = tempfile::tempdir().unwrap();
    let findings = fixture::findings();
    for finding in &findings {
        let folder = run.path().join("findings").join(finding.signature.slug());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("model.onnx"), "").unwrap();
    }
    let report = Report::of(&fixture::events());
    let document = Format::Junit.render_run(&report, &RunFolder::around_page(run.path()));
    assert!(!tests(&document).is_empty());
    // the second finding was known before
    for (finding, is_attached) in findings.iter().zip([true, false, true]) {
        let model = run.path().join("findings").join(finding.signature.slug()).join("model.onnx");
        let attachment = format!("[[ATTACHMENT|{}]]", model.display());
        assert_eq!(document.contains(&attachment), is_attached, "{document}");
    }
}

/// The elements of a document called `element`, each with its name and its time in seconds.
fn times(document: &str, element: &str) -> Vec<(String, f64)> {
    let mut reader = Reader::from_str(document);
    let mut times = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) if name(&start) == element => {
                let attributes = attributes(&start);
                let value = |key: &str| {
                    attributes.iter().find(|(present, _)| present == key).map(|(_, value)| value.as_str())
                };
                let seconds = value("time").map_or(0.0, |time| time.parse().unwrap());
                times.push((value("name").unwrap().to_owned(), seconds));
            }
            Event::Eof => return times,
            _ => {}
        }
    }
}

#[test]
fn times_of_tests_add_up_to_that_of_the_suite() {
    let mut report = Report::of(&fixture::events());
    let slugs = fixture::findings().into_iter().map(|finding| finding.signature.slug()).collect::<Vec<_>>();
    report.summary = Summary::new(&fixture::run().variants);
    for mut case in fixture::records() {
        case.findings.clone_from(&slugs);
        for record in &mut case.variants {
            record.timings = vec![Timing { stage: Stage::Execute, micros: 3_000_000 }];
        }
        report.summary.record(&case);
    }
    let document = Format::Junit.render(&report);
    let of_tests = times(&document, "testcase");
    let shown = of_tests.iter().filter(|(name, seconds)| slugs.contains(name) && *seconds > 0.0);
    assert_eq!(shown.map(|(_, seconds)| *seconds).collect::<Vec<_>>(), [1.0, 1.0], "{document}");
    let sum = |times: &[(String, f64)]| times.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let of_suites = sum(&times(&document, "testsuite"));
    assert!((sum(&of_tests) - of_suites).abs() < 1e-3, "{document}");
}

#[test]
fn impossible_times_of_stored_runs_are_left_out() {
    let mut report = Report::of(&fixture::events());
    for (seconds, written) in [(2.5, 2.5), (1e300, 0.0), (-1.0, 0.0), (f64::NAN, 0.0)] {
        report.summary.seconds = seconds;
        let document = Format::Junit.render(&report);
        let [(_, time)] = &times(&document, "testsuites")[..] else { panic!("{document}") };
        assert_eq!(time.to_bits(), f64::to_bits(written), "{seconds}");
    }
}
