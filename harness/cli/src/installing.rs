//! Telling a person who waits what an installation is doing.

use std::time::Duration;

use indicatif::ProgressBar;
use twinfer_libraries::{Error, Installed, Step};

use crate::paint;

/// Runs an installation: a spinner with its current step at a terminal, a line a step elsewhere.
pub fn told(
    install: impl FnOnce(&mut dyn FnMut(Step)) -> Result<Installed, Error>,
) -> Result<Installed, Error> {
    if !console::user_attended_stderr() {
        return install(&mut |step| eprintln!("{step}"));
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(120));
    let result = install(&mut |step| spinner.set_message(paint::step(step).to_string()));
    spinner.finish_and_clear();
    result
}
