//! How a divergence recurs when its case is repeated.

use twinfer_case::{CaseOutcome, Circumstance, Kind};

/// One run of a case that is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The circumstances of the run.
    pub circumstance: Circumstance,
    /// What the run came to.
    pub outcome: CaseOutcome,
    /// The mutants that explain the run's values; empty if none does.
    pub mutants: Vec<String>,
    /// The first run with the same outcome and the same values, as a place among the runs.
    pub like: usize,
}

/// How a divergence recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recurrence {
    /// The same way every time.
    Stable,
    /// Every time, but for elements that the backend does not always write.
    UnwrittenOutput,
    /// Every time, with values that seemed unwritten and are computed: they are none of what other output buffers held.
    ComputedOutput,
    /// One outcome every time in a worker that has run a case before, another every time in one that has not.
    StateDependent,
    /// With other values, under equal circumstances.
    Nondeterministic,
    /// With other outcomes.
    Unstable,
}

impl Recurrence {
    /// The kind that a divergence of this `kind` turns out to be, and how it recurs, in words; `None` if it keeps its kind.
    pub const fn reclassifies(self, kind: Kind) -> Option<(Kind, &'static str)> {
        let compares_runs = matches!(kind, Kind::Nondeterministic | Kind::StateDependent);
        match self {
            Self::ComputedOutput => {
                Some((Kind::WrongValues, "computed, whatever output buffers held before"))
            }
            Self::Unstable => Some((Kind::Unstable, "one of several outcomes")),
            Self::StateDependent if !compares_runs => {
                Some((Kind::StateDependent, "not in a worker that has run the case before"))
            }
            Self::Nondeterministic if !compares_runs => {
                Some((Kind::Nondeterministic, "values differ from run to run"))
            }
            Self::Stable | Self::UnwrittenOutput | Self::StateDependent | Self::Nondeterministic => None,
        }
    }
}

/// How a divergence of this `kind` recurs in these runs of its case. Runs that all show the kind are stable, or nondeterministic if unexplained values
/// vary between them; of any others, the first that holds, in the order of [`Recurrence`].
pub fn classify(kind: Kind, runs: &[Repeat]) -> Recurrence {
    let Some((first, others)) = runs.split_first() else { return Recurrence::Stable };
    let ends_alike = |run: &Repeat| ending(&run.outcome) == ending(&first.outcome);
    // what else diverges may come and go
    let recurs = |run: &Repeat| ends_alike(run) && run.outcome.kinds.contains(&kind);
    if runs.iter().all(recurs) || others.iter().all(|run| run.outcome == first.outcome) {
        return if is_explained(runs) || !vary_unexplained(runs) {
            Recurrence::Stable
        } else {
            Recurrence::Nondeterministic
        };
    }
    if others.iter().all(|run| written(&run.outcome) == written(&first.outcome)) {
        return Recurrence::UnwrittenOutput;
    }
    if kind == Kind::UnwrittenOutput && are_computed(runs) {
        return Recurrence::ComputedOutput;
    }
    if depend_on_state(runs) {
        return Recurrence::StateDependent;
    }
    if others.iter().all(ends_alike) && runs.iter().all(is_of_values) && vary_unexplained(runs) {
        return Recurrence::Nondeterministic;
    }
    Recurrence::Unstable
}

/// Whether one mutant explains the values of every run.
fn is_explained(runs: &[Repeat]) -> bool {
    let explains_all = |mutant: &String| runs.iter().all(|run| run.mutants.contains(mutant));
    runs.first().is_some_and(|first| first.mutants.iter().any(explains_all))
}

/// Whether values vary in a way that circumstances do not explain: between runs under the same circumstances, or between the
/// campaign, of whose circumstances little is known, and all others.
fn vary_unexplained(runs: &[Repeat]) -> bool {
    let (of_campaign, repeats): (Vec<_>, Vec<_>) =
        runs.iter().partition(|run| run.circumstance == Circumstance::Campaign);
    let differs_from_all = |run: &&Repeat| repeats.iter().all(|repeat| repeat.like != run.like);
    let differs_from_another = |run: &&Repeat| {
        let mut others = repeats.iter().filter(|other| other.circumstance == run.circumstance);
        others.any(|other| other.like != run.like)
    };
    !repeats.is_empty() && of_campaign.iter().any(differs_from_all)
        || repeats.iter().any(differs_from_another)
}

