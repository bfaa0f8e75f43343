use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    column::Column,
    standing::Standing,
    support_map::SupportMap,
    tally::{Cell, ColumnTally},
};

/// What changed from one version of a backend to the next, on the cases that ran on both.
#[derive(Debug)]
pub struct Change {
    /// The earlier version.
    pub from: Column,
    /// The later version.
    pub to: Column,
    /// Cases that ran on both.
    pub common: u64,
    /// Cases by what they were and became, where that differs.
    pub transitions: Vec<Transition>,
}

/// The cases that were one thing and became another.
#[derive(Debug)]
pub struct Transition {
    /// What the cases were.
    pub was: Standing,
    /// What they became.
    pub is: Standing,
    /// How many there are.
    pub cases: u64,
    /// What they have in common and most other cases lack, each with the number of them that have it.
    pub in_common: Vec<(u16, u64)>,
    /// The findings that they show, in one version or the other, by folder name.
    pub findings: Vec<String>,
}

/// A feature tells changed cases from others if at least this share of them has it...
const SHARE_OF_CHANGED: f64 = 0.9;
/// ...and at most this share of all cases.
const SHARE_OF_ALL: f64 = 0.5;
/// The most features that are listed.
const MOST_FEATURES: usize = 4;

/// The changes between neighboring versions of each variant that ran common cases.
pub fn changes(map: &SupportMap) -> Vec<Change> {
    let columns: Vec<_> = map.columns().collect();
    let neighbors = columns.windows(2).filter(|pair| pair[0].0.line() == pair[1].0.line());
    let changes = neighbors.map(|pair| between(map, pair[0], pair[1]));
    changes.filter(|change| change.common > 0).collect()
}

fn between(
    map: &SupportMap,
    (from, earlier): (&Column, &ColumnTally),
    (to, later): (&Column, &ColumnTally),
) -> Change {
    let mut common = 0;
    let mut changed: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for (case, was) in &earlier.standings {
        let Some(is) = later.standings.get(case) else { continue };
        common += 1;
        if was != is {
            changed.entry((*was, *is)).or_default().push(*case);
        }
    }
    let transition = |((was, is), cases): ((Standing, Standing), Vec<u64>)| Transition {
        was,
        is,
        cases: cases.len() as u64,
        in_common: in_common(map, &cases, earlier),
        findings: findings(&cases, [earlier, later]),
    };
    let mut transitions: Vec<_> = changed.into_iter().map(transition).collect();
    transitions.sort_by_key(|one| Reverse(one.cases));
    Change { from: from.clone(), to: to.clone(), common, transitions }
}

/// The rows that nearly all of `cases` are in, and most others are not.
fn in_common(map: &SupportMap, cases: &[u64], column: &ColumnTally) -> Vec<(u16, u64)> {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for row in cases.iter().flat_map(|case| map.rows_of(*case)) {
        *counts.entry(*row).or_default() += 1;
    }
    let all = column.standings.len().max(1) as f64;
    let share_of_all = |row: u16| column.cells.get(&row).map_or(0, Cell::total) as f64 / all;
    let mut telling: Vec<_> = counts
        .into_iter()
        .filter(|(_, count)| *count as f64 >= SHARE_OF_CHANGED * cases.len() as f64)
        .filter(|(row, _)| share_of_all(*row) <= SHARE_OF_ALL)
        .collect();
    telling.sort_by(|one, other| share_of_all(one.0).total_cmp(&share_of_all(other.0)));
    telling.truncate(MOST_FEATURES);
    telling
}

fn findings(cases: &[u64], columns: [&ColumnTally; 2]) -> Vec<String> {
    let shows = |shown: &BTreeSet<u64>| cases.iter().any(|case| shown.contains(case));
    let shown = columns.iter().flat_map(|column| &column.shown).filter(|(_, shown)| shows(shown));
    let mut findings: Vec<_> = shown.map(|(finding, _)| finding.clone()).collect();
    findings.sort();
    findings.dedup();
    findings
}
