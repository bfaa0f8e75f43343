//! The supervisor: worker processes, journal, confirmation, minimisation and findings.
//!
//! A *campaign* is a run over many cases with a budget, a journal and a set of findings.
//!
//! ```no_run
//! use twinfer_campaign::{Campaign, Options};
//! use twinfer_workers::WorkerCommand;
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
//!
//! How one case goes through: *preparers* generate, encode and evaluate it; a *lane* a worker process carries it there
//! and back; *judges* have the checks draw its verdicts; some cases *climb*, to be run again on *rungs*, which are their
//! variants with stronger options; what diverges is *investigated* beside all that; and the *committer* takes cases in
//! order, decides what is a finding, and writes the journal.

mod admission;
mod campaign;
mod dispatcher;
mod error;
mod escalation_policy;
mod escalation_thread;
mod generator;
mod judging;
mod options;
mod rung;
mod source;
mod stage_event;
mod triage_queue;

pub use campaign::Campaign;
pub use error::CampaignError;
pub use options::{Options, Scaling};
pub use twinfer_triage::CaseSource;
