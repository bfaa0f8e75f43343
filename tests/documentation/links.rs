//! Links between documents.

use std::{fs, path::Path};

use crate::{files, root};

/// The text without fenced blocks and code spans, in which brackets mean nothing.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

/// The targets of the inline links of a page.
fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect()
}

/// The anchors that headings get on GitHub.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// What is wrong with a link from `page`, if anything is.
fn defect(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    if !path.exists() {
        return Some(format!("{}: no file {target}", page.display()));
    }
    let has_anchor =
        anchor.is_empty() || anchors(&fs::read_to_string(&path).unwrap()).iter().any(|it| it == anchor);
    (!has_anchor).then(|| format!("{}: no heading {target}", page.display()))
}

#[test]
fn links_between_documents_resolve() {
    let pages = files(&root(), "md");
    assert!(pages.len() > 15, "{pages:?}");
    let defects: Vec<_> = pages
        .iter()
        .flat_map(|page| {
            let targets = targets(&fs::read_to_string(page).unwrap());
            targets.into_iter().filter_map(|target| defect(page, &target))
        })
        .collect();
    assert!(defects.is_empty(), "{defects:#?}");
}

#[test]
fn links_to_missing_files_and_headings_are_defects() {
    let readme = root().join("README.md");
    assert!(defect(&readme, "docs/no-such-page.md").is_some());
    assert!(defect(&readme, "docs/ci.md#no-such-heading").is_some());
    assert!(defect(&readme, "docs/ci.md#in-cargo-test").is_none());
    assert_eq!(targets("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n[g](#h)"), ["b.md", "#h"]);
}
