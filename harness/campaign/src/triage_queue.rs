//! The *triage queue*: investigations under way and done, of suspects that are not decided yet.
//!
//! The dispatcher decides suspects, as a rule in case order, and only then is it certain which of them need an investigation. The queue
//! looks ahead with what is known already, so that most investigations are done when their turn comes. One that turns out not to
//! be needed is canceled. The lookahead never changes what the dispatcher decides.

mod lookahead;
mod processor_share;

use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::Scope,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use tracing::debug;
use twinfer_case::{Budget, Divergence, Investigating, StartingWorkers};
use twinfer_triage::{
    Cancellation, Catalog, Confirmed, Dedup, Effort, Identity, Investigator, Purpose, Reduced, Suspect,
    SuspectId, TriageOutcome, TriageResult,
};
use twinfer_workers::{HostContext, TriageWorkers};

use self::lookahead::{Investigations, Lookahead, Wanted};
pub use self::processor_share::ProcessorShare;
use crate::{
    CampaignError,
    stage_event::{EventSender, StageEvent},
    stages::JudgedCase,
};

/// The shortest time between two lookaheads, and how many times as long as a lookahead takes the queue rests after it.
const INTERVAL: Duration = Duration::from_millis(20);
const REST: u32 = 10;

/// Runs investigations.
pub struct TriageQueue<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    resources: Resources<'env>,
    events: Sender<StageEvent>,
    limits: Limits,
    under_way: BTreeMap<SuspectId, Investigation>,
    done: BTreeMap<SuspectId, Arc<TriageResult>>,
    /// How many investigations have begun.
    begun: u64,
    next_lookahead: Instant,
    /// Whether all that the last lookahead wanted is under way, and more could be.
    has_room: bool,
    phase: Phase,
    /// Whether no investigation starts for now, since earlier ones have taken their share of the processor time.
    has_taken_share: bool,
}

/// Whether investigations start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// They do.
    Open,
    /// No more start, and those under way come to their end.
    Closed,
    /// Time is up: no more start, and those under way try no further candidates.
    Hurried,
}

/// An investigation under way.
struct Investigation {
    suspect: Arc<Suspect>,
    cancellation: Arc<Cancellation>,
}

/// What investigations may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// How many run at once before the dispatcher waits for them.
    pub at_once: usize,
    /// The same number once no case runs any more.
    pub at_once_alone: usize,
    /// How long each may try candidates; `None` if that is not bounded.
    pub patience: Option<Duration>,
    /// Which of them come first.
    pub order: Order,
    /// How much processor time they take while cases run; `None` if that is not bounded.
    pub share: Option<ProcessorShare>,
}

/// Which investigations come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The investigations that the dispatcher will ask for first.
    ByCase,
    /// The investigations that matter most, by the severity of the divergence and the number of cases that wait for them, since time may be
    /// up before all are done.
    ByWeight,
}

impl Order {
    /// The order in a campaign with this budget.
    pub const fn of(budget: Budget) -> Self {
        match budget {
            Budget::Cases(_) => Self::ByCase,
            Budget::Seconds(_) => Self::ByWeight,
        }
    }
}

/// What every investigation uses.
#[derive(Clone, Copy)]
pub struct Resources<'env> {
    pub host: &'env HostContext,
    /// By variant.
    pub variants: &'env [TriageWorkers],
    pub investigator: Investigator<'env>,
    pub dedup: &'env Dedup,
}

