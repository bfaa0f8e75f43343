//! The *dispatcher* knows where every case is. It alone decides what a divergence is, in case order, and it alone writes the
//! journal; everything else of a campaign happens in threads that send it a [`StageEvent`] when they are done.

mod pending;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{Event, RunEnd, Summary};
use twinfer_triage::Suspect;
use twinfer_workers::{TriageWorkers, receive_all};

use self::pending::PendingCases;
use crate::{
    CampaignError,
    admission::Admission,
    decide::{Counts, Decision, Question, decide},
    escalation_thread::EscalationQueue,
    resolution::Resolution,
    run_state::RunState,
    stage_event::StageEvent,
    stages::{Escalated, ExecutedCase, JudgedCase},
    triage_queue::TriageQueue,
    turn_wait::TurnWait,
};

/// How often what happened is synced to disk and reported, and how long the dispatcher waits for an event at most.
const PROGRESS: Duration = Duration::from_millis(250);

/// Takes every case from its seed to the journal.
pub struct Dispatcher<'scope, 'env> {
    /// By variant; the rungs come behind the variants that run every case.
    variants: &'env [TriageWorkers],
    admission: Admission<'env>,
    pending: PendingCases,
    escalations: EscalationQueue,
    /// Cases with verdicts, which are resolved in case order.
    judged: BTreeMap<u64, JudgedCase>,
    triage: TriageQueue<'scope, 'env>,
    state: RunState,
    /// Events about cases, in case order, that are reported once the journal is on disk.
    unreported: Vec<Event>,
    turn_wait: TurnWait,
    started: Instant,
    progress_reported: Instant,
}

/// Whether a case whose turn has come may wait for investigations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    MayWait,
    TimeIsUp,
}

impl<'scope, 'env> Dispatcher<'scope, 'env> {
    pub fn new(
        variants: &'env [TriageWorkers],
        admission: Admission<'env>,
        judges: Sender<ExecutedCase>,
        escalations: EscalationQueue,
        triage: TriageQueue<'scope, 'env>,
        state: RunState,
    ) -> Self {
        let runs_every_case = |workers: &&TriageWorkers| workers.info().rung_of.is_none();
        let started = Instant::now();
        Self {
            variants,
            admission,
            pending: PendingCases::new(variants.iter().filter(runs_every_case).count(), judges),
            escalations,
            judged: BTreeMap::new(),
            triage,
            state,
            unreported: Vec::new(),
            turn_wait: TurnWait::default(),
            started,
            progress_reported: started,
        }
    }

