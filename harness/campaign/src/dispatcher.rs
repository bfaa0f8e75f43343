//! The *committer* takes cases in order: it decides what their divergences are, and writes the journal.

mod pending;
mod resolution;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{Event, Mask, Summary, Verdict};
use twinfer_store::{Journal, OpenCases};
use twinfer_triage::{Confirmed, Effort, Findings, Reduced, Suspect, TriageOutcome, TriageResult, sighting};
use twinfer_workers::{TriageWorkers, gather};

use self::{pending::Pending, resolution::Resolution};
use crate::{
    CampaignError,
    admission::{Admission, Earlier},
    escalation_thread::{Escalated, Queue},
    judging::{ExecutedCase, JudgedCase},
    stage_event::StageEvent,
    triage_queue::TriageQueue,
};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(250);

/// What a campaign leaves behind, and what it came to so far.
pub struct RunState {
    pub journal: Journal,
    pub findings: Findings,
    /// Without the cases that are `open`.
    pub summary: Summary,
    /// Cases of an earlier part of the campaign that are looked at again first.
    pub open: OpenCases,
}

/// Decides on cases in order, records them, and hands out tickets for more.
pub struct Dispatcher<'scope, 'env> {
    crews: &'env [TriageWorkers],
    /// Variants that every case runs on; the rungs above them come behind.
    bases: usize,
    ledger: RunState,
    tickets: Admission<'env>,
    docket: TriageQueue<'scope, 'env>,
    judges: Sender<ExecutedCase>,
    climbs: Queue,
    /// Cases that are not complete yet.
    slots: BTreeMap<u64, Pending>,
    /// Cases that wait for their turn.
    judged: BTreeMap<u64, JudgedCase>,
    started: Instant,
    told: Instant,
}

/// Whether a case whose turn has come may wait for investigations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    MayWait,
    TimeIsUp,
}

impl RunState {
    /// What an earlier part of the campaign leaves to this one.
    pub fn earlier(&self) -> Earlier {
        let open: Vec<_> = self.open.keys().copied().collect();
        Earlier { committed: self.summary.cases + open.len() as u64, open }
    }
}

impl<'scope, 'env> Dispatcher<'scope, 'env> {
    pub fn new(
        crews: &'env [TriageWorkers],
        ledger: RunState,
        tickets: Admission<'env>,
        docket: TriageQueue<'scope, 'env>,
        judges: Sender<ExecutedCase>,
        climbs: Queue,
    ) -> Self {
        let started = Instant::now();
        Self {
            crews,
            bases: crews.iter().filter(|crew| crew.info().rung_of.is_none()).count(),
            ledger,
            tickets,
            docket,
            judges,
            climbs,
            slots: BTreeMap::new(),
            judged: BTreeMap::new(),
            started,
            told: started,
        }
    }

