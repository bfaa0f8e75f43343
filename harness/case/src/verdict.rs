use std::fmt;

use serde::{Deserialize, Serialize};
use twinfer_onnx::Rule;

use crate::{
    Culprit, Diagnosis, Disagreement, Fallback, FallbackValues, Stage, Variant, backend_error::shortened,
    failed_check, rule_name, short_decimals::with_short_decimals,
};

/// What the checks conclude about one variant on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All comparisons agree.
    Conforms,
    /// The backend refused the case as the named rule of its capabilities predicts.
    Unsupported(#[serde(deserialize_with = "rule_name::read")] String),
    /// The specification leaves the result open, by the named entry of golden's rules.
    Unspecified(String),
    /// Golden computes no reference, for this reason, so nothing says whether the variant is right.
    NoReference(String),
    /// The error bound is so wide that agreement means nothing.
    Vacuous,
    /// The case did not run: it satisfies this condition, under which earlier cases hung.
    LeftOut(String),
    /// One or more checks failed.
    Diverges(Vec<Divergence>),
}

impl Verdict {
    /// The divergences; empty for any verdict but [`Verdict::Diverges`].
    pub fn divergences(&self) -> &[Divergence] {
        match self {
            Self::Diverges(divergences) => divergences,
            _ => &[],
        }
    }
}

/// One check that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// The variant that diverges.
    pub variant: Variant,
    /// The stage in which it diverges.
    pub stage: Stage,
    /// The kind of the divergence.
    pub kind: Kind,
    /// Who is wrong.
    pub blame: Blame,
    /// What was expected and what was observed, in words.
    pub detail: String,
    /// Why the variant diverges; `None` if neither values nor shapes were compared with golden's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// The operator and the reason of a `precision-fallback`; `None` for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// The rule by which the backend documents the divergence; `None` if it does not.
    #[serde(default, deserialize_with = "rule_name::read_optional", skip_serializing_if = "Option::is_none")]
    pub documented: Option<String>,
    /// The segment of the model in which values go wrong; `None` if it was not looked for or not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// How outputs differ from those of another variant; `None` if they do not, or if golden gives outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Disagreement>,
}

impl Divergence {
    /// The [`detail`](Self::detail) in words that need no glossary, and with no more digits than tell 32-bit floats apart: stored ones
    /// call the spacing of exact results a grid step, and name the rule that a graph breaks without its sentence.
    pub fn readable_detail(&self) -> String {
        match self.broken_rule() {
            Some(rule) => format!("{}: {}", self.detail, clause(rule.sentence())),
            None => readable(&self.detail),
        }
    }

    /// Whether an output is wrong, for which a segment may be to blame.
    pub fn concerns_values(&self) -> bool {
        match self.kind {
            Kind::WrongValues | Kind::WrongShape | Kind::UnwrittenOutput => true,
            Kind::PrecisionFallback => {
                self.fallback.as_ref().is_none_or(|fallback| fallback.values == FallbackValues::Changed)
            }
            _ => false,
        }
    }

    /// The check that failed in the code of the backend when it refused a valid model, as its message names it: the condition of an ONNX parser, such as
    /// `K == scaleSize`, or the place of another check, such as `at computeCosts in optimizer.cpp`. `None` if the message names neither, or if the
    /// divergence is neither [`Kind::RejectsValid`] nor [`Kind::BuildFailure`].
    pub fn failed_check(&self) -> Option<String> {
        match self.kind {
            Kind::RejectsValid => failed_check::of_refusal(&self.detail),
            Kind::BuildFailure => failed_check::of_build_failure(&self.detail),
            _ => None,
        }
    }

    /// The rule that the accepted graph breaks; `None` if the divergence is another one, or twinfer no longer has the rule.
    fn broken_rule(&self) -> Option<Rule> {
        let name = self.detail.strip_prefix(ACCEPTED).filter(|_| self.kind == Kind::AcceptsInvalid)?;
        Rule::named(name)
    }

    /// The divergence that `variant` accepted a graph which breaks `rule`.
    pub fn accepted(variant: Variant, stage: Stage, rule: &str) -> Self {
        Self::new(variant, stage, Kind::AcceptsInvalid, Blame::Variant, format!("{ACCEPTED}{rule}"))
    }

    /// Whether the same differs in the same stage, whatever explains it.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.stage, &self.detail, &self.fallback) == (other.stage, &other.detail, &other.fallback)
    }

    /// Whether both are fallbacks, and [the same bug](Fallback::is_like).
    pub fn is_same_fallback(&self, other: &Self) -> bool {
        self.fallback.as_ref().zip(other.fallback.as_ref()).is_some_and(|(one, other)| one.is_like(other))
    }

    /// A divergence without diagnosis, fallback, rule, culprit or disagreement. A `detail` over 16 KiB is shortened.
    pub fn new(variant: Variant, stage: Stage, kind: Kind, blame: Blame, detail: String) -> Self {
        Self {
            variant,
            stage,
            kind,
            blame,
            detail: if detail.len() > MAX_DETAIL { shortened(&detail, MAX_DETAIL) } else { detail },
            diagnosis: None,
            fallback: None,
            documented: None,
            culprit: None,
            disagreement: None,
        }
    }

    /// Changes the kind to `kind`, since repeats showed `how` the divergence recurs. What explained it no longer does.
    pub fn reclassify(&mut self, kind: Kind, how: &str) {
        (self.diagnosis, self.fallback, self.disagreement) = (None, None, None);
        self.detail = format!("{how}: {}: {}", self.kind, self.detail);
        self.kind = kind;
    }
}

