use std::{collections::BTreeMap, sync::Arc};

use twinfer_case::Signature;

use super::Place;
use crate::{
    catalogue::{Catalogue, may_be_one},
    investigation::Inquest,
    judging::Judged,
    suspect::Suspect,
};

/// Which suspects will have to be investigated, as far as it can be told before their turn.
#[derive(Default)]
pub struct Forecast<'a> {
    /// Nothing that is known or under way resembles them.
    new: Vec<(Place, &'a Arc<Suspect>)>,
    /// A known finding whose cases are looked at again now and then.
    again: Vec<(Place, &'a Arc<Suspect>)>,
    /// They may come down to what an earlier one comes down to.
    alike: Vec<(Place, &'a Arc<Suspect>)>,
}

/// The committer's work on cases that are judged, done in advance as far as that goes.
struct Rehearsal<'a> {
    forecast: Forecast<'a>,
    catalogue: Catalogue,
    done: &'a BTreeMap<Place, Arc<Inquest>>,
    /// Provisional signatures of suspects that will be investigated.
    expected: Vec<&'a Signature>,
}

impl<'a> Forecast<'a> {
    /// For the cases from `next` on that are `judged`, of which every `step`th belongs to the campaign.
    pub fn of(
        judged: &'a BTreeMap<u64, Judged>,
        catalogue: Catalogue,
        done: &'a BTreeMap<Place, Arc<Inquest>>,
        (mut next, step): (u64, u64),
    ) -> Self {
        let forecast = Self::default();
        let mut rehearsal = Rehearsal { forecast, catalogue, done, expected: Vec::new() };
        let mut is_gapless = true;
        for (index, judged) in judged {
            is_gapless &= *index == next;
            next += step;
            rehearsal.commit(judged, is_gapless);
        }
        rehearsal.forecast
    }

    /// What to investigate first, second and so on.
    pub fn in_order_of_need(&self) -> impl Iterator<Item = (Place, &'a Arc<Suspect>)> + '_ {
        self.new.iter().chain(&self.again).chain(&self.alike).copied()
    }

    /// Whether the investigation at `place` may still be needed.
    pub fn may_need(&self, place: Place) -> bool {
        self.in_order_of_need().any(|(other, _)| other == place)
    }
}

impl<'a> Rehearsal<'a> {
    fn commit(&mut self, judged: &'a Judged, is_gapless: bool) {
        let mut shown: Vec<_> = judged
            .suspects
            .iter()
            .filter_map(|suspect| self.conclude((judged.index, suspect.variant), suspect, is_gapless))
            .collect();
        shown.sort_unstable();
        shown.dedup();
        for known in shown {
            self.catalogue.count(known, 1);
        }
    }

    /// The finding that a suspect will count for.
    fn conclude(&mut self, place: Place, suspect: &'a Arc<Suspect>, is_gapless: bool) -> Option<usize> {
        let inquest = self.done.get(&place);
        if let Some(known) = self.catalogue.find_likely(&suspect.provisional) {
            if is_gapless && self.catalogue.is_due(known) {
                match inquest {
                    Some(inquest) => return self.found(inquest),
                    None => self.forecast.again.push((place, suspect)),
                }
            }
            return Some(known);
        }
        if let Some(inquest) = inquest {
            return self.found(inquest);
        }
        if self.expected.iter().any(|one| may_be_one(one, &suspect.provisional)) {
            self.forecast.alike.push((place, suspect));
        } else {
            self.forecast.new.push((place, suspect));
            self.expected.push(&suspect.provisional);
        }
        None
    }

    /// The finding that an investigation leads to; `None` where that has to be proved yet.
    fn found(&mut self, inquest: &Inquest) -> Option<usize> {
        if let Some(known) = self.catalogue.find(&inquest.reduced.identity.signature) {
            return Some(known);
        }
        let identity = inquest.proof.as_ref()?.identity();
        let known = self.catalogue.find(&identity.signature);
        Some(known.unwrap_or_else(|| self.catalogue.add(Arc::new(identity))))
    }
}