    /// Runs until the budget is spent and everything under way is recorded.
    pub fn run(
        mut self,
        inbox: &Receiver<StageEvent>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, CampaignError> {
        loop {
            self.tickets.issue();
            if self.tickets.are_used_up() {
                break;
            }
            if self.tickets.are_overdue() {
                if self.tickets.ran_out_of_time() {
                    self.commit_open(sink)?;
                }
                break;
            }
            self.receive(inbox, sink)?;
            self.commit_judged(sink)?;
            let (next, step) = (self.tickets.next_place(), self.tickets.step());
            self.docket.look_ahead(&self.judged, self.ledger.findings.catalog(), (next, step));
            self.tell_progress(sink);
        }
        let RunState { mut journal, mut summary, open, .. } = self.ledger;
        journal.flush()?;
        for record in open.values() {
            summary.record(record);
            summary.earlier += 1;
        }
        summary.seconds = self.started.elapsed().as_secs_f64();
        sink(&Event::CampaignFinished { summary: summary.clone() });
        Ok(summary)
    }

    /// Takes everything that has arrived, or waits a moment for something.
    fn receive(
        &mut self,
        inbox: &Receiver<StageEvent>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        gather(inbox, PROGRESS)?.into_iter().try_for_each(|delivery| self.take(delivery, sink))
    }

    fn take(&mut self, delivery: StageEvent, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        match delivery {
            StageEvent::Failed(error) => return Err(error),
            StageEvent::Event(event) => {
                self.ledger.summary.workers_lost += u64::from(matches!(*event, Event::WorkerLost { .. }));
                sink(&event);
            }
            StageEvent::PreparedCase(referenced) => {
                let index = referenced.index;
                self.slots.entry(index).or_default().referenced = Some(*referenced);
                self.judge_complete(index);
            }
            StageEvent::Observed(observed) => {
                let index = observed.index;
                let slot = self.slots.entry(index).or_default();
                slot.observed.resize_with(self.bases, Default::default);
                let (first, repeat) = &mut slot.observed[observed.variant];
                let place = if observed.repeat { repeat } else { first };
                *place = Some(*observed);
                self.judge_complete(index);
            }
            StageEvent::JudgedCase(judged, climb) => {
                self.tickets.judged();
                self.judged.insert(judged.index, *judged);
                if let Some(climb) = climb {
                    self.climbs.send(*climb);
                }
            }
            StageEvent::Escalated(climbed) => {
                if let Some(judged) = self.judged.get_mut(&climbed.index) {
                    climbed.enter(judged);
                }
            }
            StageEvent::Investigated(place, inquest) => self.docket.keep(place, inquest),
        }
        Ok(())
    }

    fn judge_complete(&mut self, index: u64) {
        if self.slots.get(&index).is_some_and(Pending::is_complete)
            && let Some(complete) = self.slots.remove(&index).and_then(Pending::complete)
        {
            // judges that are gone have delivered why
            let _ = self.judges.send(complete);
        }
    }

    /// Commits the cases whose turn it is, up to one that climbs or waits for an investigation.
    fn commit_judged(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        while let Some(mut judged) = self.judged.remove(&self.tickets.next_place()) {
            if judged.climbs || !self.conclude_all(&mut judged, Haste::MayWait, sink)? {
                self.judged.insert(judged.index, judged);
                return Ok(());
            }
            self.commit(judged, sink)?;
        }
        Ok(())
    }

    /// Commits the cases that wait for their turn when time is up: what is known of them is told, and what is left open.
    fn commit_open(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        while let Some(mut judged) = self.judged.remove(&self.tickets.next_place()) {
            self.conclude_all(&mut judged, Haste::TimeIsUp, sink)?;
            self.commit(judged, sink)?;
        }
        Ok(())
    }

    /// Finds out what every suspect of a case is; false where one has to be investigated first.
    fn conclude_all(
        &mut self,
        judged: &mut JudgedCase,
        haste: Haste,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<bool, CampaignError> {
        while let Some(suspect) = judged.suspects.first().cloned() {
            match (self.conclude(&suspect, judged.below(&suspect), haste, sink)?, haste) {
                (Some(conclusion), _) => self.enter(conclusion, &suspect, judged),
                (None, Haste::MayWait) => return Ok(false),
                (None, Haste::TimeIsUp) => {
                    let variant = self.crews[suspect.variant].info().variant.clone();
                    note_once(&mut judged.record.open, variant);
                }
            }
            judged.suspects.remove(0);
        }
        Ok(true)
    }

    fn commit(&mut self, judged: JudgedCase, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        let JudgedCase { index, record, .. } = judged;
        let RunState { journal, findings, summary, open } = &mut self.ledger;
        match open.remove(&index) {
            Some(_) => journal.append_revisited(&record)?,
            None => journal.append(&record)?,
        }
        summary.record(&record);
        for slug in &record.findings {
            findings.count(slug, 1);
        }
        let mut is_news = false;
        for mask in &record.masks {
            is_news |= findings.count_masked(mask, 1);
        }
        if is_news {
            self.docket.learn(findings.catalog());
        }
        if summary.new_findings < findings.new_findings() {
            // a resumed campaign investigates again what the journal does not count
            journal.flush()?;
        }
        summary.new_findings = findings.new_findings();
        self.docket.close(index);
        self.tickets.commit();
        sink(&Event::CaseFinished { record });
        Ok(())
    }

    /// What a divergence whose turn it is turned out to be, which showed `below` on a lower rung too if that is there;
    /// `None` where it is not investigated, and nothing like it is known.
    fn conclude(
        &mut self,
        suspect: &Arc<Suspect>,
        below: Option<usize>,
        haste: Haste,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Resolution>, CampaignError> {
        let catalogue = self.ledger.findings.catalog();
        let provisional = &suspect.provisional;
        let likely = catalogue.find_likely(provisional);
        let due =
            likely.filter(|_| below.is_none()).and_then(|known| catalogue.due_to_look_behind(known).cloned());
        let assumed = match (likely, below) {
            (Some(likely), _) => due.is_none().then(|| self.known(likely, suspect)),
            (None, Some(below)) => Some(Resolution::repeated(below, suspect)),
            (None, None) => catalogue.find_masked(provisional).map(|known| self.known(known, suspect)),
        };
        for known in assumed.iter().flat_map(|assumed| &assumed.findings).chain(&likely) {
            self.sight(*known, suspect, sink)?;
        }
        if assumed.is_some() {
            return Ok(assumed);
        }
        let place = suspect.place();
        if let Some(inquest) = self.docket.inquest(place, due.as_ref()).cloned()
            && let Some(conclusion) = self.settle(suspect, likely, &inquest, sink)?
        {
            let variant = self.crews[suspect.variant].info().variant.clone();
            let Effort { candidates, time } = inquest.effort;
            let millis = time.as_millis() as u64;
            sink(&Event::Investigated { index: suspect.index, variant, candidates, millis });
            return Ok(Some(conclusion));
        }
        match haste {
            Haste::MayWait => {
                self.docket.demand(place, suspect, due);
                Ok(None)
            }
            Haste::TimeIsUp => {
                let veiled = self.ledger.findings.catalog().masked_by(&suspect.provisional);
                let Some(known) = likely.or(veiled) else { return Ok(None) };
                self.sight(known, suspect, sink)?;
                Ok(Some(self.known(known, suspect)))
            }
        }
    }

    /// What an investigation says of a suspect that is `likely` known; `None` where it did not prove what has to be proved.
    fn settle(
        &mut self,
        suspect: &Suspect,
        likely: Option<usize>,
        inquest: &TriageResult,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Resolution>, CampaignError> {
        let (TriageOutcome::Reduced(reduced) | TriageOutcome::Confirmed(reduced, _)) = &inquest.outcome
        else {
            return Ok(likely.map(|known| self.known(known, suspect)));
        };
        let known = self.ledger.findings.catalog().find(&reduced.identity.signature);
        match (known, &inquest.outcome) {
            (Some(known), _) => {
                tell_course(suspect, reduced, sink);
                self.sight(known, suspect, sink)?;
                Ok(Some(self.known(likely.unwrap_or(known), suspect)))
            }
            (None, TriageOutcome::Confirmed(_, proof)) if likely.is_none() || proof.recurs => {
                tell_course(suspect, reduced, sink);
                let mut conclusion = self.record(suspect, proof, sink)?;
                if let Some(known) = likely {
                    conclusion.findings.insert(0, known);
                }
                Ok(Some(conclusion))
            }
            (None, TriageOutcome::Confirmed(..)) => Ok(likely.map(|known| self.known(known, suspect))),
            (None, _) => Ok(None),
        }
    }

    /// Adds the finding that is proved, or counts the case for the one that it turned out to be.
    fn record(
        &mut self,
        suspect: &Suspect,
        proof: &Confirmed,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Resolution, CampaignError> {
        if let Some(lead) = suspect.lead().filter(|_| !proof.recurs) {
            let case = suspect.case;
            sink(&Event::NotConfirmed { case, divergence: lead.clone() });
        }
        let RunState { findings, .. } = &mut self.ledger;
        let index = if let Some(known) = findings.catalog().find(&proof.finding.signature) {
            self.sight(known, suspect, sink)?;
            known
        } else {
            let added = findings.add(proof, self.crews[suspect.variant].info())?;
            self.docket.learn(findings.catalog());
            let (slug, finding) = (findings.slug(added), proof.finding.clone());
            sink(&Event::FindingRecorded { slug, finding, new: true });
            added
        };
        let divergences = proof.divergences.clone();
        Ok(Resolution { divergences, ..self.known(index, suspect) })
    }

    /// The suspect shows the finding at `index`, veiled if need be.
    fn known(&self, index: usize, suspect: &Suspect) -> Resolution {
        let findings = &self.ledger.findings;
        let operators = findings.catalog().masked_operators(index, &suspect.provisional);
        let mask = operators.map(|operators| Mask { finding: findings.slug(index), operators });
        Resolution { mask, ..Resolution::repeated(index, suspect) }
    }

    /// Completes what the journal is to say of the suspect.
    fn enter(&self, conclusion: Resolution, suspect: &Arc<Suspect>, judged: &mut JudgedCase) {
        let JudgedCase { record, concluded, .. } = judged;
        let variant = &self.crews[suspect.variant].info().variant;
        // what another cause was confirmed as was told with the first
        let told = record.variants.iter_mut().find(|one| one.variant == *variant);
        if let Some(one) = told.filter(|_| suspect.lead == 0) {
            one.verdict = Verdict::Diverges(conclusion.divergences);
        }
        for index in conclusion.findings {
            note_once(&mut record.findings, self.ledger.findings.slug(index));
            concluded.push((Arc::clone(suspect), index));
        }
        if let Some(mask) = conclusion.mask {
            note_once(&mut record.masks, mask);
        }
    }

    fn sight(
        &mut self,
        known: usize,
        suspect: &Suspect,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        let sighting = sighting(self.crews[suspect.variant].info());
        if let Some((slug, finding)) = self.ledger.findings.record_sighting(known, sighting)? {
            sink(&Event::FindingRecorded { slug, finding, new: false });
        }
        Ok(())
    }

    fn tell_progress(&mut self, sink: &mut dyn FnMut(&Event)) {
        if self.told.elapsed() < PROGRESS {
            return;
        }
        self.told = Instant::now();
        self.ledger.summary.seconds = self.started.elapsed().as_secs_f64();
        let waiting = self.judged.len() as u64;
        sink(&Event::Progress { summary: self.ledger.summary.clone(), waiting });
    }
}

/// Tells how a suspect was investigated, now that it is its turn.
fn tell_course(suspect: &Suspect, reduced: &Reduced, sink: &mut dyn FnMut(&Event)) {
    if let Some(lead) = suspect.lead() {
        let case = suspect.case;
        sink(&Event::Confirming { case, divergence: lead.clone() });
    }
    reduced.events.iter().for_each(sink);
}

fn note_once<T: PartialEq>(notes: &mut Vec<T>, note: T) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

impl Escalated {
    /// Completes what is known of the case.
    fn enter(self, judged: &mut JudgedCase) {
        judged.record.variants.extend(self.records);
        judged.suspects.extend(self.suspects);
        judged.climbs = false;
    }
}