/// The most bytes of a detail, which may be what a backend reported.
const MAX_DETAIL: usize = 16 << 10;

/// What introduces the name of the broken rule in the detail of a graph that was accepted.
const ACCEPTED: &str = "accepted a graph that breaks ";

/// A sentence as a clause behind a colon: without the period, and without a capital first letter.
fn clause(sentence: &str) -> String {
    let mut characters = sentence.trim_end_matches('.').chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

/// What introduces the spacing of exact results in a detail.
const STEP: &str = "grid step ";

/// The end of a detail about a value that is known exactly.
const NO_BOUND: &str = "bound 0e0)";

fn readable(detail: &str) -> String {
    let (mut text, mut left) = (String::new(), detail);
    while let Some((start, rest)) = left.split_once(STEP) {
        let (step, end) = rest.split_at(rest.find([')', ',', ';', ' ']).unwrap_or(rest.len()));
        text += &with_short_decimals(start);
        text += "exact results are multiples of ";
        text += &match step.parse::<f64>() {
            Ok(number) if (1e-4..1e7).contains(&number) => number.to_string(),
            _ => step.to_owned(),
        };
        left = end;
    }
    (text + &with_short_decimals(left)).replace(NO_BOUND, "no error is allowed)")
}

/// Who is wrong when two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The variant differs from golden.
    Variant,
    /// No backend: golden cannot compute the graph.
    Nobody,
}

/// The way in which a variant diverges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An output, or an inferred output, has another shape.
    WrongShape,
    /// An output has another element type.
    WrongDtype,
    /// An output differs by more than its bound.
    WrongValues,
    /// Part of an output buffer was never written.
    UnwrittenOutput,
    /// Two identical runs gave values that differ by more than is allowed.
    Nondeterministic,
    /// The variant diverges only in a worker that has run other cases.
    StateDependent,
    /// An operator runs in another precision than the graph asks for.
    PrecisionFallback,
    /// A valid graph was refused.
    RejectsValid,
    /// An invalid graph was accepted.
    AcceptsInvalid,
    /// An internal error while building a graph the parser accepted.
    BuildFailure,
    /// The worker process died.
    Crash,
    /// A stage's deadline passed.
    Hang,
    /// Something was written behind the end of a block of memory.
    OutOfBoundsWrite,
    /// The call succeeded and an error was logged.
    ErrorLogged,
    /// Backends differ and golden does not know the graph.
    Disagree,
    /// The outcome itself differs between repeats of the case.
    Unstable,
}

impl Kind {
    /// Whether a case may show a divergence of this kind in one run and not in the next, by chance or by what a worker ran before.
    pub const fn varies(self) -> bool {
        matches!(self, Self::Nondeterministic | Self::StateDependent | Self::Unstable)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongShape => "wrong-shape",
            Self::WrongDtype => "wrong-dtype",
            Self::WrongValues => "wrong-values",
            Self::UnwrittenOutput => "unwritten-output",
            Self::Nondeterministic => "nondeterministic",
            Self::StateDependent => "state-dependent",
            Self::PrecisionFallback => "precision-fallback",
            Self::RejectsValid => "rejects-valid",
            Self::AcceptsInvalid => "accepts-invalid",
            Self::BuildFailure => "build-failure",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::OutOfBoundsWrite => "out-of-bounds-write",
            Self::ErrorLogged => "error-logged",
            Self::Disagree => "disagree",
            Self::Unstable => "unstable",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_rule_is_said_as_a_sentence() {
        let accepted = |rule| {
            let variant = "ort:cpu".parse().unwrap();
            Divergence::accepted(variant, Stage::Execute, rule).readable_detail()
        };
        assert_eq!(
            accepted("bias-shape"),
            "accepted a graph that breaks bias-shape: the bias has one value per output channel"
        );
        assert_eq!(accepted("of-yesterday"), "accepted a graph that breaks of-yesterday");
    }

    #[test]
    fn detail_of_any_length_fits_into_a_line_of_a_journal() {
        let variant = "ort:cpu".parse().unwrap();
        let message = "ö".repeat(4 << 20);
        let divergence = Divergence::new(variant, Stage::Build, Kind::BuildFailure, Blame::Variant, message);
        assert!(divergence.detail.len() <= MAX_DETAIL && divergence.detail.ends_with("ö…"));
    }

    #[test]
    fn spacing_of_exact_results_is_said_in_plain_words() {
        let detail = "at [0] 1 instead of 0 (1 quantization step, grid step 5e-1), and";
        assert_eq!(
            readable(detail),
            "at [0] 1 instead of 0 (1 quantization step, exact results are multiples of 0.5), and"
        );
        assert_eq!(readable("(grid step 9e-20)"), "(exact results are multiples of 9e-20)");
        assert_eq!(
            readable("(1 quantization step, bound 0e0)"),
            "(1 quantization step, no error is allowed)"
        );
        assert_eq!(readable("refused"), "refused");
        let many = 200_000;
        assert_eq!(readable(&"grid step 1 ".repeat(many)).matches("multiples of 1 ").count(), many);
    }
}
