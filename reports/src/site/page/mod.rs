//! The pages of a site.

pub mod findings;
pub mod runs;
pub mod support;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use twinfer_case::printable;

use crate::html::policy;

/// The page of the runs, where a site begins.
pub const RUNS: &str = "index.html";
/// The page of the findings over all runs.
pub const FINDINGS: &str = "findings.html";
/// The support map.
pub const SUPPORT: &str = "support.html";
/// The folder beside the pages that has the folders of the findings.
pub const MINIMAL_CASES: &str = "minimal-cases";

const STYLE: &str = concat!(include_str!("../../palette.css"), include_str!("site.css"));
const SCRIPT: &str = include_str!("site.js");

/// A page of the site, which is complete without the others.
fn document(title: &str, file: &str, content: &Markup) -> String {
    let pages = [(RUNS, "Runs"), (FINDINGS, "Findings"), (SUPPORT, "Support map")];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(STYLE, SCRIPT));
                meta name="color-scheme" content="light dark";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · twinfer" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    strong { "twinfer" }
                    nav aria-label="Pages" {
                        @for (target, name) in pages {
                            @if target == file { a href=(target) aria-current="page" { (name) } }
                            @else { a href=(target) { (name) } }
                        }
                    }
                }
                main { h1 { (title) } (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    printable(&(page.into_string() + "\n")).into_owned()
}

/// A field that filters the rows of the table `table` by what is typed.
fn search(table: &str, label: &str) -> Markup {
    html! {
        p.search hidden {
            label { (label) " " input type="search" data-filters=(table); }
            output aria-live="polite" {}
        }
    }
}
