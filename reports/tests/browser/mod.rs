//! The web page in a browser: what its script does, and how it fits screens.

mod chromium;
mod colors;
mod site;

use std::{fs, path::PathBuf, time::Instant};

use serde_json::json;
use twinfer_case::FindingCount;
use twinfer_onnx::{Tensor, TensorData};
use twinfer_reports::{Report, RunFolder, Timeline, WebPage};

use crate::{
    fixture,
    page::stored::{deconvolution, with_finding},
};
use chromium::Chromium;

/// The findings that the page lists, by name.
const SHOWN: &str =
    "[...document.querySelectorAll('#findings > tbody')].filter(e => !e.hidden).map(e => e.id)";

/// A page on disk.
struct Stored {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// The page of the fixture, whose first finding is stored, with more findings up to this number.
fn stored(findings: usize) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let floats =
        |elements: Vec<f32>| Tensor::new(vec![1, 1, elements.len()], TensorData::Float(elements)).unwrap();
    let (expected, actual) = (floats(vec![0.25; 40]), floats(vec![0.5; 40]));
    with_finding(folder.path(), &deconvolution("x", "w", "y"), &expected, &actual);
    let mut report = Report::of(&fixture::events());
    for index in report.findings.len()..findings {
        let mut found = report.findings[index % 3].clone();
        found.slug = format!("trt-rtx-more-{index:08x}");
        found.finding.graph = format!("Conv(strides=[{}]) x=f32[1,1,{index}] w:f32[1,1,3]", index % 7);
        report.summary.findings.push(FindingCount { slug: found.slug.clone(), cases: index as u64 });
        report.findings.push(found);
    }
    let run = RunFolder::around_page(folder.path());
    let page = WebPage {
        folder: Some(&run),
        command: Some("twinfer fuzz --seed 7"),
        timeline: Some(&Timeline::default()),
        ..WebPage::new(&report)
    };
    let path = folder.path().join("page.html");
    fs::write(&path, page.render()).unwrap();
    Stored { path, _folder: folder }
}

/// The identifier of the fixture's finding at this place.
fn finding(place: usize) -> String {
    format!("finding-{}", fixture::findings()[place].signature.slug())
}

#[test]
fn search_and_filters_select_findings() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(3);
    browser.open(&page.path, "", 1440);
    assert_eq!(browser.value(&format!("{SHOWN}.length")), 3);
    browser.value("document.querySelector('[name=text]').focus()");
    browser.type_text("swapped Stride");
    assert_eq!(browser.value(SHOWN), json!([finding(1)]));
    assert_eq!(browser.value("document.getElementById('count').textContent"), "1 of 3 findings");
    assert_eq!(browser.value("location.hash"), "#text=swapped+Stride");
    browser.type_text(" nonsense");
    assert_eq!(browser.value(SHOWN), json!([]));
    assert_eq!(browser.value("document.getElementById('none').hidden"), false);
    browser
        .value("document.querySelector('[type=reset]').click(), new Promise(done => setTimeout(done, 50))");
    assert_eq!(browser.value(&format!("{SHOWN}.length")), 3);
    assert_eq!(browser.value("location.hash"), "");
    let choose = "const kind = document.querySelector('[name=kind]'); kind.value = 'rejects-valid'; \
                  kind.dispatchEvent(new Event('input', { bubbles: true }))";
    browser.value(&format!("{{ {choose} }}"));
    assert_eq!(browser.value(SHOWN), json!([finding(0)]));
    assert_eq!(browser.value("location.hash"), "#kind=rejects-valid");
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

#[test]
fn address_selects_findings_and_opens_one() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(300);
    let filters =
        "document.querySelector('[name=status]').value + document.querySelector('[name=backend]').value";
    browser.open(&page.path, "#status=known&backend=ort%3Acpu", 1440);
    assert_eq!(browser.value(filters), "knownort:cpu");
    assert_eq!(browser.value(&format!("{SHOWN}.length")), 100);
    browser.open(&page.path, "#status=none&unknown=1", 1440);
    assert_eq!((browser.value(filters), browser.value(&format!("{SHOWN}.length"))), (json!(""), json!(300)));
    browser.open(&page.path, &format!("#{}", finding(1)), 1440);
    let opened = "[...document.querySelectorAll('#findings details[open]')].map(e => e.closest('tbody').id)";
    assert_eq!(browser.value(opened), json!([finding(1)]));
    let top = browser.value("document.querySelector('tbody:target').getBoundingClientRect().top");
    assert!(top.as_f64().unwrap().abs() < 900.0, "{top}");
    browser.press("Tab", 9, "");
    assert_eq!(browser.value("document.activeElement.closest('tbody').id"), finding(1));
    for hostile in ["#finding-%", "#finding-%00", "#finding-absent", "#text=%ff&kind=%3Cscript%3E", "#%%%"] {
        browser.open(&page.path, hostile, 1440);
        let shown = browser.value(&format!("{SHOWN}.length"));
        assert!(shown == 300 || hostile.contains("text"), "{hostile}: {shown}");
    }
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

