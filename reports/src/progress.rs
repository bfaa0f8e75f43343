use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use console::Style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use twinfer_case::{
    Budget, Cause, Event, Finding, Investigating, Kind, Reach, RunInfo, Signature, Stage, StartingWorkers,
    Summary, Variant, printable_message,
};

use crate::{
    Reporter,
    findings::digest,
    meaning::meaning,
    numbers::{bytes, count, counted, duration, rate, short},
    reach::remark,
    styled::Styled,
};

/// Shows the progress of a campaign: a bar at a terminal, plain lines elsewhere.
pub struct Progress {
    view: View,
    budget: Budget,
    /// Folder names of the findings so far.
    findings: BTreeSet<String>,
    /// What was announced as a difference or a finding: the backend, and what it does.
    announced: BTreeSet<(String, Kind)>,
    /// How many workers of each variant were lost in which stage.
    losses: BTreeMap<(Variant, Stage), u64>,
    /// The findings of a resumed campaign from before; `None` once they are announced.
    restored: Option<u64>,
}

enum View {
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// Progress as plain lines on `out`, one every ten seconds.
    pub fn lines(out: impl Write + Send + 'static) -> Self {
        Self::new(View::Lines(Lines { out: Box::new(out), last: None }))
    }

    /// Progress as a bar on standard error, which is drawn again and again.
    pub fn bar() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        // cannot fail: the template is a constant
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self::new(View::Bar(bar))
    }

    fn new(view: View) -> Self {
        Self {
            view,
            budget: Budget::Cases(0),
            findings: BTreeSet::new(),
            announced: BTreeSet::new(),
            losses: BTreeMap::new(),
            restored: Some(0),
        }
    }

    fn started(&mut self, run: &RunInfo) {
        self.budget = run.budget;
        if let View::Bar(bar) = &self.view {
            bar.set_length(length(run.budget));
        }
        for info in &run.variants {
            let description = &info.description;
            let title = format!("{}: {} {}", info.variant, description.name, description.version);
            let limit = remark(Reach::from(description.reaches));
            self.print(&Styled::plain(format!("{title}{limit}")));
        }
    }

    fn progressed(&mut self, state: &State<'_>) {
        let State { summary, waiting, .. } = *state;
        let message = state.line(self.budget);
        match &mut self.view {
            View::Bar(bar) => {
                bar.set_position(position(self.budget, summary, waiting));
                bar.set_message(message);
            }
            View::Lines(lines) => lines.progressed(summary.seconds, &Styled::plain(message)),
        }
    }

    /// Shows the current activity in the bar; plain lines omit it.
    fn busy(&self, what: &str) {
        if let View::Bar(bar) = &self.view {
            bar.set_message(Styled::plain(what).as_str().to_owned());
        }
    }

    fn print(&mut self, line: &Styled) {
        match &mut self.view {
            View::Bar(bar) => bar.println(line.as_str()),
            View::Lines(lines) => lines.print(line),
        }
    }

    /// Prints once how many cases and findings a resumed campaign starts with.
    fn announce_restored(&mut self, cases: u64) {
        let Some(findings) = self.restored.take().filter(|_| cases > 0) else { return };
        let (cases, findings) = (counted(cases, "case", "cases"), counted(findings, "finding", "findings"));
        self.print(&Styled::plain(format!("resumed with {cases} and {findings}")));
    }

    /// Prints the first difference of its kind on a backend while nobody knows yet what comes of it: on a GPU, an investigation takes half a
    /// minute.
    fn announce(&mut self, investigating: &[Investigating]) {
        for Investigating { variant, kind, detail, .. } in investigating {
            let backend = variant.backend.label();
            if self.announced.insert((backend.to_owned(), *kind)) {
                let mark = on_stderr("difference", &Style::new().yellow());
                let what =
                    format!(": {} · {backend} · {} (under investigation)", meaning(*kind), short(detail));
                self.print(&(mark + Styled::plain(what)));
            }
        }
    }

    /// Prints a finding, or the variant that shows it as well if the finding is recorded again.
    fn found(&mut self, slug: &str, finding: &Finding, new: bool) {
        let again = !self.findings.insert(slug.to_owned());
        self.announced.insert((finding.signature.backend.label().to_owned(), finding.kind));
        let line = if let Some(seen) = finding.seen_in.last().filter(|_| again) {
            on_stderr("also seen in", &Style::new().dim())
                + Styled::plain(format!(" {}: {} · {}", seen.variant, meaning(finding.kind), digest(slug)))
        } else {
            let mark = if new {
                on_stderr("finding", &Style::new().red().bold())
            } else {
                on_stderr("known finding", &Style::new().dim())
            };
            let only = if finding.only_poisoned { " (seen only with poisoned memory)" } else { "" };
            let backend = finding.signature.backend.label();
            let (what, graph) = (meaning(finding.kind), short(&finding.graph));
            let cause = cause(&finding.signature).map_or_else(String::new, |cause| format!("{cause} · "));
            mark + Styled::plain(format!(": {what}{only} · {backend} · {} · {cause}{graph}", digest(slug)))
        };
        self.print(&line);
    }

    /// Prints the first workers of a variant that are lost in a stage; further ones are in the count.
    fn lost(&mut self, (variant, stage): (&Variant, Stage), line: &str) {
        let losses = self.losses.entry((variant.clone(), stage)).or_default();
        *losses += 1;
        let line = match *losses {
            ..=LISTED_LOSSES => line.to_owned(),
            losses if losses == LISTED_LOSSES + 1 => {
                format!("further workers that are lost in {stage} are only counted")
            }
            _ => return,
        };
        self.print(&Styled::plain(printable_message(&format!("{variant}: {line}"))));
    }

    fn finished(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}

