//! A *record* is one upstream bug report about a backend, with a case that reproduces it.

use twinfer_case::{Case, Kind, TOPIC_FORMAT, Topic};

/// One entry of the catalogue.
pub struct Record {
    /// The name of its folder.
    pub id: &'static str,
    /// The bug in one sentence.
    pub title: &'static str,
    /// A link to the report.
    pub upstream: &'static str,
    /// The software and versions that showed the bug.
    pub reported_in: &'static str,
    /// The kind of divergence that was reported.
    pub symptom: Kind,
    /// The result of a conforming backend.
    pub expects: &'static str,
    /// How the case differs from the report, or when it does not reproduce; `None` if nothing needs to be said.
    pub caveat: Option<&'static str>,
    /// The case, if there is one.
    pub scope: Scope,
}

/// Whether a case can reproduce the report.
pub enum Scope {
    /// The case, and the shape of its first output in the last run; `None` if the case is invalid on purpose.
    Case { build: fn() -> Case, output: Option<&'static [usize]> },
    /// Why no case can reproduce it.
    Outside(&'static str),
}

impl Record {
    /// The topic that is stored beside the case.
    pub fn topic(&self) -> Topic {
        Topic {
            format: TOPIC_FORMAT,
            title: self.title.to_owned(),
            upstream: self.upstream.to_owned(),
            reported_in: self.reported_in.to_owned(),
            symptom: self.symptom,
            expects: self.expects.to_owned(),
            caveat: self.caveat.map(str::to_owned),
            outside: match self.scope {
                Scope::Outside(reason) => Some(reason.to_owned()),
                Scope::Case { .. } => None,
            },
        }
    }
}
