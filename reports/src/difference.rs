//! The difference between two runs: findings by signature, over the cases that both ran.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use twinfer_case::{BackendName, CaseHash, CaseRecord, Event, FindingCount, Variant};

use crate::{
    Report, ReportedFinding, Reporter,
    markup::markdown_text,
    numbers::{count, counted},
    styled::{Styled, joined},
    uncompared,
};

/// The version of the JSON form of a difference.
const DIFFERENCE_FORMAT: u32 = 5;

/// The word that introduces findings that vary from run to run.
const VARIES: &str = "varies";

/// The word that introduces findings that one run has, and whose cases the other did not run.
const NOT_RUN: &str = "not run";

/// The word that introduces findings that one run has, and whose cases the other ran and did not investigate.
const OPEN: &str = "open";

/// The difference between the findings of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The version of the JSON form.
    pub format: u32,
    /// The earlier run and the later one.
    pub runs: [ComparedRun; 2],
    /// Cases that both runs ran.
    pub common: u64,
    /// Findings of the later run whose cases the earlier run ran without them, by folder name.
    pub new: Vec<FindingCount>,
    /// Findings of the earlier run whose cases show no finding in the later run.
    pub gone: Vec<FindingCount>,
    /// Findings of the earlier run whose cases show other findings in the later run.
    pub changed: Vec<Changed>,
    /// The findings of the earlier run, and those of the later one, none of whose cases the other ran on the same backend.
    pub untried: [Vec<FindingCount>; 2],
    /// The findings of the earlier run, and those of the later one, whose cases the other ran on the same backend and did not investigate.
    pub open: [Vec<FindingCount>; 2],
    /// Why the runs say nothing about each other: no case is in both, or a variant was not compared in one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<String>,
    /// The findings of the earlier run and those of the later one that [vary](twinfer_case::Kind::varies) from run to run, are [one
    /// outcome](twinfer_case::Finding::is_outcome_of) of one that does, or whose cases vary in the other run, and so say nothing about what
    /// changed.
    pub varying: [Vec<FindingCount>; 2],
}

/// One of the two compared runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRun {
    /// The name to print, such as its path.
    pub name: String,
    /// The variants with the name and version of each backend.
    pub variants: Vec<(Variant, String)>,
    /// The seed that drew the cases; `None` if they were given.
    pub seed: Option<u64>,
    /// Cases with a verdict.
    pub cases: u64,
    /// Cases of these that differ and were not investigated.
    pub open: u64,
}

/// A finding whose cases show other findings in the later run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The finding of the earlier run.
    pub was: FindingCount,
    /// The findings that the same cases show in the later run.
    pub is: Vec<FindingCount>,
}

impl Difference {
    /// Compares an earlier run with a later one, each given with the name to print.
    pub fn between(earlier: (&str, &RunFindings), later: (&str, &RunFindings)) -> Self {
        let (then, now) = (earlier.1, later.1);
        let [new, open_then, not_run_then] = now.absent_in(then);
        let [absent, open_now, not_run_now] = then.absent_in(now);
        let mut difference = Self {
            format: DIFFERENCE_FORMAT,
            runs: [then.side(earlier.0), now.side(later.0)],
            common: then.tried.intersection(&now.tried).count() as u64,
            new,
            gone: Vec::new(),
            changed: Vec::new(),
            untried: [not_run_now, not_run_then],
            open: [open_now, open_then],
            uncompared: [then.uncompared(earlier.0), now.uncompared(later.0)].concat(),
            varying: [then.varying(now), now.varying(then)],
        };
        if difference.common == 0 {
            difference.uncompared.push(format!("no case is in both runs{}", difference.seeds()));
        }
        for was in absent {
            let is = now.shown_by(then.cases_of(&was.slug), then.backend_of(&was.slug));
            if is.is_empty() {
                difference.gone.push(was);
            } else {
                difference.changed.push(Changed { was, is });
            }
        }
        difference
    }

    /// Says that the two runs drew their cases with different seeds, as the end of a sentence; empty if they did not.
    fn seeds(&self) -> String {
        match self.runs.each_ref().map(|run| run.seed) {
            [Some(one), Some(other)] if one != other => format!(": their seeds are {one} and {other}"),
            _ => String::new(),
        }
    }

    /// The difference as text for a terminal.
    pub(crate) fn terminal(&self) -> String {
        let mut lines: Vec<_> = self.sides().into_iter().map(Styled::plain).collect();
        lines.push(Styled::default());
        lines.extend(uncompared::titled(&self.uncompared));
        let entries = self.entries();
        if self.uncompared.is_empty() && entries.iter().all(|(word, _)| *word == VARIES) {
            let same = if entries.is_empty() { "same findings" } else { "same stable findings" };
            lines.push(Styled::plain(format!("{same} in both runs")));
        }
        let line = |(word, what)| Styled::bold(format!("{word:<8}")) + " " + Styled::plain(what);
        lines.extend(entries.into_iter().map(line));
        joined(&lines)
    }