impl<'scope, 'env> TriageQueue<'scope, 'env> {
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        resources: Resources<'env>,
        events: Sender<StageEvent>,
        limits: Limits,
    ) -> Self {
        let (under_way, done) = (BTreeMap::new(), BTreeMap::new());
        let next_lookahead = Instant::now();
        Self {
            scope,
            resources,
            events,
            limits,
            under_way,
            done,
            begun: 0,
            next_lookahead,
            has_room: false,
            phase: Phase::Open,
            has_taken_share: false,
        }
    }

    /// The result of the investigation of `suspect`, once it is done.
    pub fn result(&self, suspect: SuspectId) -> Option<&Arc<TriageResult>> {
        self.done.get(&suspect)
    }

    /// Has a suspect investigated that is to be decided next. Where those that matter most come first, one that is not reduced yet waits until
    /// no other one does.
    pub fn demand(&mut self, suspect: &Arc<Suspect>, hidden_behind: Option<Arc<Identity>>) {
        let is_reduced = self.done.contains_key(&suspect.id());
        let is_its_turn =
            self.limits.order == Order::ByCase || self.has_room || is_reduced && self.has_room_for_one();
        if is_its_turn && self.phase == Phase::Open && !self.under_way.contains_key(&suspect.id()) {
            self.start(suspect, hidden_behind);
            self.has_room = false;
        }
    }

    /// Keeps the result of an investigation that ended; one that was canceled has none.
    pub fn keep(&mut self, suspect: SuspectId, result: Option<Arc<TriageResult>>) {
        let ended = self.under_way.remove(&suspect);
        let is_needed = ended.is_some_and(|ended| !ended.cancellation.is_canceled());
        self.done.extend(result.filter(|_| is_needed).map(|result| (suspect, result)));
        self.next_lookahead = Instant::now();
        self.has_room = false;
    }

    /// Tells investigations which findings are known.
    pub fn update(&self, catalog: &Catalog) {
        self.resources.dedup.update(catalog);
    }

    /// Drops what concerns the case at `index`, which is decided.
    pub fn close(&mut self, index: u64) {
        let (begin, end) = (SuspectId::first_of(index), SuspectId::first_of(index + 1));
        let mut rest = self.done.split_off(&begin);
        self.done.append(&mut rest.split_off(&end));
        self.under_way.range(begin..end).for_each(|(_, investigation)| investigation.cancellation.cancel());
    }

    /// Runs more investigations at once, and starts more workers for them, since no case runs any more.
    pub fn run_alone(&mut self) {
        self.limits.at_once = self.limits.at_once_alone;
        self.limits.share = None;
        self.resources.host.end_cases();
    }

    /// Has investigations start whatever they have taken while no case runs before some are decided.
    pub const fn set_waited_for(&mut self, is_waited_for: bool) {
        if let Some(share) = &mut self.limits.share {
            share.is_lifted = is_waited_for;
        }
    }

    /// Starts no more investigations.
    pub fn start_no_more(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Closed;
        }
    }

    /// Starts no more investigations, has those under way try no further candidates, and starts more workers for them: time is up.
    pub fn end(&mut self) {
        if self.phase == Phase::Open {
            self.resources.host.end_cases();
        }
        self.phase = Phase::Hurried;
        self.under_way.values().for_each(|investigation| investigation.cancellation.hurry());
    }

    /// Whether no more investigations start and none is under way.
    pub fn is_over(&self) -> bool {
        self.phase != Phase::Open && self.under_way.is_empty()
    }

    /// Whether `suspect` is being investigated, or was reduced and not confirmed.
    pub fn has_begun(&self, suspect: SuspectId) -> bool {
        self.under_way.contains_key(&suspect) || self.done.contains_key(&suspect)
    }

    /// What is known of a suspect whose investigation does not come to its end.
    pub fn unfinished(&self, suspect: &Suspect) -> Result<Confirmed, CampaignError> {
        let reduced = self.done.get(&suspect.id()).and_then(|result| result.outcome.reduced());
        let workers = &self.resources.variants[suspect.variant];
        Ok(self.resources.investigator.unfinished(workers, suspect, reduced)?)
    }

    /// The workers that are starting, for investigations and for all else.
    pub fn starting(&self) -> StartingWorkers {
        self.resources.host.starting()
    }

    /// The investigations under way.
    pub fn under_way(&self) -> Vec<Investigating> {
        let investigating = |Investigation { suspect, .. }: &Investigation| Investigating {
            index: suspect.index,
            variant: self.resources.variants[suspect.variant].info().variant.clone(),
            kind: suspect.symptom.kind(),
            detail: suspect.lead().map(Divergence::readable_detail).unwrap_or_default(),
        };
        self.under_way.values().map(investigating).collect()
    }

    /// Starts investigations that the `undecided` cases will need, and cancels those that they will not. Every case before `end` has its
    /// verdicts.
    pub fn look_ahead(&mut self, undecided: &BTreeMap<u64, JudgedCase>, catalog: &Catalog, end: u64) {
        if self.phase == Phase::Hurried || undecided.is_empty() || Instant::now() < self.next_lookahead {
            return;
        }
        let begun = Instant::now();
        let investigations = Investigations {
            done: &self.done,
            under_way: self.under_way.keys().copied().collect(),
            dedup: self.resources.dedup,
        };
        let lookahead = Lookahead::of(undecided, catalog.clone(), investigations, end);
        let lookahead = match self.limits.order {
            Order::ByCase => lookahead,
            Order::ByWeight => lookahead.by_weight(),
        };
        self.next_lookahead = Instant::now() + INTERVAL.max(REST * begun.elapsed());
        for (suspect, investigation) in &self.under_way {
            if !lookahead.may_need(*suspect) {
                investigation.cancellation.cancel();
            }
        }
        if self.phase == Phase::Closed {
            return;
        }
        for Wanted { suspect, hidden_behind, .. } in lookahead.by_priority() {
            if self.under_way.contains_key(&suspect.id()) || !self.has_workers(suspect.variant) {
                continue;
            }
            if !self.has_room_for_one() {
                break;
            }
            self.start(suspect, hidden_behind.clone());
        }
        let has_room = self.has_room_for_one();
        let is_under_way = |wanted: &Wanted| self.under_way.contains_key(&wanted.suspect.id());
        self.has_room = has_room && lookahead.by_priority().all(is_under_way);
    }

    /// Whether one more investigation may be under way.
    fn has_room_for_one(&mut self) -> bool {
        let under_way = self.under_way.len();
        if under_way >= self.limits.at_once {
            return false;
        }
        let Some(share) = self.limits.share else { return true };
        let used = self.resources.host.processor_use();
        let has_taken_share = !share.admits(used, self.begun, under_way);
        if self.has_taken_share != has_taken_share {
            self.has_taken_share = has_taken_share;
            let share = used.share_beside_cases();
            debug!(has_taken_share, share, under_way, "share of investigations in the processor time");
        }
        !has_taken_share
    }

    /// Whether the workers of a variant can take on another investigation.
    fn has_workers(&self, variant: usize) -> bool {
        let busy = self.under_way.keys().filter(|suspect| suspect.variant == variant).count();
        // much of an investigation is waiting for workers that start
        busy < 2 * self.resources.variants[variant].limit()
    }

    /// Investigates a suspect; one that is already reduced is only confirmed.
    fn start(&mut self, suspect: &Arc<Suspect>, hidden_behind: Option<Arc<Identity>>) {
        let id = suspect.id();
        let cancellation = Arc::new(Cancellation::with_limit(self.limits.patience));
        let investigation =
            Investigation { suspect: Arc::clone(suspect), cancellation: Arc::clone(&cancellation) };
        self.under_way.insert(id, investigation);
        self.begun += 1;
        let earlier = self.done.remove(&id).filter(|result| result.hidden_behind == hidden_behind);
        let (resources, suspect) = (self.resources, Arc::clone(suspect));
        let events = EventSender::new(self.events.clone());
        let variant = self.resources.variants[suspect.variant].info().variant.to_string();
        self.scope.spawn(move || {
            debug!(
                case = suspect.index,
                variant,
                kind = suspect.symptom.kind().to_string(),
                "investigation started"
            );
            let begun = Instant::now();
            let outcome = match earlier.as_ref().map(|result| &result.outcome) {
                Some(TriageOutcome::Reduced(reduced)) => {
                    resources.confirm(&suspect, reduced.clone(), &cancellation)
                }
                _ => resources.investigate(&suspect, hidden_behind.as_deref(), &cancellation),
            };
            debug!(
                case = suspect.index,
                variant,
                outcome = name_of(&outcome),
                reduction = cancellation.ran(Purpose::Reduction),
                explanation = cancellation.ran(Purpose::Explanation),
                trigger = cancellation.ran(Purpose::Trigger),
                millis = begun.elapsed().as_millis() as u64,
                "investigation ended"
            );
            events.send(match outcome {
                Ok(outcome) => {
                    let spent = earlier.map_or_else(Effort::default, |result| result.effort);
                    let effort = Effort {
                        candidates: spent.candidates + cancellation.candidates(),
                        time: spent.time + begun.elapsed(),
                    };
                    // the last of its runs may have been left out
                    let outcome = outcome.filter(|_| !cancellation.is_canceled());
                    let result =
                        outcome.map(|outcome| Arc::new(TriageResult { hidden_behind, outcome, effort }));
                    StageEvent::Triaged(id, result)
                }
                Err(error) => StageEvent::Failed(error),
            });
        });
    }
}

