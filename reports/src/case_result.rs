use twinfer_case::VariantSummary;

use crate::summary::{diverging, total};

/// What came of the cases of a variant, in the order of charts and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CaseResult {
    /// Everything that was compared agrees.
    Agrees,
    /// At least one check failed.
    Differs,
    /// The backend documents that it refuses the case.
    Unsupported,
    /// ONNX does not say what is right.
    Unspecified,
    /// The error bound is so wide that agreement means nothing.
    Undecided,
    /// Golden computes no reference.
    NoReference,
    /// It did not run, because earlier cases hung under a condition that it satisfies.
    LeftOut,
}

impl CaseResult {
    /// All results, in order.
    pub const ALL: [Self; 7] = [
        Self::Agrees,
        Self::Differs,
        Self::Unsupported,
        Self::Unspecified,
        Self::Undecided,
        Self::NoReference,
        Self::LeftOut,
    ];

    /// The result as a heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Unsupported => "documented as unsupported",
            Self::Unspecified => "left open by ONNX",
            Self::Undecided => "rounding may hide errors",
            Self::NoReference => "without a reference",
            Self::LeftOut => "left out because cases like it hang",
        }
    }

    /// Whether tables have a column for it even if no case has this result.
    pub const fn is_usual(self) -> bool {
        !matches!(self, Self::NoReference | Self::LeftOut)
    }

    /// Whether something was compared.
    pub const fn is_a_judgement(self) -> bool {
        matches!(self, Self::Agrees | Self::Differs)
    }

    /// The class of its color.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Unsupported => "unsupported",
            Self::Unspecified => "unspecified",
            Self::Undecided => "undecided",
            Self::NoReference => "no-reference",
            Self::LeftOut => "left-out",
        }
    }

    /// The cases of a variant with this result.
    pub fn of(self, variant: &VariantSummary) -> u64 {
        match self {
            Self::Agrees => variant.conforms,
            Self::Differs => diverging(variant),
            Self::Unsupported => total(&variant.unsupported),
            Self::Unspecified => total(&variant.unspecified),
            Self::Undecided => variant.vacuous,
            Self::NoReference => total(&variant.not_computed),
            Self::LeftOut => total(&variant.left_out),
        }
    }
}
