use std::sync::{Mutex, PoisonError};

use twinfer_case::Signature;

use crate::{
    Place,
    catalog::{Catalog, Identity},
};

/// What investigations found so far, each before the committer knows of it: two that come down to one finding need not
/// both be proved.
#[derive(Default)]
pub struct Dedup(Mutex<Held>);

#[derive(Default)]
struct Held {
    known: Catalog,
    registered: Vec<(Place, Identity)>,
}

impl Dedup {
    /// What the committer knows.
    pub fn update(&self, known: &Catalog) {
        self.lock().known = known.clone();
    }

    /// Whether a case with this provisional signature most likely shows what is known.
    pub fn is_known(&self, provisional: &Signature) -> bool {
        let known = &self.lock().known;
        known.find_likely(provisional).or_else(|| known.masked_by(provisional)).is_some()
    }

    /// Whether a finding is the first of its kind in the order of the campaign, as far as is known.
    pub fn register(&self, place: Place, identity: &Identity) -> bool {
        let mut held = self.lock();
        let earlier = |(other, registered): &(Place, Identity)| {
            *other < place && registered.matches(&identity.signature)
        };
        if held.known.find(&identity.signature).is_some() || held.registered.iter().any(earlier) {
            return false;
        }
        held.registered.push((place, identity.clone()));
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