#[test]
fn link_to_a_filtered_finding_shows_it() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(3);
    browser.open(&page.path, "#kind=rejects-valid", 1440);
    let go = format!("location.hash = '{}', new Promise(done => setTimeout(done, 50))", finding(1));
    browser.value(&go);
    assert_eq!(browser.value(&format!("{SHOWN}.includes('{}')", finding(1))), true);
    assert_eq!(
        browser.value(&format!("document.getElementById('{}').querySelector('details').open", finding(1))),
        true
    );
}

#[test]
fn keyboard_opens_a_finding() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(3);
    browser.open(&page.path, "", 1440);
    browser.value("document.querySelector('#findings summary').focus()");
    browser.press("Enter", 13, "\r");
    assert_eq!(browser.value("document.querySelector('#findings details').open"), true);
    let unnamed = "[...document.querySelectorAll('input, select, button')].filter(e => !(e.labels?.length || e.textContent)).length";
    assert_eq!(browser.value(unnamed), 0);
}

#[test]
fn page_fits_screens_of_any_width() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(20);
    for width in [320, 390, 768, 1024, 1440, 3840] {
        browser.open(&page.path, &format!("#{}", finding(0)), width);
        browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })");
        let needed = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.value(needed), 0, "the page scrolls sideways at {width} pixels");
        let name =
            browser.value("document.querySelector('#findings tbody th').getBoundingClientRect().width");
        assert!(name.as_f64().unwrap() > 200.0, "names are squeezed to {name} of {width} pixels");
    }
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

#[test]
fn page_can_be_read_in_dark_and_in_light() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(20);
    colors::assert_readable(&mut browser, &page.path);
}

#[test]
fn page_without_its_script_lists_everything() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(3);
    browser.set_scripts(false);
    browser.open(&page.path, "", 1440);
    // the protocol evaluates expressions only where scripts run
    browser.set_scripts(true);
    assert_eq!(browser.value(&format!("{SHOWN}.length")), 3);
    assert_eq!(browser.value("document.getElementById('filters').hidden"), true);
    let facts = browser.value("document.querySelector('#findings .facts').textContent");
    assert!(facts.as_str().unwrap().contains("dilation is not supported"), "{facts}");
}

#[test]
fn inline_code_of_others_does_not_run() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(3);
    let text = fs::read_to_string(&page.path).unwrap();
    let attack = "<script>window.attacked = 1</script><img src=x onerror=\"window.attacked = 1\"><p style=\"color: red\">";
    fs::write(&page.path, text.replace("<main>", &format!("<main>{attack}"))).unwrap();
    browser.open(&page.path, "", 1440);
    assert_eq!(browser.value("typeof window.attacked"), "undefined");
    assert!(!browser.errors.is_empty(), "the policy reports what it refuses");
}

#[test]
fn a_thousand_findings_are_filtered() {
    let Some(mut browser) = Chromium::start() else { return };
    let page = stored(1000);
    let opened = Instant::now();
    browser.open(&page.path, "", 1440);
    let opened = opened.elapsed();
    let filter = "(() => { const text = document.querySelector('[name=text]'); const begun = performance.now(); \
                  text.value = 'strides=[3]'; text.dispatchEvent(new Event('input', { bubbles: true })); \
                  document.body.offsetHeight; return performance.now() - begun; })()";
    let filtered = browser.value(filter).as_f64().unwrap();
    let size = fs::metadata(&page.path).unwrap().len();
    println!(
        "1,000 findings in {size} bytes: opened in {opened:?}, filtered and laid out in {filtered:.1} ms"
    );
    let shown = browser.value(&format!("{SHOWN}.length"));
    assert!((100..200).contains(&shown.as_u64().unwrap()), "{shown}");
}
