use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use twinfer_case::{BackendName, CaseRecord, Finding, RunInfo, Signature, VariantRecord};
use twinfer_store::{Records, StoreError, check_findings, findings_of_run, read_finding, read_run};

use super::{column::Column, standing::Standing};
use crate::html::of_file;

/// What a site shows of one run, read from its run directory.
pub struct RunTally {
    /// The name of the run, such as its path.
    pub(super) name: String,
    /// The address of its report from the site's pages.
    pub(super) report: Option<String>,
    /// What the run says of itself.
    pub(super) run: RunInfo,
    /// Cases with a verdict.
    pub(super) cases: u64,
    /// Cases that this version of twinfer does not generate as the run did: they are in no row.
    pub(super) unplaced: u64,
    /// The findings, by folder name.
    pub(super) findings: BTreeMap<String, Finding>,
    /// The folder names of the findings that cases show, those that were known before included.
    pub(super) seen: BTreeSet<String>,
    /// By column of the map.
    pub(super) columns: BTreeMap<Column, ColumnTally>,
    /// The rows of the cases that do not conform everywhere, by case number.
    pub(super) rows: HashMap<u64, Box<[u16]>>,
}

/// What a column of the map counts.
#[derive(Default)]
pub struct ColumnTally {
    /// By row.
    pub cells: BTreeMap<u16, Cell>,
    /// The standing on each case, by case number.
    pub standings: HashMap<u64, Standing>,
    /// The numbers of the cases that show a finding, by its folder name.
    pub shown: BTreeMap<String, BTreeSet<u64>>,
}

/// A cell of the map: the cases with one feature in one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    counts: [u64; Standing::ALL.len()],
    /// How many of the cases show each finding, by its folder name.
    findings: BTreeMap<String, u64>,
}

impl Cell {
    /// The cases with this standing.
    pub const fn count(&self, standing: Standing) -> u64 {
        self.counts[standing as usize]
    }

    /// All cases.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The finding that most cases show; the first by name of several.
    pub fn leading_finding(&self) -> Option<&str> {
        let mut findings = self.findings.iter();
        let first = findings.next()?;
        let most = findings.fold(first, |most, one| if one.1 > most.1 { one } else { most });
        Some(most.0)
    }

    fn record(&mut self, standing: Standing, findings: &[&str]) {
        self.counts[standing as usize] += 1;
        for finding in findings {
            *self.findings.entry((*finding).to_owned()).or_default() += 1;
        }
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        for (finding, cases) in &other.findings {
            *self.findings.entry(finding.clone()).or_default() += cases;
        }
    }
}

impl ColumnTally {
    /// Forgets the findings that are not to be kept.
    pub fn retain_findings(&mut self, is_kept: &dyn Fn(&str) -> bool) {
        self.shown.retain(|slug, _| is_kept(slug));
        self.cells.values_mut().for_each(|cell| cell.findings.retain(|slug, _| is_kept(slug)));
    }

    fn record(&mut self, case: u64, rows: &[u16], standing: Standing, findings: &[&str]) {
        self.standings.insert(case, standing);
        for row in rows {
            self.cells.entry(*row).or_default().record(standing, findings);
        }
        for finding in findings {
            self.shown.entry((*finding).to_owned()).or_default().insert(case);
        }
    }

    /// Adds what another run counted in the same column.
    pub fn add(&mut self, other: Self) {
        for (row, cell) in other.cells {
            self.cells.entry(row).or_default().add(&cell);
        }
        self.standings.extend(other.standings);
        for (finding, cases) in other.shown {
            self.shown.entry(finding).or_default().extend(cases);
        }
    }
}

impl RunTally {
    /// The name of the run, such as its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same run, of which the site's pages link to the report at `path`, as seen from their folder.
    #[must_use]
    pub fn with_report(self, path: &Path) -> Self {
        Self { report: Some(of_file(path)), ..self }
    }

    /// Reads the run in `directory`. `rows` gives the rows of the map that a case is in; `None` if they cannot be told.
    pub fn read(
        directory: &Path,
        rows: &mut dyn FnMut(&CaseRecord) -> Option<Vec<u16>>,
    ) -> Result<Self, StoreError> {
        let run = read_run(directory)?;
        let mut findings = BTreeMap::new();
        for folder in findings_of_run(directory)? {
            let finding = read_finding(&folder)?;
            findings.extend(finding.map(|finding| (finding.signature.slug(), finding)));
        }
        let records = Records::open(directory, &run)?;
        let mut tally = Self {
            name: directory.display().to_string(),
            report: None,
            columns: run.variants.iter().map(|info| (Column::of(info), ColumnTally::default())).collect(),
            run,
            cases: 0,
            unplaced: 0,
            findings,
            seen: BTreeSet::new(),
            rows: HashMap::new(),
        };
        let columns: Vec<_> = tally.run.variants.iter().map(Column::of).collect();
        for record in records {
            let record = record?;
            let rows = rows(&record);
            tally.record(&record, rows.as_deref(), &columns);
            tally.seen.extend(record.findings);
        }
        check_findings((directory, &tally.run), tally.seen.iter().map(String::as_str))?;
        Ok(tally)
    }

    fn record(&mut self, record: &CaseRecord, rows: Option<&[u16]>, columns: &[Column]) {
        self.cases += 1;
        self.unplaced += u64::from(rows.is_none());
        let (case, rows) = (record.case.number(), rows.unwrap_or_default());
        let mut conforms = true;
        for variant in &record.variants {
            let Some(column) = columns.iter().find(|column| column.variant == variant.variant) else {
                continue;
            };
            let standing = Standing::of(variant);
            conforms &= standing == Standing::Conforms;
            let shown = self.shown_by(record, variant);
            if let Some(tally) = self.columns.get_mut(column) {
                tally.record(case, rows, standing, &shown);
            }
        }
        if !conforms {
            self.rows.insert(case, rows.into());
        }
    }

    /// The findings of a case that this variant shows.
    fn shown_by<'a>(&self, record: &'a CaseRecord, variant: &VariantRecord) -> Vec<&'a str> {
        if variant.verdict.divergences().is_empty() {
            return Vec::new();
        }
        let backend = &variant.variant.backend;
        let is_of_backend = |slug: &&str| match self.findings.get(*slug) {
            Some(finding) => finding.signature.backend == *backend,
            // another run may have it; names do not tell external backends apart
            None => !matches!(backend, BackendName::External(_)) && Signature::is_slug_of(slug, backend),
        };
        record.findings.iter().map(String::as_str).filter(is_of_backend).collect()
    }
}
