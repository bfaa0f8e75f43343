//! The *committer* takes cases in order: it decides what their divergences are, and writes the journal.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{CaseRecord, Divergence, Event, Summary, Variant, Verdict};

use crate::{
    CampaignError,
    climber::{Climbed, Queue},
    crew::Crew,
    delivery::{Delivery, gather},
    docket::Docket,
    findings::Findings,
    investigation::{Outcome, Proof, Reduced, sighting},
    journal::Journal,
    judging::{Complete, Judged},
    lane::Observed,
    preparer::Referenced,
    suspect::Suspect,
    tickets::Tickets,
};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(250);

/// What has arrived of a case.
#[derive(Default)]
struct Slot {
    referenced: Option<Referenced>,
    /// By variant: the observation, and that of the second run.
    observed: Vec<(Option<Observed>, Option<Observed>)>,
}

/// What a campaign leaves behind, and what it came to so far.
pub struct Ledger {
    pub journal: Journal,
    pub findings: Findings,
    pub summary: Summary,
}

/// Decides on cases in order, records them, and hands out tickets for more.
pub struct Committer<'scope, 'env> {
    crews: &'env [Crew],
    /// Variants that every case runs on; the rungs above them come behind.
    bases: usize,
    ledger: Ledger,
    tickets: Tickets<'env>,
    docket: Docket<'scope, 'env>,
    judges: Sender<Complete>,
    climbs: Queue,
    /// Cases that are not complete yet.
    slots: BTreeMap<u64, Slot>,
    /// Cases that wait for their turn.
    judged: BTreeMap<u64, Judged>,
    started: Instant,
    told: Instant,
}

/// What a divergence turned out to be.
struct Conclusion {
    /// The divergences as they were confirmed.
    divergences: Vec<Divergence>,
    /// The findings that the case shows, by folder name.
    findings: Vec<String>,
}

