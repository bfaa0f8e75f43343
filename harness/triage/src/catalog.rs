//! The *catalog* of findings: how each finding is recognized in other cases, and how many cases of the campaign show it.

use std::sync::Arc;

use twinfer_case::{Cause, Signature};

use crate::{
    classes::weighted_operators,
    identity::{Identity, is_alike},
    provisional::Provisional,
};

/// How findings are recognized, in order of discovery. A finding is named by its place in this order.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    identity: Arc<Identity>,
    /// Cases of this campaign that show the finding, masked or not.
    cases: u64,
    /// Cases that show the finding [masked](Catalog::masked_operators), by their operators.
    masked: Vec<MaskedCases>,
}

/// Cases with the same operators that show a finding masked.
#[derive(Clone)]
struct MaskedCases {
    operators: Vec<String>,
    /// Cases of this campaign.
    cases: u64,
}

/// One in this many masked cases is investigated, however many there were before.
const REGULARLY: u64 = 64;

impl Catalog {
    /// Adds a finding that no case counts for yet, and returns its place.
    pub fn add(&mut self, identity: Arc<Identity>) -> usize {
        self.entries.push(Entry { identity, cases: 0, masked: Vec::new() });
        self.entries.len() - 1
    }

    /// Counts cases that show the finding at `index`.
    pub fn count(&mut self, index: usize, cases: u64) {
        self.entries[index].cases += cases;
    }

    /// The finding with the signature of a minimal case, or else one that is the same bug.
    pub fn find(&self, identity: &Identity) -> Option<usize> {
        let same = self.entries.iter().position(|entry| entry.identity.signature == identity.signature);
        same.or_else(|| self.entries.iter().position(|entry| entry.identity.is_same_as(identity)))
    }

    /// The finding that a case that looks like this most likely shows: it satisfies the trigger of the finding, or their signatures
    /// differ at most in attributes that do not matter to the finding, or in further mutants that explain the case as well.
    pub fn find_likely(&self, provisional: &Provisional) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.is_likely(provisional))
    }

    /// The operators under which cases like one with this provisional signature are counted if the finding at `index` is
    /// *masked* in them: mutants explain the finding, and no mutant explains the case, in which two mutants may have combined.
    /// `None` if the finding shows unmasked.
    pub fn masked_operators(&self, index: usize, provisional: &Signature) -> Option<Vec<String>> {
        match (&self.entries[index].identity.signature.cause, &provisional.cause) {
            (Cause::Diagnosis(_), Cause::Graph(classes)) => Some(weighted_operators(classes)),
            _ => None,
        }
    }

    /// Counts cases with these operators that show the finding at `index` masked; true if they are the first.
    pub fn count_masked(&mut self, index: usize, operators: &[String], cases: u64) -> bool {
        let masked = &mut self.entries[index].masked;
        if let Some(known) = masked.iter_mut().find(|known| known.operators == operators) {
            known.cases += cases;
            return false;
        }
        masked.push(MaskedCases { operators: operators.to_vec(), cases });
        true
    }

    /// The finding that is masked most often in cases like one with this provisional signature; the first of several.
    pub fn masked_by(&self, provisional: &Signature) -> Option<usize> {
        self.most_masked(provisional).map(|(index, _)| index)
    }

    /// The finding of [`masked_by`](Self::masked_by); `None` if the next such case is due for an investigation, which makes
    /// sure that the finding does show. The second, fourth, eighth … case and one in [`REGULARLY`] are due.
    pub fn find_masked(&self, provisional: &Signature) -> Option<usize> {
        let (index, cases) = self.most_masked(provisional)?;
        let next = cases + 1;
        let is_due = is_milestone(next) || next.is_multiple_of(REGULARLY);
        (!is_due).then_some(index)
    }

    /// The finding that is masked in most cases like one with this provisional signature, and the number of those cases.
    fn most_masked(&self, provisional: &Signature) -> Option<(usize, u64)> {
        let alike = self.entries.iter().enumerate().rev();
        let alike = alike.filter(|(_, entry)| is_alike(&entry.identity.signature, provisional));
        let counted = alike.filter_map(|(index, entry)| {
            let operators = self.masked_operators(index, provisional)?;
            let masked = entry.masked.iter().find(|masked| masked.operators == operators)?;
            Some((index, masked.cases))
        });
        counted.max_by_key(|(_, cases)| *cases)
    }

    /// The identity of the finding at `index` if its next case is the second, fourth, eighth …: that case is searched for
    /// another bug hidden behind the finding. `None` otherwise, and for a finding that mutants explain: values that a mutant
    /// reproduces hide nothing.
    pub fn due_to_look_behind(&self, index: usize) -> Option<&Arc<Identity>> {
        let Entry { identity, cases, .. } = &self.entries[index];
        let may_hide = matches!(identity.signature.cause, Cause::Graph(_));
        (may_hide && *cases > 0 && is_milestone(*cases + 1)).then_some(identity)
    }
}

/// Whether the case of this number among cases of its kind is investigated.
const fn is_milestone(number: u64) -> bool {
    number.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{BackendName, Kind, Stage};

    use super::*;

    fn signature(cause: Cause) -> Signature {
        let backend: BackendName = "trt".parse().expect("a backend");
        Signature { backend, stage: Stage::Execute, kind: Kind::WrongValues, cause, error: None }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn catalog_with(cause: Cause, classes: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        catalog.add(Arc::new(Identity {
            signature: signature(cause),
            classes: names(classes),
            outcomes: Vec::new(),
            trigger: None,
            edits: Vec::new(),
            nodes: Vec::new(),
        }));
        catalog
    }

    #[test]
    fn masked_cases_are_due_at_milestones_and_regularly() {
        let mut catalog = catalog_with(Cause::Diagnosis(names(&["bias-dropped"])), &["Conv"]);
        let unexplained = signature(Cause::Graph(names(&["Conv", "group"])));
        assert_eq!(catalog.masked_by(&unexplained), None, "no case showed it masked");
        let operators = catalog.masked_operators(0, &unexplained).expect("masked");
        assert_eq!(operators, ["Conv"]);
        assert!(catalog.count_masked(0, &operators, 1));
        let mut due = Vec::new();
        for next in 2..200 {
            if catalog.find_masked(&unexplained).is_none() {
                due.push(next);
            }
            assert!(!catalog.count_masked(0, &operators, 1));
        }
        assert_eq!(due, [2, 4, 8, 16, 32, 64, 128, 192]);
        assert_eq!(catalog.masked_by(&unexplained), Some(0));
    }

    #[test]
    fn unexplained_findings_are_looked_behind_at_milestones() {
        let mut catalog = catalog_with(Cause::Graph(names(&["Conv"])), &["Conv"]);
        let due: Vec<_> = (1..20)
            .filter(|_| {
                let is_due = catalog.due_to_look_behind(0).is_some();
                catalog.count(0, 1);
                is_due
            })
            .collect();
        assert_eq!(due, [2, 4, 8, 16]);
        let mut explained = catalog_with(Cause::Diagnosis(names(&["bias-dropped"])), &["Conv"]);
        explained.count(0, 1);
        assert_eq!(explained.due_to_look_behind(0), None);
    }
}
