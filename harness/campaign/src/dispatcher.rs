//! The *dispatcher* knows where every case is. It alone decides what a divergence is, in case order unless time is limited, and it alone writes the
//! journal, in the order in which verdicts come; everything else of a campaign happens in threads that send it a [`StageEvent`]
//! when they are done.

mod pending;
mod undecided;

use std::{
    collections::BTreeMap,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{Budget, Event, RunEnd, Summary};
use twinfer_triage::Suspect;
use twinfer_workers::{TriageWorkers, receive_all};

use self::{pending::PendingCases, undecided::Undecided};
use crate::{
    CampaignError,
    admission::Admission,
    decide::{Counts, Decision, Question, decide},
    escalation_thread::EscalationQueue,
    hang_forecast::HangForecast,
    resolution::Resolution,
    run_state::RunState,
    stage_event::StageEvent,
    stages::{Escalated, Escalation, ExecutedCase, JudgedCase},
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
    /// Cases with verdicts that run at stronger options, by their index in the campaign.
    escalated: BTreeMap<u64, JudgedCase>,
    forecast: Arc<HangForecast>,
    /// Cases with all their verdicts, some of which variants may leave out by what earlier blocks come to, by their index in the campaign.
    unsifted: BTreeMap<u64, JudgedCase>,
    /// Cases whose divergences are to be decided.
    undecided: Undecided,
    triage: TriageQueue<'scope, 'env>,
    state: RunState,
    /// Events about cases that are reported once the journal is on disk.
    unreported: Vec<Event>,
    turn_wait: TurnWait,
    started: Instant,
    progress_reported: Instant,
}

/// Whether a case may wait for investigations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// It is next, so what it needs is investigated now.
    IsNext,
    /// Others come first.
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
        forecast: Arc<HangForecast>,
        state: RunState,
    ) -> Self {
        let runs_every_case = |workers: &&TriageWorkers| workers.info().rung_of.is_none();
        let started = Instant::now();
        Self {
            variants,
            admission,
            pending: PendingCases::new(variants.iter().filter(runs_every_case).count(), judges),
            escalations,
            escalated: BTreeMap::new(),
            forecast,
            unsifted: BTreeMap::new(),
            undecided: Undecided::default(),
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
        // an earlier part of the campaign has verdicts to learn from
        self.sift()?;
        loop {
            // its index goes to a generator thread
            self.admission.admit();
            if self.admission.is_asked_to_stop() {
                self.triage.start_no_more();
            }
            if self.admission.is_finished() {
                break;
            }
            if self.admission.is_overdue() || self.triage.is_over() && self.admission.all_settled() {
                self.leave_undecided()?;
                break;
            }
            for event in receive_all(events, PROGRESS)? {
                match event {
                    // it is encoded and queued for an executor of each variant, and golden has computed its reference
                    StageEvent::Prepared(case) => self.pending.add_prepared(*case),
                    // it is predicted to hang, by what is not final yet
                    StageEvent::Waits(index) => self.wait(index),
                    // a worker has answered; the last answer sends the case to a judge
                    StageEvent::Observed(observed) => self.pending.add_observed(*observed),
                    // the checks have drawn its verdicts; a suspicious case, or one of a sample, runs again at stronger options
                    StageEvent::Judged(case, None) => self.judged(*case)?,
                    StageEvent::Judged(case, Some(escalation)) => self.escalate(*case, *escalation),
                    StageEvent::Escalated(escalated) => self.complete(*escalated)?,
                    // what diverges was reduced, and confirmed in fresh workers
                    StageEvent::Triaged(suspect, result) => {
                        self.triage.keep(suspect, result);
                        self.undecided.reconsider();
                    }
                    StageEvent::Report(event) => self.report(&event, sink),
                    StageEvent::Failed(error) => return Err(error),
                }
            }
            // every divergence is decided, and findings are written
            self.decide_cases()?;
            // what later cases will need is investigated meanwhile
            self.look_ahead();
            if self.progress_reported.elapsed() >= PROGRESS {
                self.record_open(self.admission.options().open_after)?;
                self.report_recorded(sink)?;
                self.report_progress(sink);
            }
        }
        self.report_recorded(sink)?;
        let end = self.admission.run_end();
        Ok((self.state.finish(self.started.elapsed())?, end))
    }

    /// Takes a case with all verdicts of the variants that run every case.
    fn judged(&mut self, case: JudgedCase) -> Result<(), CampaignError> {
        self.admission.judged();
        self.settle(case)
    }

    /// Has a case with those verdicts run at stronger options.
    fn escalate(&mut self, case: JudgedCase, escalation: Escalation) {
        self.admission.judged();
        self.escalated.insert(case.index, case);
        self.escalations.send(escalation);
    }

    /// Adds what a case showed at stronger options.
    fn complete(&mut self, escalated: Escalated) -> Result<(), CampaignError> {
        let Some(mut case) = self.escalated.remove(&escalated.index) else { return Ok(()) };
        case.complete(escalated);
        self.settle(case)
    }

    /// Has a case run once it is known whether it is left out.
    fn wait(&mut self, index: u64) {
        self.admission.wait(index);
        self.admission.resume(|index| self.forecast.is_final(index));
    }

    /// Takes a case that has all its verdicts.
    fn settle(&mut self, case: JudgedCase) -> Result<(), CampaignError> {
        self.admission.settled(case.index);
        self.unsifted.insert(case.index, case);
        self.sift()
    }

    /// Takes on the cases of which it is known which variants leave them out. A block that is complete tells that of the next one.
    fn sift(&mut self) -> Result<(), CampaignError> {
        loop {
            while let Some(case) = self.next_sifted() {
                self.take_on(case)?;
            }
            if !self.forecast.learn_block_before(self.admission.all_settled_before()) {
                return Ok(());
            }
            self.admission.resume(|index| self.forecast.is_final(index));
        }
    }

    fn next_sifted(&mut self) -> Option<JudgedCase> {
        let first = self.unsifted.first_entry()?;
        let index = *first.key();
        let is_known = self.forecast.is_final(index)
            || self.forecast.is_free(index, |start| self.admission.unsettled_before(start));
        is_known.then(|| first.remove())
    }

    /// Records a case, unless it has divergences to be decided first.
    fn take_on(&mut self, mut case: JudgedCase) -> Result<(), CampaignError> {
        if !case.is_final {
            case.leave_out(self.forecast.left_out(&case.record), self.variants);
        }
        self.forecast.add(&case.record);
        if case.suspects.is_empty() {
            return self.record(case);
        }
        self.undecided.add(case);
        Ok(())
    }

    /// Decides the divergences of cases: with a budget of cases in case order, so that the result depends on nothing else; with a budget of
    /// time as soon as each can be decided, so that findings are known early.
    fn decide_cases(&mut self) -> Result<(), CampaignError> {
        self.decide_in_order()?;
        match self.admission.options().budget {
            Budget::Cases(_) => Ok(()),
            Budget::Seconds(_) => self.decide_others(),
        }
    }

    /// Decides cases in case order, up to one that waits for an investigation or for the verdicts of an earlier case.
    fn decide_in_order(&mut self) -> Result<(), CampaignError> {
        let end = self.admission.all_settled_before();
        while let Some(case) = self.undecided.take_before(end) {
            let index = case.index;
            if !self.decide_case(case, Patience::IsNext)? {
                self.turn_wait.begin(index);
                return Ok(());
            }
            self.turn_wait.end();
        }
        Ok(())
    }

    /// Decides the cases that are new, and all of them again once more is known.
    fn decide_others(&mut self) -> Result<(), CampaignError> {
        while let Some(indices) = self.undecided.take_changed() {
            for index in indices {
                if let Some(case) = self.undecided.take(index) {
                    self.decide_case(case, Patience::MayWait)?;
                }
            }
        }
        Ok(())
    }

    /// Decides a case and records it; false if it has to wait.
    fn decide_case(&mut self, mut case: JudgedCase, patience: Patience) -> Result<bool, CampaignError> {
        if !self.resolve(&mut case, patience)? {
            self.undecided.put_back(case);
            return Ok(false);
        }
        self.triage.close(case.index);
        self.record(case)?;
        Ok(true)
    }

    /// Investigates what later cases will need. Once time is up, only the investigations under way go on, no further than they must.
    fn look_ahead(&mut self) {
        if self.admission.has_ended() && self.admission.ran_out_of_time() {
            self.triage.end();
        } else if self.admission.has_ended() && self.admission.all_settled() {
            self.triage.run_alone();
        }
        self.triage.set_waited_for(self.admission.is_full_of_undecided());
        let end = self.admission.all_settled_before();
        self.triage.look_ahead(self.undecided.cases(), self.state.catalog(), end);
    }

    /// Records the cases that are not decided when the campaign ends. Once time is up, what is known decides them; a campaign that is
    /// asked to stop leaves them to the one that resumes it.
    fn leave_undecided(&mut self) -> Result<(), CampaignError> {
        if !self.admission.ran_out_of_time() {
            return self.record_open(Duration::ZERO);
        }
        self.settle_escalated()?;
        while let Some(mut case) = self.undecided.take_before(u64::MAX) {
            self.resolve(&mut case, Patience::TimeIsUp)?;
            self.record(case)?;
        }
        Ok(())
    }

    /// Takes the cases that still wait to run at stronger options with the verdicts that they have.
    fn settle_escalated(&mut self) -> Result<(), CampaignError> {
        mem::take(&mut self.escalated).into_values().try_for_each(|case| self.settle(case))
    }

    /// Records the cases that have waited this long for decisions.
    fn record_open(&mut self, wait: Duration) -> Result<(), CampaignError> {
        let (waiting, variants) = (self.undecided.longer_than(wait), self.variants);
        waiting.map(|case| case.open_record(variants)).try_for_each(|record| self.state.record_open(record))
    }

    /// Decides every suspect of a case; false if some have to be investigated first.
    fn resolve(&mut self, case: &mut JudgedCase, patience: Patience) -> Result<bool, CampaignError> {
        let mut waiting: Vec<Arc<Suspect>> = Vec::new();
        for suspect in mem::take(&mut case.suspects) {
            if self.comes_after(&suspect, &waiting) {
                waiting.push(suspect);
                continue;
            }
            let info = self.variants[suspect.variant].info();
            match self.resolve_suspect(&suspect, case.shown_below(&suspect), patience)? {
                Some(resolution) => self.state.enter(resolution, (&suspect, info), case),
                None if patience == Patience::TimeIsUp => case.leave_open(&info.variant),
                None => waiting.push(suspect),
            }
        }
        case.suspects = waiting;
        Ok(case.suspects.is_empty())
    }

    /// Whether a suspect is decided only after those of its case that are `waiting`: with a budget of cases after any, and with a budget of
    /// time after what it may only repeat.
    fn comes_after(&self, suspect: &Suspect, waiting: &[Arc<Suspect>]) -> bool {
        match self.admission.options().budget {
            Budget::Cases(_) => !waiting.is_empty(),
            Budget::Seconds(_) => waiting.iter().any(|lower| suspect.repeats(lower)),
        }
    }

    /// What a suspect turns out to be; `None` if it has to be investigated first, or if there is no time for that.
    fn resolve_suspect(
        &mut self,
        suspect: &Arc<Suspect>,
        lower: Option<usize>,
        patience: Patience,
    ) -> Result<Option<Resolution>, CampaignError> {
        let counts = self.counts_at(suspect.index);
        let sink: &mut dyn FnMut(&Event) = &mut |event| self.unreported.push(event.clone());
        let seen = (&**suspect, self.variants[suspect.variant].info());
        let result = self.triage.result(suspect.id()).cloned();
        match decide(
            self.state.catalog(),
            counts,
            suspect.case,
            &suspect.provisional,
            lower,
            result.as_deref(),
        ) {
            Decision::Known(finding) => self.state.known(finding, seen, sink).map(Some),
            Decision::Repeats(finding) => {
                self.state.add_sighting(finding, seen.1, sink)?;
                Ok(Some(Resolution::repeated(finding, suspect)))
            }
            Decision::Triaged(triaged, effort) => {
                let resolution = self.state.triaged(&triaged, effort, seen, sink)?;
                self.triage.update(self.state.catalog());
                self.undecided.reconsider();
                Ok(Some(resolution))
            }
            Decision::Investigate(question) | Decision::Confirm(question) => {
                self.postpone(suspect, question, patience)
            }
        }
    }

    /// Whether the catalog counts every case that is to be decided before the one at `index`: with a budget of time, those that are decided
    /// already.
    fn counts_at(&self, index: u64) -> Counts {
        match self.admission.options().budget {
            Budget::Cases(_) => Counts::at(index, self.admission.all_settled_before()),
            Budget::Seconds(_) => Counts::Complete,
        }
    }

    /// Has a suspect investigated if its case is next. Once time is up, it counts for the finding that it resembles most, and is a finding as it is if its
    /// investigation was under way.
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
            (Patience::TimeIsUp, None) if self.triage.has_begun(suspect.id()) => {
                let unfinished = self.triage.unfinished(suspect)?;
                let resolution = self.state.add_finding(&unfinished, (suspect, info), sink)?;
                self.triage.update(self.state.catalog());
                Ok(Some(resolution))
            }
            (Patience::TimeIsUp, None) | (Patience::MayWait, _) => Ok(None),
            (Patience::IsNext, _) => {
                self.triage.demand(suspect, hidden_behind);
                Ok(None)
            }
        }
    }

    /// Writes a case to the journal: its divergences are decided, or left open.
    fn record(&mut self, case: JudgedCase) -> Result<(), CampaignError> {
        let JudgedCase { index, record, .. } = case;
        if self.state.record(index, &record)? {
            self.triage.update(self.state.catalog());
        }
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

    fn report(&mut self, event: &Event, sink: &mut dyn FnMut(&Event)) {
        self.state.summary.workers_lost += u64::from(matches!(event, Event::WorkerLost { .. }));
        sink(event);
    }

    fn report_progress(&mut self, sink: &mut dyn FnMut(&Event)) {
        self.progress_reported = Instant::now();
        self.state.summary.seconds = self.started.elapsed().as_secs_f64();
        let (waiting, summary) = (self.undecided.len() as u64, self.state.summary.clone());
        let (investigating, starting) = (self.triage.under_way(), self.triage.starting());
        sink(&Event::Progress { summary, waiting, investigating, starting });
    }
}
