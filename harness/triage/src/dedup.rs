use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    SuspectId, catalog::Catalog, identity::Identity, provisional::Provisional, triage_result::Reduced,
};

/// Recognizes findings across investigations that run at the same time: if two of them reach one finding, only one confirms
/// it.
#[derive(Default)]
pub struct Dedup(Mutex<Reached>);

/// The findings that were reached so far.
#[derive(Default)]
struct Reached {
    /// Recorded by the campaign.
    recorded: Catalog,
    /// Reached by investigations, perhaps not recorded yet.
    registered: Vec<(SuspectId, Identity)>,
}

impl Dedup {
    /// Replaces the findings that the campaign has recorded.
    pub fn update(&self, recorded: &Catalog) {
        self.lock().recorded = recorded.clone();
    }

    /// Whether a case that looks like this most likely shows a recorded finding, masked or not.
    pub fn is_known(&self, provisional: &Provisional) -> bool {
        let recorded = &self.lock().recorded;
        recorded.find_likely(provisional).or_else(|| recorded.masked_by(provisional)).is_some()
    }

    /// Registers the finding that the investigation of `suspect` reached. False if the finding is recorded, or registered for an
    /// earlier suspect: it needs no confirmation then.
    pub fn register(&self, suspect: SuspectId, reduced: &Reduced) -> bool {
        if self.lock().recorded.find_learned(reduced).is_some() {
            return false;
        }
        !reduced.is_certain() || self.register_identities(suspect, &reduced.identities().collect::<Vec<_>>())
    }

    /// Registers that `suspect` is going to be confirmed, whichever earlier one was expected to come to the same.
    pub fn register_again(&self, suspect: SuspectId, reduced: &Reduced) {
        self.lock().registered.push((suspect, reduced.identity.clone()));
    }

    /// The suspects before `suspect` whose investigations reached the finding that it was reduced to.
    pub fn reached_before(&self, suspect: SuspectId, reduced: &Reduced) -> Vec<SuspectId> {
        let reached = self.lock();
        let earlier = reached.registered.iter().filter(|(other, _)| *other < suspect);
        earlier
            .filter(|(_, identity)| identity.is_same_as(&reduced.identity))
            .map(|(other, _)| *other)
            .collect()
    }

    fn register_identities(&self, suspect: SuspectId, identities: &[&Identity]) -> bool {
        let mut reached = self.lock();
        let is_reached = |identity: &Identity| {
            let is_earlier = |(other, registered): &(SuspectId, Identity)| {
                *other < suspect && registered.is_same_as(identity)
            };
            reached.recorded.find(identity).is_some() || reached.registered.iter().any(is_earlier)
        };
        if identities.iter().any(|identity| is_reached(identity)) {
            return false;
        }
        reached.registered.extend(identities.iter().map(|identity| (suspect, (*identity).clone())));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use twinfer_case::{Cause, Kind, Signature, Stage};

    use super::*;

    fn identity(mutant: &str) -> Identity {
        let signature = Signature {
            backend: "trt".parse().expect("a backend"),
            stage: Stage::Execute,
            kind: Kind::WrongValues,
            cause: Cause::Diagnosis(vec![mutant.to_owned()]),
            error: None,
        };
        Identity {
            broken_by: None,
            signature,
            classes: Vec::new(),
            outcomes: Vec::new(),
            trigger: None,
            edits: Vec::new(),
            refuted: Vec::new(),
            nodes: Vec::new(),
        }
    }

    #[test]
    fn findings_are_confirmed_unless_recorded_or_reached_earlier() {
        let dedup = Dedup::default();
        assert!(dedup.register_identities(SuspectId::first_of(5), &[&identity("bias-dropped")]));
        assert!(
            !dedup.register_identities(SuspectId::first_of(6), &[&identity("bias-dropped")]),
            "reached by an earlier case"
        );
        assert!(
            dedup.register_identities(SuspectId::first_of(4), &[&identity("bias-dropped")]),
            "an earlier case comes first"
        );
        let mut recorded = Catalog::default();
        recorded.add(Arc::new(identity("bias-dropped")));
        dedup.update(&recorded);
        assert!(!dedup.register_identities(SuspectId::first_of(3), &[&identity("bias-dropped")]), "recorded");
        assert!(dedup.register_identities(SuspectId::first_of(3), &[&identity("groups-interleaved")]));
    }
}
