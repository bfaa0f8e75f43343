//! Findings that a project lists as known, and what a campaign says of them.

use serde::Serialize;

use crate::{Report, numbers::counted};

/// A finding that is listed as known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedIssue {
    /// Its folder name.
    pub slug: String,
    /// Why it does not fail a run.
    pub reason: String,
    /// Where it was reported.
    pub upstream: Option<String>,
    /// What became of it.
    pub state: IssueState,
    /// The day on which it was to be looked at again, where that is past.
    pub overdue_since: Option<String>,
}

/// What a campaign says of a listed issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssueState {
    /// Cases of the campaign, or its own case, show it.
    Occurs {
        /// How many of the campaign.
        cases: u64,
    },
    /// Its own case conforms now.
    Fixed,
    /// No case of the campaign showed it, and its own case is not at hand.
    NotSeen,
    /// The campaign did not run its backend, or in other versions only.
    NotTried,
}

/// A word for what became of each issue, and the issue; what needs no attention comes last.
pub(crate) fn told(report: &Report) -> Vec<(&'static str, String)> {
    let mut issues: Vec<&ListedIssue> = report.issues.iter().collect();
    issues.sort_by_key(|issue| attention(issue.state));
    let overdue = issues.iter().filter_map(|issue| {
        let since = issue.overdue_since.as_ref()?;
        Some(("review", format!("{} was to be looked at again by {since}", issue.slug)))
    });
    overdue.chain(issues.iter().map(|issue| one(issue))).collect()
}

const fn attention(state: IssueState) -> u8 {
    match state {
        IssueState::Fixed => 0,
        IssueState::NotSeen => 1,
        IssueState::Occurs { .. } => 2,
        IssueState::NotTried => 3,
    }
}

fn one(issue: &ListedIssue) -> (&'static str, String) {
    let upstream = issue.upstream.as_ref().map(|link| format!(" ({link})")).unwrap_or_default();
    let reason = format!("{}: {}{upstream}", issue.slug, issue.reason);
    match issue.state {
        IssueState::Occurs { cases: 0 } => {
            ("known", format!("{reason}; no case of this run, but its own case"))
        }
        IssueState::Occurs { cases } => ("known", format!("{reason}; {}", counted(cases, "case", "cases"))),
        IssueState::Fixed => ("fixed", format!("{reason}; its case conforms now, and it need not be listed")),
        IssueState::NotSeen => {
            ("not seen", format!("{reason}; no case showed it, and its own is not at hand"))
        }
        IssueState::NotTried => ("not tried", reason),
    }
}
