//! A *record* is one report about a backend, with the case that stands for it.

use twinfer_case::{Case, Kind, TOPIC_FORMAT, Topic};

/// One entry of the catalogue.
pub struct Record {
    /// Its folder's name.
    pub id: &'static str,
    pub title: &'static str,
    /// Where it was reported.
    pub upstream: &'static str,
    /// Software and versions.
    pub reported_in: &'static str,
    pub symptom: Kind,
    /// What a conforming backend does.
    pub expects: &'static str,
    pub caveat: Option<&'static str>,
    pub scope: Scope,
}

/// Whether a case can hold it.
pub enum Scope {
    /// The case, and the shape of its first output in the last run; none where it is invalid on purpose.
    Case { build: fn() -> Case, output: Option<&'static [usize]> },
    /// Why not.
    Outside(&'static str),
}

impl Record {
    /// As it is stored beside its case.
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
