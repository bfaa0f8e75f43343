//! The supervisor: worker processes, journal, confirmation, minimisation and findings.
//!
//! A *campaign* is a run over many cases with a budget, a journal and a set of findings.
//!
//! ```no_run
//! use twinfer_campaign::{Campaign, Options, WorkerCommand};
//!
//! let worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new("/usr/bin/twinfer") };
//! let options = Options::new(vec!["ort:cpu".parse()?], worker, "runs/0001".into());
//! let summary = Campaign::new(options)?.run(&mut |event| println!("{event:?}"))?;
//! println!("{} cases, {} new findings", summary.cases, summary.new_findings);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Campaign::run`] tells what happens as [`Event`](twinfer_case::Event)s, in case order where that matters, and
//! stops early, with everything on disk, when [`Options::stop`] is set. Nothing here links a backend's library: every
//! backend is a worker process ([`WorkerCommand`]) that speaks the worker protocol.
//!
//! [`Subjects`] does one step of a campaign for one case: check it, replay it, minimise it; [`adopt`] keeps a finding.
//! [`Subjects::compare`] takes a model that no case can hold, since golden does not know it ([`Opaque`]).
//!
//! How one case goes through: *preparers* generate, encode and evaluate it; a *lane* a worker process carries it there
//! and back; *judges* have the checks draw its verdicts; some cases *climb*, to be run again on *rungs*, which are their
//! variants with stronger options; what diverges is *investigated* beside all that; and the *committer* takes cases in
//! order, decides what is a finding, and writes the journal.

mod adoption;
mod campaign;
mod case_folder;
mod catalogue;
mod causes;
mod climber;
mod climbing;
mod committer;
mod comparison;
mod crew;
mod delivery;
mod describe;
mod diagnosis;
mod docket;
mod error;
mod findings;
mod foreman;
mod growth;
mod history;
mod investigation;
mod journal;
mod judging;
mod lane;
mod merging;
mod options;
mod oracle;
mod pace;
mod passage;
mod past;
mod prepared;
mod preparer;
mod recording;
mod reduction;
mod rung;
mod site;
mod source;
mod staffing;
mod steps;
mod subjects;
mod survey;
mod suspect;
mod symptom;
mod tickets;
mod worker;

pub use adoption::adopt;
pub use campaign::Campaign;
pub use case_folder::write_case;
pub use comparison::Opaque;
pub use describe::one_line;
pub use error::CampaignError;
pub use journal::{Journal, Resumed};
pub use merging::merge;
pub use options::{Deadlines, Hiring, Options};
pub use oracle::Oracle;
pub use passage::Passage;
pub use prepared::Prepared;
pub use recording::{RecordedObservation, Recording};
pub use source::CaseSource;
pub use steps::{Minimal, Replay, read_case, read_finding};
pub use subjects::Subjects;
pub use worker::{ALLOCATOR, WorkerCommand};
