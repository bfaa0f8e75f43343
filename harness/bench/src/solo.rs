//! One process of a benchmark: a loop over cases without a campaign.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, Write},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use twinfer_backend::Backend;
use twinfer_case::{Case, Description, Expectation, Observation, Outcome, Stage, Task, Variant};
use twinfer_checks::{Evidence, judge};
use twinfer_driver_cache::{attribute_tally, memory_tally};
use twinfer_worker::take_stdout;

use crate::{BenchError, Fault, LoopSettings, stream::Stream, usage::Usage};

/// The first line that the process of a loop writes: its backends are open and it waits for the start, or why they are not.
pub type Greeting = Result<(), Fault>;

/// The result of one loop, which its process writes as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Loop {
    /// Wall time to open the backends, in seconds.
    pub opening: f64,
    /// The resources used to open the backends.
    pub opening_usage: Usage,
    /// The resources used by the cases.
    pub usage: Usage,
    /// Wall time from the first case to the last, in seconds.
    pub seconds: f64,
    /// The number of cases that were run.
    pub cases: u64,
    /// The number of cases that reached the last stage of every backend and, in a judged loop, were compared.
    pub done: u64,
    /// Microseconds by stage, summed over all cases.
    pub stages: BTreeMap<Stage, u64>,
    /// The number of device attribute queries.
    pub attributes_asked: u64,
    /// The number of queries that the driver answered.
    pub attributes_answered_by_driver: u64,
    /// The number of cached answers that were compared with the driver's.
    pub attributes_compared: u64,
    /// The number of compared answers that differed.
    pub attributes_changed: u64,
    /// The number of device memory allocations.
    pub allocations: u64,
    /// The number of allocations that the driver made.
    pub allocations_by_driver: u64,
    /// Whether the loop was still in a case long after its time limit. That case is not counted.
    pub stuck: bool,
}

/// How long after its time limit a loop waits for the current case: as long as the slowest builds take under load.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running loop, which writes its result once.
struct RunningLoop {
    /// The result so far; `None` once it is written.
    result: Mutex<Option<Loop>>,
    output: File,
    started: Instant,
    before: Usage,
}

/// An open backend and its description.
struct Subject {
    variant: Variant,
    description: Description,
    backend: Box<dyn Backend>,
}

/// A case with its encoded bytes and tensors.
struct EncodedCase {
    case: Case,
    task: Task,
}

/// The number of cases that a bare loop prepares before it starts; it prepares further cases as it runs.
const PREPARED_BEFORE: usize = 4096;

/// Opens the backends, writes a [`Greeting`] to standard output, waits for a line on standard input, runs the cases
/// and writes the result as one line of JSON. Returns the greeting.
///
/// # Errors
///
/// If standard input or output fails, or a case cannot be encoded.
pub fn run_loop(settings: &LoopSettings) -> Result<Greeting, BenchError> {
    let mut output = take_stdout().map_err(Fault::environment)?;
    let opening = Instant::now();
    let subjects = match open(&settings.variants) {
        Ok(subjects) => subjects,
        Err(fault) => {
            let greeting = Greeting::Err(fault);
            say(&mut output, &greeting)?;
            return Ok(greeting);
        }
    };
    let result =
        Loop { opening: opening.elapsed().as_secs_f64(), opening_usage: Usage::now(), ..Loop::default() };
    let stream = Stream::new(&settings.families, settings.seed);
    let (first, count) = (settings.shard.index(), settings.shard.count());
    let mut cases = stream.cases(first, count).take((settings.cases / count) as usize).map(prepare);
    let before = if settings.judged { 0 } else { PREPARED_BEFORE };
    let before: Vec<_> = cases.by_ref().take(before).collect();
    say(&mut output, &Greeting::Ok(()))?;
    if begin_requested()? {
        let running = Arc::new(RunningLoop::begin(result, output));
        let limit = settings.time.map_or(Duration::MAX, Duration::from_secs);
        running.watch(limit);
        running.run(before.into_iter().chain(cases), subjects, settings.judged, limit)?;
        running.report(false)?;
    }
    Ok(Greeting::Ok(()))
}

fn say(output: &mut impl Write, what: &impl Serialize) -> Result<(), Fault> {
    let line = serde_json::to_string(what).map_err(Fault::environment)?;
    writeln!(output, "{line}").map_err(Fault::environment)
}

