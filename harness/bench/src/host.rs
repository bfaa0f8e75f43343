use std::fmt;

use twinfer_case::Variant;
use twinfer_workers::WorkerCommand;

use crate::BenchError;

/// The program that runs a benchmark.
pub trait Host {
    /// The command that starts a worker for any of `variants`. The same program must also run
    /// [`run_loop`](crate::run_loop) as its command `bench-loop`, and [`measure_parts`](crate::measure_parts) as
    /// `bench-parts`.
    ///
    /// # Errors
    ///
    /// If the program or a library that a variant needs cannot be found.
    fn worker(&self, variants: &[Variant]) -> Result<WorkerCommand, BenchError>;

    /// Prints `line`, which has no line break.
    fn print(&self, line: fmt::Arguments<'_>);

    /// Prints the title of what follows.
    fn print_heading(&self, title: fmt::Arguments<'_>);

    /// Prints `line`, which is of less interest.
    fn print_detail(&self, line: fmt::Arguments<'_>);
}

/// Prints one line on a [`Host`], with the format arguments of `println!`.
macro_rules! line {
    ($host:expr, $($argument:tt)*) => {
        $host.print(format_args!($($argument)*))
    };
}
pub(crate) use line;
