use std::{cmp::Reverse, fmt, mem};

use serde::{Deserialize, Serialize};

use crate::{Kind, Outcome, Reach, Stage, Variant, VariantRecord, Verdict, rule_name};

/// On how many cases a variant was compared with golden or another variant, at the deepest stage that its backend reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparisons {
    /// The number of those cases.
    #[serde(default)]
    pub compared: u64,
    /// Why no case was compared, each cause once; empty as soon as one was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<Uncompared>,
}

/// The most causes that are kept: the text of a cause comes from a backend.
const MAX_CAUSES: usize = 32;
/// The most causes that are listed.
const MAX_LISTED: usize = 5;

impl Comparisons {
    /// Counts a case as compared, or adds why it was not.
    pub fn record(&mut self, record: &VariantRecord) {
        if record.is_compared() {
            self.count();
        } else if self.compared == 0 {
            self.add(Uncompared::of(record));
        }
    }

    /// Counts a case as compared.
    pub fn count(&mut self) {
        self.compared += 1;
        self.uncompared.clear();
    }

    fn add(&mut self, uncompared: Uncompared) {
        let is_full = self.uncompared.len() >= MAX_CAUSES;
        match self.uncompared.iter_mut().find(|known| known.has_cause_of(&uncompared)) {
            Some(known) => known.cases += 1,
            None if is_full => {}
            None => self.uncompared.push(uncompared),
        }
    }

    /// Whether no case was recorded.
    pub const fn is_empty(&self) -> bool {
        self.compared == 0 && self.uncompared.is_empty()
    }

    /// Why `variant` was compared on no case, one line per cause, the most frequent first; empty if it was compared.
    pub fn causes(&self, variant: &Variant) -> Vec<String> {
        if self.compared > 0 {
            return Vec::new();
        }
        let mut causes: Vec<_> = self.uncompared.iter().collect();
        causes.sort_by_key(|cause| Reverse(cause.cases));
        let listed = causes.iter().take(MAX_LISTED).map(|cause| format!("{variant}: {cause}"));
        let mut lines: Vec<_> = listed.collect();
        let more = causes.len().saturating_sub(MAX_LISTED);
        lines.extend((more > 0).then(|| format!("{variant}: … and {more} more causes")));
        lines.extend(causes.is_empty().then(|| format!("{variant}: no case ran")));
        lines
    }
}

/// Cases of a variant that were not compared, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncompared {
    /// Why they were not compared.
    pub reason: UncomparedReason,
    /// The deepest stage that the backend entered.
    pub stage: Stage,
    /// How the first of the cases ended; `None` in a run of an earlier format.
    pub outcome: Option<Outcome>,
    /// How many cases.
    pub cases: u64,
}

/// Why a case of a variant was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UncomparedReason {
    /// The backend refused it as this rule of its capabilities predicts.
    Unsupported(#[serde(deserialize_with = "rule_name::read")] String),
    /// The specification leaves it open by this rule.
    Unspecified(String),
    /// Golden computes no reference, for this reason.
    NoReference(String),
    /// It did not run, because earlier cases hung under this condition.
    LeftOut(String),
    /// The error bound is so wide that agreement means nothing.
    Vacuous,
    /// It diverges in this way before the deepest stage that the backend reaches.
    Diverges(Kind),
    /// The backend reported success before the deepest stage that it says it reaches, or without a value in any output.
    Incomplete,
}

impl Uncompared {
    /// One case that was not compared.
    fn of(record: &VariantRecord) -> Self {
        let reason = match &record.verdict {
            Verdict::Unsupported(rule) => UncomparedReason::Unsupported(rule.clone()),
            Verdict::Unspecified(rule) => UncomparedReason::Unspecified(rule.clone()),
            Verdict::NoReference(reason) => UncomparedReason::NoReference(reason.clone()),
            Verdict::LeftOut(condition) => UncomparedReason::LeftOut(condition.clone()),
            Verdict::Vacuous => UncomparedReason::Vacuous,
            Verdict::Conforms => UncomparedReason::Incomplete,
            Verdict::Diverges(divergences) => divergences
                .first()
                .map_or(UncomparedReason::Incomplete, |first| UncomparedReason::Diverges(first.kind)),
        };
        Self { reason, stage: record.stage, outcome: record.outcome.clone(), cases: 1 }
    }

    /// Whether `other` has the same cause: the same reason, stage, and kind and code of the error.
    fn has_cause_of(&self, other: &Self) -> bool {
        let ending = |one: &Self| {
            let code = one.outcome.as_ref().and_then(Outcome::error).and_then(|error| error.code());
            (one.outcome.as_ref().map(mem::discriminant), code.map(str::to_owned))
        };
        self.reason == other.reason && self.stage == other.stage && ending(self) == ending(other)
    }
}

impl fmt::Display for Uncompared {
    /// Such as `8 cases without a reference (golden does not support the operator Foo), rejected in parse: Fail: no kernel`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, stage, outcome, cases } = self;
        let noun = if *cases == 1 { "case" } else { "cases" };
        write!(f, "{cases} {noun} {reason}")?;
        match outcome {
            None => Ok(()),
            Some(Outcome::Ok) => write!(f, ", no error ({})", Reach::from(*stage)),
            Some(Outcome::Rejected(error)) => write!(f, ", rejected in {stage}: {error}"),
            Some(Outcome::Failed(error)) => write!(f, ", failed in {stage}: {error}"),
            Some(Outcome::Crashed(status)) => write!(f, ", worker died in {stage}: {status}"),
            Some(Outcome::TimedOut) => write!(f, ", {stage} passed its deadline"),
        }
    }
}

impl fmt::Display for UncomparedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(rule) => write!(f, "unsupported ({rule})"),
            Self::Unspecified(rule) => write!(f, "unspecified ({rule})"),
            Self::NoReference(reason) => write!(f, "without a reference ({reason})"),
            Self::LeftOut(condition) => write!(f, "left out (cases hang: {condition})"),
            Self::Vacuous => f.write_str("undecided (rounding may explain any difference)"),
            Self::Diverges(kind) => write!(f, "diverging ({kind})"),
            Self::Incomplete => f.write_str("without values in the last stage"),
        }
    }
}
