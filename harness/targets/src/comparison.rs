//! A *comparison* runs a model that golden does not know on several variants and compares them with each other.
//!
//! It leaves the run directory that a campaign leaves, but its findings hold no `case.json`: a case is a graph that
//! twinfer knows, and this one is bytes. So they are neither minimised nor replayed.

mod findings;

use std::{path::Path, time::Instant};

use twinfer_case::{
    Budget, CaseRecord, Divergence, Event, JOURNAL_FORMAT, Observation, Request, Run, RunInfo, Summary, Task,
    VariantRecord, Verdict, materialize,
};
use twinfer_checks::{Answer, judge_together, record};
use twinfer_onnx::Interface;
use twinfer_store::{Journal, machine, now};
use twinfer_workers::{TriageWorkers, WorkerError};

use self::findings::Findings;
use crate::{TargetError, Targets};

/// A model that golden does not know, with what it is fed.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// ONNX bytes.
    pub model: Vec<u8>,
    /// What can be told of them.
    pub interface: Interface,
    /// Why golden does not know the model.
    pub unknown: String,
    /// What is asked beyond the model.
    pub request: Request,
    /// What it is fed: a case each.
    pub cases: Vec<Run>,
    /// Decided that.
    pub seed: u64,
}

impl Opaque {
    /// What the backends are given as the case at `index`.
    fn task(&self, index: usize) -> Result<Task, TargetError> {
        let runs = materialize(&self.cases[index..=index])
            .map_err(|oversized| TargetError::Inputs { index, reason: oversized })?;
        Ok(Task::new(self.model.clone(), self.request.clone(), runs))
    }
}

impl Targets {
    /// Compares the variants with each other on every case, writes the run to `out`, and tells `sink` what a campaign
    /// tells.
    ///
    /// A divergence counts where it recurs in workers that have run nothing else.
    pub fn compare(
        &self,
        opaque: &Opaque,
        out: &Path,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, TargetError> {
        if self.workers.len() < 2 {
            return Err(TargetError::NothingToCompareWith { unknown: opaque.unknown.clone() });
        }
        let run = self.run_info(opaque);
        let mut journal = Journal::create(out, &run)?;
        let mut summary = Summary::new(self.infos());
        sink(&Event::CampaignStarted { run });
        let mut findings = Findings::new(&opaque.interface, out)?;
        let started = Instant::now();
        for index in 0..opaque.cases.len() {
            let task = opaque.task(index)?;
            let variants = self.confirmed(&task, &opaque.unknown, sink)?;
            let record = CaseRecord {
                format: JOURNAL_FORMAT,
                case: task.hash,
                provenance: None,
                findings: findings.record(&task, self.infos().zip(&variants), sink)?,
                masks: Vec::new(),
                open: Vec::new(),
                variants,
                macs: 0,
            };
            journal.append(&record)?;
            summary.record(&record);
            sink(&Event::CaseFinished { record });
        }
        journal.flush()?;
        summary.new_findings = findings.count();
        summary.seconds = started.elapsed().as_secs_f64();
        sink(&Event::CampaignFinished { summary: summary.clone() });
        Ok(summary)
    }

    /// The verdicts of all variants; those of workers that have run nothing else where warm ones diverge.
    fn confirmed(
        &self,
        task: &Task,
        unknown: &str,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<VariantRecord>, TargetError> {
        let warm = self.judged(unknown, |workers| workers.observe_warm(task))?;
        let Some(lead) = warm.iter().flat_map(divergences).next().cloned() else { return Ok(warm) };
        sink(&Event::Confirming { case: task.hash, divergence: lead.clone() });
        let fresh = self.judged(unknown, |workers| workers.observe_fresh(task))?;
        if fresh.iter().flat_map(divergences).next().is_none() {
            sink(&Event::NotConfirmed { case: task.hash, divergence: lead });
        }
        Ok(fresh)
    }

    fn judged(
        &self,
        unknown: &str,
        observe: impl Fn(&TriageWorkers) -> Result<Observation, WorkerError>,
    ) -> Result<Vec<VariantRecord>, TargetError> {
        let observations = self.workers.iter().map(observe).collect::<Result<Vec<_>, _>>()?;
        let answers: Vec<_> = self
            .infos()
            .zip(&observations)
            .map(|(info, observation)| Answer { variant: &info.variant, observation })
            .collect();
        let judged = self.infos().zip(&observations).zip(judge_together(&answers, unknown));
        Ok(judged.map(|((info, observation), judgement)| record(info, observation, judgement)).collect())
    }

    fn run_info(&self, opaque: &Opaque) -> RunInfo {
        RunInfo {
            format: JOURNAL_FORMAT,
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: opaque.seed,
            families: Vec::new(),
            budget: Budget::Cases(opaque.cases.len() as u64),
            shard: (0, 1),
            jobs: 1,
            ladder: None,
            variants: self.infos().cloned().collect(),
            machine: machine(),
            workforce: Vec::new(),
            started: now(),
        }
    }
}

fn divergences(record: &VariantRecord) -> impl Iterator<Item = &Divergence> {
    let divergences = match &record.verdict {
        Verdict::Diverges(divergences) => divergences.as_slice(),
        _ => &[],
    };
    divergences.iter()
}
