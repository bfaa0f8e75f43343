//! The *catalog* of findings: how each is recognised in another case, and how often it was met.

use std::sync::Arc;

use twinfer_case::{Cause, Signature};

use crate::classes::weighted_operators;

/// How findings are recognised, in order of discovery.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    identity: Arc<Identity>,
    /// Cases of this campaign that show it.
    met: u64,
    /// Those of them that showed it [masked](Catalog::masked_operators).
    masks: Vec<MaskedCases>,
}

#[derive(Clone)]
struct MaskedCases {
    operators: Vec<String>,
    /// Cases of this campaign.
    met: u64,
}

/// One in so many masked cases is looked into however many there were.
const REGULARLY: u64 = 64;

/// What tells a finding from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Of its minimal case.
    pub signature: Signature,
    /// What is left of its minimal case.
    pub classes: Vec<String>,
}

impl Catalog {
    /// Adds a finding that no case counts yet; its place.
    pub fn add(&mut self, identity: Arc<Identity>) -> usize {
        self.entries.push(Entry { identity, met: 0, masks: Vec::new() });
        self.entries.len() - 1
    }

    /// Counts cases that show the finding at `index`.
    pub fn count(&mut self, index: usize, cases: u64) {
        self.entries[index].met += cases;
    }

    /// The finding with the signature of a minimal case, or one whose mutants explain that case too.
    pub fn find(&self, signature: &Signature) -> Option<usize> {
        let same = self.entries.iter().position(|entry| entry.identity.signature == *signature);
        same.or_else(|| self.entries.iter().position(|entry| entry.identity.matches(signature)))
    }

    /// The finding that a case with this provisional signature most likely shows: the same but for attributes that do
    /// not matter there, or for mutants that explain it as well.
    pub fn find_likely(&self, provisional: &Signature) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.is_likely(provisional))
    }

    /// What a case with this provisional signature shows the finding at `index` behind, if it shows it *masked*: mutants explain
    /// the finding and nothing explains the case, in which two of them may have met. These are the operators that such cases
    /// have in common.
    pub fn masked_operators(&self, index: usize, provisional: &Signature) -> Option<Vec<String>> {
        match (&self.entries[index].identity.signature.cause, &provisional.cause) {
            (Cause::Diagnosis(_), Cause::Graph(classes)) => Some(weighted_operators(classes)),
            _ => None,
        }
    }

    /// Counts cases that show the finding at `index` behind these operators; whether they are the first.
    pub fn count_masked(&mut self, index: usize, operators: &[String], cases: u64) -> bool {
        let masks = &mut self.entries[index].masks;
        if let Some(mask) = masks.iter_mut().find(|mask| mask.operators == operators) {
            mask.met += cases;
            return false;
        }
        masks.push(MaskedCases { operators: operators.to_vec(), met: cases });
        true
    }

    /// The finding that cases like one with this provisional signature showed masked most often; of several the first.
    pub fn masked_by(&self, provisional: &Signature) -> Option<usize> {
        self.masks_of(provisional).map(|(index, _)| index)
    }

    /// The same, unless the next case to show it so would be the second, fourth, eighth …, or one in [`REGULARLY`]: such a case is
    /// made smaller, to see whether it is what shows, until one does show it.
    pub fn find_masked(&self, provisional: &Signature) -> Option<usize> {
        let (index, met) = self.masks_of(provisional)?;
        let is_due = is_milestone(met + 1) || (met + 1).is_multiple_of(REGULARLY);
        (!is_due).then_some(index)
    }

    fn masks_of(&self, provisional: &Signature) -> Option<(usize, u64)> {
        let alike = self.entries.iter().enumerate().rev();
        let alike = alike.filter(|(_, entry)| is_alike(&entry.identity.signature, provisional));
        let met = alike.filter_map(|(index, entry)| {
            let operators = self.masked_operators(index, provisional)?;
            let mask = entry.masks.iter().find(|mask| mask.operators == operators)?;
            Some((index, mask.met))
        });
        met.max_by_key(|(_, met)| *met)
    }

    /// The finding at `index` where its next case is the second, fourth, eighth …: then it is worth a look whether
    /// something else hides behind it. Nothing hides behind values that a mutant of golden reproduces.
    pub fn due_to_look_behind(&self, index: usize) -> Option<&Arc<Identity>> {
        let Entry { identity, met, .. } = &self.entries[index];
        let may_hide = matches!(identity.signature.cause, Cause::Graph(_));
        (may_hide && *met > 0 && is_milestone(*met + 1)).then_some(identity)
    }
}

/// Whether the case of this number among its like is worth a closer look.
const fn is_milestone(number: u64) -> bool {
    number.is_power_of_two()
}

impl Identity {
    /// Whether a minimal case with this signature shows it.
    pub fn matches(&self, signature: &Signature) -> bool {
        self.signature == *signature
            || !matches!(signature.cause, Cause::Graph(_)) && self.is_likely(signature)
    }

    /// Whether a case of these classes has everything that its minimal case has.
    pub fn is_contained_in(&self, classes: &[String]) -> bool {
        self.classes.iter().all(|class| classes.contains(class))
    }

    fn is_likely(&self, provisional: &Signature) -> bool {
        is_alike(&self.signature, provisional)
            && match (&self.signature.cause, &provisional.cause) {
                (Cause::Graph(_), Cause::Graph(present)) => self.is_contained_in(present),
                (Cause::Diagnosis(known), Cause::Diagnosis(possible)) => {
                    known.iter().all(|mutant| possible.contains(mutant))
                }
                (Cause::Fallback { diagnosis: known, .. }, Cause::Fallback { diagnosis: possible, .. }) => {
                    is_same_fallback(&self.signature.cause, &provisional.cause)
                        && known.is_empty() == possible.is_empty()
                        && known.iter().all(|mutant| possible.contains(mutant))
                }
                _ => false,
            }
    }
}

/// Whether two cases with these provisional signatures may well come down to one finding.
pub fn may_be_same_finding(one: &Signature, other: &Signature) -> bool {
    is_alike(one, other)
        && match (&one.cause, &other.cause) {
            (Cause::Diagnosis(one), Cause::Diagnosis(other)) => {
                one.iter().any(|mutant| other.contains(mutant))
            }
            (Cause::Fallback { .. }, Cause::Fallback { .. }) => is_same_fallback(&one.cause, &other.cause),
            (Cause::Graph(_), Cause::Graph(_)) => true,
            _ => false,
        }
}

/// Whether what shows on a rung may be what shows below it in the same case, where other mutants may explain it or none.
pub fn may_repeat_on_rung(lower: &Signature, upper: &Signature) -> bool {
    let is_explained_once = matches!(
        (&lower.cause, &upper.cause),
        (Cause::Graph(_), Cause::Diagnosis(_)) | (Cause::Diagnosis(_), Cause::Graph(_))
    );
    may_be_same_finding(lower, upper) || is_alike(lower, upper) && is_explained_once
}

/// Whether both causes are the same fallback, whatever explains the values.
fn is_same_fallback(one: &Cause, other: &Cause) -> bool {
    let fallback = |cause: &Cause| match cause {
        Cause::Fallback { operator, reason, changes_values, .. } => {
            Some((operator.clone(), *reason, *changes_values))
        }
        _ => None,
    };
    fallback(one).is_some() && fallback(one) == fallback(other)
}

/// Whether all but the causes are the same.
fn is_alike(one: &Signature, other: &Signature) -> bool {
    one.backend == other.backend
        && one.stage == other.stage
        && one.kind == other.kind
        && one.error == other.error
}
