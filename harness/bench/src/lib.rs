//! Benchmarks: the rate of cases that a campaign reaches, and what the same backends reach with less or nothing around them.
//!
//! [`run`] measures what [`Settings`] ask for and prints tables as it goes. A backend that is measured without a campaign runs
//! in processes of its own, which are this program started with another command: [`run_loop`] is a loop over cases,
//! [`measure_parts`] takes cases through one step after the other. The program, and where tables go, are the [`Host`]'s.
//!
//! ```no_run
//! use std::{fmt, num::NonZeroUsize};
//!
//! use twinfer_bench::{BenchError, Host, Settings};
//! use twinfer_case::Variant;
//! use twinfer_workers::WorkerCommand;
//!
//! struct Program;
//!
//! impl Host for Program {
//!     fn worker(&self, _variants: &[Variant]) -> Result<WorkerCommand, BenchError> {
//!         Ok(WorkerCommand::new("/usr/bin/twinfer"))
//!     }
//!
//!     fn print(&self, line: fmt::Arguments<'_>) {
//!         println!("{line}");
//!     }
//!
//!     fn print_heading(&self, line: fmt::Arguments<'_>) {
//!         self.print(line);
//!     }
//!
//!     fn print_detail(&self, line: fmt::Arguments<'_>) {
//!         self.print(line);
//!     }
//! }
//!
//! let settings = Settings { cases: 1000, ..Settings::new(NonZeroUsize::MIN) };
//! let report = twinfer_bench::run(&settings, &Program)?;
//! println!("{} jobs", report.jobs);
//! # Ok::<(), BenchError>(())
//! ```

mod bare;
mod cost;
mod costs;
mod cpu;
mod end_to_end;
mod error;
mod fleet;
mod host;
mod loops;
mod parts;
mod report;
mod settings;
mod solo;
mod stream;
mod usage;

pub use cost::Cost;
pub use error::{BenchError, Fault};
pub use host::Host;
pub use parts::measure_parts;
pub use report::{Alone, Campaign, Report};
pub use settings::{LoopSettings, Part, PartsSettings, Settings};
pub use solo::{Greeting, run_loop};
pub use usage::Spent;

use twinfer_campaign::CampaignError;
use twinfer_case::Variant;

/// Measures what `settings` ask for, and prints it as it becomes known.
///
/// # Errors
///
/// If a backend does not open, a worker does not start or is lost, or a campaign does not complete.
pub fn run(settings: &Settings, host: &dyn Host) -> Result<Report, BenchError> {
    match settings.backends.as_deref() {
        None => cpu::run(settings, host),
        Some([]) => Err(CampaignError::NoBackend.into()),
        Some(backends) => {
            backends.iter().try_for_each(opens_in_process)?;
            loops::run(settings, backends, host)
        }
    }
}

/// An error if the backend of `variant` is a program of its own: what it takes alone is measured in a process of this program.
fn opens_in_process(variant: &Variant) -> Result<(), Fault> {
    if variant.backend.has_own_program() {
        return Err(Fault::usage(format_args!(
            "{variant} runs in a program of its own, and bench measures only backends that twinfer loads itself: leave it out \
             of --backends"
        )));
    }
    Ok(())
}
