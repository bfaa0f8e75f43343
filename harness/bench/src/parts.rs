//! The *parts* of a case: the processor time of each step, measured one after the other in one process.
//!
//! *Isolation* is the cost of running a backend in a worker process instead of in this one. The same cases alternate between
//! the backend in this process and a worker behind the executor of a campaign. Isolation is the processor time of this process
//! and the worker when the worker runs the cases, minus that of this process when it runs them itself. This small difference
//! of large numbers varies with the load of the machine, so the benchmark reports the median over many turns of two components:
//! the difference in the stages of the backend, as each side times them, and the rest, which is the cost of messages.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    mem,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use twinfer_backend::Backend;
use twinfer_campaign::Options;
use twinfer_case::{
    CaseRecord, EncodedCase, JOURNAL_FORMAT, Observation, Stage, Timing, TrustedVariant, Variant,
    VariantRecord,
};
use twinfer_checks::{Evidence, Judgement, judge, references};
use twinfer_worker::take_stdout;
use twinfer_workers::RoundTrip;

use crate::{BenchError, Fault, Host, PartsSettings, Settings, stream::Stream, usage::processor_seconds};

/// Cases per turn. Running in this process and running in a worker alternate, so that a change of the machine's load
/// favors neither; a turn is long enough that its start and end cost little.
const TURN: usize = 1000;
/// Cases before the first turn, which absorb one-time costs.
const WARM_UP: usize = 25;
/// No turn starts later than this.
const LONGEST: Duration = Duration::from_secs(20);
/// The smallest number of turns that should fit into [`LONGEST`].
const LEAST_TURNS: usize = 4;

/// The processor time of every step in seconds, summed over all cases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    /// The number of cases that were measured.
    pub cases: usize,
    /// Generating the cases.
    pub generate: f64,
    /// Encoding the model bytes and the tensors, and hashing them.
    pub encode: f64,
    /// Evaluating the reference and its bounds.
    pub golden: f64,
    /// Running the backend in this process.
    pub backend: f64,
    /// The backend's time by stage, split in proportion to the wall time of the stages.
    pub stages: BTreeMap<Stage, f64>,
    /// Running the checks.
    pub compare: f64,
    /// Serializing the journal record.
    pub journal: f64,
    /// The cost of isolation per case, one entry for each turn.
    pub isolation: Vec<Isolation>,
}

/// The processor time that running the backend in a worker adds to a case, in seconds, measured over one turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Isolation {
    /// All of the cost but `stages`: sending cases and receiving observations.
    pub messages: f64,
    /// How much longer the backend's stages take in the worker. Stages are timed by the wall clock, so interruptions
    /// count here and not in `messages`.
    pub stages: f64,
}

impl Parts {
    /// Measures the parts in a new process, because this one loads no backend. A slow backend may not run all cases.
    pub fn of(variant: &Variant, settings: &Settings, host: &dyn Host) -> Result<Self, BenchError> {
        let worker = host.worker(std::slice::from_ref(variant))?;
        let families: Vec<_> = settings.families.iter().map(ToString::to_string).collect();
        let mut command = Command::new(&worker.program);
        command.envs(worker.env).arg("bench-parts").args(["--variant", &variant.to_string()]);
        command.args(["--family", &families.join(","), "--seed", &settings.seed.to_string()]);
        command.args(["--cases", &settings.cases.to_string()]);
        let output = command.stderr(Stdio::inherit()).output().map_err(Fault::environment)?;
        let failed =
            |error| Fault::environment(format!("measuring parts ended with {}: {error}", output.status));
        Ok(serde_json::from_slice(&output.stdout).map_err(failed)?)
    }

    /// Converts seconds of all cases to microseconds per case.
    pub fn micros(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.cases.max(1) as f64
    }

    /// The quartiles over all turns of a part of isolation, in microseconds per case; `None` without a turn.
    pub fn isolation(&self, part: fn(&Isolation) -> f64) -> Option<[f64; 3]> {
        let mut turns: Vec<_> = self.isolation.iter().map(part).collect();
        turns.sort_by(f64::total_cmp);
        let quartile = |quarter: usize| turns.get(turns.len() * quarter / 4).map(|seconds| seconds * 1e6);
        Some([quartile(1)?, quartile(2)?, quartile(3)?])
    }
}

/// The steps that the cases go through, and the times so far.
struct Measurement {
    stream: Stream,
    next: u64,
    options: Options,
    backend: Box<dyn Backend>,
    round_trip: RoundTrip,
    parts: Parts,
}

/// Measures the steps of a case in this process and writes the result to standard output as one line of JSON.
///
/// # Errors
///
/// If the backend does not open, or its worker does not start or is lost.
pub fn measure_parts(settings: &PartsSettings, host: &dyn Host) -> Result<(), BenchError> {
    let mut output = take_stdout().map_err(Fault::environment)?;
    let mut measurement = Measurement::open(settings, host)?;
    let mut begun = Instant::now();
    measurement.turn(WARM_UP)?;
    // a slow backend has shorter turns
    let within = LONGEST.as_secs_f64() / begun.elapsed().as_secs_f64() * WARM_UP as f64 / LEAST_TURNS as f64;
    let turn = TURN.min(within as usize).max(1);
    measurement.parts = Parts::default();
    begun = Instant::now();
    while measurement.parts.cases < settings.cases && begun.elapsed() < LONGEST {
        measurement.turn(turn.min(settings.cases - measurement.parts.cases))?;
    }
    let mut parts = measurement.parts;
    let share = parts.backend / parts.stages.values().sum::<f64>().max(f64::MIN_POSITIVE);
    parts.stages.values_mut().for_each(|seconds| *seconds *= share);
    let json = serde_json::to_string(&parts).map_err(Fault::environment)?;
    writeln!(output, "{json}").map_err(Fault::environment)?;
    Ok(())
}

