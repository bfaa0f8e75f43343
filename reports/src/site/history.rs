use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::Finding;

use super::{column::Column, standing::Standing, support_map::SupportMap, tally::ColumnTally};

/// One bug over the runs of a site.
#[derive(Debug)]
pub struct History {
    /// The name of the finding's folder.
    pub slug: String,
    /// The finding as the first run recorded it.
    pub finding: Finding,
    /// The place of the first run that has the finding, among the runs in order of time.
    pub first: usize,
    /// The place of the last run that has it.
    pub last: usize,
    /// What became of its cases in every column of its backend that ran some of them, in order.
    pub trials: Vec<Trial>,
}

/// What the cases that ever showed a finding came to in one column.
#[derive(Debug, PartialEq, Eq)]
pub struct Trial {
    /// The column.
    pub column: Column,
    /// How many of the cases ran there.
    pub ran: u64,
    /// How many of these show the finding.
    pub shows: u64,
    /// How many of these have each standing.
    pub standings: BTreeMap<Standing, u64>,
}

impl Trial {
    /// The cases with a standing.
    pub fn count(&self, standing: Standing) -> u64 {
        self.standings.get(&standing).copied().unwrap_or_default()
    }

    /// Whether all the cases conform.
    pub fn is_clean(&self) -> bool {
        self.ran > 0 && self.count(Standing::Conforms) == self.ran
    }
}

impl History {
    /// The version in which the bug is fixed, as far as the runs tell: all its cases conform there and in every later version of
    /// the variant, and some show it in an earlier one.
    pub fn fixed_in(&self) -> Option<&Trial> {
        let last = self.trials.iter().rposition(|trial| trial.shows > 0)?;
        let line = self.trials[last].column.line();
        let mut later = self.trials[last + 1..].iter().filter(|trial| trial.column.line() == line).peekable();
        let fixed = later.peek().copied();
        fixed.filter(|_| later.all(Trial::is_clean))
    }
}

/// The histories of findings, each given with the first run and the last run that has it.
pub fn histories(findings: BTreeMap<String, (Finding, usize, usize)>, map: &SupportMap) -> Vec<History> {
    let history = |(slug, (finding, first, last)): (String, (Finding, usize, usize))| {
        let trials = trials(&slug, &finding, map);
        History { slug, finding, first, last, trials }
    };
    findings.into_iter().map(history).collect()
}

fn trials(slug: &str, finding: &Finding, map: &SupportMap) -> Vec<Trial> {
    let backend = &finding.signature.backend;
    let columns: Vec<_> = map.columns().filter(|(column, _)| column.variant.backend == *backend).collect();
    let cases: BTreeSet<_> =
        columns.iter().filter_map(|(_, tally)| tally.shown.get(slug)).flatten().copied().collect();
    let trial = |(column, tally): &(&Column, &ColumnTally)| {
        let shows = tally.shown.get(slug).map_or(0, BTreeSet::len) as u64;
        let mut standings = BTreeMap::new();
        for standing in cases.iter().filter_map(|case| tally.standings.get(case)) {
            *standings.entry(*standing).or_default() += 1;
        }
        Trial { column: (*column).clone(), ran: standings.values().sum(), shows, standings }
    };
    columns.iter().map(trial).filter(|trial| trial.ran > 0).collect()
}
