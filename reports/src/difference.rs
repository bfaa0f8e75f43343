//! What changed from one run to another: findings by signature, over the cases that both ran.

use std::collections::{BTreeMap, BTreeSet};

use console::style;
use serde::Serialize;
use twinfer_case::{CaseHash, CaseRecord, Event, Variant};

use crate::{
    Format, Report, Reporter,
    markdown::escaped,
    numbers::{count, counted},
    page,
};

/// The version of the JSON form of a difference.
const DIFFERENCE_FORMAT: u32 = 1;

/// How a run differs from an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The version of this form.
    pub format: u32,
    /// The earlier run and the later one.
    pub runs: [Side; 2],
    /// Cases that both ran.
    pub common: u64,
    /// Findings of the later run alone, by folder name.
    pub new: Vec<Signed>,
    /// Findings of the earlier run alone, although the later one ran some of their cases, where nothing is found now.
    pub gone: Vec<Signed>,
    /// Findings whose cases show something else now.
    pub changed: Vec<Changed>,
    /// Findings of the earlier run none of whose cases the later one ran.
    pub untried: Vec<Signed>,
}

/// One of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Its name for a person.
    pub name: String,
    /// The variants with their backends' names and versions.
    pub variants: Vec<(Variant, String)>,
    /// Cases with a verdict.
    pub cases: u64,
}

/// A finding with the cases that showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signed {
    /// Its folder name.
    pub slug: String,
    /// How many cases of its run.
    pub cases: u64,
}

/// A finding that became others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// What the earlier run found.
    pub was: Signed,
    /// What the same cases show in the later run.
    pub is: Vec<Signed>,
}

impl Difference {
    /// From what one run showed to what another did, each with the name that a person gave.
    pub fn between(earlier: (&str, &Shown), later: (&str, &Shown)) -> Self {
        let (then, now) = (earlier.1, later.1);
        let mut difference = Self {
            format: DIFFERENCE_FORMAT,
            runs: [then.side(earlier.0), now.side(later.0)],
            common: then.tried.intersection(&now.tried).count() as u64,
            new: now.absent_in(then),
            gone: Vec::new(),
            changed: Vec::new(),
            untried: Vec::new(),
        };
        for was in then.absent_in(now) {
            let cases = then.cases_of(&was.slug);
            let is = now.shown_by(cases);
            if !is.is_empty() {
                difference.changed.push(Changed { was, is });
            } else if cases.iter().any(|case| now.tried.contains(case)) {
                difference.gone.push(was);
            } else {
                difference.untried.push(was);
            }
        }
        difference
    }

    /// Writes it; none for the formats that only campaigns have.
    pub fn render(&self, format: Format) -> Option<String> {
        page::render(self, format, Self::terminal, Self::markdown)
    }

    fn terminal(&self) -> String {
        let mut lines = self.sides();
        lines.push(String::new());
        let told = self.told();
        if told.is_empty() {
            lines.push("the same findings in both".to_owned());
        }
        lines.extend(told.into_iter().map(|(word, what)| format!("{:<8} {what}", style(word).bold())));
        lines.join("\n") + "\n"
    }

    fn markdown(&self) -> String {
        let mut lines: Vec<_> = self.sides().iter().map(|side| format!("- {}", escaped(side))).collect();
        lines.push(String::new());
        lines.extend(["| | finding |".to_owned(), "| --- | --- |".to_owned()]);
        lines.extend(self.told().into_iter().map(|(word, what)| format!("| {word} | {} |", escaped(&what))));
        lines.join("\n") + "\n"
    }

    fn sides(&self) -> Vec<String> {
        let side = |side: &Side| {
            let variants = side.variants.iter().map(|(variant, version)| format!("{variant} is {version}"));
            let cases = counted(side.cases, "case", "cases");
            format!("{}: {}; {cases}", side.name, variants.collect::<Vec<_>>().join(", "))
        };
        let mut lines: Vec<_> = self.runs.iter().map(side).collect();
        lines.push(format!("{} in both", counted(self.common, "case", "cases")));
        lines
    }

    /// A word for what happened to a finding, and the finding.
    fn told(&self) -> Vec<(&'static str, String)> {
        let changed = self.changed.iter().map(|Changed { was, is }| {
            let is: Vec<_> = is.iter().map(Signed::to_string).collect();
            ("changed", format!("{was} → {}", is.join(", ")))
        });
        let all =
            |word, signed: &[Signed]| signed.iter().map(|one| (word, one.to_string())).collect::<Vec<_>>();
        all("new", &self.new)
            .into_iter()
            .chain(changed)
            .chain(all("gone", &self.gone))
            .chain(all("untried", &self.untried))
            .collect()
    }
}

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} {})", self.slug, count(self.cases), if self.cases == 1 { "case" } else { "cases" })
    }
}

/// What a run tried and what it found, as its events tell it.
#[derive(Default)]
pub struct Shown {
    report: Report,
    tried: BTreeSet<CaseHash>,
    by_slug: BTreeMap<String, BTreeSet<CaseHash>>,
}

impl Reporter for Shown {
    fn hear(&mut self, event: &Event) {
        self.report.hear(event);
        match event {
            Event::CaseFinished { record } => self.record(record),
            Event::FindingRecorded { slug, .. } => {
                self.by_slug.entry(slug.clone()).or_default();
            }
            _ => {}
        }
    }
}

impl Shown {
    fn record(&mut self, record: &CaseRecord) {
        // nobody knows what an open case shows
        if record.open.is_empty() {
            self.tried.insert(record.case);
        }
        for slug in &record.findings {
            self.by_slug.entry(slug.clone()).or_default().insert(record.case);
        }
    }

    fn side(&self, name: &str) -> Side {
        let variants = self.report.run.iter().flat_map(|run| &run.variants);
        let variants = variants.map(|info| (info.variant.clone(), self.report.version(&info.variant)));
        Side { name: name.to_owned(), variants: variants.collect(), cases: self.report.summary.cases }
    }

    fn cases_of(&self, slug: &str) -> &BTreeSet<CaseHash> {
        const NONE: &BTreeSet<CaseHash> = &BTreeSet::new();
        self.by_slug.get(slug).unwrap_or(NONE)
    }

    fn absent_in(&self, other: &Self) -> Vec<Signed> {
        let absent = self.by_slug.iter().filter(|(slug, _)| !other.by_slug.contains_key(*slug));
        absent.map(|(slug, cases)| Signed { slug: slug.clone(), cases: cases.len() as u64 }).collect()
    }

    /// What these cases show, each with how many of them.
    fn shown_by(&self, cases: &BTreeSet<CaseHash>) -> Vec<Signed> {
        let shown = self.by_slug.iter().map(|(slug, shown)| Signed {
            slug: slug.clone(),
            cases: shown.intersection(cases).count() as u64,
        });
        shown.filter(|signed| signed.cases > 0).collect()
    }
}
