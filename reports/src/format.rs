use std::{fmt, str::FromStr};

use crate::{Report, RunFolder, WebPage, json, junit, markdown, summary};

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A summary for a terminal.
    Terminal,
    /// JSON for another program, with a format number.
    Json,
    /// `JUnit` XML for a continuous-integration server: one suite per variant, one test per finding.
    Junit,
    /// Markdown for an issue or a page of documentation.
    Markdown,
    /// A self-contained HTML page.
    Html,
}

impl Format {
    /// All formats, in the order of `--help`.
    pub const ALL: [Self; 5] = [Self::Terminal, Self::Json, Self::Junit, Self::Markdown, Self::Html];

    /// The formats of a [`Survey`](crate::Survey).
    pub const TABLES: [Self; 3] = [Self::Terminal, Self::Json, Self::Markdown];

    /// The formats of a [`Difference`](crate::Difference).
    pub const DIFFERENCES: [Self; 4] = [Self::Terminal, Self::Json, Self::Junit, Self::Markdown];

    /// The name that `--format` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// Renders `report` in this format.
    pub fn render(self, report: &Report) -> String {
        match self {
            Self::Terminal => summary::render(report),
            Self::Json => json::render(&json::Document::of(&report.by_severity())),
            Self::Junit => junit::render(report, None),
            Self::Markdown => markdown::render(report),
            Self::Html => WebPage::new(report).render(),
        }
    }

    /// Renders the report on the run in a folder; `JUnit` attaches the files of its new findings.
    pub fn render_run(self, report: &Report, run: &RunFolder) -> String {
        match self {
            Self::Junit => junit::render(report, Some(run)),
            Self::Terminal | Self::Json | Self::Markdown | Self::Html => self.render(report),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown report format {0:?}: use one of {known}", known = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}
