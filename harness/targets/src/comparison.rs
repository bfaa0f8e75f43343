//! A *comparison* runs a model that golden does not support on several variants and compares them with each other.
//!
//! It writes the run directory that a campaign writes, but its findings have no case file: a case is a graph that twinfer
//! supports, and this model is bytes. So its findings are neither minimized nor replayed.

mod findings;

use std::time::Instant;

use twinfer_case::{
    Budget, CaseRecord, Event, JOURNAL_FORMAT, LibraryInfo, Observation, RunEnd, RunInfo, Summary, Task,
    VariantRecord,
};
use twinfer_checks::{Answer, judge_together, record};
use twinfer_store::{Journal, RunDirectory, machine, now, record_end, run_id};
use twinfer_workers::{TriageWorkers, WorkerError};

use self::findings::Findings;
use crate::{OpaqueModel, TargetError, Targets};

impl Targets {
    /// Compares the variants with each other on every case of `model`, writes the run to `directory`, and sends the events of a
    /// campaign to `sink`.
    ///
    /// `libraries` are those that the variants load. A divergence counts if it recurs in workers that have run nothing else.
    pub fn compare(
        &self,
        model: &OpaqueModel,
        libraries: Vec<LibraryInfo>,
        directory: &RunDirectory,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, TargetError> {
        if self.variants.len() < 2 {
            return Err(TargetError::NothingToCompareWith { unknown: model.unknown.clone() });
        }
        let run = self.run_info(model, libraries);
        let mut journal = Journal::create(directory, &run)?;
        let mut summary = Summary::new(self.infos());
        sink(&Event::CampaignStarted { run });
        let mut findings = Findings::new(&model.interface, directory);
        let started = Instant::now();
        for index in 0..model.cases.len() {
            let record = self.compare_case(model, index, &mut findings, sink)?;
            journal.append(&record)?;
            journal.commit()?;
            summary.record(&record);
            sink(&Event::CaseFinished { record });
        }
        journal.finish()?;
        summary.new_findings = findings.count();
        summary.seconds = started.elapsed().as_secs_f64();
        let end = RunEnd::Complete;
        record_end(directory, Vec::new(), end.clone())?;
        sink(&Event::CampaignFinished { summary: summary.clone(), end });
        Ok(summary)
    }

    /// Compares the variants on one case, and records what diverges in `findings`.
    fn compare_case(
        &self,
        model: &OpaqueModel,
        index: usize,
        findings: &mut Findings<'_>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<CaseRecord, TargetError> {
        let task = &model.task(index)?;
        let variants = self.confirmed(task, &model.unknown, sink)?;
        Ok(CaseRecord {
            format: JOURNAL_FORMAT,
            index: index as u64,
            case: task.hash,
            provenance: None,
            findings: findings.record(task, self.infos().zip(&variants), sink)?,
            masks: Vec::new(),
            open: Vec::new(),
            variants,
            macs: 0,
        })
    }

    /// The verdicts on all variants in warm workers; in workers that have run nothing else if a verdict in the warm ones
    /// diverges.
    fn confirmed(
        &self,
        task: &Task,
        unknown: &str,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<VariantRecord>, TargetError> {
        let lead = |records: &[VariantRecord]| {
            records.iter().flat_map(|record| record.verdict.divergences()).next().cloned()
        };
        let warm = self.judged(unknown, |workers| workers.observe_warm(task))?;
        let Some(divergence) = lead(&warm) else { return Ok(warm) };
        sink(&Event::Confirming { case: task.hash, divergence: divergence.clone() });
        let fresh = self.judged(unknown, |workers| workers.observe_fresh(task))?;
        if lead(&fresh).is_none() {
            sink(&Event::NotConfirmed { case: task.hash, divergence });
        }
        Ok(fresh)
    }

    /// Runs one case on all variants with `observe`, and judges the observations together.
    fn judged(
        &self,
        unknown: &str,
        observe: impl Fn(&TriageWorkers) -> Result<Observation, WorkerError>,
    ) -> Result<Vec<VariantRecord>, TargetError> {
        let observations = self.variants.iter().map(observe).collect::<Result<Vec<_>, _>>()?;
        let answers: Vec<_> = self
            .infos()
            .zip(&observations)
            .map(|(info, observation)| Answer {
                variant: &info.variant,
                reaches: info.description.reaches,
                observation,
            })
            .collect();
        let judged = self.infos().zip(&observations).zip(judge_together(&answers, unknown));
        Ok(judged.map(|((info, observation), judgement)| record(info, observation, judgement)).collect())
    }

    fn run_info(&self, model: &OpaqueModel, libraries: Vec<LibraryInfo>) -> RunInfo {
        RunInfo {
            format: JOURNAL_FORMAT,
            id: run_id(),
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: model.seed,
            families: Vec::new(),
            budget: Budget::Cases(model.cases.len() as u64),
            shard: (0, 1),
            jobs: 1,
            ladder: None,
            variants: self.infos().cloned().collect(),
            libraries,
            settings: None,
            machine: machine(),
            workforce: Vec::new(),
            end: None,
            started: now(),
            resumed: Vec::new(),
            journal: None,
            revisited: None,
        }
    }
}