impl Reporter for Progress {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::CampaignStarted { run } => self.started(run),
            Event::Progress { summary, waiting, investigating, starting } => {
                self.announce_restored(summary.earlier);
                self.announce(investigating);
                let (findings, lost) = (self.findings.len() as u64, self.losses.values().sum());
                let (waiting, starting) = (*waiting, *starting);
                self.progressed(&State { summary, waiting, findings, lost, investigating, starting });
            }
            Event::FindingRecorded { slug, finding, new } => self.found(slug, finding, *new),
            Event::FindingRestored { slug, .. } => {
                self.findings.insert(slug.clone());
                self.restored = self.restored.map(|restored| restored + 1);
            }
            Event::WorkerLost { variant, index, stage, reason } => {
                let case = index.map_or_else(String::new, |index| format!(" of case {index}"));
                self.lost((variant, *stage), &format!("worker lost in {stage}{case} and replaced: {reason}"));
            }
            Event::WorkerOutgrown { variant, growth } => {
                let (from, to) = (bytes(growth.from), bytes(growth.to));
                let grown = format!("{variant}: worker replaced because of memory growth ({from} → {to})");
                self.print(&Styled::plain(grown));
            }
            Event::DeviceGivenUp { variant, device, reason } => {
                let warning = on_stderr("device", &Style::new().red().bold());
                let why = printable_message(&format!(" {device} disabled for {variant}: {reason}"));
                self.print(&(warning + Styled::plain(why)));
            }
            Event::NotConfirmed { divergence, .. } => {
                let (variant, kind) = (&divergence.variant, divergence.kind);
                self.print(&Styled::plain(format!("{variant}: {kind} not reproduced in a fresh worker")));
            }
            Event::Confirming { divergence, .. } => {
                self.busy(&format!("confirming {} on {}", divergence.kind, divergence.variant));
            }
            Event::Minimizing { size, tried, .. } => {
                let nodes = counted(size.nodes as u64, "node", "nodes");
                self.busy(&format!("minimizing: {nodes}, {tried} candidates tried"));
            }
            Event::CampaignFinished { .. } => self.finished(),
            Event::WorkerStarted { .. }
            | Event::WorkforceChanged { .. }
            | Event::WorkersEnded { .. }
            | Event::CaseFinished { .. }
            | Event::Investigated { .. } => {}
        }
    }
}

/// Why the backend diverges, if that is known.
fn cause(signature: &Signature) -> Option<String> {
    match &signature.cause {
        Cause::Diagnosis(mutants) => Some(mutants.join(" or ")),
        Cause::Fallback { operator, reason, .. } => Some(format!("{operator}: {}", reason.clause())),
        Cause::Graph(_) => None,
    }
}

fn on_stderr(text: &str, style: &Style) -> Styled {
    Styled::new(text, &style.clone().for_stderr())
}

const BAR: &str = "{bar:30.cyan/dim} {percent:>3}%  {msg}";

/// How many lost workers of a variant are listed for each stage.
const LISTED_LOSSES: u64 = 3;

/// What a campaign has done so far.
struct State<'a> {
    summary: &'a Summary,
    /// Cases whose divergences are not decided.
    waiting: u64,
    findings: u64,
    /// Workers that crashed, hung or were ended.
    lost: u64,
    investigating: &'a [Investigating],
    starting: StartingWorkers,
}