impl<'scope, 'env> Committer<'scope, 'env> {
    pub fn new(
        crews: &'env [Crew],
        ledger: Ledger,
        tickets: Tickets<'env>,
        docket: Docket<'scope, 'env>,
        judges: Sender<Complete>,
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
        inbox: &Receiver<Delivery>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, CampaignError> {
        loop {
            self.tickets.issue();
            if self.tickets.are_used_up() || self.tickets.are_overdue() {
                break;
            }
            self.receive(inbox, sink)?;
            self.commit_judged(sink)?;
            let (next, step) = (self.tickets.next_place(), self.tickets.step());
            self.docket.look_ahead(&self.judged, self.ledger.findings.catalogue(), (next, step));
            self.tell_progress(sink);
        }
        let Ledger { mut journal, mut summary, .. } = self.ledger;
        journal.flush()?;
        summary.seconds = self.started.elapsed().as_secs_f64();
        sink(&Event::CampaignFinished { summary: summary.clone() });
        Ok(summary)
    }

    /// Takes everything that has arrived, or waits a moment for something.
    fn receive(
        &mut self,
        inbox: &Receiver<Delivery>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        gather(inbox, PROGRESS)?.into_iter().try_for_each(|delivery| self.take(delivery, sink))
    }

    fn take(&mut self, delivery: Delivery, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        match delivery {
            Delivery::Failed(error) => return Err(error),
            Delivery::Event(event) => {
                self.ledger.summary.workers_lost += u64::from(matches!(*event, Event::WorkerLost { .. }));
                sink(&event);
            }
            Delivery::Referenced(referenced) => {
                let index = referenced.index;
                self.slots.entry(index).or_default().referenced = Some(*referenced);
                self.judge_complete(index);
            }
            Delivery::Observed(observed) => {
                let index = observed.index;
                let slot = self.slots.entry(index).or_default();
                slot.observed.resize_with(self.bases, Default::default);
                let (first, repeat) = &mut slot.observed[observed.variant];
                let place = if observed.repeat { repeat } else { first };
                *place = Some(*observed);
                self.judge_complete(index);
            }
            Delivery::Judged(judged, climb) => {
                self.tickets.judged();
                self.judged.insert(judged.index, *judged);
                if let Some(climb) = climb {
                    self.climbs.send(*climb);
                }
            }
            Delivery::Climbed(climbed) => {
                if let Some(judged) = self.judged.get_mut(&climbed.index) {
                    climbed.enter(judged);
                }
            }
            Delivery::Investigated(place, inquest) => self.docket.keep(place, inquest),
        }
        Ok(())
    }

    fn judge_complete(&mut self, index: u64) {
        if self.slots.get(&index).is_some_and(Slot::is_complete)
            && let Some(complete) = self.slots.remove(&index).and_then(Slot::complete)
        {
            // judges that are gone have delivered why
            let _ = self.judges.send(complete);
        }
    }

    /// Commits the cases whose turn it is, up to one that climbs or waits for an investigation.
    fn commit_judged(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        while let Some(mut judged) = self.judged.remove(&self.tickets.next_place()) {
            if judged.climbs {
                self.judged.insert(judged.index, judged);
                return Ok(());
            }
            while let Some(suspect) = judged.suspects.first().cloned() {
                let Some(conclusion) = self.conclude(judged.index, &suspect, sink)? else {
                    self.judged.insert(judged.index, judged);
                    return Ok(());
                };
                judged.suspects.remove(0);
                let variant = &self.crews[suspect.variant].info().variant;
                conclusion.enter(&suspect, variant, &mut judged.record);
            }
            self.commit(judged, sink)?;
        }
        Ok(())
    }

    fn commit(&mut self, judged: Judged, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        let Judged { index, record, .. } = judged;
        let Ledger { journal, findings, summary } = &mut self.ledger;
        journal.append(&record)?;
        summary.record(&record);
        for slug in &record.findings {
            findings.count(slug, 1);
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

    /// What a divergence of the case at `index`, whose turn it is, turned out to be; `None` until it is investigated.
    fn conclude(
        &mut self,
        index: u64,
        suspect: &Arc<Suspect>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Conclusion>, CampaignError> {
        let catalogue = self.ledger.findings.catalogue();
        let likely = catalogue.find_likely(&suspect.provisional);
        let beyond = likely.and_then(|known| catalogue.due(known).cloned());
        if let Some(known) = likely {
            self.sight(known, suspect, sink)?;
            if beyond.is_none() {
                return Ok(Some(self.as_known(known, suspect)));
            }
        }
        let place = suspect.place(index);
        let Some(inquest) = self.docket.inquest(place, beyond.as_ref()).cloned() else {
            self.docket.demand(place, suspect, beyond);
            return Ok(None);
        };
        let (Outcome::Reduced(reduced) | Outcome::Proved(reduced, _)) = &inquest.outcome else {
            return Ok(likely.map(|known| self.as_known(known, suspect)));
        };
        let known = self.ledger.findings.catalogue().find(&reduced.identity.signature);
        match (known, &inquest.outcome) {
            (Some(known), _) => {
                tell_course(suspect, reduced, sink);
                self.sight(known, suspect, sink)?;
                Ok(Some(self.as_known(likely.unwrap_or(known), suspect)))
            }
            (None, Outcome::Proved(_, proof)) if likely.is_none() || proof.recurs => {
                tell_course(suspect, reduced, sink);
                let mut conclusion = self.record(suspect, proof, sink)?;
                if let Some(known) = likely {
                    conclusion.findings.insert(0, self.ledger.findings.slug(known));
                }
                Ok(Some(conclusion))
            }
            (None, Outcome::Proved(..)) => Ok(likely.map(|known| self.as_known(known, suspect))),
            (None, _) => {
                self.docket.demand(place, suspect, beyond);
                Ok(None)
            }
        }
    }

    /// Adds the finding that is proved, or counts the case for the one that it turned out to be.
    fn record(
        &mut self,
        suspect: &Suspect,
        proof: &Proof,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Conclusion, CampaignError> {
        if let Some(lead) = suspect.lead().filter(|_| !proof.recurs) {
            let case = suspect.tried.prepared.task.hash;
            sink(&Event::NotConfirmed { case, divergence: lead.clone() });
        }
        let Ledger { findings, .. } = &mut self.ledger;
        let index = if let Some(known) = findings.catalogue().find(&proof.finding.signature) {
            self.sight(known, suspect, sink)?;
            known
        } else {
            let added = findings.add(proof, self.crews[suspect.variant].info())?;
            self.docket.learn(findings.catalogue());
            let (slug, finding) = (findings.slug(added), proof.finding.clone());
            sink(&Event::FindingRecorded { slug, finding, new: true });
            added
        };
        let divergences = proof.divergences.clone();
        Ok(Conclusion { divergences, findings: vec![self.ledger.findings.slug(index)] })
    }

    fn as_known(&self, known: usize, suspect: &Suspect) -> Conclusion {
        let divergences = suspect.tried.divergences().to_vec();
        Conclusion { divergences, findings: vec![self.ledger.findings.slug(known)] }
    }

    fn sight(
        &mut self,
        known: usize,
        suspect: &Suspect,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        let sighting = sighting(self.crews[suspect.variant].info());
        if let Some((slug, finding)) = self.ledger.findings.sight(known, sighting)? {
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
        sink(&Event::Progress { summary: self.ledger.summary.clone() });
    }
}

/// Tells how a suspect was investigated, now that it is its turn.
fn tell_course(suspect: &Suspect, reduced: &Reduced, sink: &mut dyn FnMut(&Event)) {
    if let Some(lead) = suspect.lead() {
        let case = suspect.tried.prepared.task.hash;
        sink(&Event::Confirming { case, divergence: lead.clone() });
    }
    reduced.events.iter().for_each(sink);
}

impl Conclusion {
    /// Replaces what the journal is to say of the suspect, which is one on `variant`.
    fn enter(self, suspect: &Suspect, variant: &Variant, record: &mut CaseRecord) {
        // what another cause was confirmed as was told with the first
        let told = record.variants.iter_mut().find(|one| one.variant == *variant);
        if let Some(one) = told.filter(|_| suspect.lead == 0) {
            one.verdict = Verdict::Diverges(self.divergences);
        }
        for finding in self.findings {
            if !record.findings.contains(&finding) {
                record.findings.push(finding);
            }
        }
    }
}

impl Climbed {
    /// Completes what is known of the case.
    fn enter(self, judged: &mut Judged) {
        judged.record.variants.extend(self.records);
        judged.suspects.extend(self.suspects);
        judged.climbs = false;
    }
}

impl Slot {
    fn is_complete(&self) -> bool {
        let Some(referenced) = &self.referenced else { return false };
        !self.observed.is_empty()
            && self
                .observed
                .iter()
                .all(|(first, repeat)| first.is_some() && (repeat.is_some() || !referenced.repeated))
    }

    fn complete(self) -> Option<Complete> {
        let observed = self.observed.into_iter().filter_map(|(first, repeat)| Some((first?, repeat)));
        Some(Complete { referenced: self.referenced?, observed: observed.collect() })
    }
}
