//! The difference between two runs: findings by signature, over the cases that both ran.

use serde::Serialize;
use twinfer_case::FindingCount;

use crate::{
    markup::markdown_text,
    numbers::{count, counted},
    run_findings::{ComparedRun, Renamed, RunFindings, SameMistake, described},
    styled::{Styled, joined},
    uncompared,
};

/// The version of the JSON form of a difference.
const DIFFERENCE_FORMAT: u32 = 7;

/// The word that introduces findings that vary from run to run.
const VARIES: &str = "varies";

/// The word that introduces findings whose cases count for others in the other run, which the same mistakes may explain.
const RENAMED: &str = "renamed";

/// The word that introduces findings that one run has, and whose cases the other did not run.
const NOT_RUN: &str = "not run";

/// The word that introduces findings whose cases a backend refuses in the later run as it documents, or on which nothing was compared there.
const NOT_JUDGED: &str = "not judged";

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
    /// Findings of the earlier run whose cases show no finding in the later run, where one of them at least was judged.
    pub gone: Vec<FindingCount>,
    /// Findings of the earlier run whose cases show no finding in the later run, where none of them was judged: the backend refuses them as it
    /// documents, nothing says what is right, or nothing was compared.
    pub unjudged: Vec<FindingCount>,
    /// Findings of the earlier run whose cases show other findings in the later run.
    pub changed: Vec<Changed>,
    /// The findings of the earlier run, and those of the later one, whose cases show others in the other run, which the same mistakes may explain, or which
    /// vary: which case comes first decides the name.
    pub renamed: [Vec<Renamed>; 2],
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
    pub fn between(
        earlier: (&str, &RunFindings),
        later: (&str, &RunFindings),
        same_mistake: SameMistake,
    ) -> Self {
        let (then, now) = (earlier.1, later.1);
        let [new, open_then, not_run_then] = now.absent_in(then);
        let [absent, open_now, not_run_now] = then.absent_in(now);
        let (renamed_then, new) = now.renamed_in(then, new, same_mistake);
        let (renamed_now, absent) = then.renamed_in(now, absent, same_mistake);
        let mut difference = Self {
            format: DIFFERENCE_FORMAT,
            runs: [then.side(earlier.0), now.side(later.0)],
            common: then.tried.intersection(&now.tried).count() as u64,
            new,
            gone: Vec::new(),
            unjudged: Vec::new(),
            changed: Vec::new(),
            renamed: [renamed_now, renamed_then],
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
            if !is.is_empty() {
                difference.changed.push(Changed { was, is });
            } else if then.is_judged_in(now, &was.slug) {
                difference.gone.push(was);
            } else {
                difference.unjudged.push(was);
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
        if self.uncompared.is_empty() && entries.iter().all(|(word, _)| [VARIES, RENAMED].contains(word)) {
            let same = if entries.is_empty() { "same findings" } else { "same stable findings" };
            let names =
                if entries.iter().any(|(word, _)| *word == RENAMED) { ", some by other names" } else { "" };
            lines.push(Styled::plain(format!("{same} in both runs{names}")));
        }
        let line = |(word, what)| Styled::bold(format!("{word:<10}")) + " " + Styled::plain(what);
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

    /// The runs in a line each, with another line if one ended early, then how many cases are in both.
    pub(crate) fn sides(&self) -> Vec<String> {
        let side = |side: &ComparedRun| {
            let variants = side.variants.iter().map(|(variant, version)| format!("{variant} ({version})"));
            let cases = counted(side.cases, "case", "cases");
            let open = (side.open > 0).then(|| format!(", {} of them not investigated", count(side.open)));
            let open = open.unwrap_or_default();
            format!("{}: {cases}{open}; {}", side.name, variants.collect::<Vec<_>>().join(", "))
        };
        let ending = |run: &ComparedRun| run.ending.as_ref().map(|ending| format!("{}: {ending}", run.name));
        let mut lines: Vec<_> =
            self.runs.iter().flat_map(|run| [side(run)].into_iter().chain(ending(run))).collect();
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
        let [renamed_now, renamed_then] = &self.renamed;
        let is_named = |one: &&Renamed| {
            let mut others = renamed_now.iter().flat_map(|now| &now.others);
            others.any(|other| other.slug == one.finding.slug)
        };
        let renamed_then = renamed_then.iter().filter(|one| !is_named(one));
        let renamed_then = renamed_then.map(|one| one.described(["later", "earlier"]));
        let renamed_now = renamed_now.iter().map(|one| one.described(["earlier", "later"]));
        all("new", &self.new)
            .into_iter()
            .chain(changed)
            .chain(all("gone", &self.gone))
            .chain(all(NOT_JUDGED, &self.unjudged))
            .chain(renamed_now.chain(renamed_then).map(|what| (RENAMED, what)))
            .chain(of_each(NOT_RUN, ["by the later run", "by the earlier run"], &self.untried))
            .chain(of_each(OPEN, ["in the later run", "in the earlier run"], &self.open))
            .chain(of_each(VARIES, ["in the earlier run", "in the later run"], &self.varying))
            .collect()
    }
}