    /// The difference as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut lines: Vec<_> =
            self.sides().iter().map(|side| format!("- {}", markdown_text(side))).collect();
        lines.push(String::new());
        if !self.uncompared.is_empty() {
            lines.extend([format!("{}:", uncompared::TITLE), String::new()]);
            lines.extend(self.uncompared.iter().map(|line| format!("- {}", markdown_text(line))));
            lines.push(String::new());
        }
        lines.extend(["| | finding |".to_owned(), "| --- | --- |".to_owned()]);
        lines.extend(
            self.entries().into_iter().map(|(word, what)| format!("| {word} | {} |", markdown_text(&what))),
        );
        lines.join("\n") + "\n"
    }

    /// The runs in a line each, then how many cases are in both.
    pub(crate) fn sides(&self) -> Vec<String> {
        let side = |side: &ComparedRun| {
            let variants = side.variants.iter().map(|(variant, version)| format!("{variant} ({version})"));
            let cases = counted(side.cases, "case", "cases");
            let open = (side.open > 0).then(|| format!(", {} of them not investigated", count(side.open)));
            let open = open.unwrap_or_default();
            format!("{}: {cases}{open}; {}", side.name, variants.collect::<Vec<_>>().join(", "))
        };
        let mut lines: Vec<_> = self.runs.iter().map(side).collect();
        lines.push(format!("{} in both runs", counted(self.common, "case", "cases")));
        lines
    }

    /// What changed about each finding, as a word and a description.
    fn entries(&self) -> Vec<(&'static str, String)> {
        let changed = self.changed.iter().map(|Changed { was, is }| {
            let is: Vec<_> = is.iter().map(described).collect();
            ("changed", format!("{} → {}", described(was), is.join(", ")))
        });
        let all = |word, signed: &[FindingCount]| {
            signed.iter().map(|one| (word, described(one))).collect::<Vec<_>>()
        };
        let of_each = |word, [which_then, which_now]: [&str; 2], [then, now]: &[Vec<FindingCount>; 2]| {
            let entry = |which: &str, one| (word, format!("{which}: {}", described(one)));
            let then = then.iter().map(|one| entry(which_then, one));
            then.chain(now.iter().map(|one| entry(which_now, one))).collect::<Vec<_>>()
        };
        all("new", &self.new)
            .into_iter()
            .chain(changed)
            .chain(all("gone", &self.gone))
            .chain(of_each(NOT_RUN, ["by the later run", "by the earlier run"], &self.untried))
            .chain(of_each(OPEN, ["in the later run", "in the earlier run"], &self.open))
            .chain(of_each(VARIES, ["in the earlier run", "in the later run"], &self.varying))
            .collect()
    }
}

/// The folder name of a finding with its number of cases.
pub(crate) fn described(finding: &FindingCount) -> String {
    format!("{} ({})", finding.slug, counted(finding.cases, "case", "cases"))
}

/// The cases and findings of a run, collected from its events.
#[derive(Default)]
pub struct RunFindings {
    report: Report,
    /// Cases of which it is known what they show.
    tried: BTreeSet<CaseHash>,
    /// Cases that were not investigated, so that their findings are unknown.
    open: BTreeSet<CaseHash>,
    /// Cases that a variant of a backend left out because others hang.
    left_out: BTreeMap<BackendName, BTreeSet<CaseHash>>,
    by_slug: BTreeMap<String, BTreeSet<CaseHash>>,
}

impl Reporter for RunFindings {
    fn on_event(&mut self, event: &Event) {
        self.report.on_event(event);
        match event {
            Event::CaseFinished { record } => self.record(record),
            Event::FindingRecorded { slug, .. } | Event::FindingRestored { slug, .. } => {
                self.by_slug.entry(slug.clone()).or_default();
            }
            _ => {}
        }
    }
}

impl RunFindings {
    fn record(&mut self, record: &CaseRecord) {
        let cases = if record.open.is_empty() { &mut self.tried } else { &mut self.open };
        cases.insert(record.case);
        for left_out in record.variants.iter().filter(|variant| !variant.has_run()) {
            self.left_out.entry(left_out.variant.backend.clone()).or_default().insert(record.case);
        }
        for slug in &record.findings {
            self.by_slug.entry(slug.clone()).or_default().insert(record.case);
        }
    }

    fn side(&self, name: &str) -> ComparedRun {
        let variants = self.report.run.iter().flat_map(|run| &run.variants);
        let variants = variants.map(|info| (info.variant.clone(), self.report.backend(&info.variant)));
        let (cases, open) = (self.report.summary.cases, self.report.summary.open);
        let drawn = self.report.run.as_ref().filter(|run| !run.families.is_empty());
        let seed = drawn.map(|run| run.seed);
        ComparedRun { name: name.to_owned(), variants: variants.collect(), seed, cases, open }
    }

