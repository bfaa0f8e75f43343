//! The pages of a site in a browser.

use std::{fs, path::PathBuf, time::Instant};

use serde_json::json;
use tempfile::TempDir;
use twinfer_case::{CaseRecord, Finding};
use twinfer_reports::{Row, RunTally, Site};
use twinfer_store::{Journal, RunDirectory};

use super::{chromium::Chromium, colors};
use crate::fixture;

/// The pages of a site on disk.
struct Pages {
    folder: TempDir,
}

impl Pages {
    fn all(&self) -> Vec<PathBuf> {
        ["index.html", "findings.html", "support.html"].map(|name| self.folder.path().join(name)).into()
    }

    fn findings(&self) -> PathBuf {
        self.folder.path().join("findings.html")
    }
}

/// The bugs that a run found, by name.
fn bugs(number: usize) -> Vec<Finding> {
    let bug = |index: usize| {
        let mut finding = fixture::findings().remove(index % 3);
        finding.signature.error = Some(format!("E{index}"));
        finding.graph = format!("Conv(strides=[{}]) x=f32[1,1,{index}] w:f32[1,1,3]", index % 7);
        finding
    };
    (0..number).map(bug).collect()
}

/// The pages about a run that found so many bugs, a case each.
fn pages(number: usize) -> Pages {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("a run");
    let (directory, bugs) = (RunDirectory::create(&run).unwrap(), bugs(number));
    let mut journal = Journal::create(&directory, &fixture::run()).unwrap();
    let mut rows = Vec::new();
    for (index, bug) in bugs.iter().enumerate() {
        let slug = bug.signature.slug();
        let mut record: CaseRecord = fixture::records().remove(1);
        record.index = index as u64;
        record.provenance = None;
        record.case = serde_json::from_value(format!("{index:064x}").into()).unwrap();
        record.findings = vec![slug.clone()];
        journal.append(&record).unwrap();
        let finding = run.join("findings").join(&slug);
        fs::create_dir_all(&finding).unwrap();
        fs::write(finding.join("finding.json"), serde_json::to_string(bug).unwrap()).unwrap();
        if index < 40 {
            let attribute = "scales of the weights' QuantizeLinear nodes".to_owned();
            rows.push(Row { subject: "Conv".to_owned(), attribute, value: format!("number {index}") });
        }
    }
    journal.flush().unwrap();
    let mut site = Site::new(rows);
    let of_case = |record: &CaseRecord| {
        Some(u16::try_from(record.index).ok().filter(|row| *row < 40).into_iter().collect())
    };
    let tally = RunTally::read(&run, &mut { of_case }).unwrap();
    assert!(site.add(tally.with_report("a run/report.html".as_ref())));
    for (name, page) in site.pages() {
        fs::write(folder.path().join(name), page).unwrap();
    }
    Pages { folder }
}

/// The bugs that the page lists.
const SHOWN: &str = "[...document.querySelector('#findings').tBodies[0].rows].filter(e => !e.hidden).length";

#[test]
fn pages_fit_screens_of_any_width() {
    let Some(mut browser) = Chromium::start() else { return };
    for page in pages(20).all() {
        for width in [320, 390, 768, 1440, 2560, 3840] {
            browser.open(&page, "", width);
            browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })");
            let needed = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.value(needed), 0, "{} scrolls sideways at {width} pixels", page.display());
        }
    }
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

#[test]
fn pages_can_be_read_in_dark_and_in_light() {
    let Some(mut browser) = Chromium::start() else { return };
    for page in pages(20).all() {
        colors::assert_readable(&mut browser, &page);
    }
}

#[test]
fn keyboard_reaches_pages_search_and_tables() {
    let Some(mut browser) = Chromium::start() else { return };
    let pages = pages(20);
    browser.open(&pages.findings(), "", 390);
    let focused = "(() => { const e = document.activeElement; return e.getAttribute('href') ?? e.id + e.className; })()";
    let mut reached = Vec::new();
    for _ in 0..8 {
        browser.press("Tab", 9, "");
        reached.push(browser.value(focused));
    }
    assert_eq!(reached[..3], [json!("index.html"), json!("findings.html"), json!("support.html")]);
    assert!(reached.contains(&json!("wide")), "a table that scrolls sideways takes the focus: {reached:?}");
    let search = browser.value("document.querySelector('[type=search]').labels.length");
    assert_eq!(search, 1);
    browser.value("document.querySelector('[type=search]').focus()");
    browser.type_text("E7 nothing");
    assert_eq!(browser.value(SHOWN), 0);
    assert_eq!(browser.value("document.querySelector('.search output').textContent"), "0 of 20 rows");
    let unnamed = "[...document.querySelectorAll('input, [role=region]')].filter(e => !(e.labels?.length || e.ariaLabel)).length";
    assert_eq!(browser.value(unnamed), 0);
}

#[test]
fn names_of_runs_lead_to_their_reports() {
    let Some(mut browser) = Chromium::start() else { return };
    for page in &pages(2).all()[..2] {
        browser.open(page, "", 1440);
        let target =
            browser.value("document.querySelector('td a:has(code), th a:has(code)').getAttribute('href')");
        assert_eq!(target, "a%20run/report.html");
    }
}

#[test]
fn a_thousand_bugs_are_filtered() {
    let Some(mut browser) = Chromium::start() else { return };
    let pages = pages(1000);
    let opened = Instant::now();
    browser.open(&pages.findings(), "", 1440);
    let opened = opened.elapsed();
    assert_eq!(browser.value(SHOWN), 1000);
    let filter = "(() => { const text = document.querySelector('[type=search]'); const begun = performance.now(); \
                  text.value = 'strides=[3]'; text.dispatchEvent(new Event('input', { bubbles: true })); \
                  document.body.offsetHeight; return performance.now() - begun; })()";
    let filtered = browser.value(filter).as_f64().unwrap();
    println!("1,000 bugs: opened in {opened:?}, filtered and laid out in {filtered:.1} ms");
    let shown = browser.value(SHOWN);
    assert!((100..200).contains(&shown.as_u64().unwrap()), "{shown}");
}
