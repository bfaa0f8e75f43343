//! Reporters: they consume the [`Event`](twinfer_case::Event)s of a campaign and compute nothing about it.
//!
//! [`Progress`] shows a campaign while it runs. A [`Report`] collects what happened, and a [`Format`] makes a text
//! of it: for a terminal, for another program, for a continuous-integration server or for a page. Events of a
//! campaign that is over come from its run directory ([`Report::of_directory`]), so that it can be reported again.

mod difference;
mod findings;
mod format;
mod html;
mod issue;
mod json;
mod junit;
mod ladder;
mod markdown;
mod numbers;
mod page;
mod progress;
mod report;
mod summary;
mod survey;
mod table;

pub use difference::{Changed, Difference, Shown, Side, Signed};
pub use format::{Format, UnknownFormat};
pub use issue::{IssueState, ListedIssue};
pub use progress::Progress;
pub use report::{GivenUp, Investigation, Lost, Outgrown, Report, ReportedFinding};
pub use survey::{Answer, Survey, Surveyed, SurveyedCase};

use twinfer_case::Event;

/// Something that listens to a campaign.
pub trait Reporter {
    /// Hears the next event.
    fn hear(&mut self, event: &Event);
}
