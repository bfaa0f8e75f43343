//! What Ctrl-C and a termination signal do.

use std::{
    fmt::Display,
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{Exit, output::note, resumption::Resumption};

/// Stops a campaign on the first signal, by setting `stop`, and ends the process on the second.
pub fn stop_campaign(stop: &Arc<AtomicBool>, resumption: &Resumption) {
    stop_twice(
        stop,
        "stopping: what is running gets up to ten seconds; press Ctrl-C again to stop now",
        format!("stopped; resume with: {resumption}"),
    );
}

/// Stops a check on the first signal, by setting `stop`, and ends the process on the second.
pub fn stop_check(stop: &Arc<AtomicBool>) {
    stop_twice(
        stop,
        "stopping: the report will be about what has run; press Ctrl-C again to stop now, without a report",
        "stopped without a report".to_owned(),
    );
}

fn stop_twice(stop: &Arc<AtomicBool>, first: &'static str, second: String) {
    let stop = Arc::clone(stop);
    on_signal(move || {
        if stop.swap(true, Ordering::Relaxed) {
            end_process(&second);
        }
        note!("{first}");
    });
}

/// Ends the process on the first signal.
pub fn end_command() {
    on_signal(|| end_process("interrupted"));
}

fn on_signal(handle: impl FnMut() + Send + 'static) {
    // without a handler, Ctrl-C ends the process at once, which loses nothing that was written
    let _ = ctrlc::set_handler(handle);
}

fn end_process(message: impl Display) -> ! {
    note!("{message}");
    exit(Exit::EndedEarly.code().into())
}