/// An investigation's outcome as the log names it.
const fn name_of(outcome: &Result<Option<TriageOutcome>, CampaignError>) -> &'static str {
    match outcome {
        Ok(Some(TriageOutcome::Nothing)) => "nothing new",
        Ok(Some(TriageOutcome::Reduced(_))) => "like an earlier case",
        Ok(Some(TriageOutcome::Confirmed(..))) => "confirmed",
        Ok(None) => "canceled",
        Err(_) => "failed",
    }
}

impl Resources<'_> {
    fn investigate(
        self,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, CampaignError> {
        let is_familiar = |reduced: &Reduced| !self.dedup.register(suspect.id(), reduced);
        let workers = &self.variants[suspect.variant];
        Ok(self.investigator.investigate(workers, suspect, hidden_behind, is_familiar, cancellation)?)
    }

    fn confirm(
        self,
        suspect: &Suspect,
        reduced: Reduced,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, CampaignError> {
        self.dedup.register_again(suspect.id(), &reduced);
        let workers = &self.variants[suspect.variant];
        Ok(self.investigator.confirm(workers, suspect, reduced, cancellation)?)
    }
}

/// Investigations that are not needed any more end soon.
impl Drop for TriageQueue<'_, '_> {
    fn drop(&mut self) {
        self.under_way.values().for_each(|investigation| investigation.cancellation.cancel());
    }
}
