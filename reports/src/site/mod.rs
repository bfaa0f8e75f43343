//! A site about several runs: what each found, what became of every bug, and the support map.

mod change;
mod column;
mod history;
mod page;
mod site_run;
mod standing;
mod support_map;
mod tally;

use std::collections::BTreeMap;

use twinfer_case::Finding;

use self::{site_run::SiteRun, support_map::SupportMap};
pub use self::{support_map::Row, tally::RunTally};

/// Several runs, read for a site.
pub struct Site {
    runs: Vec<SiteRun>,
    map: SupportMap,
    /// Each finding, by folder name, as the earliest of its runs recorded it.
    findings: BTreeMap<String, (Finding, u64)>,
}

impl Site {
    /// The folder beside the pages that has the folders of the findings.
    pub const MINIMAL_CASES: &str = page::MINIMAL_CASES;

    /// A site without runs, whose support map has these rows.
    pub fn new(rows: Vec<Row>) -> Self {
        Self { runs: Vec::new(), map: SupportMap::new(rows), findings: BTreeMap::new() }
    }

    /// Adds a run; false if it is there already, under this name or another one.
    pub fn add(&mut self, tally: RunTally) -> bool {
        let id = &tally.run.id;
        if !id.is_empty() && self.runs.iter().any(|known| known.run.id == *id) {
            return false;
        }
        let RunTally { name, report, run, cases, unplaced, findings, seen, columns, rows } = tally;
        let slugs = findings.keys().cloned().collect();
        for (slug, finding) in findings {
            let found = (finding, run.started);
            let stored = self.findings.entry(slug).or_insert_with(|| found.clone());
            if found.1 < stored.1 {
                *stored = found;
            }
        }
        self.map.add(columns, rows);
        self.runs.push(SiteRun { name, report, run, cases, unplaced, findings: slugs, seen });
        self.runs.sort_by(|one, other| (one.run.started, &one.name).cmp(&(other.run.started, &other.name)));
        true
    }

    /// The pages as names of files with their contents. They refer to [`Self::MINIMAL_CASES`].
    pub fn pages(&mut self) -> [(&'static str, String); 3] {
        // of some that were known before a run, no run may have the finding
        self.map.retain_findings(&|slug| self.findings.contains_key(slug));
        let histories = history::histories(self.found(), &self.map);
        let changes = change::changes(&self.map);
        [
            (page::RUNS, page::runs::render(&self.runs, &histories)),
            (page::FINDINGS, page::findings::render(&self.runs, &histories)),
            (page::SUPPORT, page::support::render(&self.map, &changes)),
        ]
    }

    /// The findings with the places of their first and last runs.
    fn found(&self) -> BTreeMap<String, (Finding, usize, usize)> {
        let found = |(slug, (finding, _)): (&String, &(Finding, u64))| {
            let has = |run: &SiteRun| run.findings.contains(slug) || run.seen.contains(slug);
            let (first, last) = (self.runs.iter().position(has)?, self.runs.iter().rposition(has)?);
            Some((slug.clone(), (finding.clone(), first, last)))
        };
        self.findings.iter().filter_map(found).collect()
    }
}
