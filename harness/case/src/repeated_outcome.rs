use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{Divergence, Kind, Observation, Outcome, PoisonPattern, Reach, Stage};

/// What a case came to in one run, as far as repeats of the case are compared; values are not part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CaseOutcome {
    /// The deepest stage that was entered.
    pub stage: Stage,
    /// How that stage ended.
    pub ended: Ending,
    /// The code of the backend's error, or how its process crashed; `None` if there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The kinds of the divergences, sorted, without duplicates; empty if nothing diverged.
    pub kinds: Vec<Kind>,
}

/// How a backend's work on a case ended, without the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The backend went as far as it can on this machine.
    Ok,
    /// The backend refused the model or the inputs.
    Rejected,
    /// The backend reported an internal error.
    Failed,
    /// The worker process died.
    Crashed,
    /// The stage's deadline passed.
    TimedOut,
}

/// The circumstances under which a case was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Circumstance {
    /// In the campaign, when the case first diverged.
    Campaign,
    /// In a worker that had run the case, or others, before.
    Warm,
    /// In a worker that had run nothing.
    Fresh,
    /// In a worker whose memory holds [`PoisonPattern::Nan`] until it is written.
    FilledNan,
    /// In a worker whose memory holds [`PoisonPattern::Large`] until it is written.
    FilledLarge,
}

/// One outcome of a case that was repeated, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedOutcome {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: CaseOutcome,
    /// How many runs came to it, by circumstance.
    pub times: BTreeMap<Circumstance, u32>,
}

impl CaseOutcome {
    /// What a case came to whose observation shows these divergences. A divergence that is itself a difference between runs is left
    /// out.
    pub fn of(Observation { stage, outcome, .. }: &Observation, divergences: &[Divergence]) -> Self {
        let compares_runs = |kind: &Kind| matches!(kind, Kind::Nondeterministic | Kind::StateDependent);
        let kinds = divergences.iter().map(|divergence| divergence.kind);
        let mut kinds: Vec<_> = kinds.filter(|kind| !compares_runs(kind)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let error = match outcome {
            Outcome::Rejected(error) | Outcome::Failed(error) => error.code().map(str::to_owned),
            Outcome::Crashed(status) => Some(status.clone()),
            Outcome::Ok | Outcome::TimedOut => None,
        };
        Self { stage: *stage, ended: Ending::of(outcome), error, kinds }
    }
}

impl Ending {
    /// How `outcome` ended.
    pub const fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Rejected(_) => Self::Rejected,
            Outcome::Failed(_) => Self::Failed,
            Outcome::Crashed(_) => Self::Crashed,
            Outcome::TimedOut => Self::TimedOut,
        }
    }
}

impl Ending {
    /// How far work went that ended so in `stage`, such as `built, not executed` or `rejected in parse`.
    pub fn in_words(self, stage: Stage) -> String {
        match self {
            Self::Ok => Reach::from(stage).to_string(),
            Self::Rejected | Self::Failed | Self::Crashed | Self::TimedOut => format!("{self} in {stage}"),
        }
    }
}

impl RepeatedOutcome {
    /// The outcomes of `runs` with how often each came, sorted.
    pub fn count(runs: impl IntoIterator<Item = (Circumstance, CaseOutcome)>) -> Vec<Self> {
        let mut counted: BTreeMap<CaseOutcome, BTreeMap<Circumstance, u32>> = BTreeMap::new();
        for (circumstance, outcome) in runs {
            *counted.entry(outcome).or_default().entry(circumstance).or_default() += 1;
        }
        counted.into_iter().map(|(outcome, times)| Self { outcome, times }).collect()
    }

    /// How many runs came to the outcome, whatever the circumstances.
    pub fn total(&self) -> u32 {
        self.times.values().fold(0, |total, times| total.saturating_add(*times))
    }
}

impl From<PoisonPattern> for Circumstance {
    fn from(pattern: PoisonPattern) -> Self {
        match pattern {
            PoisonPattern::Nan => Self::FilledNan,
            PoisonPattern::Large => Self::FilledLarge,
        }
    }
}

/// `parse rejected UNSUPPORTED_NODE: rejects-valid`, or `execute ok: conforms`.
impl fmt::Display for CaseOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stage, self.ended)?;
        if let Some(error) = &self.error {
            write!(f, " {error}")?;
        }
        let kinds: Vec<_> = self.kinds.iter().map(ToString::to_string).collect();
        write!(f, ": {}", if kinds.is_empty() { "conforms".to_owned() } else { kinds.join(", ") })
    }
}

/// The outcome with its numbers: `execute ok: conforms (4 warm, 1 fresh)`.
impl fmt::Display for RepeatedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = self.times.iter().map(|(circumstance, times)| format!("{times} {circumstance}"));
        write!(f, "{} ({})", self.outcome, times.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
        })
    }
}

impl fmt::Display for Circumstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Campaign => "in the campaign",
            Self::Warm => "warm",
            Self::Fresh => "fresh",
            Self::FilledNan => "with memory filled with NaN",
            Self::FilledLarge => "with memory filled with large numbers",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_says_how_far_work_went() {
        assert_eq!(Ending::Ok.in_words(Stage::Execute), "executed");
        assert_eq!(Ending::Ok.in_words(Stage::Build), "built, not executed");
        assert_eq!(Ending::Rejected.in_words(Stage::Parse), "rejected in parse");
    }

    #[test]
    fn outcomes_are_one_line_with_their_circumstances() {
        let outcome = CaseOutcome {
            stage: Stage::Parse,
            ended: Ending::Rejected,
            error: Some("UNSUPPORTED_NODE".to_owned()),
            kinds: vec![Kind::RejectsValid],
        };
        let times = [(Circumstance::Fresh, 2), (Circumstance::Warm, 4)].into();
        let repeated = RepeatedOutcome { outcome, times };
        assert_eq!(repeated.total(), 6);
        assert_eq!(repeated.to_string(), "parse rejected UNSUPPORTED_NODE: rejects-valid (4 warm, 2 fresh)");
        let text = serde_json::to_string(&repeated).unwrap();
        assert_eq!(serde_json::from_str::<RepeatedOutcome>(&text).unwrap(), repeated, "{text}");
    }
}
