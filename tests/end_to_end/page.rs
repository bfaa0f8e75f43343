//! Reports that are written to files, and the web page in a run directory.

use std::{fs, path::Path};

use crate::{
    fuzz::{findings, fuzz},
    twinfer,
};

/// A campaign in which ONNX Runtime diverges on some cases.
const CAMPAIGN: [&str; 9] =
    ["--backends", "ort:cpu", "--family", "deconv,invalid", "--seed", "20", "--no-minimize", "--cases", "80"];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files that a page links to, as it names them.
fn linked(page: &str) -> Vec<String> {
    let links = page.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| !link.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn fuzz_leaves_a_page_whose_links_lead_to_files() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &CAMPAIGN);
    let page = out.path().join("report.html");
    assert!(outcome.stderr.contains(&format!("report as a page: {}", page.display())), "{}", outcome.shown());
    let found = findings(out.path());
    let page = fs::read_to_string(page).unwrap();
    let links = linked(&page);
    assert!(!found.is_empty() && links.len() > 3 * found.len(), "{links:?}");
    assert!(links.iter().all(|link| out.path().join(link).is_file()), "{links:?}");
    assert!(found.iter().all(|name| page.contains(&format!("id=\"finding-{name}\""))));
    for part in
        ["Minimal graph", "The course of the run", "What was generated", "twinfer fuzz --backends ort:cpu"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn report_is_written_to_a_file_in_every_format() {
    let (out, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fuzz(out.path(), &CAMPAIGN);
    for format in ["terminal", "json", "junit", "markdown"] {
        let file = elsewhere.path().join(format);
        let command = ["report", text(out.path()), "--format", format];
        let written = twinfer(&[&command[..], &["--output", text(&file)]].concat()).run();
        assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{}", written.shown());
        assert_eq!(fs::read_to_string(file).unwrap(), twinfer(&command).run().stdout);
    }
    let file = elsewhere.path().join("page.html");
    twinfer(&["report", text(out.path()), "--format", "html", "--output", text(&file)]).run();
    let links = linked(&fs::read_to_string(file).unwrap());
    assert!(!links.is_empty() && links.iter().all(|link| link.starts_with("..")), "{links:?}");
    assert!(links.iter().all(|link| elsewhere.path().join(link).is_file()), "{links:?}");
    let absent = elsewhere.path().join("absent/page.html");
    let refused = twinfer(&["report", text(out.path()), "--output", text(&absent)]).run();
    assert_eq!(refused.code, Some(3), "{}", refused.shown());
    assert!(refused.stderr.contains("give another --output"), "{}", refused.stderr);
}

#[test]
fn check_with_a_run_directory_leaves_a_page() {
    let run = tempfile::tempdir().unwrap();
    let out = run.path().join("run");
    let case = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2");
    twinfer(&["check", text(&case), "--backends", "ort:cpu", "--out", text(&out)]).run();
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("Results by backend"));
}

#[test]
fn explain_writes_the_page_of_the_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let name = "ort-cpu-execute-wrong-values-conv-dequantizelinear-quantizelinear-bias-computed-weights-float16-fcb319df";
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/findings").join(name).join("case.json");
    twinfer(&["check", text(&case), "--backends", "ort:cpu", "--out", text(&run)]).run();
    let page = run.join("report.html");
    fs::write(&page, "from before").unwrap();
    let beside: Vec<_> =
        fs::read_dir(run.join("findings")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(beside.len(), 4, "two findings and their recordings");
    let all: Vec<_> = ["explain"].into_iter().chain(beside.iter().map(|path| text(path))).collect();
    let explained = twinfer(&all).run();
    assert!(matches!(explained.code, Some(0 | 1)), "{}", explained.shown());
    assert!(explained.stdout.contains("trigger: "), "{}", explained.shown());
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Results by backend") && !page.contains("from before"), "{page}");
}
