use twinfer_case::{Divergence, Kind, VariantRecord, Verdict};

/// How a backend did on a case, as the support map counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It was compared and agrees; an invalid model was refused.
    Conforms,
    /// Something is wrong that its documentation does not excuse: values, a shape, a crash, another precision.
    Wrong,
    /// The outcome changes from run to run.
    Unstable,
    /// It refused the model, documented or not.
    Refused,
    /// Nothing binds it, or nothing was compared.
    Unspecified,
}

impl Standing {
    /// Every standing, in the order of legends.
    pub const ALL: [Self; 5] =
        [Self::Conforms, Self::Wrong, Self::Unstable, Self::Refused, Self::Unspecified];

    /// The standing that a verdict gives. The worst divergence counts.
    pub fn of(record: &VariantRecord) -> Self {
        match &record.verdict {
            Verdict::Conforms if record.is_compared() => Self::Conforms,
            Verdict::Conforms
            | Verdict::Unspecified(_)
            | Verdict::NoReference(_)
            | Verdict::Vacuous
            | Verdict::LeftOut(_) => Self::Unspecified,
            Verdict::Unsupported(_) => Self::Refused,
            Verdict::Diverges(divergences) => Self::of_divergences(divergences),
        }
    }

    fn of_divergences(divergences: &[Divergence]) -> Self {
        let has = |is: &dyn Fn(&Divergence) -> bool| divergences.iter().any(is);
        let is_refusal = |one: &Divergence| matches!(one.kind, Kind::RejectsValid | Kind::BuildFailure);
        if has(&|one| one.kind.varies()) {
            Self::Unstable
        } else if has(&|one| one.documented.is_none() && !is_refusal(one)) {
            Self::Wrong
        } else if has(&is_refusal) {
            Self::Refused
        } else {
            // a documented deviation whose values are right
            Self::Conforms
        }
    }

    /// The standing in a word, which is also its class in a page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Wrong => "wrong",
            Self::Unstable => "unstable",
            Self::Refused => "refused",
            Self::Unspecified => "unspecified",
        }
    }

    /// What the word means, for a legend.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Conforms => "compared and right, or different only as the backend documents",
            Self::Wrong => {
                "wrong values or shape, a crash, another precision or an invalid model accepted, and not documented by the backend"
            }
            Self::Unstable => "the outcome changes from run to run",
            Self::Refused => {
                "the model was refused, whether the backend documents it or not; without a GPU, some versions refuse more"
            }
            Self::Unspecified => "ONNX leaves the answer open, or nothing was compared",
        }
    }
}
