//! Charts over the cases of a run, and over the attributes that they had.

use twinfer_case::{CaseRecord, Event};
use twinfer_reports::{
    AttributeCoverage, CoveredAttribute, CoveredValue, Report, Reporter, Span, Timeline, WebPage,
};

use crate::fixture;

/// A timeline of cases that agree, diverge and are not judged in turn, as the three of the fixture.
fn timeline(cases: u64) -> Timeline {
    let records = fixture::records();
    let mut timeline = Timeline::default();
    for index in 0..cases {
        let mut record: CaseRecord = records[(index % 3) as usize].clone();
        record.index = index;
        record.findings =
            if index % 100 == 1 { vec![format!("finding {}", index / 100)] } else { Vec::new() };
        timeline.on_event(&Event::CaseFinished { record });
    }
    timeline
}

/// The section of a page with this heading, one tag a line.
fn section(page: &str, id: &str) -> String {
    let start = page.find(&format!("<section aria-labelledby=\"{id}\"")).unwrap();
    let end = start + page[start..].find("</section>").unwrap();
    page[start..end].replace("><", ">\n<")
}

#[test]
fn spans_cover_all_cases_and_stay_few() {
    for cases in [0, 1, 96, 97, 100_000] {
        let timeline = timeline(cases);
        let spans = timeline.spans();
        assert!(spans.len() <= 96, "{}", spans.len());
        assert_eq!(spans.iter().map(|span| span.cases()).sum::<u64>(), cases);
        assert_eq!((timeline.end(), timeline.discoveries().len() as u64), (cases, (cases + 98) / 100));
    }
    let three = timeline(3);
    let counts = [(0, 1, 0), (1, 0, 0), (0, 0, 1)];
    let spans = counts.map(|(differs, agrees, not_judged)| Span { differs, agrees, not_judged });
    assert_eq!(three.spans(), spans);
}

#[test]
fn far_numbers_of_cases_take_no_memory() {
    let mut timeline = timeline(3);
    let record = CaseRecord { index: u64::MAX, ..fixture::records().remove(0) };
    timeline.on_event(&Event::CaseFinished { record });
    assert!(timeline.spans().len() <= 96);
    let report = Report::of(&fixture::events());
    WebPage { timeline: Some(&timeline), ..WebPage::new(&report) }.render();
}

#[test]
fn page_shows_the_course_of_the_run() {
    let (report, timeline) = (Report::of(&fixture::events()), timeline(400));
    let page = WebPage { timeline: Some(&timeline), ..WebPage::new(&report) }.render();
    insta::assert_snapshot!(section(&page, "course"));
}

#[test]
fn page_shows_how_often_attributes_have_values() {
    let value =
        |name: &str, operators, differing| CoveredValue { name: name.to_owned(), operators, differing };
    let values = vec![value("1", 1200, 30), value("several", 34, 0), value("<depthwise>", 0, 0)];
    let attributes = vec![CoveredAttribute { name: "group".to_owned(), values }];
    let coverage =
        AttributeCoverage { cases: 1000, operators: 1234, attributes, pairs: 7, possible_pairs: 9 };
    let report = Report::of(&fixture::events());
    let page = WebPage { coverage: Some(&coverage), ..WebPage::new(&report) }.render();
    insta::assert_snapshot!(section(&page, "space"));
}

#[test]
fn page_says_if_attributes_were_counted_in_some_cases_only() {
    let mut report = Report::of(&fixture::events());
    report.summary.cases = 50_000;
    let coverage = AttributeCoverage { cases: 20_000, operators: 9, ..AttributeCoverage::default() };
    let page = WebPage { coverage: Some(&coverage), ..WebPage::new(&report) }.render();
    assert!(
        section(&page, "space").contains("The first 20,000 of 50,000 cases with 9 convolutions"),
        "{page}"
    );
}
