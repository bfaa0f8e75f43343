use twinfer_case::Kind;

/// The kind of a divergence in words that need no glossary: what the backend does.
#[must_use]
pub const fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::WrongShape => "wrong shape",
        Kind::WrongDtype => "wrong element type",
        Kind::WrongValues => "wrong values",
        Kind::UnwrittenOutput => "leaves part of an output unwritten",
        Kind::Nondeterministic => "values change from run to run",
        Kind::StateDependent => "depends on what ran before",
        Kind::PrecisionFallback => "runs in another precision than asked for",
        Kind::RejectsValid => "refuses a valid model",
        Kind::AcceptsInvalid => "accepts an invalid model",
        Kind::BuildFailure => "fails to build a valid model",
        Kind::Crash => "crashes",
        Kind::Hang => "hangs",
        Kind::OutOfBoundsWrite => "writes out of bounds",
        Kind::ErrorLogged => "logs an error although it succeeds",
        Kind::Disagree => "backends disagree",
        Kind::Unstable => "outcome changes from run to run",
    }
}
