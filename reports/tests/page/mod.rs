//! The web page of a stored run: graphs, values and files of findings.

mod charts;
pub mod stored;

use std::{fs, path::Path};

use twinfer_case::Event;
use twinfer_onnx::{Tensor, TensorData};
use twinfer_reports::{Report, RunFolder, WebPage};

use crate::{
    fixture,
    page::stored::{deconvolution, named, with_finding},
};

/// The page of a run whose first finding is stored in `run`.
fn page(run: &Path) -> String {
    let report = Report::of(&fixture::events());
    let folder = RunFolder { path: run.to_owned(), from_page: "../runs/0001".into() };
    WebPage { folder: Some(&folder), ..WebPage::new(&report) }.render()
}

/// The element of the first finding that is stored, one tag a line, without the path of the run.
fn first_evidence(page: &str, run: &Path) -> String {
    let start = page.find("<div class=\"picture\">").unwrap();
    let end = start + page[start..].find("</details>").unwrap();
    page[start..end].replace("><", ">\n<").replace(run.to_str().unwrap(), "RUN")
}

fn floats(shape: &[usize], elements: &[f32]) -> Tensor {
    Tensor::new(shape.to_vec(), TensorData::Float(elements.to_vec())).unwrap()
}

#[test]
fn page_shows_graph_values_and_files_of_a_finding() {
    let run = tempfile::tempdir().unwrap();
    let (expected, actual) =
        (floats(&[1, 1, 3], &[1.0, 2.0, 0.1]), floats(&[1, 1, 3], &[1.0, 5.0, f32::NAN]));
    with_finding(run.path(), &deconvolution("x", "w", "y"), &expected, &actual);
    insta::assert_snapshot!(first_evidence(&page(run.path()), run.path()));
}

#[test]
fn names_in_a_model_cannot_act_in_the_page() {
    let attack = "x\"><script>alert(1)</script><svg onload='alert(2)'>\u{1b}[2J\u{202e}";
    let tensor = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let pages = ["plain", attack].map(|name| {
        let run = tempfile::tempdir().unwrap();
        with_finding(run.path(), &named(name), &tensor, &tensor);
        page(run.path())
    });
    assert_eq!(pages[0].matches('<').count(), pages[1].matches('<').count(), "{}", pages[1]);
    assert!(pages[1].contains("x&quot;&gt;&lt;script&gt;"), "{}", pages[1]);
    assert!(!pages[1].contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn graph_that_breaks_a_rule_has_the_types_of_its_inputs() {
    let run = tempfile::tempdir().unwrap();
    let tensor = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let mut graph = deconvolution("x", "w", "y");
    graph.nodes[1].inputs = vec!["absent".to_owned()];
    with_finding(run.path(), &graph, &tensor, &tensor);
    let page = page(run.path());
    assert!(page.contains(">x f32[1,1,3]</text>") && page.contains(">t</text>"), "{page}");
}

#[test]
fn large_outputs_are_drawn_in_part() {
    let run = tempfile::tempdir().unwrap();
    let expected = floats(&[1, 1, 5000], &vec![0.0; 5000]);
    let mut given = vec![0.0; 5000];
    given[4000] = 1.0;
    with_finding(run.path(), &deconvolution("x", "w", "y"), &expected, &floats(&[1, 1, 5000], &given));
    let page = page(run.path());
    assert!(page.contains("1 of 5,000 elements differ; the elements 4,000 to 4,255 are shown"), "{page}");
    assert_eq!(page.matches("<td class=\"h").count(), 3 * 256);
}

#[test]
fn findings_whose_files_are_damaged_are_shown_without_them() {
    let run = tempfile::tempdir().unwrap();
    let tensor = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let folder = with_finding(run.path(), &deconvolution("x", "w", "y"), &tensor, &tensor);
    for name in ["case.json", "model.onnx", "test_data_set_0/output_0.pb"] {
        fs::write(folder.join(name), b"\xff\xfe no such format").unwrap();
    }
    fs::write(folder.with_extension("observed.json"), "{").unwrap();
    let page = page(run.path());
    assert!(!page.contains("<div class=\"picture\">") && page.contains("twinfer replay"), "{page}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn files_with_changed_bytes_give_a_page(
        place in 0_usize..4,
        changes in proptest::collection::vec((proptest::prelude::any::<proptest::sample::Index>(), 32_u8..127), 1..4),
    ) {
        let run = tempfile::tempdir().unwrap();
        let tensor = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
        let folder = with_finding(run.path(), &deconvolution("x", "w", "y"), &tensor, &tensor);
        let observed = format!("{}.observed.json", folder.display()).into();
        let files = ["case.json", "model.onnx", "test_data_set_0/output_0.pb"].map(|name| folder.join(name));
        let path = [&files[..], &[observed]].concat().swap_remove(place);
        let mut bytes = fs::read(&path).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fs::write(&path, bytes).unwrap();
        if place == 1 {
            fs::remove_file(&files[0]).unwrap();
        }
        proptest::prop_assert!(page(run.path()).contains("twinfer replay"));
    }
}

#[test]
fn name_of_a_finding_leads_to_no_other_folder() {
    let (run, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tensor = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let folder = with_finding(other.path(), &deconvolution("x", "w", "y"), &tensor, &tensor);
    let mut events = fixture::events();
    for event in &mut events {
        if let Event::FindingRecorded { slug, .. } = event {
            *slug = folder.to_string_lossy().into_owned();
        }
    }
    let report = Report::of(&events);
    let folder = RunFolder::around_page(run.path());
    let page = WebPage { folder: Some(&folder), ..WebPage::new(&report) }.render();
    assert!(!page.contains("class=\"picture\"") && !page.contains("twinfer replay"), "{page}");
}

#[test]
fn page_allows_nothing_but_its_own_style_and_script() {
    let page = WebPage::new(&Report::of(&fixture::events())).render();
    let policy =
        page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (1, 1));
    for forbidden in [" style=", " onclick=", "http://", "https://", "<link", "<img", "<iframe"] {
        assert!(!page.contains(forbidden), "{forbidden} in {page}");
    }
}

#[test]
fn page_uses_no_word_that_only_developers_know() {
    let page = WebPage::new(&Report::of(&fixture::events())).render().to_lowercase();
    assert!(!page.contains("vacuous") && !page.contains("grid step"), "{page}");
}
