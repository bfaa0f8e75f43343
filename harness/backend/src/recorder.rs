use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use twinfer_case::{LogLine, Observation, Outcome, RunOutput, Severity, Stage, Timing};

/// The most log lines kept of one case, and the most bytes of one line.
const MAX_LINES: usize = 200;
const MAX_LINE_BYTES: usize = 4096;

/// Builds an observation while a backend works: stages, their timings, and what is logged meanwhile.
pub struct Recorder<'a> {
    progress: &'a mut dyn FnMut(Stage),
    log: Log,
    since: Instant,
    observation: Observation,
}

impl<'a> Recorder<'a> {
    /// Starts recording in `stage`; what an earlier case left in `log` is dropped.
    pub fn start(stage: Stage, log: Log, progress: &'a mut dyn FnMut(Stage)) -> Self {
        log.clear();
        log.enter(stage);
        progress(stage);
        Self { progress, log, since: Instant::now(), observation: Observation::new(stage, Outcome::Ok) }
    }

    /// Leaves the current stage for `stage`.
    pub fn enter(&mut self, stage: Stage) {
        self.close_stage();
        self.observation.stage = stage;
        self.log.enter(stage);
        (self.progress)(stage);
        // reporting the stage is not part of its time
        self.since = Instant::now();
    }

    /// Keeps the outputs of one run.
    pub fn push_run(&mut self, run: RunOutput) {
        self.observation.runs.push(run);
    }

    /// What is known besides stages, runs and log.
    pub fn observation(&mut self) -> &mut Observation {
        &mut self.observation
    }

    /// Ends the recording.
    pub fn finish(mut self, outcome: Outcome) -> Observation {
        self.close_stage();
        self.observation.outcome = outcome;
        self.observation.log = self.log.take();
        self.observation
    }

    fn close_stage(&mut self) {
        let micros = self.since.elapsed().as_micros() as u64;
        self.observation.timings.push(Timing { stage: self.observation.stage, micros });
    }
}

/// What a library logs, of severity warning and above; shared with the library's callback.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<LogBuffer>>);

#[derive(Default)]
struct LogBuffer {
    stage: Option<Stage>,
    lines: Vec<LogLine>,
}

impl Log {
    /// Keeps one line; callable from any thread and never panics.
    pub fn push(&self, severity: Severity, text: &str) {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = buffer.stage.unwrap_or(Stage::Start);
        if buffer.lines.len() < MAX_LINES {
            let end = text.floor_char_boundary(MAX_LINE_BYTES);
            buffer.lines.push(LogLine { severity, stage, text: text[..end].trim_end().to_owned() });
        }
    }

    /// How many lines there are, to go back to.
    pub fn mark(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.len()
    }

    /// Drops what was logged since `mark`: an attempt of the harness's own, not of the case.
    pub fn rewind(&self, mark: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.truncate(mark);
    }

    fn enter(&self, stage: Stage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stage = Some(stage);
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.clear();
    }

    fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).lines)
    }
}
