//! The page as a whole.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use twinfer_case::printable;

use super::{
    course::course, evidence::RunFolder, index::index, overview::overview, policy::policy, results::results,
    settings::settings, space::space,
};
use crate::{AttributeCoverage, Report, Timeline, headline::headline};

const STYLE: &str = concat!(include_str!("../palette.css"), include_str!("report.css"));
const SCRIPT: &str = include_str!("report.js");

/// A report as a web page, with what only a page shows.
#[derive(Clone, Copy, Debug)]
pub struct WebPage<'a> {
    /// The report.
    pub report: &'a Report,
    /// The command that makes the same run; `None` if it is not known.
    pub command: Option<&'a str>,
    /// The folder of the run; `None` if there is none, and then nothing is read or linked.
    pub folder: Option<&'a RunFolder>,
    /// The cases in their order; `None` if they are not known.
    pub timeline: Option<&'a Timeline>,
    /// The values of attributes that the cases had; `None` if nobody counted them.
    pub coverage: Option<&'a AttributeCoverage>,
}

impl<'a> WebPage<'a> {
    /// The page of a report of which nothing else is known.
    pub const fn new(report: &'a Report) -> Self {
        Self { report, command: None, folder: None, timeline: None, coverage: None }
    }

    /// The page as the text of one file.
    pub fn render(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(self.report))
                body {
                    (overview(self.report))
                    main {
                        (results(self.report))
                        @if let Some(timeline) = self.timeline { (course(timeline)) }
                        (index(self.report, self.folder))
                        @if let Some(coverage) = self.coverage { (space(coverage, self.report.summary.cases)) }
                        (settings(self.report, self.command))
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        printable(&(page.into_string() + "\n")).into_owned()
    }
}

fn head(report: &Report) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy(STYLE, SCRIPT));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { "twinfer: " (headline(report)) }
            style { (PreEscaped(STYLE)) }
        }
    }
}
