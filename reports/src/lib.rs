//! Reports on campaigns: progress while a campaign runs, and a report of its results in several formats.
//!
//! A [`Reporter`] receives the [`Event`]s of a campaign and computes nothing about the campaign itself. [`Progress`] shows
//! a campaign while it runs. A [`Report`] collects the results, and a [`Format`] renders them for a terminal, another program,
//! a continuous-integration server, an issue or a web page. [`Report::of_directory`] reads the report of a stored
//! campaign from its run directory.
//!
//! ```
//! use twinfer_case::{Event, RunEnd, Summary};
//! use twinfer_reports::{Format, Report, Reporter};
//!
//! let mut report = Report::default();
//! let summary = Summary { cases: 12, ..Summary::default() };
//! report.on_event(&Event::CampaignFinished { summary, end: RunEnd::Complete });
//! let text = Format::Terminal.render(&report);
//! assert!(text.contains("12 cases") && text.contains("no new findings"));
//! ```

mod case_result;
mod coverage;
mod difference;
mod difference_format;
mod difference_junit;
mod ending;
mod findings;
mod format;
mod headline;
mod html;
mod issue;
mod json;
mod junit;
mod ladder;
mod markdown;
mod markup;
mod meaning;
mod numbers;
mod page;
mod poison;
mod progress;
mod reach;
mod report;
mod run_findings;
mod screen;
mod segments;
mod shell;
mod site;
mod styled;
mod summary;
mod survey;
mod table;
mod timeline;
mod uncompared;

pub use coverage::{AttributeCoverage, CoveredAttribute, CoveredValue};
pub use difference::{Changed, Difference};
pub use format::{Format, UnknownFormat};
pub use html::{RunFolder, WebPage};
pub use issue::{IssueState, ListedIssue};
pub use markup::{markdown_block, markdown_code, markdown_text};
pub use meaning::meaning;
pub use numbers::capitalized;
pub use progress::Progress;
pub use report::{GivenUp, Investigation, Lost, Outgrown, Report, ReportedFinding};
pub use run_findings::{ComparedRun, Renamed, RunFindings, SameMistake};
pub use screen::{COLUMNS, first_screen};
pub use shell::shell_word;
pub use site::{Row, RunTally, Site};
pub use styled::Styled;
pub use survey::{Answer, Survey, SurveyedCase, SurveyedVariant};
pub use timeline::{Span, Timeline};
pub use twinfer_case::FindingSeverity as Severity;
pub use uncompared::incomplete;

use twinfer_case::Event;

/// A consumer of the events of a campaign.
pub trait Reporter {
    /// Handles the next event; events arrive in the order in which they happened.
    fn on_event(&mut self, event: &Event);
}
