//! The *catalogue* of findings: how each is recognised in another case, and how often it was met.

use std::sync::Arc;

use twinfer_case::{Cause, Signature};

/// How findings are recognised, in order of discovery.
#[derive(Clone, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    identity: Arc<Identity>,
    /// Cases of this campaign that show it.
    met: u64,
}

/// What tells a finding from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Of its minimal case.
    pub signature: Signature,
    /// What is left of its minimal case.
    pub classes: Vec<String>,
}

impl Catalogue {
    /// Adds a finding that no case counts yet; its place.
    pub fn add(&mut self, identity: Arc<Identity>) -> usize {
        self.entries.push(Entry { identity, met: 0 });
        self.entries.len() - 1
    }

    /// Counts cases that show the finding at `index`.
    pub fn count(&mut self, index: usize, cases: u64) {
        self.entries[index].met += cases;
    }

    /// The finding with the signature of a minimal case, or one whose mutants explain that case too.
    pub fn find(&self, signature: &Signature) -> Option<usize> {
        let same = self.entries.iter().position(|entry| entry.identity.signature == *signature);
        same.or_else(|| self.entries.iter().position(|entry| entry.identity.is(signature)))
    }

    /// The finding that a case with this provisional signature most likely shows: the same but for attributes that do
    /// not matter there, or for mutants that explain it as well.
    pub fn find_likely(&self, provisional: &Signature) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.is_likely(provisional))
    }

    /// The finding at `index` where its next case is the second, fourth, eighth …: then it is worth a look whether
    /// something else hides behind it. Nothing hides behind values that a mutant of golden reproduces.
    pub fn due(&self, index: usize) -> Option<&Arc<Identity>> {
        let Entry { identity, met } = &self.entries[index];
        let may_hide = matches!(identity.signature.cause, Cause::Graph(_));
        (may_hide && *met > 0 && (*met + 1).is_power_of_two()).then_some(identity)
    }
}

impl Identity {
    /// Whether a minimal case with this signature shows it.
    pub fn is(&self, signature: &Signature) -> bool {
        self.signature == *signature
            || !matches!(signature.cause, Cause::Graph(_)) && self.is_likely(signature)
    }

    /// Whether a case of these classes has everything that its minimal case has.
    pub fn is_left_in(&self, classes: &[String]) -> bool {
        self.classes.iter().all(|class| classes.contains(class))
    }

    fn is_likely(&self, provisional: &Signature) -> bool {
        is_alike(&self.signature, provisional)
            && match (&self.signature.cause, &provisional.cause) {
                (Cause::Graph(_), Cause::Graph(present)) => self.is_left_in(present),
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
pub fn may_be_one(one: &Signature, other: &Signature) -> bool {
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
