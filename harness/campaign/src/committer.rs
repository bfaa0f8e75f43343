//! The *committer* takes cases in order: it judges them, has divergences investigated, and writes the journal.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, select};
use twinfer_case::{CaseRecord, Event, JOURNAL_FORMAT, Note, Summary, VariantRecord, Verdict};
use twinfer_checks::{Evidence, disagreement, judge};

use crate::{
    CampaignError, Options,
    crew::{Crew, Tried},
    diagnosis::explain,
    investigation::Investigator,
    journal::Journal,
    lane::{Delivery, Observed},
    preparer::Referenced,
    tickets::Tickets,
};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(250);

/// Where preparers and lanes deliver.
pub struct Inbox {
    pub references: Receiver<Result<Referenced, CampaignError>>,
    pub deliveries: Receiver<Delivery>,
}

/// What has arrived of a case.
#[derive(Default)]
struct Slot {
    referenced: Option<Referenced>,
    /// By variant: the observation, and that of the second run.
    observed: Vec<(Option<Observed>, Option<Observed>)>,
}

/// Judges and records cases in order, and hands out tickets for more.
pub struct Committer<'a> {
    options: &'a Options,
    crews: &'a [Crew],
    journal: Journal,
    investigator: Investigator<'a>,
    tickets: Tickets<'a>,
    slots: BTreeMap<u64, Slot>,
    summary: Summary,
    started: Instant,
    told: Instant,
}

impl<'a> Committer<'a> {
    pub fn new(
        options: &'a Options,
        crews: &'a [Crew],
        journal: Journal,
        investigator: Investigator<'a>,
        tickets: Tickets<'a>,
        summary: Summary,
    ) -> Self {
        let started = Instant::now();
        Self {
            options,
            crews,
            journal,
            investigator,
            tickets,
            slots: BTreeMap::new(),
            summary,
            started,
            told: started,
        }
    }

    /// Runs until the budget is spent and everything under way is recorded.
    pub fn run(mut self, inbox: &Inbox, sink: &mut dyn FnMut(&Event)) -> Result<Summary, CampaignError> {
        loop {
            self.tickets.issue();
            if self.tickets.are_used_up() {
                break;
            }
            self.receive(inbox, sink)?;
            self.commit_complete(sink)?;
            self.tell_progress(sink);
        }
        self.journal.flush()?;
        self.summary.seconds = self.started.elapsed().as_secs_f64();
        sink(&Event::CampaignFinished { summary: self.summary.clone() });
        Ok(self.summary)
    }

    fn receive(&mut self, inbox: &Inbox, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        let gone = || CampaignError::Supervisor("its threads ended before the campaign".to_owned());
        select! {
            recv(inbox.references) -> referenced => match referenced {
                Ok(referenced) => {
                    self.keep(referenced?);
                }
                // the preparers are done, or died: what is missing comes from the lanes, or never
                Err(_) => self.take(inbox.deliveries.recv().map_err(|_| gone())?, sink)?,
            },
            recv(inbox.deliveries) -> delivery => match delivery {
                Ok(delivery) => self.take(delivery, sink)?,
                Err(_) => {
                    self.keep(inbox.references.recv().map_err(|_| gone())??);
                }
            },
        }
        Ok(())
    }

    fn keep(&mut self, referenced: Referenced) {
        let slot = self.slots.entry(referenced.index).or_default();
        slot.referenced = Some(referenced);
    }

    fn take(&mut self, delivery: Delivery, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        match delivery {
            Delivery::Failed(error) => return Err(error),
            Delivery::Event(event) => {
                self.summary.workers_lost += u64::from(matches!(event, Event::WorkerLost { .. }));
                sink(&event);
            }
            Delivery::Observed(observed) => {
                let slot = self.slots.entry(observed.index).or_default();
                slot.observed.resize_with(self.crews.len(), Default::default);
                let (first, repeat) = &mut slot.observed[observed.variant];
                let place = if observed.repeat { repeat } else { first };
                *place = Some(observed);
            }
        }
        Ok(())
    }

