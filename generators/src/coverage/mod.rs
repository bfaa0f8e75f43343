//! The space that a stream of cases reaches: how often each attribute value and each pair of them occurs, and which
//! pairs never do.

mod attribute;
mod covered_convolution;
mod fact;
mod feature;
mod impossible;
mod report;

use std::collections::BTreeMap;

use twinfer_case::{Case, Expectation};

use crate::CaseStream;
use attribute::{ATTRIBUTES, Attribute};
use covered_convolution::CoveredConvolution;
use fact::FACTS;
pub use feature::Feature;
pub use report::{CoverageReport, FactCount, MissingPair, PairCount, ValueCount};

/// Counts attribute values over cases.
#[derive(Clone, Debug)]
pub struct Coverage {
    cases: u64,
    operators: u64,
    /// One entry a pair of columns, row by row; a column is one value of one attribute.
    pairs: Vec<u64>,
    /// Cases by the facts that hold for them, in the order of reports.
    facts: Vec<u64>,
    /// Invalid cases by the rule they break.
    rules: BTreeMap<String, u64>,
}

impl Coverage {
    /// Nothing counted yet.
    pub fn new() -> Self {
        let columns = columns().count();
        Self {
            cases: 0,
            operators: 0,
            pairs: vec![0; columns * columns],
            facts: vec![0; FACTS.len()],
            rules: BTreeMap::new(),
        }
    }

    /// Of the first `cases` cases of a stream.
    pub fn of(stream: &CaseStream, cases: u64) -> Self {
        let mut coverage = Self::new();
        (0..cases).for_each(|index| coverage.record(&stream.case(index)));
        coverage
    }

    /// Counts the convolutions of a valid case, or the rule that an invalid one breaks.
    pub fn record(&mut self, case: &Case) {
        self.cases += 1;
        for (count, fact) in self.facts.iter_mut().zip(FACTS) {
            *count += u64::from((fact.holds)(case));
        }
        if let Expectation::Invalid(rule) = &case.expectation {
            *self.rules.entry(rule.clone()).or_default() += 1;
            return;
        }
        for conv in CoveredConvolution::all(case) {
            self.operators += 1;
            let columns = columns_of(&conv);
            let width = self.width();
            for first in &columns {
                for second in &columns {
                    self.pairs[first * width + second] += 1;
                }
            }
        }
    }

    fn width(&self) -> usize {
        self.pairs.len().isqrt()
    }

    fn count(&self, first: usize, second: usize) -> u64 {
        self.pairs[first * self.width() + second]
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self::new()
    }
}

/// Every value of every attribute, in order.
fn columns() -> impl Iterator<Item = (&'static Attribute, &'static str)> {
    ATTRIBUTES.iter().flat_map(|attribute| attribute.values.iter().map(move |value| (attribute, *value)))
}

/// The column of each attribute's value at a conv.
fn columns_of(conv: &CoveredConvolution) -> Vec<usize> {
    let mut start = 0;
    let mut columns = Vec::with_capacity(ATTRIBUTES.len());
    for attribute in ATTRIBUTES {
        let value = (attribute.of)(conv);
        columns
            .extend(attribute.values.iter().position(|listed| *listed == value).map(|place| start + place));
        start += attribute.values.len();
    }
    columns
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use twinfer_case::Distribution;

    use super::*;
    use crate::Family;

    #[test]
    fn each_site_has_a_listed_value_of_every_attribute() {
        for family in Family::VALID {
            let stream = family.stream(Distribution::Full, 2);
            for case in (0..500).map(|index| stream.case(index)) {
                for conv in CoveredConvolution::all(&case) {
                    for attribute in ATTRIBUTES {
                        let value = (attribute.of)(&conv);
                        assert!(attribute.values.contains(&value), "{} is {value:?}", attribute.name);
                    }
                }
            }
        }
    }

    #[test]
    fn every_value_that_an_operator_can_have_occurs() {
        let mut unreached: BTreeSet<_> =
            columns().map(|(attribute, value)| (attribute.name, value)).collect();
        for family in Family::VALID {
            let report = Coverage::of(&family.stream(Distribution::Full, 2), 3000).report();
            for reached in report.values.iter().filter(|value| value.count > 0) {
                unreached.remove(&(reached.attribute, reached.value));
            }
        }
        assert_eq!(unreached, BTreeSet::new());
    }

    #[test]
    fn what_is_called_impossible_never_occurs() {
        for family in Family::VALID {
            let report = Coverage::of(&family.stream(Distribution::Full, 4), 3000).report();
            let occurs = |pair: &&PairCount| pair.count > 0;
            for pair in report.pairs.iter().filter(occurs) {
                let reason = impossible::reason(pair.first, pair.second);
                assert_eq!(
                    reason, None,
                    "{:?} with {:?} occurs {} times",
                    pair.first, pair.second, pair.count
                );
            }
        }
    }

    #[test]
    fn the_rules_of_invalid_cases_are_counted() {
        let report = Coverage::of(&Family::Invalid.stream(Distribution::Full, 2), 300).report();
        assert_eq!(report.rules.iter().map(|(_, count)| count).sum::<u64>(), 300);
        assert_eq!(report.operators, 0);
    }
}
