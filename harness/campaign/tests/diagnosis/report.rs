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

    /// Over the bugs of a sort.
    pub fn total(&self, sort: Sort) -> Total {
        Total::of(self.of_sort(sort))
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
        writeln!(f, "# Whether diagnoses are right\n")?;
        writeln!(
            f,
            "`adapters/mutated_adapter.py` plants each bug in ONNX Runtime without golden. Generated cases are drawn until \
             the bug changes the output of {} beyond its bound, or until twenty times as many are tried. Refused are cases \
             that ONNX Runtime does not run with the bug. Cases of conv, deconv, qdq-conv, qdq-deconv and block take \
             turns, those without quantisers left out for bugs of quantisation; cases that lack the attribute or the \
             operator which a bug is about are passed over. Again: \
             `TWINFER_DIAGNOSED_CASES={} TWINFER_RESULTS=docs/generated cargo test --release -p twinfer-campaign \
             --test diagnosis`.\n",
            self.wanted, self.wanted
        )?;
        writeln!(f, "## Bugs that golden has a mutant of\n")?;
        self.table(f, Sort::Mutant)?;
        writeln!(
            f,
            "\nThe truth is in fewer than 95 % of the answers: {}.",
            self.below(Total::named, RIGHT)
        )?;
        writeln!(f, "Fewer than 80 % are a single mutant: {}.", self.below(Total::singled_out, SINGLE))?;
        writeln!(f, "No generated case changes: {}.", self.unchanged())?;
        writeln!(f, "\n## Coarse arithmetic\n")?;
        writeln!(
            f,
            "No mistakes: what these explain is told as a loss of precision. Nobody knows in which order a backend sums, so \
             that 16-bit sums are not reproduced but told by what comes out, floats that need no more bits; they are \
             tried on cases whose outputs are such sums, since any operator behind them hides that.\n"
        )?;
        self.table(f, Sort::Precision)?;
        writeln!(f, "\n## Several at once\n")?;
        writeln!(f, "It is true to name one of them: in many cases the others change nothing.\n")?;
        self.table(f, Sort::Combination)?;
        writeln!(f, "\n## Bugs that golden has no mutant of\n")?;
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
            "truth in the answer",
            "nothing else",
            "unexplained",
            "other answers",
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
