//! Known issues: findings that a project accepts, with their state after a campaign.

use serde::Serialize;

use crate::numbers::counted;

/// A known issue, as `twinfer.toml` lists it, with its state after a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedIssue {
    /// The folder name of its finding.
    pub slug: String,
    /// Why the project accepts it.
    pub reason: String,
    /// A link to the upstream report.
    pub upstream: Option<String>,
    /// Its state after the campaign.
    pub state: IssueState,
    /// The review date if it has passed, as `YYYY-MM-DD`.
    pub overdue_since: Option<String>,
}

/// The state of a known issue after a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssueState {
    /// Cases of the campaign, or its stored case, show it.
    Occurs {
        /// Cases of the campaign that show it; 0 if only the stored case does.
        cases: u64,
    },
    /// Its stored case conforms now, at the stage of its finding and compared with a reference.
    Fixed,
    /// Its stored case does not show it, which does not prove that it is fixed: nothing was compared, it shows something else, or its finding
    /// does not show in every run.
    NotShown,
    /// No case of the campaign showed it, and no case of it is stored.
    NotSeen,
    /// The campaign did not run its backend in a version that the issue is listed for.
    NotTried,
}

/// A state and a description of each issue; those that need attention come first.
pub(crate) fn descriptions(issues: &[ListedIssue]) -> Vec<(&'static str, String)> {
    let mut issues: Vec<&ListedIssue> = issues.iter().collect();
    issues.sort_by_key(|issue| attention(issue.state));
    let overdue = issues.iter().filter_map(|issue| {
        let since = issue.overdue_since.as_ref()?;
        Some(("review", format!("{}: review overdue since {since}", issue.slug)))
    });
    overdue.chain(issues.iter().map(|issue| one(issue))).collect()
}

const fn attention(state: IssueState) -> u8 {
    match state {
        IssueState::Fixed => 0,
        IssueState::NotShown => 1,
        IssueState::NotSeen => 2,
        IssueState::Occurs { .. } => 3,
        IssueState::NotTried => 4,
    }
}

fn one(issue: &ListedIssue) -> (&'static str, String) {
    let upstream = issue.upstream.as_ref().map(|link| format!(" ({link})")).unwrap_or_default();
    let reason = format!("{}: {}{upstream}", issue.slug, issue.reason);
    match issue.state {
        IssueState::Occurs { cases: 0 } => ("known", format!("{reason}; reproduced by its stored case only")),
        IssueState::Occurs { cases } => ("known", format!("{reason}; {}", counted(cases, "case", "cases"))),
        IssueState::Fixed => {
            ("fixed", format!("{reason}; its stored case conforms now: remove it from twinfer.toml"))
        }
        IssueState::NotShown => (
            "unclear",
            format!("{reason}; its stored case did not show it, and does not prove that it is fixed"),
        ),
        IssueState::NotSeen => {
            ("not seen", format!("{reason}; no case showed it, and no case of it is stored"))
        }
        IssueState::NotTried => ("not run", reason),
    }
}
