//! `twinfer site`: two versions of TensorRT-RTX on the same cases.

use std::{collections::BTreeSet, fs, path::Path};

use twinfer_tests::{golden, no_findings};

use crate::twinfer;

fn fuzz(version: &str, out: &Path) {
    let backends = format!("golden,trt-rtx,version={version}");
    let run = ["fuzz", "--backends", &backends, "--family", "deconv", "--seed", "5", "--cases", "24"];
    let options = ["--no-minimize", "--known", no_findings(), "--out", out.to_str().unwrap()];
    let outcome = twinfer(&[&run[..], &options].concat()).run();
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
}

/// The targets of the links of a page, without those to its own anchors.
fn links(page: &str) -> BTreeSet<&str> {
    page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn site_compares_versions_on_the_cases_that_both_ran() {
    let folder = tempfile::tempdir().unwrap();
    let runs = ["1.4", "1.7"].map(|version| folder.path().join(version));
    fuzz("1.4", &runs[0]);
    fuzz("1.7", &runs[1]);
    let out = folder.path().join("site");
    let [earlier, later] = runs.each_ref().map(|run| run.to_str().unwrap());
    // a run that is given twice counts once, and what is no run is left out
    let runs = ["site", earlier, later, earlier, folder.path().to_str().unwrap()];
    let site = twinfer(&[&runs[..], &["--out", out.to_str().unwrap()]].concat()).run();
    assert_eq!(site.code, Some(0), "{}", site.shown());
    assert!(
        site.stderr.contains("is the same run") && site.stderr.contains("holds no run"),
        "{}",
        site.shown()
    );
    let page = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let support = page("support.html");
    assert!(support.contains("24 cases that ran on both"), "{support}");
    // every case of the family has a ConvTranspose, and could be generated again
    assert!(support.contains("ConvTranspose") && support.contains("largest stride"), "{support}");
    let runs = page("index.html");
    assert!(!runs.contains("not in the support map") && runs.contains("2 runs with 48 cases"), "{runs}");
    assert_eq!(runs.matches("/report.html\"").count(), 2, "the names of runs lead to their reports: {runs}");
    // without a GPU that it supports, TensorRT-RTX only builds
    assert_eq!(runs.contains("(built, not executed)"), support.contains("(built, not executed)"));
    for name in ["index.html", "findings.html", "support.html"] {
        let page_text = page(name);
        for link in links(&page_text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            assert!(out.join(file).exists(), "{name} links to {link}");
            assert!(anchor.is_empty() || page(file).contains(&format!("id=\"{anchor}\"")), "{name}: {link}");
        }
    }
    let again = twinfer(&["site", earlier, "--out", out.to_str().unwrap()]).run();
    assert_eq!(again.code, Some(2), "the folder is not empty: {}", again.shown());
}

#[test]
fn shards_count_once_beside_the_run_that_was_merged_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let shards = [("0/2", path("0")), ("1/2", path("1"))];
    for (shard, out) in &shards {
        let run =
            ["fuzz", "--backends", "ort:cpu,opt=off", "--family", "conv", "--cases", "3", "--shard", shard];
        let outcome = twinfer(&[&run[..], &["--known", no_findings(), "--out", out]].concat()).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    }
    let [(_, zero), (_, one)] = &shards;
    twinfer(&["merge", zero, one, "--out", &path("merged")]).run();
    let site = |runs: &[&str], out: &str| {
        let site = twinfer(&[&["site"], runs, &["--out", &path(out)]].concat()).run();
        (site.stderr, fs::read_to_string(folder.path().join(out).join("index.html")).unwrap())
    };
    let (notes, page) = site(&[zero, &path("merged"), one], "site");
    assert_eq!(
        notes.matches(&format!("is part of {}: it counts there", path("merged"))).count(),
        2,
        "{notes}"
    );
    assert!(page.contains("1 run with 6 cases") && page.contains("merged from 2 shards"), "{page}");
    let (_, page) = site(&[zero, one], "site of shards");
    assert!(page.contains("2 runs with 6 cases") && page.contains("shard 1/2 of a campaign"), "{page}");
}

#[test]
fn folder_that_is_no_run_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site");
    let site = twinfer(&["site", golden().to_str().unwrap(), "--out", out.to_str().unwrap()]).run();
    assert_eq!(site.code, Some(2), "{}", site.shown());
    assert!(site.stderr.contains("holds no run") && !out.exists(), "{}", site.shown());
}