/// Whether elements that hold what output buffers held in most runs do not hold it where that was something else.
fn are_computed(runs: &[Repeat]) -> bool {
    let (filled_otherwise, others): (Vec<_>, Vec<_>) =
        runs.iter().partition(|run| run.circumstance == Circumstance::FilledLarge);
    let has = |run: &Repeat, kind| run.outcome.kinds.contains(&kind);
    !filled_otherwise.is_empty()
        && filled_otherwise.iter().all(|run| has(run, Kind::WrongValues) && !has(run, Kind::UnwrittenOutput))
        && others.iter().all(|run| has(run, Kind::UnwrittenOutput))
        && runs.iter().all(|run| ending(&run.outcome) == ending(&runs[0].outcome))
}

/// Whether the outcome is one in every warm worker, and another in every worker that has run nothing, however its memory is
/// filled.
fn depend_on_state(runs: &[Repeat]) -> bool {
    let is_warm = |run: &&Repeat| run.circumstance == Circumstance::Warm;
    let is_fresh = |run: &&Repeat| !matches!(run.circumstance, Circumstance::Warm | Circumstance::Campaign);
    let (warm, fresh) = (only(runs.iter().filter(is_warm)), only(runs.iter().filter(is_fresh)));
    let (Some(warm), Some(fresh)) = (warm, fresh) else { return false };
    let mut in_campaign = runs.iter().filter(|run| run.circumstance == Circumstance::Campaign);
    warm != fresh && in_campaign.all(|run| [warm, fresh].contains(&&run.outcome))
}

/// The outcome of all `runs`; `None` if there are several, or no runs.
fn only<'a>(mut runs: impl Iterator<Item = &'a Repeat>) -> Option<&'a CaseOutcome> {
    let first = &runs.next()?.outcome;
    runs.all(|run| run.outcome == *first).then_some(first)
}

/// The outcome without what concerns elements that were not written.
fn written(outcome: &CaseOutcome) -> CaseOutcome {
    let mut outcome = outcome.clone();
    outcome.kinds.retain(|kind| *kind != Kind::UnwrittenOutput);
    outcome
}

fn ending(outcome: &CaseOutcome) -> CaseOutcome {
    CaseOutcome { kinds: Vec::new(), ..outcome.clone() }
}