    fn commit_complete(&mut self, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        loop {
            let index = self.tickets.next_place();
            if !self.slots.get(&index).is_some_and(Slot::is_complete) {
                return Ok(());
            }
            if let Some(slot) = self.slots.remove(&index) {
                self.commit(slot, sink)?;
            }
            self.tickets.commit();
        }
    }

    fn commit(&mut self, slot: Slot, sink: &mut dyn FnMut(&Event)) -> Result<(), CampaignError> {
        let Some(referenced) = slot.referenced else { return Ok(()) };
        let mut record = CaseRecord {
            format: JOURNAL_FORMAT,
            case: referenced.prepared.task.hash,
            provenance: referenced.prepared.case.provenance.clone(),
            variants: Vec::with_capacity(self.crews.len()),
            findings: Vec::new(),
            macs: referenced.prepared.macs(),
        };
        let differences = differences(&referenced, self.crews, &slot.observed);
        for ((crew, (first, repeat)), difference) in self.crews.iter().zip(slot.observed).zip(differences) {
            let Some(observed) = first else { continue };
            let (mut variant, finding) = self.conclude(crew, &referenced, observed, repeat.as_ref(), sink)?;
            variant.notes.extend(difference.map(Note::Differs));
            record.variants.push(variant);
            if let Some(finding) = finding.filter(|finding| !record.findings.contains(finding)) {
                record.findings.push(finding);
            }
        }
        self.journal.append(&record)?;
        self.summary.record(&record);
        self.investigator.count(&record.findings);
        self.summary.new_findings = self.investigator.new_findings();
        sink(&Event::CaseFinished { record });
        Ok(())
    }

    /// Judges what one variant did; with the finding that it shows, by folder name.
    fn conclude(
        &mut self,
        crew: &Crew,
        referenced: &Referenced,
        observed: Observed,
        repeat: Option<&Observed>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(VariantRecord, Option<String>), CampaignError> {
        let fresh = if is_sampled(observed.index, self.options.fresh_every) {
            Some(crew.observe_fresh(&referenced.prepared.task)?)
        } else {
            None
        };
        let mut judgement = judge(&Evidence {
            case: &referenced.prepared.case,
            variant: &crew.info().variant,
            description: &crew.info().description,
            references: &referenced.references,
            observation: &observed.observation,
            repeat: repeat.map(|repeat| &repeat.observation),
            fresh: fresh.as_ref(),
        });
        explain(&mut judgement, &referenced.prepared, &referenced.references, &observed.observation);
        let tried = Tried {
            prepared: Arc::clone(&referenced.prepared),
            references: referenced.references.clone(),
            observation: observed.observation,
            judgement,
        };
        let mut record = tried.record(crew.info());
        if tried.divergences().is_empty() {
            return Ok((record, None));
        }
        // a finding that a killed campaign leaves behind belongs to the case after the last that is written
        self.journal.flush()?;
        let conclusion = self.investigator.investigate(crew, &tried, &observed.preceding, sink)?;
        record.verdict = Verdict::Diverges(conclusion.divergences);
        Ok((record, conclusion.finding))
    }

    fn tell_progress(&mut self, sink: &mut dyn FnMut(&Event)) {
        if self.told.elapsed() < PROGRESS {
            return;
        }
        self.told = Instant::now();
        self.summary.seconds = self.started.elapsed().as_secs_f64();
        sink(&Event::Progress { summary: self.summary.clone() });
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
}

/// For each variant, in what way it differs from the first one on a case that golden cannot decide.
fn differences(
    referenced: &Referenced,
    crews: &[Crew],
    observed: &[(Option<Observed>, Option<Observed>)],
) -> Vec<Option<String>> {
    let Some((Some(first), _)) = observed.first() else { return vec![None; observed.len()] };
    let difference = |(other, _): &(Option<Observed>, Option<Observed>)| {
        let other = other.as_ref().filter(|other| other.variant != first.variant)?;
        let detail = disagreement(&referenced.references, &other.observation, &first.observation)?;
        Some(format!("from {}: {detail}", crews[first.variant].info().variant))
    };
    observed.iter().map(difference).collect()
}

/// Whether the case at `index` belongs to a sample of one in `every`.
const fn is_sampled(index: u64, every: u64) -> bool {
    every > 0 && index.is_multiple_of(every)
}
