//! Shows the progress of an installation.

use std::time::Duration;

use indicatif::ProgressBar;
use twinfer_libraries::{Error, Step};

use crate::{output::note, paint, terminal};

/// Runs an installation: at a terminal with a spinner that shows the current step, elsewhere with one line per step.
pub fn with_progress<T>(install: impl FnOnce(&mut dyn FnMut(Step)) -> Result<T, Error>) -> Result<T, Error> {
    if !terminal::is_animated() {
        return install(&mut |step| note!("{step}"));
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(120));
    let result = install(&mut |step| spinner.set_message(paint::step(step).as_str().to_owned()));
    spinner.finish_and_clear();
    result
}
