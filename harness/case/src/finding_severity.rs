//! How much a finding matters: one order, which every report follows, and investigations where time is limited.

use std::{fmt, slice};

use serde::Serialize;

use crate::{Divergence, FallbackValues, Finding, Kind};

/// What a finding means to a person who decides what to look at first, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSeverity {
    /// Numbers are wrong, and nothing says so.
    WrongValues,
    /// A wrong shape or type, a crash, a hang, or a write out of bounds.
    Broken,
    /// The outcome depends on chance, or on what ran before.
    Unsteady,
    /// Backends disagree where no reference says which of them is wrong.
    Disagreement,
    /// A valid model is refused, or cannot be built.
    Refusal,
    /// An invalid model is accepted.
    Leniency,
    /// Time was up before the finding was confirmed.
    Unconfirmed,
    /// An operator runs in another precision than its model asks for, with values that are right or were not compared.
    Precision,
    /// An error was logged, and nothing else was wrong.
    Logged,
    /// The backend's own documentation says so.
    Documented,
    /// The finding was known before.
    Known,
}

impl FindingSeverity {
    /// All severities, the most severe first.
    pub const ALL: [Self; 11] = [
        Self::WrongValues,
        Self::Broken,
        Self::Unsteady,
        Self::Disagreement,
        Self::Refusal,
        Self::Leniency,
        Self::Unconfirmed,
        Self::Precision,
        Self::Logged,
        Self::Documented,
        Self::Known,
    ];

    /// The severity of a finding that is `new` or was known before: what is known or documented is so whatever its kind.
    pub fn of(finding: &Finding, new: bool) -> Self {
        match () {
            () if !new => Self::Known,
            () if is_documented(finding) => Self::Documented,
            () if finding.is_unfinished() => Self::Unconfirmed,
            () => Self::of_kind(finding.kind, &finding.divergences),
        }
    }

    /// The severity of a divergence that may become a finding.
    pub fn of_divergence(divergence: &Divergence) -> Self {
        match divergence.documented {
            Some(_) => Self::Documented,
            None => Self::of_kind(divergence.kind, slice::from_ref(divergence)),
        }
    }

    /// The severity of a finding of this kind with these `divergences`.
    fn of_kind(kind: Kind, divergences: &[Divergence]) -> Self {
        match kind {
            Kind::WrongValues | Kind::UnwrittenOutput => Self::WrongValues,
            Kind::PrecisionFallback if change_values(divergences) => Self::WrongValues,
            Kind::WrongShape | Kind::WrongDtype | Kind::Crash | Kind::Hang | Kind::OutOfBoundsWrite => {
                Self::Broken
            }
            Kind::Nondeterministic | Kind::StateDependent | Kind::Unstable => Self::Unsteady,
            Kind::Disagree => Self::Disagreement,
            Kind::RejectsValid | Kind::BuildFailure => Self::Refusal,
            Kind::AcceptsInvalid => Self::Leniency,
            Kind::PrecisionFallback => Self::Precision,
            Kind::ErrorLogged => Self::Logged,
        }
    }

    /// Whether findings of this severity are bugs that nothing excuses.
    pub const fn is_bug(self) -> bool {
        matches!(self, Self::WrongValues | Self::Broken | Self::Unsteady | Self::Refusal | Self::Leniency)
    }

    /// The severity as a heading, such as `wrong shape, crash or hang`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::WrongValues => "wrong values",
            Self::Broken => "wrong shape, crash or hang",
            Self::Unsteady => "varies from run to run",
            Self::Disagreement => "backends disagree",
            Self::Refusal => "refuses a valid model",
            Self::Leniency => "accepts an invalid model",
            Self::Unconfirmed => "not confirmed yet",
            Self::Precision => "other precision than asked for",
            Self::Logged => "error logged",
            Self::Documented => "documented limit",
            Self::Known => "known before",
        }
    }

    /// The severity's name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongValues => "wrong-values",
            Self::Broken => "broken",
            Self::Unsteady => "unsteady",
            Self::Disagreement => "disagreement",
            Self::Refusal => "refusal",
            Self::Leniency => "leniency",
            Self::Unconfirmed => "unconfirmed",
            Self::Precision => "precision",
            Self::Logged => "logged",
            Self::Documented => "documented",
            Self::Known => "known",
        }
    }
}

impl fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn is_documented(finding: &Finding) -> bool {
    finding.divergences.first().is_some_and(|divergence| divergence.documented.is_some())
}

fn change_values(divergences: &[Divergence]) -> bool {
    let fallbacks = divergences.iter().filter_map(|divergence| divergence.fallback.as_ref());
    fallbacks.into_iter().any(|fallback| fallback.values == FallbackValues::Changed)
}

#[cfg(test)]
mod tests {
    use super::FindingSeverity;

    #[test]
    fn all_lists_every_severity_in_order() {
        assert!(FindingSeverity::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = FindingSeverity::ALL.map(FindingSeverity::name).into();
        assert_eq!(names.len(), FindingSeverity::ALL.len());
        for severity in FindingSeverity::ALL {
            assert_eq!(serde_json::to_string(&severity).unwrap(), format!("\"{severity}\""));
        }
    }
}