    /// Why variants of the run were compared on no case, each line with the name of the run.
    fn uncompared(&self, name: &str) -> Vec<String> {
        let causes = uncompared::on_one_line(&self.report.summary.causes());
        causes.iter().map(|cause| format!("{name}: {cause}")).collect()
    }

    fn cases_of(&self, slug: &str) -> &BTreeSet<CaseHash> {
        const NONE: &BTreeSet<CaseHash> = &BTreeSet::new();
        self.by_slug.get(slug).unwrap_or(NONE)
    }

    /// The stable findings that `other` lacks: those of which it knows what their cases show, those whose cases it did not investigate, and
    /// those whose cases it did not run.
    fn absent_in(&self, other: &Self) -> [Vec<FindingCount>; 3] {
        let absent = self.counted_if(|slug| !self.varies(slug, other) && !other.has_finding(slug, self));
        let (tried, others): (Vec<_>, Vec<_>) =
            absent.into_iter().partition(|one| self.is_among(one, &other.tried, other));
        let (open, not_run) = others.into_iter().partition(|one| self.is_among(one, &other.open, other));
        [tried, open, not_run]
    }

    /// Whether one of the cases of a finding of this run is among these cases of `other`, which ran it on the finding's backend.
    fn is_among(&self, finding: &FindingCount, cases: &BTreeSet<CaseHash>, other: &Self) -> bool {
        let backend = self.backend_of(&finding.slug);
        let left_out = backend.and_then(|backend| other.left_out.get(backend));
        let has_run = |case: &CaseHash| {
            cases.contains(case) && left_out.is_none_or(|left_out| !left_out.contains(case))
        };
        backend.is_none_or(|backend| other.has_backend(backend))
            && self.cases_of(&finding.slug).iter().any(has_run)
    }

    /// Whether this run has the finding that is called `slug` in `other`, perhaps by the name that another version of twinfer gave it.
    fn has_finding(&self, slug: &str, other: &Self) -> bool {
        let called = other.report.findings.iter().find(|found| found.slug == slug);
        let signature = called.map(|found| found.finding.current_signature());
        let is_same = |own: &ReportedFinding| Some(own.finding.current_signature()) == signature;
        self.by_slug.contains_key(slug) || self.report.findings.iter().any(is_same)
    }

    /// The backend of a finding; `None` if the run does not hold the finding itself.
    fn backend_of(&self, slug: &str) -> Option<&BackendName> {
        let mut findings = self.report.findings.iter();
        findings.find(|one| one.slug == slug).map(|one| &one.finding.signature.backend)
    }

    fn has_backend(&self, backend: &BackendName) -> bool {
        let run = self.report.run.as_ref();
        run.is_none_or(|run| run.variants.iter().any(|info| info.variant.backend == *backend))
    }

    fn varying(&self, other: &Self) -> Vec<FindingCount> {
        self.counted_if(|slug| self.varies(slug, other))
    }

    fn counted_if(&self, wanted: impl Fn(&str) -> bool) -> Vec<FindingCount> {
        let wanted = self.by_slug.iter().filter(|(slug, _)| wanted(slug));
        wanted.map(|(slug, cases)| FindingCount { slug: slug.clone(), cases: cases.len() as u64 }).collect()
    }

    /// Whether a finding varies from run to run. One that `other` lacks also does if it is one outcome of a finding that varies, or if its
    /// cases show findings that vary there.
    fn varies(&self, slug: &str, other: &Self) -> bool {
        let Some(ReportedFinding { finding, .. }) = self.report.findings.iter().find(|one| one.slug == slug)
        else {
            return false;
        };
        let mut known = self.report.findings.iter().chain(&other.report.findings);
        let mut tried = self.cases_of(slug).intersection(&other.tried).peekable();
        let shows_varying = |case: &CaseHash| other.varying_kinds().any(|cases| cases.contains(case));
        finding.kind.varies()
            || !other.has_finding(slug, self)
                && (known.any(|one| finding.is_outcome_of(&one.finding))
                    || tried.peek().is_some() && tried.all(shows_varying))
    }

    /// The cases of each finding of a kind that varies.
    fn varying_kinds(&self) -> impl Iterator<Item = &BTreeSet<CaseHash>> {
        let varying = self.report.findings.iter().filter(|one| one.finding.kind.varies());
        varying.map(|one| self.cases_of(&one.slug))
    }

    /// The findings of `backend` that `cases` show, each with the number of those cases; of any backend if it is `None`.
    fn shown_by(&self, cases: &BTreeSet<CaseHash>, backend: Option<&BackendName>) -> Vec<FindingCount> {
        let is_of_backend =
            |slug: &str| backend.is_none() || self.backend_of(slug).is_none_or(|of| Some(of) == backend);
        let of_backend = self.by_slug.iter().filter(|(slug, _)| is_of_backend(slug));
        let shown = of_backend.map(|(slug, shown)| FindingCount {
            slug: slug.clone(),
            cases: shown.intersection(cases).count() as u64,
        });
        shown.filter(|signed| signed.cases > 0).collect()
    }
}
