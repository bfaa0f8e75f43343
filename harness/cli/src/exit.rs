use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use twinfer_case::RunEnd;
use twinfer_reports::Report;

/// The exit codes of all commands of `twinfer`; docs/getting-started.md has them as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// 0: every variant was compared and conforms; for `replay`, the recorded observation recurred.
    Conforms,
    /// 1: there are new findings, or divergences that were not investigated in time, or known findings that may hide others; for `replay`, the recorded observation did not
    /// recur.
    Findings,
    /// 2: wrong usage or wrong input.
    Usage,
    /// 3: the environment or twinfer itself failed.
    Environment,
    /// 4: a variant was compared on no case.
    NothingCompared,
    /// 5: a signal or the loss of the last device ended the command early, whatever it had found.
    EndedEarly,
}

impl Exit {
    /// All exit codes but 0; the first that holds counts.
    const BY_PRECEDENCE: [Self; 5] =
        [Self::Usage, Self::Environment, Self::EndedEarly, Self::Findings, Self::NothingCompared];

    /// The number that the process exits with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Conforms => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::NothingCompared => 4,
            Self::EndedEarly => 5,
        }
    }

    /// The exit code of a command about which all of `these` hold; `None` is a condition that does not hold.
    pub fn of(these: impl IntoIterator<Item = Option<Self>>) -> Self {
        let these: Vec<_> = these.into_iter().flatten().collect();
        let first = Self::BY_PRECEDENCE.into_iter().find(|exit| these.contains(exit));
        first.unwrap_or(Self::Conforms)
    }

    /// The exit code of a command that ran or merged the campaign of `report`.
    pub fn of_campaign(report: &Report) -> Self {
        Self::of(Self::conditions(report))
    }

    /// As [`of_campaign`](Self::of_campaign), for a caller to which findings are a result like any other.
    pub fn of_campaign_despite_findings(report: &Report) -> Self {
        Self::of(Self::conditions(report).map(|exit| exit.filter(|exit| *exit != Self::Findings)))
    }

    fn conditions(report: &Report) -> [Option<Self>; 4] {
        let has_findings = report.summary.open > 0
            || report.findings.iter().any(|found| found.new)
            || !report.doubts.is_empty();
        [
            (!report.given_up.is_empty()).then_some(Self::Environment),
            report.end.as_ref().is_some_and(RunEnd::is_early).then_some(Self::EndedEarly),
            has_findings.then_some(Self::Findings),
            report.summary.uncompared().next().map(|_| Self::NothingCompared),
        ]
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn first_exit_code_by_precedence_counts() {
        let all = Exit::BY_PRECEDENCE;
        assert_eq!(all.map(Exit::code), [2, 3, 5, 1, 4]);
        for (place, exit) in all.into_iter().enumerate() {
            assert_eq!(Exit::of(all[place..].iter().rev().copied().map(Some)), exit);
        }
        assert_eq!(Exit::of([None, None]), Exit::Conforms);
    }
}