fn open(variants: &[Variant]) -> Result<Vec<Subject>, Fault> {
    let subject = |variant: &Variant| {
        let backend = twinfer_worker::open(variant).map_err(|error| Fault::opening(variant, &error))?;
        Ok(Subject { variant: variant.clone(), description: backend.describe(), backend })
    };
    variants.iter().map(subject).collect()
}

fn begin_requested() -> Result<bool, Fault> {
    io::stdin().lock().read_line(&mut String::new()).map(|bytes| bytes > 0).map_err(Fault::environment)
}

fn prepare(case: Case) -> Result<EncodedCase, Fault> {
    let task = Task::of(&case).map_err(Fault::environment)?;
    Ok(EncodedCase { case, task })
}

impl RunningLoop {
    fn begin(result: Loop, output: File) -> Self {
        Self { result: Mutex::new(Some(result)), output, started: Instant::now(), before: Usage::now() }
    }

    /// Exits the process if a case far outlasts the loop's `limit`.
    fn watch(self: &Arc<Self>, limit: Duration) {
        let Some(patience) = limit.checked_add(PATIENCE) else { return };
        let running = Arc::clone(self);
        thread::spawn(move || {
            thread::sleep(patience);
            // no process is left to report a failure to
            let _ = running.report(true);
            process::exit(0);
        });
    }

    fn run(
        &self,
        cases: impl Iterator<Item = Result<EncodedCase, Fault>>,
        mut subjects: Vec<Subject>,
        judged: bool,
        limit: Duration,
    ) -> Result<(), Fault> {
        for prepared in cases {
            if self.started.elapsed() >= limit {
                break;
            }
            let prepared = prepared?;
            let observations: Vec<_> =
                subjects.iter_mut().map(|subject| subject.backend.run(&prepared.task, &mut |_| {})).collect();
            let done = if judged {
                are_compared(&prepared, &subjects, &observations)
            } else {
                observations.iter().all(|observation| observation.outcome == Outcome::Ok)
            };
            if let Some(result) = self.result().as_mut() {
                result.count(&observations, done);
                result.seconds = self.started.elapsed().as_secs_f64();
            }
        }
        Ok(())
    }

    fn result(&self) -> MutexGuard<'_, Option<Loop>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the result unless it was written already.
    fn report(&self, stuck: bool) -> Result<(), Fault> {
        let Some(result) = self.result().take() else { return Ok(()) };
        let (attributes, memory) = (attribute_tally(), memory_tally());
        let result = Loop {
            usage: Usage::now().since(self.before),
            allocations: memory.asked,
            allocations_by_driver: memory.answered_by_driver,
            attributes_asked: attributes.asked,
            attributes_answered_by_driver: attributes.answered_by_driver,
            attributes_compared: attributes.compared,
            attributes_changed: attributes.changed,
            stuck,
            ..result
        };
        say(&mut &self.output, &result)
    }
}

impl Loop {
    fn count(&mut self, observations: &[Observation], done: bool) {
        for timing in observations.iter().flat_map(|observation| &observation.timings) {
            *self.stages.entry(timing.stage).or_default() += timing.micros;
        }
        self.cases += 1;
        self.done += u64::from(done);
    }
}

/// Judges the observations of one case. Returns whether all of them were compared with golden.
fn are_compared(prepared: &EncodedCase, subjects: &[Subject], observations: &[Observation]) -> bool {
    let EncodedCase { case, task } = prepared;
    let references: Vec<_> = match case.expectation {
        Expectation::Valid => {
            task.runs.iter().map(|inputs| twinfer_golden::evaluate(&case.graph, inputs)).collect()
        }
        Expectation::Invalid(_) => Vec::new(),
    };
    let judgements = subjects.iter().zip(observations).map(|(subject, observation)| {
        judge(&Evidence {
            case,
            variant: &subject.variant,
            description: &subject.description,
            references: &references,
            observation,
            repeat: None,
            fresh: None,
        })
    });
    // no short circuit, so that every observation is compared
    judgements.filter(|judgement| !judgement.compared).count() == 0
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn stuck_loop_reports_its_result_once() {
        let mut file = tempfile::tempfile().unwrap();
        let running = RunningLoop::begin(Loop::default(), file.try_clone().unwrap());
        running.result().as_mut().unwrap().count(&[], true);
        running.report(true).unwrap();
        running.report(false).unwrap();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let reported: Loop = serde_json::from_str(&text).expect("one line");
        assert!(reported.stuck && reported.cases == 1 && reported.done == 1, "{text}");
    }
}
