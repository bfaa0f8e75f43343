use std::{
    io::{self, Write},
    iter,
};

use console::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use twinfer_case::{Budget, Event, RunInfo, Summary};

use crate::{
    Reporter,
    numbers::{bytes, count, counted, duration, rate, short},
};

/// Shows a campaign while it runs: a bar at a terminal, plain lines elsewhere.
pub struct Progress {
    view: View,
    budget: Budget,
    findings: u64,
}

enum View {
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// To standard error: a bar if that is a terminal, otherwise a line every ten seconds.
    pub fn to_stderr() -> Self {
        if console::user_attended_stderr() { Self::bar() } else { Self::lines(io::stderr()) }
    }

    /// Plain lines, whatever `out` is.
    pub fn lines(out: impl Write + Send + 'static) -> Self {
        Self::new(View::Lines(Lines { out: Box::new(out), told: None }))
    }

    fn bar() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        // the template is a constant that a test renders
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self::new(View::Bar(bar))
    }

    fn new(view: View) -> Self {
        Self { view, budget: Budget::Cases(0), findings: 0 }
    }

    fn started(&mut self, run: &RunInfo) {
        self.budget = run.budget;
        if let View::Bar(bar) = &self.view {
            bar.set_length(length(run.budget));
        }
        for info in &run.variants {
            let description = &info.description;
            let title = format!("{} is {} {}", info.variant, description.name, description.version);
            self.say(&format!("{title}, as far as {}", description.reaches));
        }
    }

    fn progressed(&mut self, summary: &Summary, waiting: u64) {
        let message = state(summary, waiting, self.findings);
        match &mut self.view {
            View::Bar(bar) => {
                bar.set_position(position(self.budget, summary));
                bar.set_message(message);
            }
            View::Lines(lines) => lines.progressed(summary.seconds, &message),
        }
    }

    /// What keeps the campaign from going on; too fleeting for a log.
    fn busy(&self, what: &str) {
        if let View::Bar(bar) = &self.view {
            bar.set_message(what.to_owned());
        }
    }

    fn say(&mut self, line: &str) {
        match &mut self.view {
            View::Bar(bar) => bar.println(line),
            View::Lines(lines) => lines.say(line),
        }
    }

    fn finished(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}

impl Reporter for Progress {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::CampaignStarted { run } => self.started(run),
            Event::Progress { summary, waiting } => self.progressed(summary, *waiting),
            Event::FindingRecorded { finding, new, .. } => {
                self.findings += 1;
                let mark = if *new { style("finding").red().bold() } else { style("known finding").dim() };
                self.say(&format!("{mark} {}: {}", finding.signature, short(&finding.graph)));
            }
            Event::WorkerLost { variant, index, stage, reason } => {
                let case = index.map_or_else(String::new, |index| format!(" of case {index}"));
                self.say(&format!("worker of {variant} lost during {stage}{case}: {reason}; it is replaced"));
            }
            Event::WorkerOutgrown { variant, growth } => {
                let (from, to) = (bytes(growth.from), bytes(growth.to));
                self.say(&format!("worker of {variant} has grown from {from} to {to}: it is replaced"));
            }
            Event::DeviceGivenUp { variant, device, reason } => {
                let warning = style("device").red().bold();
                self.say(&format!("{warning} {device} is given up for {variant}, others go on: {reason}"));
            }
            Event::NotConfirmed { divergence, .. } => {
                let kind = divergence.kind;
                self.say(&format!("{kind} of {} did not recur in a fresh worker", divergence.variant));
            }
            Event::Confirming { divergence, .. } => {
                self.busy(&format!("confirming {} of {}", divergence.kind, divergence.variant));
            }
            Event::Minimizing { size, tried, .. } => {
                let nodes = counted(size.nodes as u64, "node", "nodes");
                self.busy(&format!("minimizing: {nodes} left, {tried} candidates tried"));
            }
            Event::CampaignFinished { .. } => self.finished(),
            Event::WorkerStarted { .. }
            | Event::WorkforceChanged { .. }
            | Event::CaseFinished { .. }
            | Event::Investigated { .. } => {}
        }
    }
}

const BAR: &str = "{bar:30.cyan/dim} {percent:>3}%  {msg}";

/// `12,304 cases · 800 more wait · 1,083 a second · 2 findings · 12.1 s`
fn state(summary: &Summary, waiting: u64, findings: u64) -> String {
    let more = (waiting > 0).then(|| format!("{} more wait", count(waiting)));
    let parts = [
        format!("{} a second", rate(summary.now() + waiting, summary.seconds)),
        counted(findings, "finding", "findings"),
        duration(summary.seconds),
    ];
    let parts: Vec<_> =
        iter::once(counted(summary.cases, "case", "cases")).chain(more).chain(parts).collect();
    parts.join(" · ")
}

const fn length(budget: Budget) -> u64 {
    match budget {
        Budget::Cases(cases) => cases,
        Budget::Seconds(seconds) => seconds.saturating_mul(MILLIS),
    }
}

fn position(budget: Budget, summary: &Summary) -> u64 {
    match budget {
        Budget::Cases(_) => summary.cases,
        Budget::Seconds(_) => (summary.seconds * MILLIS as f64) as u64,
    }
}

const MILLIS: u64 = 1000;

/// Lines for a log: what happens, and every ten seconds how far it is.
struct Lines {
    out: Box<dyn Write + Send>,
    told: Option<f64>,
}

impl Lines {
    const PERIOD: f64 = 10.0;

    fn progressed(&mut self, seconds: f64, message: &str) {
        if self.told.is_none_or(|told| seconds - told >= Self::PERIOD) {
            self.told = Some(seconds);
            self.say(message);
        }
    }

    fn say(&mut self, line: &str) {
        // a log that cannot be written to is no reason to stop a campaign
        let _ = writeln!(self.out, "{line}");
    }
}
