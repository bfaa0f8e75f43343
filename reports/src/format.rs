use std::{fmt, str::FromStr};

use crate::{Report, html, json, junit, markdown, summary};

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Terminal,
    /// For another program; the form has a version number.
    Json,
    /// For a continuous-integration server: a suite a variant, a test a finding.
    Junit,
    /// For an issue or a page of documentation.
    Markdown,
    /// One page without outside references.
    Html,
}

impl Format {
    /// Every format, in the order they are offered.
    pub const ALL: [Self; 5] = [Self::Terminal, Self::Json, Self::Junit, Self::Markdown, Self::Html];

    /// The name it is chosen by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// Writes `report` in this format.
    pub fn render(self, report: &Report) -> String {
        match self {
            Self::Terminal => summary::render(report),
            Self::Json => json::render(report),
            Self::Junit => junit::render(report),
            Self::Markdown => markdown::render(report),
            Self::Html => html::render(report),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown report format {0:?}: it is one of {known}", known = Format::ALL.map(Format::name).join(", "))]
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
