//! The campaign: many cases, from their seed to the journal and the findings.
//!
//! A *campaign* is a run over many cases with a budget, a journal and a set of findings.
//!
//! ```no_run
//! use twinfer_campaign::{Campaign, Options};
//! use twinfer_case::TrustedVariant;
//! use twinfer_store::RunDirectory;
//! use twinfer_workers::WorkerCommand;
//!
//! let worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new("/usr/bin/twinfer") };
//! let options = Options::new(vec![TrustedVariant::vouch("ort:cpu".parse()?)], worker);
//! let directory = RunDirectory::create("runs/0001".as_ref())?;
//! let summary = Campaign::new(options)?.run(&directory, &mut |event| println!("{event:?}"))?;
//! println!("{} cases, {} new findings", summary.cases, summary.new_findings);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Campaign::run`] reports what happens as [`Event`](twinfer_case::Event)s, in case order where order matters, and stops early,
//! with everything on disk, when [`Options::stop`] is set. Nothing here links a backend's library: every backend is a worker
//! process.
//!
//! The story of one case is `Dispatcher::run` in `dispatcher.rs`. What a case is at each stage is in `stages.rs`, and every stage has a file: `admission`, `generator`,
//! `judging`, `escalation_policy` and `escalation_thread`, `triage_queue`, and `decide`, which says what a divergence turns out to be.

mod admission;
mod campaign;
mod decide;
mod dispatcher;
mod error;
mod escalation_policy;
mod escalation_thread;
mod event_log;
mod first_workers;
mod generator;
mod hang_forecast;
mod judging;
mod library_check;
mod opened_run;
mod options;
mod resolution;
mod run_state;
mod rung;
mod source;
mod stage_event;
mod stage_threads;
mod stages;
mod triage_queue;
mod turn_wait;

pub use campaign::Campaign;
pub use error::CampaignError;
pub use library_check::LibraryCheck;
pub use options::{Configurations, Options, Scaling};
pub use source::NEIGHBORS;
pub use twinfer_triage::CaseSource;