    /// One case, from seed to report, until the budget is spent and everything under way is recorded: what the campaign came to,
    /// and whether it ended early.
    pub fn run(
        mut self,
        events: &Receiver<StageEvent>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(Summary, RunEnd), CampaignError> {
        loop {
            // its index goes to a generator thread
            self.admission.admit();
            if self.admission.is_finished() {
                break;
            }
            if self.admission.is_overdue() {
                self.leave_open_cases()?;
                break;
            }
            for event in receive_all(events, PROGRESS)? {
                match event {
                    // it is encoded and queued for an executor of each variant, and golden has computed its reference
                    StageEvent::Prepared(case) => self.pending.add_prepared(*case),
                    // a worker has answered; the last answer sends the case to a judge
                    StageEvent::Observed(observed) => self.pending.add_observed(*observed),
                    // the checks have drawn its verdicts; a suspicious case, or one of a sample, runs again at stronger options
                    StageEvent::Judged(case, escalation) => {
                        self.admission.judged();
                        self.judged.insert(case.index, *case);
                        if let Some(escalation) = escalation {
                            self.escalations.send(*escalation);
                        }
                    }
                    StageEvent::Escalated(escalated) => self.complete(*escalated),
                    // what diverges was reduced, and confirmed in fresh workers
                    StageEvent::Triaged(place, result) => self.triage.keep(place, result),
                    StageEvent::Report(event) => self.report(&event, sink),
                    StageEvent::Failed(error) => return Err(error),
                }
            }
            // in case order: every divergence is decided, findings are written, and the case is recorded
            self.resolve_cases(Patience::MayWait)?;
            // what later cases will need is investigated meanwhile
            self.triage.look_ahead(&self.judged, self.state.catalog(), &self.admission.upcoming());
            if self.progress_reported.elapsed() >= PROGRESS {
                self.report_recorded(sink)?;
                self.report_progress(sink);
            }
        }
        self.report_recorded(sink)?;
        let end = self.admission.run_end();
        Ok((self.state.finish(self.started.elapsed())?, end))
    }

    /// Resolves the cases whose turn it is, up to one that is escalated or waits for an investigation.
    fn resolve_cases(&mut self, patience: Patience) -> Result<(), CampaignError> {
        while let Some(mut case) = self.judged.remove(&self.admission.next_index()) {
            let waits = case.is_escalated && patience == Patience::MayWait;
            if waits || !self.resolve(&mut case, patience)? {
                self.turn_wait.begin(case.index, if waits { "escalation" } else { "triage" });
                self.judged.insert(case.index, case);
                return Ok(());
            }
            self.turn_wait.end();
            self.record(case)?;
        }
        Ok(())
    }

    /// Once time is up, records the cases that wait for an investigation with what is known of them. A campaign that is asked to
    /// stop leaves them to the one that resumes it.
    fn leave_open_cases(&mut self) -> Result<(), CampaignError> {
        if self.admission.ran_out_of_time() {
            self.resolve_cases(Patience::TimeIsUp)?;
        }
        Ok(())
    }

    /// Decides every suspect of a case; false if one has to be investigated first.
    fn resolve(&mut self, case: &mut JudgedCase, patience: Patience) -> Result<bool, CampaignError> {
        while let Some(suspect) = case.suspects.first().cloned() {
            let info = self.variants[suspect.variant].info();
            match self.resolve_suspect(&suspect, case.shown_below(&suspect), patience)? {
                Some(resolution) => self.state.enter(resolution, (&suspect, info), case),
                None if patience == Patience::MayWait => return Ok(false),
                None => case.leave_open(&info.variant),
            }
            case.suspects.remove(0);
        }
        Ok(true)
    }

    /// What a suspect turns out to be; `None` if it has to be investigated first, or if there is no time for that.
    fn resolve_suspect(
        &mut self,
        suspect: &Arc<Suspect>,
        lower: Option<usize>,
        patience: Patience,
    ) -> Result<Option<Resolution>, CampaignError> {
        let sink: &mut dyn FnMut(&Event) = &mut |event| self.unreported.push(event.clone());
        let seen = (&**suspect, self.variants[suspect.variant].info());
        let result = self.triage.result(suspect.place()).cloned();
        match decide(self.state.catalog(), Counts::Complete, &suspect.provisional, lower, result.as_deref()) {
            Decision::Known(finding) => self.state.known(finding, seen, sink).map(Some),
            Decision::Repeats(finding) => {
                self.state.add_sighting(finding, seen.1, sink)?;
                Ok(Some(Resolution::repeated(finding, suspect)))
            }
            Decision::Triaged(triaged, effort) => {
                let resolution = self.state.triaged(&triaged, effort, seen, sink)?;
                self.triage.update(self.state.catalog());
                Ok(Some(resolution))
            }
            Decision::Investigate(question) | Decision::Confirm(question) => {
                self.postpone(suspect, question, patience)
            }
        }
    }

    /// Has a suspect investigated; once time is up, it counts for the finding that it resembles most.
    fn postpone(
        &mut self,
        suspect: &Arc<Suspect>,
        Question { hidden_behind, meanwhile }: Question,
        patience: Patience,
    ) -> Result<Option<Resolution>, CampaignError> {
        let sink: &mut dyn FnMut(&Event) = &mut |event| self.unreported.push(event.clone());
        let info = self.variants[suspect.variant].info();
        match (patience, meanwhile) {
            (Patience::TimeIsUp, Some(known)) => self.state.known(known, (suspect, info), sink).map(Some),
            (Patience::TimeIsUp, None) => Ok(None),
            (Patience::MayWait, _) => {
                if let Some(known) = meanwhile.filter(|_| hidden_behind.is_some()) {
                    self.state.add_sighting(known, info, sink)?;
                }
                self.triage.demand(suspect, hidden_behind);
                Ok(None)
            }
        }
    }

    /// Writes a case whose suspects are all decided to the journal.
    fn record(&mut self, case: JudgedCase) -> Result<(), CampaignError> {
        let JudgedCase { index, record, .. } = case;
        if self.state.record(index, &record)? {
            self.triage.update(self.state.catalog());
        }
        self.triage.close(index);
        self.admission.recorded();
        self.unreported.push(Event::CaseFinished { record });
        Ok(())
    }

    /// Waits until the recorded cases are on disk, and reports them.
    fn report_recorded(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        self.state.journal.commit()?;
        self.unreported.drain(..).for_each(|event| sink(&event));
        Ok(())
    }

    /// Adds what a case showed at stronger options.
    fn complete(&mut self, escalated: Escalated) {
        if let Some(case) = self.judged.get_mut(&escalated.index) {
            case.complete(escalated);
        }
    }

    fn report(&mut self, event: &Event, sink: &mut dyn FnMut(&Event)) {
        self.state.summary.workers_lost += u64::from(matches!(event, Event::WorkerLost { .. }));
        sink(event);
    }

    fn report_progress(&mut self, sink: &mut dyn FnMut(&Event)) {
        self.progress_reported = Instant::now();
        self.state.summary.seconds = self.started.elapsed().as_secs_f64();
        let waiting = self.judged.len() as u64;
        sink(&Event::Progress { summary: self.state.summary.clone(), waiting });
    }
}
