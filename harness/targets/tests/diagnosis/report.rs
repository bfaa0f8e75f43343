use std::fmt;

use crate::{RIGHT, SINGLE, trial::Trial};

/// What a measurement of diagnoses came to.
pub struct Report<'a> {
    wanted: u64,
    trials: &'a [Trial],
}

/// Counts over several bugs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    changed: u64,
    named: u64,
    singled_out: u64,
    unexplained: u64,
}

/// What golden knows of a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It has a mutant of it.
    Mutant,
    /// It has a mutant of it that is no mistake but coarse arithmetic.
    Precision,
    /// It has a mutant of each of its parts.
    Combination,
    /// Nothing.
    Stranger,
}

impl Sort {
    fn of(trial: &Trial) -> Self {
        match trial.bug.known.map_or(0, |known| known.mutants.len()) {
            0 => Self::Stranger,
            _ if trial.bug.is_of_precision() => Self::Precision,
            1 => Self::Mutant,
            _ => Self::Combination,
        }
    }
}

impl<'a> Report<'a> {
    pub const fn of(wanted: u64, trials: &'a [Trial]) -> Self {
        Self { wanted, trials }
    }

    /// Over the bugs of a sort; `None` if none was tried.
    pub fn total(&self, sort: Sort) -> Option<Total> {
        let mut trials = self.of_sort(sort).peekable();
        trials.peek()?;
        Some(Total::of(trials))
    }

    fn of_sort(&self, sort: Sort) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| Sort::of(trial) == sort)
    }
}

impl Total {
    fn of<'a>(trials: impl Iterator<Item = &'a Trial>) -> Self {
        trials.fold(Self::default(), |total, trial| Self {
            changed: total.changed + trial.changed(),
            named: total.named + trial.named(),
            singled_out: total.singled_out + trial.singled_out(),
            unexplained: total.unexplained + trial.unexplained(),
        })
    }

    /// The share of answers that hold the truth.
    pub fn named(&self) -> f64 {
        share(self.named, self.changed)
    }

    /// The share of answers that hold nothing else.
    pub fn singled_out(&self) -> f64 {
        share(self.singled_out, self.changed)
    }

    fn shares(self, sort: Sort) -> String {
        let Self { changed, named, singled_out, unexplained } = self;
        let [named, singled_out, unexplained] =
            [named, singled_out, unexplained].map(|part| percent(part, changed));
        match sort {
            Sort::Stranger => format!("- | - | {unexplained}"),
            Sort::Mutant | Sort::Precision | Sort::Combination => {
                format!("{named} | {singled_out} | {unexplained}")
            }
        }
    }

    /// The share of cases without an answer.
    pub fn unexplained(&self) -> f64 {
        share(self.unexplained, self.changed)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * share(part, whole)) }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Accuracy of diagnoses\n")?;
        writeln!(
            f,
            "`TWINFER_DIAGNOSED_CASES={} TWINFER_RESULTS=docs/generated cargo test --release -p twinfer-targets --test diagnosis`\n\n\
             `tests/adapters/mutated_adapter.py` plants each bug in ONNX Runtime without using golden. Cases are generated until the \
             bug changes the output of {} beyond its bound, or twenty times as many were tried. *refused*: ONNX Runtime does \
             not run the case with the bug. Cases of conv, deconv, qdq-conv, qdq-deconv and block alternate; quantization bugs \
             skip cases without quantizers, and every bug skips cases that lack the attribute or the operator it concerns.\n",
            self.wanted, self.wanted
        )?;
        writeln!(f, "## Bugs with a mutant\n")?;
        self.table(f, Sort::Mutant)?;
        writeln!(
            f,
            "\nThe bug is in fewer than 95 % of the diagnoses: {}.",
            self.below(Total::named, RIGHT)
        )?;
        writeln!(
            f,
            "The bug alone is fewer than 80 % of the diagnoses: {}.",
            self.below(Total::singled_out, SINGLE)
        )?;
        writeln!(f, "The bug changes no generated case: {}.", self.unchanged())?;
        writeln!(f, "\n## Coarse arithmetic\n")?;
        writeln!(
            f,
            "These mutants are reported as a loss of precision. The order in which a backend sums is unknown, so 16-bit sums \
             are not reproduced; they are recognized by outputs that need no more bits, and only in cases whose outputs are \
             such sums, because any operator after them hides that.\n"
        )?;
        self.table(f, Sort::Precision)?;
        writeln!(f, "\n## Several at once\n")?;
        writeln!(
            f,
            "A diagnosis that names one of them is right: in many cases the others change nothing.\n"
        )?;
        self.table(f, Sort::Combination)?;
        writeln!(f, "\n## Bugs without a mutant\n")?;
        self.table(f, Sort::Stranger)
    }
}

impl Report<'_> {
    /// The mutants of which a share is below `least`.
    fn below(&self, share: fn(&Total) -> f64, least: f64) -> String {
        let trials = self.of_sort(Sort::Mutant).filter(|trial| trial.changed() > 0);
        names(trials.filter(|trial| share(&Total::of([*trial].into_iter())) < least))
    }

    fn unchanged(&self) -> String {
        names(self.of_sort(Sort::Mutant).filter(|trial| trial.changed() == 0))
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, sort: Sort) -> fmt::Result {
        const HEAD: [&str; 9] = [
            "bug",
            "tried",
            "compared",
            "refused",
            "changed",
            "bug in the diagnosis",
            "bug alone",
            "unexplained",
            "other diagnoses",
        ];
        writeln!(f, "| {} |", HEAD.join(" | "))?;
        writeln!(f, "|{}", " --- |".repeat(HEAD.len()))?;
        for trial in self.of_sort(sort) {
            let total = Total::of([trial].into_iter());
            writeln!(
                f,
                "| {} | {} | {} | {} | {} ({}) | {} | {} |",
                trial.bug.name,
                trial.drawn,
                trial.compared,
                trial.refused,
                total.changed,
                percent(total.changed, trial.compared),
                total.shares(sort),
                others(trial),
            )?;
        }
        let total = Total::of(self.of_sort(sort));
        writeln!(f, "| all | | | | {} | {} | |", total.changed, total.shares(sort))
    }
}

fn names<'a>(trials: impl Iterator<Item = &'a Trial>) -> String {
    let names: Vec<_> = trials.map(|trial| trial.bug.name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The most frequent answers that are neither the truth alone nor none.
fn others(trial: &Trial) -> String {
    const SHOWN: usize = 4;
    let mut others: Vec<_> = trial
        .answers
        .iter()
        .filter(|(names, _)| !names.is_empty() && names.as_slice() != [trial.bug.name])
        .collect();
    others.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = others.iter().take(SHOWN).map(|(names, count)| format!("{} {count}×", names.join(" or ")));
    shown.collect::<Vec<_>>().join("; ")
}