impl State<'_> {
    /// The state in one line, such as `14,104 cases, 13,900 compared · 1,175 cases/s · 2 findings · 1,800 cases to investigate · investigating
    /// wrong-values on trt · 12.1 s, 48 s left`.
    fn line(&self, budget: Budget) -> String {
        let Self { summary, waiting, findings, lost, .. } = *self;
        let tried = summary.cases + waiting;
        let to_investigate =
            (waiting > 0).then(|| format!("{} to investigate", counted(waiting, "case", "cases")));
        let parts = [
            Some(format!("{}, {} compared", counted(tried, "case", "cases"), count(summary.compared))),
            Some(rate(summary.now() + waiting, summary.seconds)),
            Some(counted(findings, "finding", "findings")),
            (lost > 0).then(|| format!("{} lost", counted(lost, "worker", "workers"))),
            to_investigate,
            self.investigations(),
            self.starts(),
            Some(format!("{}{}", duration(summary.seconds), self.left(budget))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn investigations(&self) -> Option<String> {
        let (first, others) = self.investigating.split_first()?;
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        Some(format!("investigating {} on {}{more}", first.kind, first.variant))
    }

    fn starts(&self) -> Option<String> {
        let StartingWorkers { now, waiting } = self.starting;
        let more = if waiting > 0 { format!(", {} waiting", count(waiting)) } else { String::new() };
        (!self.starting.is_none()).then(|| format!("{} starting{more}", counted(now, "worker", "workers")))
    }

    /// How long cases are still drawn, in words; empty while that is unknown.
    fn left(&self, budget: Budget) -> String {
        match (self.seconds_left(budget), budget) {
            (None, _) => String::new(),
            (Some(left), Budget::Cases(_)) if 0.0 < left && left < AT_THE_END => {
                ", the last cases run".to_owned()
            }
            (Some(left), _) if left > 0.0 => format!(", {} left", duration(left)),
            (Some(_), Budget::Cases(_)) => ", all cases ran".to_owned(),
            (Some(_), Budget::Seconds(_)) => ", time is up".to_owned(),
        }
    }

    /// How long the campaign still takes: at the rate so far if its budget is a number of cases, `None` while that is unknown.
    fn seconds_left(&self, budget: Budget) -> Option<f64> {
        let Self { summary, waiting, .. } = *self;
        match budget {
            Budget::Seconds(seconds) => Some((seconds as f64 - summary.seconds).max(0.0)),
            Budget::Cases(cases) => {
                let (now, tried) = (summary.now() + waiting, summary.cases + waiting);
                (now > 0).then(|| cases.saturating_sub(tried) as f64 * summary.seconds / now as f64)
            }
        }
    }
}

const fn length(budget: Budget) -> u64 {
    match budget {
        Budget::Cases(cases) => cases,
        Budget::Seconds(seconds) => seconds.saturating_mul(MILLIS),
    }
}

fn position(budget: Budget, summary: &Summary, waiting: u64) -> u64 {
    match budget {
        Budget::Cases(_) => summary.cases + waiting,
        Budget::Seconds(_) => (summary.seconds * MILLIS as f64) as u64,
    }
}

const MILLIS: u64 = 1000;

/// Seconds left below which a few cases that take long decide when all have run, and not the rate.
const AT_THE_END: f64 = 1.0;

/// Plain lines for a log: one per event, and one about progress every ten seconds.
struct Lines {
    out: Box<dyn Write + Send>,
    /// The time of the last line about progress, in seconds since the start.
    last: Option<f64>,
}

impl Lines {
    const PERIOD: f64 = 10.0;

    fn progressed(&mut self, seconds: f64, message: &Styled) {
        if self.last.is_none_or(|last| seconds - last >= Self::PERIOD) {
            self.last = Some(seconds);
            self.print(message);
        }
    }

    fn print(&mut self, line: &Styled) {
        // a campaign continues if its log cannot be written
        let _ = writeln!(self.out, "{}", line.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaign_without_cases_to_draw_says_so() {
        let left = |budget, cases, seconds| {
            let summary = Summary { cases, seconds, ..Summary::default() };
            let starting = StartingWorkers::default();
            State { summary: &summary, waiting: 0, findings: 0, lost: 0, investigating: &[], starting }
                .left(budget)
        };
        assert_eq!(left(Budget::Cases(300), 0, 0.0), "");
        assert_eq!(left(Budget::Cases(300), 100, 2.0), ", 4.0 s left");
        assert_eq!(left(Budget::Cases(300), 299, 9.0), ", the last cases run");
        assert_eq!(left(Budget::Cases(300), 300, 9.0), ", all cases ran");
        assert_eq!(left(Budget::Seconds(10), 300, 11.0), ", time is up");
    }
}
