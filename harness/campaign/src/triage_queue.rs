//! The *docket*: investigations under way and done, of suspects whose turn has not come yet.
//!
//! The committer takes suspects in case order, and what it knows then says which of them it needs investigated. The
//! docket foresees that from what is known already, so that most investigations are done when their turn comes; one that
//! was not needed after all is dropped. Nothing that it foresees changes what the committer concludes.

mod lookahead;

use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::Scope,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;

use twinfer_triage::{
    Cancellation, Catalog, Dedup, Effort, Identity, Investigator, Place, Reduced, Suspect, TriageOutcome,
    TriageResult,
};
use twinfer_workers::TriageWorkers;

use self::lookahead::{Lookahead, Wanted};
use crate::{
    CampaignError,
    judging::JudgedCase,
    stage_event::{EventSender, StageEvent},
};

/// How often the docket looks ahead at most, and how much longer than it took it rests.
const INTERVAL: Duration = Duration::from_millis(20);
const REST: u32 = 10;

/// Runs investigations.
pub struct TriageQueue<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    resources: Resources<'env>,
    deliveries: Sender<StageEvent>,
    limits: Limits,
    under_way: BTreeMap<Place, Arc<Cancellation>>,
    done: BTreeMap<Place, Arc<TriageResult>>,
    next_look: Instant,
}

/// What investigations may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// How many go on at once that nobody waits for yet.
    pub at_once: usize,
    /// How long each may try candidates, where that is bounded.
    pub patience: Option<Duration>,
}

/// What every investigation uses.
#[derive(Clone, Copy)]
pub struct Resources<'env> {
    pub crews: &'env [TriageWorkers],
    pub investigator: Investigator<'env>,
    pub claims: &'env Dedup,
}

impl<'scope, 'env> TriageQueue<'scope, 'env> {
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        resources: Resources<'env>,
        deliveries: Sender<StageEvent>,
        limits: Limits,
    ) -> Self {
        Self {
            scope,
            resources,
            deliveries,
            limits,
            under_way: BTreeMap::new(),
            done: BTreeMap::new(),
            next_look: Instant::now(),
        }
    }

    /// What the investigation at `place` came to, once it is done; only one that looked `beyond` this counts.
    pub fn inquest(&self, place: Place, beyond: Option<&Arc<Identity>>) -> Option<&Arc<TriageResult>> {
        self.done.get(&place).filter(|inquest| inquest.hidden_behind.as_ref() == beyond)
    }

    /// Has a suspect investigated whose turn has come.
    pub fn demand(&mut self, place: Place, suspect: &Arc<Suspect>, beyond: Option<Arc<Identity>>) {
        if !self.under_way.contains_key(&place) {
            self.start(place, suspect, beyond);
        }
    }

    /// Keeps what an investigation came to.
    pub fn keep(&mut self, place: Place, inquest: Option<Arc<TriageResult>>) {
        self.under_way.remove(&place);
        self.done.extend(inquest.map(|inquest| (place, inquest)));
        self.next_look = Instant::now();
    }

    /// Lets investigations know of a new finding.
    pub fn learn(&self, catalogue: &Catalog) {
        self.resources.claims.update(catalogue);
    }

    /// Drops what concerns the case at `index` and those before it, which are committed.
    pub fn close(&mut self, index: u64) {
        self.done = self.done.split_off(&(index + 1, 0, 0));
    }

    /// Starts investigations that will be needed, and halts those that will not.
    pub fn look_ahead(
        &mut self,
        judged: &BTreeMap<u64, JudgedCase>,
        catalogue: &Catalog,
        course: (u64, u64),
    ) {
        if judged.is_empty() || Instant::now() < self.next_look {
            return;
        }
        let begun = Instant::now();
        let forecast = Lookahead::of(judged, catalogue.clone(), &self.done, course);
        self.next_look = Instant::now() + INTERVAL.max(REST * begun.elapsed());
        for (place, course) in &self.under_way {
            if !forecast.may_need(*place) {
                course.cancel();
            }
        }
        for Wanted { place, suspect, beyond } in forecast.in_order_of_need() {
            if self.under_way.len() >= self.limits.at_once {
                break;
            }
            if !self.under_way.contains_key(place) && self.has_hands(suspect.variant) {
                self.start(*place, suspect, beyond.clone());
            }
        }
    }

    /// Whether the crew of a variant can look into another suspect.
    fn has_hands(&self, variant: usize) -> bool {
        let busy = self.under_way.keys().filter(|(_, other, _)| *other == variant).count();
        busy < self.resources.crews[variant].limit()
    }

    /// Investigates; what an earlier investigation left unproved is proved.
    fn start(&mut self, place: Place, suspect: &Arc<Suspect>, beyond: Option<Arc<Identity>>) {
        let course = Arc::new(Cancellation::with_limit(self.limits.patience));
        self.under_way.insert(place, Arc::clone(&course));
        let earlier = self.done.remove(&place).filter(|inquest| inquest.hidden_behind == beyond);
        let (resources, suspect) = (self.resources, Arc::clone(suspect));
        let deliverer = EventSender::new(self.deliveries.clone());
        self.scope.spawn(move || {
            let begun = Instant::now();
            let outcome = match earlier.as_ref().map(|inquest| &inquest.outcome) {
                Some(TriageOutcome::Reduced(reduced)) => resources.prove(&suspect, reduced).map(Some),
                _ => resources.investigate(place, &suspect, beyond.as_deref(), &course),
            };
            deliverer.send(match outcome {
                Ok(outcome) => {
                    let spent = earlier.map_or_else(Effort::default, |inquest| inquest.effort);
                    let effort = Effort {
                        candidates: spent.candidates + course.candidates(),
                        time: spent.time + begun.elapsed(),
                    };
                    let inquest = outcome
                        .map(|outcome| Arc::new(TriageResult { hidden_behind: beyond, outcome, effort }));
                    StageEvent::Investigated(place, inquest)
                }
                Err(error) => StageEvent::Failed(error),
            });
        });
    }
}

impl Resources<'_> {
    fn investigate(
        self,
        place: Place,
        suspect: &Suspect,
        beyond: Option<&Identity>,
        course: &Cancellation,
    ) -> Result<Option<TriageOutcome>, CampaignError> {
        let is_familiar = |identity: &Identity| !self.claims.register(place, identity);
        let crew = &self.crews[suspect.variant];
        Ok(self.investigator.investigate(crew, suspect, beyond, is_familiar, course)?)
    }

    fn prove(self, suspect: &Suspect, reduced: &Reduced) -> Result<TriageOutcome, CampaignError> {
        let proof = self.investigator.confirm(&self.crews[suspect.variant], suspect, reduced)?;
        Ok(TriageOutcome::Confirmed(reduced.clone(), Box::new(proof)))
    }
}

/// The threads of investigations that nobody waits for any more end soon.
impl Drop for TriageQueue<'_, '_> {
    fn drop(&mut self) {
        self.under_way.values().for_each(|course| course.cancel());
    }
}
