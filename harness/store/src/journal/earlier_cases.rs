use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{CaseRecord, ReducedCase, RunInfo, Summary};

/// What is left on disk of a finding that a journal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredFinding {
    /// All of it.
    Whole,
    /// A case that was neither reduced nor confirmed, since time was up.
    Unfinished,
    /// Not all that belongs to it.
    Lost,
}

/// The cases of a journal that a resumed run decides again, by their index in the campaign: those with a divergence that was not
/// triaged, and those that lead to a finding which was lost or left unfinished.
pub type OpenCases = BTreeMap<u64, CaseRecord>;

/// The cases of a run that is resumed: those that stay as they are decided, and those that are decided again.
pub struct EarlierCases<'a> {
    /// The summary of all cases.
    pub summary: Summary,
    /// The findings that they name.
    pub named: BTreeSet<String>,
    /// The summary of the cases that stay as they are.
    pub settled: Summary,
    /// What these were reduced to, each once.
    pub reduced: BTreeSet<ReducedCase>,
    /// The others.
    pub open: OpenCases,
    stored: &'a dyn Fn(&str) -> StoredFinding,
    /// What is left of the findings that the cases so far show.
    checked: BTreeMap<String, StoredFinding>,
    /// From which case on, an index in the campaign, a case that shows a finding was decided without all cases before it; `None` if the order
    /// of the cases does not decide.
    early_from: Option<u64>,
}

impl<'a> EarlierCases<'a> {
    /// No cases of `run` yet; `stored` is what is left on disk of a finding.
    pub fn none(run: &RunInfo, stored: &'a dyn Fn(&str) -> StoredFinding) -> Self {
        Self {
            summary: Summary::new(&run.variants),
            named: BTreeSet::new(),
            settled: Summary::new(&run.variants),
            reduced: BTreeSet::new(),
            open: OpenCases::new(),
            stored,
            checked: BTreeMap::new(),
            early_from: None,
        }
    }

    /// These cases, of a campaign in which the order of cases decides which case stands for a finding. The one at `missing` is not recorded.
    #[must_use]
    pub fn in_order(self, missing: Option<u64>) -> Self {
        Self { early_from: Some(missing.unwrap_or(u64::MAX)), ..self }
    }

    /// Adds the next case of the journal.
    pub fn add(&mut self, mut record: CaseRecord) {
        self.named.extend(record.findings.iter().cloned());
        self.summary.record(&record);
        let is_early = self.early_from.is_some_and(|from| from < record.index);
        // every finding is looked at: the first case that shows it counts
        let again: BTreeSet<_> =
            record.findings.iter().filter(|slug| self.leads_again(slug)).cloned().collect();
        record.take_back(&again);
        if (record.waits || !again.is_empty()) && self.early_from.is_some() {
            // all cases behind this one
            self.early_from = Some(0);
        }
        let is_decided = record.open.is_empty() && again.is_empty();
        if is_decided && (record.findings.is_empty() || !is_early) {
            self.settled.record(&record);
            self.reduced.extend(record.reduced);
        } else {
            self.open.insert(record.index, record);
        }
    }

    /// The findings that the cases name and that are unfinished.
    pub fn unfinished(&self) -> Vec<String> {
        let unfinished = self.checked.iter().filter(|(_, stored)| **stored == StoredFinding::Unfinished);
        unfinished.map(|(slug, _)| slug.clone()).collect()
    }

    /// Whether a case that shows the finding is to lead to it again.
    fn leads_again(&mut self, slug: &str) -> bool {
        let earlier = self.checked.get(slug).copied();
        let stored = earlier.unwrap_or_else(|| (self.stored)(slug));
        if earlier.is_none() {
            self.checked.insert(slug.to_owned(), stored);
        }
        stored == StoredFinding::Unfinished || earlier.is_none() && stored == StoredFinding::Lost
    }
}