/// Whether nothing but values diverges in the run, if anything.
fn is_of_values(run: &Repeat) -> bool {
    let is_of_values =
        |kind: &Kind| matches!(kind, Kind::WrongValues | Kind::UnwrittenOutput | Kind::PrecisionFallback);
    run.outcome.kinds.iter().all(is_of_values)
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Ending, Stage};

    use super::*;
    use Circumstance::{Campaign, FilledLarge, FilledNan, Fresh, Warm};

    /// The outcome that `word` stands for.
    fn outcome(word: &str) -> CaseOutcome {
        let (stage, ended, error, kinds) = match word {
            "conforms" => (Stage::Execute, Ending::Ok, None, vec![]),
            "values" => (Stage::Execute, Ending::Ok, None, vec![Kind::WrongValues]),
            "unwritten" => (Stage::Execute, Ending::Ok, None, vec![Kind::UnwrittenOutput]),
            "values and log" => {
                (Stage::Execute, Ending::Ok, None, vec![Kind::WrongValues, Kind::ErrorLogged])
            }
            "shape" => (Stage::Execute, Ending::Ok, None, vec![Kind::WrongShape]),
            "E1" | "E2" => (Stage::Parse, Ending::Rejected, Some(word), vec![Kind::RejectsValid]),
            "build" => (Stage::Build, Ending::Failed, Some(word), vec![Kind::BuildFailure]),
            "hang" => (Stage::Build, Ending::TimedOut, None, vec![Kind::Hang]),
            _ => panic!("{word}"),
        };
        CaseOutcome { stage, ended, error: error.map(str::to_owned), kinds }
    }

    /// Runs with these outcomes, each with the word for its values and the mutant that explains them, if any.
    fn runs(outcomes: &[(Circumstance, &str, &str, Option<&str>)]) -> Vec<Repeat> {
        let run = |place: usize| {
            let (circumstance, word, values, mutant) = outcomes[place];
            let like = outcomes.iter().position(|other| (other.1, other.2) == (word, values));
            Repeat {
                circumstance,
                outcome: outcome(word),
                mutants: mutant.into_iter().map(str::to_owned).collect(),
                like: like.unwrap(),
            }
        };
        (0..outcomes.len()).map(run).collect()
    }

    /// How runs recur with these outcomes, none explained: in the campaign, four times warm, twice fresh, twice with each filling.
    fn ten(
        campaign: &str,
        warm: [&str; 4],
        fresh: [&str; 2],
        nan: [&str; 2],
        large: [&str; 2],
    ) -> Recurrence {
        let of = |circumstance: Circumstance, words: &[&str]| {
            words.iter().map(|&word| word.to_owned()).map(|word| (circumstance, word)).collect::<Vec<_>>()
        };
        let all = [
            of(Campaign, &[campaign]),
            of(Warm, &warm),
            of(Fresh, &fresh),
            of(FilledNan, &nan),
            of(FilledLarge, &large),
        ];
        // `values/a` is the outcome `values` with the values `a`
        let all = all.concat();
        let split = |(circumstance, word): &'_ (Circumstance, String)| {
            let (word, values) = word.split_once('/').unwrap_or((word, ""));
            (*circumstance, word.to_owned(), values.to_owned())
        };
        let split: Vec<_> = all.iter().map(split).collect();
        let given: Vec<_> =
            split.iter().map(|(at, word, values)| (*at, word.as_str(), values.as_str(), None)).collect();
        let kind = split.iter().find_map(|(_, word, _)| outcome(word).kinds.first().copied());
        let kind = kind.expect("some run diverges");
        classify(kind, &runs(&given))
    }

    #[test]
    fn fault_that_recurs_every_time_is_stable() {
        for word in ["values", "unwritten", "shape", "E1", "build", "hang"] {
            assert_eq!(ten(word, [word; 4], [word; 2], [word; 2], [word; 2]), Recurrence::Stable, "{word}");
        }
        assert_eq!(
            classify(Kind::Hang, &runs(&[(Fresh, "hang", "", None), (FilledNan, "hang", "", None)])),
            Recurrence::Stable
        );
        assert_eq!(classify(Kind::Hang, &[]), Recurrence::Stable);
    }

    #[test]
    fn wrong_values_that_only_fillings_change_are_stable() {
        let values = ["values/a"; 4];
        let recurrence = ten("values/a", values, ["values/a"; 2], ["values/b"; 2], ["values/c"; 2]);
        assert_eq!(recurrence, Recurrence::Stable);
    }

    #[test]
    fn what_diverges_beside_a_stable_fault_may_come_and_go() {
        let logged = "values and log";
        let recurrence = ten("values", [logged; 4], ["values"; 2], [logged; 2], ["values"; 2]);
        assert_eq!(recurrence, Recurrence::Stable);
        let log_alone = ten(logged, ["values"; 4], [logged; 2], [logged; 2], ["values"; 2]);
        assert_eq!(log_alone, Recurrence::Stable, "the fault is the wrong values");
    }

    #[test]
    fn values_that_one_mutant_explains_are_stable() {
        let explained = |values: &'static str| (Fresh, "values", values, Some("sums-in-half"));
        assert_eq!(classify(Kind::WrongValues, &runs(&[explained("a"), explained("b")])), Recurrence::Stable);
        let otherwise = (Fresh, "values", "b", Some("bias-dropped"));
        assert_eq!(
            classify(Kind::WrongValues, &runs(&[explained("a"), otherwise])),
            Recurrence::Nondeterministic
        );
    }

    #[test]
    fn elements_that_are_sometimes_written_are_unwritten_output() {
        let recurrence =
            ten("unwritten", ["conforms"; 4], ["unwritten"; 2], ["conforms"; 2], ["unwritten"; 2]);
        assert_eq!(recurrence, Recurrence::UnwrittenOutput);
    }

    #[test]
    fn elements_that_no_other_filling_changes_are_computed() {
        let seemed = "unwritten";
        let recurrence = ten(seemed, [seemed; 4], [seemed; 2], [seemed; 2], ["values"; 2]);
        assert_eq!(recurrence, Recurrence::ComputedOutput);
        assert_eq!(ten(seemed, [seemed; 4], [seemed; 2], ["values"; 2], [seemed; 2]), Recurrence::Unstable);
        assert_eq!(
            ten(seemed, [seemed; 4], [seemed; 2], [seemed; 2], ["conforms"; 2]),
            Recurrence::UnwrittenOutput
        );
    }

    #[test]
    fn outcome_that_only_history_changes_is_state_dependent() {
        for (warm, fresh) in [("values", "conforms"), ("conforms", "values"), ("E1", "build")] {
            let recurrence = ten(warm, [warm; 4], [fresh; 2], [fresh; 2], [fresh; 2]);
            assert_eq!(recurrence, Recurrence::StateDependent, "{warm} {fresh}");
        }
        // what a third run came to is another matter
        let third = ten("E1", ["E2"; 4], ["build"; 2], ["build"; 2], ["build"; 2]);
        assert_eq!(third, Recurrence::Unstable);
        let filled = ten("E1", ["E1"; 4], ["build"; 2], ["build"; 2], ["E1"; 2]);
        assert_eq!(filled, Recurrence::Unstable);
    }

    #[test]
    fn values_that_vary_under_equal_circumstances_are_nondeterministic() {
        let now_and_then = ["values/a", "conforms", "values/b", "conforms"];
        for warm in [now_and_then, ["values/a", "values/a", "values/b", "values/a"]] {
            let recurrence = ten("values/a", warm, ["values/a"; 2], ["values/a"; 2], ["values/a"; 2]);
            assert_eq!(recurrence, Recurrence::Nondeterministic, "{warm:?}");
        }
        let once = ten("values", ["conforms"; 4], ["conforms"; 2], ["conforms"; 2], ["conforms"; 2]);
        assert_eq!(once, Recurrence::Nondeterministic);
    }

    #[test]
    fn outcomes_that_differ_otherwise_are_unstable() {
        let parse = ten("E1", ["E1", "E2", "E1", "E1"], ["E1"; 2], ["E1"; 2], ["E1"; 2]);
        assert_eq!(parse, Recurrence::Unstable, "the error changes");
        let stages = ten("E1", ["E1"; 4], ["E1"; 2], ["build"; 2], ["conforms"; 2]);
        assert_eq!(stages, Recurrence::Unstable, "the outcome depends on the filling");
        let filled = ten("values", ["values"; 4], ["values"; 2], ["conforms"; 2], ["values"; 2]);
        assert_eq!(filled, Recurrence::Unstable, "the values depend on the filling alone");
        let shape =
            ten("shape", ["shape", "values", "shape", "shape"], ["shape"; 2], ["shape"; 2], ["shape"; 2]);
        assert_eq!(shape, Recurrence::Unstable, "more than values change");
        let once = ten("E1", ["conforms"; 4], ["conforms"; 2], ["conforms"; 2], ["conforms"; 2]);
        assert_eq!(once, Recurrence::Unstable, "it never recurs");
    }

    #[test]
    fn classification_depends_on_no_order_of_runs() {
        let given = [
            (Fresh, "E1", "", None),
            (Warm, "build", "", None),
            (Warm, "E2", "", None),
            (FilledNan, "conforms", "", None),
        ];
        let mut turned = given;
        for _ in 0..given.len() {
            turned.rotate_left(1);
            assert_eq!(classify(Kind::RejectsValid, &runs(&turned)), Recurrence::Unstable);
        }
    }
}
