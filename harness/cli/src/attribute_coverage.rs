//! Which values of attributes the generated cases of a run had.

use twinfer_case::{CaseRecord, Event, Verdict};
use twinfer_generators::{Coverage, ValueCount};
use twinfer_reports::{AttributeCoverage, CoveredAttribute, CoveredValue, Reporter};

use crate::regenerated::Regenerated;

/// The most cases that are generated again, which takes about a second.
const MAX_CASES: u64 = 20_000;

/// Counts the values of the cases that finish, which it generates again.
#[derive(Default)]
pub struct CoverageCounter {
    regenerated: Regenerated,
    all: Coverage,
    differing: Coverage,
    cases: u64,
}

impl CoverageCounter {
    /// The counts so far.
    pub fn report(&self) -> AttributeCoverage {
        let (all, differing) = (self.all.report(), self.differing.report());
        let values: Vec<_> = all.values.iter().zip(&differing.values).collect();
        let is_same = |one: &(&ValueCount, &ValueCount), other: &(&ValueCount, &ValueCount)| {
            one.0.attribute == other.0.attribute
        };
        let attribute = |values: &[(&ValueCount, &ValueCount)]| CoveredAttribute {
            name: values.first().map_or("", |(value, _)| value.attribute).to_owned(),
            values: values.iter().map(|(all, differing)| covered(all, differing)).collect(),
        };
        let impossible = all.missing.iter().filter(|pair| pair.reason.is_some()).count();
        AttributeCoverage {
            cases: self.cases,
            operators: all.operators,
            attributes: values.chunk_by(is_same).map(attribute).collect(),
            pairs: (all.pairs.len() - all.missing.len()) as u64,
            possible_pairs: (all.pairs.len() - impossible) as u64,
        }
    }

    /// Counts the case of a record, unless it cannot be generated again.
    fn record(&mut self, record: &CaseRecord) {
        let Some((_, case)) = self.regenerated.case(record) else { return };
        self.cases += 1;
        self.all.record(&case.case);
        if record.variants.iter().any(|one| matches!(one.verdict, Verdict::Diverges(_))) {
            self.differing.record(&case.case);
        }
    }
}

impl Reporter for CoverageCounter {
    fn on_event(&mut self, event: &Event) {
        if let Event::CaseFinished { record } = event
            && self.cases < MAX_CASES
        {
            self.record(record);
        }
    }
}

fn covered(all: &ValueCount, differing: &ValueCount) -> CoveredValue {
    CoveredValue { name: all.value.to_owned(), operators: all.count, differing: differing.count }
}
