//! A *comparison* runs a model that golden does not support on several variants and compares them with each other. The segments of
//! the model that golden supports are judged as always.
//!
//! It writes the run directory that a campaign writes. The finding of a segment that is wrong as a model of its own has that segment as its
//! case. Other findings have no case file: a case is a graph that twinfer supports, and this model is bytes. So they are neither minimized nor
//! replayed.

mod findings;
mod precision;
mod repeats;
mod segment_finding;
mod segment_verdict;
mod segments;
mod uncompared;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use twinfer_case::{
    Budget, Case, CaseRecord, Distribution, Event, JOURNAL_FORMAT, Note, Observation, RepeatedOutcome,
    RunEnd, RunInfo, SameConfiguration, Shard, Summary, Task, VariantInfo, VariantRecord,
};
use twinfer_checks::{Answer, judge_together, record};
use twinfer_onnx::PartialGraph;
use twinfer_segments::has_supported_part;
use twinfer_store::{Journal, RunDirectory, RunEnded, machine, now, record_end, run_id};
use twinfer_workers::{TriageWorkers, WorkerError};

use self::{
    findings::{Findings, Shown},
    precision::known_nodes,
    uncompared::random_outputs,
};
use crate::{OpaqueModel, TargetError, Targets};

impl Targets {
    /// Compares the variants with each other on every case of `model`, writes the run to `directory`, and sends the events of a
    /// campaign to `sink`. No further case begins once `stop` is set.
    ///
    /// A divergence counts if it recurs in workers that have run nothing else, and what becomes a finding is repeated ten times.
    pub fn compare(
        &self,
        model: &OpaqueModel,
        directory: &RunDirectory,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, TargetError> {
        let decoded = PartialGraph::decode(&model.model).ok();
        let nodes = decoded.as_ref().map(|graph| known_nodes(model, graph));
        let graph = decoded.filter(has_supported_part);
        let parts = Parts { graph: graph.as_ref(), nodes: nodes.as_ref() };
        if self.variants.len() < 2 && graph.is_none() {
            return Err(TargetError::NothingToCompareWith { unknown: model.unknown.clone() });
        }
        let described: Vec<_> = self.infos().map(|info| (&info.variant, &info.description)).collect();
        if let Some(same) = SameConfiguration::find(&described, &self.libraries) {
            return Err(same.into());
        }
        let run = self.run_info(model);
        let mut journal = Journal::create(directory, &run)?;
        let mut summary = Summary::new(self.infos());
        sink(&Event::CampaignStarted { run });
        let mut findings = Findings::new(&model.interface, &self.libraries, directory);
        let started = Instant::now();
        let mut end = RunEnd::Complete;
        for index in 0..model.cases.len() {
            if stop.load(Ordering::Relaxed) {
                end = RunEnd::Interrupted;
                break;
            }
            let record = self.compare_case((model, parts), index, &mut findings, sink)?;
            journal.append(&record)?;
            journal.commit()?;
            summary.record(&record);
            sink(&Event::CaseFinished { record });
        }
        journal.finish()?;
        summary.new_findings = findings.count();
        summary.seconds = started.elapsed().as_secs_f64();
        let totals = Some(summary.totals());
        record_end(directory, RunEnded { end: end.clone(), totals, workforce: Vec::new(), processor: None })?;
        sink(&Event::CampaignFinished { summary: summary.clone(), end });
        Ok(summary)
    }

    /// Compares the variants on one case, judges the segments that golden supports, and records what diverges in `findings`.
    fn compare_case(
        &self,
        (model, parts): (&OpaqueModel, Parts<'_>),
        index: usize,
        findings: &mut Findings<'_>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<CaseRecord, TargetError> {
        let task = &model.task(index)?;
        let Confirmed { records: mut variants, outcomes, observations } =
            self.confirmed(task, model, findings, sink)?;
        let mut shown: Vec<_> = outcomes.into_iter().map(Shown::of_model).collect();
        if let Some(graph) = parts.graph {
            self.judge_segments((model, graph), task, findings, (&mut variants, &mut shown))?;
        }
        if let Some(nodes) = parts.nodes {
            self.judge_precision(nodes, task, &observations, findings, &mut variants)?;
        }
        let notes = [Note::NoReference(model.unknown.clone())]
            .into_iter()
            .chain(random_outputs(model).filter(|_| self.variants.len() > 1));
        let notes: Vec<_> = notes.collect();
        for record in &mut variants {
            record.notes.extend(notes.iter().cloned());
        }
        Ok(CaseRecord {
            format: JOURNAL_FORMAT,
            index: index as u64,
            case: task.hash,
            provenance: None,
            findings: findings.record(task, self.infos().zip(&variants).zip(shown), sink)?,
            masks: Vec::new(),
            reduced: Vec::new(),
            waits: false,
            open: Vec::new(),
            variants,
            macs: 0,
        })
    }

    /// The verdicts on all variants in warm workers. If one diverges, those in workers that have run nothing else, with every
    /// variant compared with itself: each is asked twice more. With what the repeats of each variant came to, if one of these diverges as
    /// none did before.
    fn confirmed(
        &self,
        task: &Task,
        model: &OpaqueModel,
        findings: &mut Findings<'_>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Confirmed, TargetError> {
        let lead = |records: &[VariantRecord]| {
            records.iter().flat_map(|record| record.verdict.divergences()).next().cloned()
        };
        let none = || vec![Vec::new(); self.variants.len()];
        let warm = self.observed(|workers| workers.observe_warm(task))?;
        let records = self.judged(model, &warm, &[]);
        let Some(divergence) = lead(&records) else {
            return Ok(Confirmed { records, outcomes: none(), observations: warm });
        };
        sink(&Event::Confirming { case: task.hash, divergence: divergence.clone() });
        let fresh = self.observed(|workers| workers.observe_fresh(task))?;
        let again = self.observed(|workers| workers.observe_fresh(task))?;
        let mut records = self.judged(model, &fresh, &[&again, &warm]);
        if lead(&records).is_none() {
            sink(&Event::NotConfirmed { case: task.hash, divergence });
        }
        if !findings.are_to_be_repeated(self.infos().zip(&records)) {
            return Ok(Confirmed { records, outcomes: none(), observations: fresh });
        }
        let repeats = self.repeat(model, task, [&fresh, &again])?;
        let settled = repeats.iter().zip(&mut records).map(|(repeats, record)| repeats.settle(model, record));
        let outcomes = settled.collect();
        Ok(Confirmed { records, outcomes, observations: fresh })
    }

    /// What every variant does.
    fn observed(
        &self,
        observe: impl Fn(&TriageWorkers) -> Result<Observation, WorkerError>,
    ) -> Result<Vec<Observation>, TargetError> {
        Ok(self.variants.iter().map(observe).collect::<Result<_, _>>()?)
    }

    /// Judges what all variants did together; `repeats` is what they did when they were asked the same again.
    fn judged(
        &self,
        model: &OpaqueModel,
        observations: &[Observation],
        repeats: &[&Vec<Observation>],
    ) -> Vec<VariantRecord> {
        let sources = model.output_sources();
        let of_place =
            |place: usize| repeats.iter().filter_map(move |repeat| repeat.get(place)).collect::<Vec<_>>();
        let numbered = self.infos().zip(observations).enumerate();
        let answers: Vec<_> =
            numbered.map(|(place, (info, observation))| answer(info, observation, of_place(place))).collect();
        let judged = judge_together(&answers, model.question(&sources));
        let records = self.infos().zip(observations).zip(judged);
        records.map(|((info, observation), judgement)| record(info, observation, judgement)).collect()
    }

    fn run_info(&self, model: &OpaqueModel) -> RunInfo {
        RunInfo {
            format: JOURNAL_FORMAT,
            id: run_id(),
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: model.seed,
            distribution: Distribution::default(),
            families: Vec::new(),
            checked: Some(model.path.clone()),
            budget: Budget::Cases(model.cases.len() as u64),
            shard: Shard::WHOLE,
            jobs: 1,
            ladder: None,
            variants: self.infos().cloned().collect(),
            libraries: self.libraries.each_once(),
            settings: None,
            machine: machine(),
            workforce: Vec::new(),
            processor: None,
            totals: None,
            recognized: Vec::new(),
            end: None,
            started: now(),
            merged: Vec::new(),
            resumed: Vec::new(),
            journal: None,
            revisited: None,
        }
    }
}

/// What golden knows of a model.
#[derive(Clone, Copy)]
struct Parts<'a> {
    /// The graph, if golden supports a part of it.
    graph: Option<&'a PartialGraph>,
    /// Its nodes that golden knows.
    nodes: Option<&'a Case>,
}

/// What variants did with a task, by variant.
struct Confirmed {
    records: Vec<VariantRecord>,
    /// What the repeats came to.
    outcomes: Vec<Vec<RepeatedOutcome>>,
    observations: Vec<Observation>,
}

/// What a variant did, and did again when it was asked the same.
fn answer<'a>(
    info: &'a VariantInfo,
    observation: &'a Observation,
    repeats: Vec<&'a Observation>,
) -> Answer<'a> {
    Answer { variant: &info.variant, reaches: info.description.reaches, observation, repeats }
}
