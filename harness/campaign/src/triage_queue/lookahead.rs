use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use twinfer_case::Signature;
use twinfer_triage::{Catalog, Identity, Place, Suspect, TriageOutcome, TriageResult, may_be_same_finding};

use crate::judging::JudgedCase;

/// Cases that are looked at: more would keep the committer from them.
const HORIZON: usize = 4096;

/// Which suspects will have to be investigated, as far as it can be told before their turn.
#[derive(Default)]
pub struct Lookahead {
    /// Nothing that is known or under way resembles them.
    new: Vec<Wanted>,
    /// A known finding whose cases are looked at again now and then.
    again: Vec<Wanted>,
    /// They may come down to what an earlier one comes down to.
    alike: Vec<Wanted>,
}

/// An investigation that will be needed.
#[derive(Clone)]
pub struct Wanted {
    pub place: Place,
    pub suspect: Arc<Suspect>,
    /// The finding behind which something else is looked for.
    pub beyond: Option<Arc<Identity>>,
}

/// The committer's work on cases that are judged, done in advance as far as that goes.
struct Rehearsal<'a> {
    forecast: Lookahead,
    catalogue: Catalog,
    done: &'a BTreeMap<Place, Arc<TriageResult>>,
    /// Provisional signatures of suspects that will be investigated.
    expected: Vec<&'a Signature>,
}

impl Lookahead {
    /// For the cases from `next` on that are `judged`, of which every `step`th belongs to the campaign.
    pub fn of(
        judged: &BTreeMap<u64, JudgedCase>,
        catalogue: Catalog,
        done: &BTreeMap<Place, Arc<TriageResult>>,
        (mut next, step): (u64, u64),
    ) -> Self {
        let forecast = Self::default();
        let mut rehearsal = Rehearsal { forecast, catalogue, done, expected: Vec::new() };
        let mut is_gapless = true;
        for (index, judged) in judged.iter().take(HORIZON) {
            is_gapless &= *index == next;
            next += step;
            rehearsal.commit(judged, is_gapless);
        }
        rehearsal.forecast
    }

    /// What to investigate first, second and so on.
    pub fn in_order_of_need(&self) -> impl Iterator<Item = &Wanted> {
        self.new.iter().chain(&self.again).chain(&self.alike)
    }

    /// Whether the investigation at `place` may still be needed.
    pub fn may_need(&self, place: Place) -> bool {
        self.in_order_of_need().any(|wanted| wanted.place == place)
    }
}

impl<'a> Rehearsal<'a> {
    fn commit(&mut self, judged: &'a JudgedCase, is_gapless: bool) {
        let (mut shown, mut veiled) = (BTreeSet::new(), BTreeSet::new());
        for (place, suspect) in judged.suspects.iter().enumerate() {
            let mut lower = judged.concluded.iter().map(|(lower, _)| lower).chain(&judged.suspects[..place]);
            if lower.any(|lower| suspect.repeats(lower)) {
                shown.extend(self.catalogue.find_likely(&suspect.provisional));
                continue;
            }
            let Some(known) = self.conclude(suspect, is_gapless) else {
                continue;
            };
            shown.insert(known);
            veiled.extend(
                self.catalogue
                    .masked_operators(known, &suspect.provisional)
                    .map(|operators| (known, operators)),
            );
        }
        for known in shown {
            self.catalogue.count(known, 1);
        }
        for (known, operators) in veiled {
            self.catalogue.count_masked(known, &operators, 1);
        }
    }

    /// The finding that a suspect will count for.
    fn conclude(&mut self, suspect: &'a Arc<Suspect>, is_gapless: bool) -> Option<usize> {
        let place = suspect.place();
        let done = self.done.get(&place);
        let wanted = |beyond| Wanted { place, suspect: Arc::clone(suspect), beyond };
        if let Some(known) = self.catalogue.find_likely(&suspect.provisional) {
            if let Some(identity) = self.catalogue.due_to_look_behind(known).filter(|_| is_gapless) {
                match done.filter(|inquest| inquest.hidden_behind.as_ref() == Some(identity)) {
                    Some(inquest) => {
                        self.found(inquest);
                    }
                    None => self.forecast.again.push(wanted(Some(Arc::clone(identity)))),
                }
            }
            return Some(known);
        }
        if let Some(veiled) = self.catalogue.find_masked(&suspect.provisional) {
            return Some(veiled);
        }
        if let Some(inquest) = done.filter(|inquest| inquest.hidden_behind.is_none()) {
            return self.found(inquest);
        }
        if self.expected.iter().any(|one| may_be_same_finding(one, &suspect.provisional)) {
            self.forecast.alike.push(wanted(None));
        } else {
            self.forecast.new.push(wanted(None));
            self.expected.push(&suspect.provisional);
        }
        self.catalogue.masked_by(&suspect.provisional)
    }

    /// The finding that an investigation leads to; `None` where that has to be proved yet.
    fn found(&mut self, inquest: &TriageResult) -> Option<usize> {
        let (TriageOutcome::Reduced(reduced) | TriageOutcome::Confirmed(reduced, _)) = &inquest.outcome
        else {
            return None;
        };
        if let Some(known) = self.catalogue.find(&reduced.identity.signature) {
            return Some(known);
        }
        let TriageOutcome::Confirmed(_, proof) = &inquest.outcome else { return None };
        let identity = proof.identity();
        let known = self.catalogue.find(&identity.signature);
        Some(known.unwrap_or_else(|| self.catalogue.add(Arc::new(identity))))
    }
}