impl Measurement {
    fn open(settings: &PartsSettings, host: &dyn Host) -> Result<Self, BenchError> {
        let variants = vec![settings.variant.clone()];
        // settings come from the command line
        let trusted = TrustedVariant::vouch(settings.variant.clone());
        let worker = host.worker(&variants)?;
        Ok(Self {
            stream: Stream::new(&settings.families, settings.seed),
            next: 0,
            backend: twinfer_worker::open(&settings.variant)
                .map_err(|error| Fault::opening(&settings.variant, &error))?,
            round_trip: RoundTrip::start(&trusted, worker.clone())?,
            options: Options::new(vec![trusted], worker),
            parts: Parts::default(),
        })
    }

    /// Runs the next `count` cases through every step.
    fn turn(&mut self, count: usize) -> Result<(), BenchError> {
        let Self { parts, backend, options, .. } = self;
        let variant = &options.variants[0];
        let description = backend.describe();
        let mut clock = Clock::start();
        let cases: Vec<_> = self.stream.cases(self.next, 1).take(count).collect();
        parts.generate += clock.lap();
        let cases: Vec<_> = cases.into_iter().map(EncodedCase::encode).collect::<Result<_, _>>()?;
        parts.encode += clock.lap();
        let reference = |case: &Arc<EncodedCase>| references(case, &options.oracle, description.arithmetic);
        let references: Vec<_> = cases.iter().map(reference).collect();
        parts.golden += clock.lap();
        let observations: Vec<_> = cases.iter().map(|case| backend.run(&case.task, &mut |_| {})).collect();
        let in_this_process = clock.lap();
        parts.backend += in_this_process;
        let evidence =
            cases.iter().zip(&references).zip(&observations).map(|((case, references), observation)| {
                Evidence {
                    case: &case.case,
                    variant,
                    description: &description,
                    references,
                    observation,
                    repeat: None,
                    fresh: None,
                }
            });
        let judgements: Vec<_> = evidence.map(|evidence| judge(&evidence)).collect();
        parts.compare += clock.lap();
        for ((case, observation), judgement) in cases.iter().zip(&observations).zip(judgements) {
            let record = record(variant, case, observation, judgement);
            serde_json::to_writer(io::sink(), &record).map_err(Fault::environment)?;
        }
        parts.journal += clock.lap();
        for timing in observations.iter().flat_map(|observation| &observation.timings) {
            *parts.stages.entry(timing.stage).or_default() += timing.micros as f64;
        }
        let stages_here = observations.iter().map(|observation| Timing::total(&observation.timings)).sum();
        // dropping the observations is part of the cost, as in a worker
        clock.lap();
        drop(observations);
        let in_this_process = in_this_process + clock.lap();
        let worker = self.round_trip.pid();
        let before = processor_seconds(worker);
        let stages_there = self.round_trip.run(&cases)?;
        let supervisor = clock.lap();
        if let Some(worker) = processor_seconds(worker).zip(before).map(|(now, before)| now - before) {
            let stages = stages_there.as_secs_f64() - Duration::from_micros(stages_here).as_secs_f64();
            let messages = supervisor + worker - in_this_process - stages;
            let (messages, stages) = (messages / count as f64, stages / count as f64);
            parts.isolation.push(Isolation { messages, stages });
        }
        parts.cases += count;
        self.next += count as u64;
        Ok(())
    }
}

/// The journal record of a case in a campaign of one variant.
fn record(
    variant: &Variant,
    case: &EncodedCase,
    observation: &Observation,
    judgement: Judgement,
) -> CaseRecord {
    let variant = VariantRecord {
        variant: variant.clone(),
        stage: observation.stage,
        outcome: Some(observation.outcome.clone()),
        verdict: judgement.verdict,
        notes: judgement.notes,
        compared: judgement.compared,
        timings: observation.timings.clone(),
    };
    CaseRecord {
        format: JOURNAL_FORMAT,
        index: case.case.provenance.as_ref().map_or(0, |provenance| provenance.index),
        case: case.task.hash,
        provenance: case.case.provenance.clone(),
        variants: vec![variant],
        findings: Vec::new(),
        masks: Vec::new(),
        reduced: Vec::new(),
        waits: false,
        open: Vec::new(),
        macs: case.macs,
    }
}

/// Reads the processor time of all threads of this process.
struct Clock(f64);

impl Clock {
    fn start() -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Self(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }

    /// Returns the seconds since the last reading and restarts the clock.
    fn lap(&mut self) -> f64 {
        let before = mem::replace(self, Self::start());
        self.0 - before.0
    }
}
