use std::{
    fs,
    fs::File,
    io::{self, PipeReader, Write},
    os::{fd::OwnedFd, unix::process::parent_id},
    path::Path,
    process::{Command, exit},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Resource, Rlimit, getpid, pidfd_open, set_child_subreaper, setrlimit},
    stdio,
};

use crate::{
    children::{Children, Ended, kill_children, next_ended},
    settings::{KEEPER_VARIABLE, Settings, TEMPORARY_FOLDER_VARIABLE},
};

/// The exit code of a keeper that cannot work, and that of shells for a program that does not start.
const FAILED: i32 = 125;
const NOT_STARTED: i32 = 127;

/// Time between two looks at ended orphans, which stay zombies until then.
const REAPING: Duration = Duration::from_secs(1);
/// Time between two looks at the worker where the kernel does not report its end, and at the supervisor once it closed the input.
const POLLING: Duration = Duration::from_millis(10);
/// How long killed processes may take to end.
const ENDING: Duration = Duration::from_secs(10);
/// Time between two attempts to kill what was started meanwhile.
const PAUSE: Duration = Duration::from_micros(200);

/// Keeps a worker and exits if [`KEEPER_VARIABLE`] is set; returns otherwise. The exit code is the worker's, or 128 and the number
/// of the signal that ended it.
///
/// A program that serves as a worker calls this before anything else.
pub fn become_keeper_if_asked() {
    match Settings::from_environment() {
        Ok(None) => {}
        Ok(Some(settings)) => exit(keep(&settings)),
        Err(error) => exit(fail(FAILED, &error.to_string())),
    }
}

/// Prints why the keeper ends, and returns its exit code.
fn fail(code: i32, reason: &str) -> i32 {
    // a closed stderr is no reason to go on
    let _ = writeln!(io::stderr(), "{reason}");
    code
}

fn keep(settings: &Settings) -> i32 {
    let own = getpid();
    let prepared = set_child_subreaper(Some(own)).map_err(io::Error::from).and_then(|()| termination());
    let termination = match prepared {
        Ok(termination) => termination,
        Err(error) => return fail(FAILED, &format!("cannot keep a worker: {error}")),
    };
    restrict(settings);
    let code = match start(settings) {
        Ok(worker) => {
            let ended = wait_for_end(worker, settings.supervisor, &termination);
            kill_all(own, worker, ended)
        }
        Err(reason) => fail(NOT_STARTED, &reason),
    };
    let _ = fs::remove_dir_all(&settings.temporary_folder);
    code
}

/// A pipe that ends when this process receives a termination signal.
fn termination() -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    let mut writer = Some(writer);
    ctrlc::set_handler(move || drop(writer.take())).map_err(io::Error::other)?;
    Ok(reader)
}

/// Sets limits that the worker and all its processes inherit. A limit that is lower already stays.
fn restrict(settings: &Settings) {
    // memory of workers is gigabytes, and crashes are what twinfer looks for
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let bytes = Some(settings.file_bytes);
    let _ = setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: bytes });
}

/// Starts the worker with the streams of this process, of which this process keeps only stdin and stderr.
fn start(settings: &Settings) -> Result<Pid, String> {
    let (program, arguments) = settings.command.split_first().ok_or("no command to keep")?;
    let mut command = Command::new(program);
    command.args(arguments).env_remove(KEEPER_VARIABLE);
    command.env(TEMPORARY_FOLDER_VARIABLE, &settings.temporary_folder);
    let failed = |error| format!("cannot start \"{}\": {error}", Path::new(program).display());
    let worker = command.spawn().map_err(failed)?;
    // the supervisor is to see when the worker closes its output
    let closed = File::create("/dev/null").and_then(|null| Ok(stdio::dup2_stdout(null)?));
    closed.map_err(|error| format!("cannot open /dev/null: {error}"))?;
    Ok(Pid::from_child(&worker))
}

/// Waits until the worker has ended, whose exit code is returned, or nobody wants it any more.
fn wait_for_end(worker: Pid, supervisor: u32, termination: &PipeReader) -> Option<i32> {
    let end = pidfd_open(worker, PidfdFlags::empty()).ok();
    let mut is_input_closed = false;
    loop {
        while let Children::Ended(Ended { pid, code }) = next_ended() {
            if pid == worker {
                return Some(code);
            }
        }
        match wait(is_input_closed, termination, end.as_ref()) {
            Occurrence::Termination => return None,
            Occurrence::InputClosed => is_input_closed = true,
            Occurrence::Other => {}
        }
        // a supervisor that only closes the input lets the worker end by itself
        if is_input_closed && parent_id() != supervisor {
            return None;
        }
    }
}

/// What a keeper waits for, besides the end of its worker.
enum Occurrence {
    /// A termination signal.
    Termination,
    /// Nobody can write to the worker any more.
    InputClosed,
    /// The worker may have ended, or time has passed.
    Other,
}

/// Waits for something to happen, for a limited time.
fn wait(is_input_closed: bool, termination: &PipeReader, end: Option<&OwnedFd>) -> Occurrence {
    let stdin = stdio::stdin();
    let mut watched = vec![PollFd::new(termination, PollFlags::IN)];
    // without events, a pipe reports only that nobody can write to it
    watched.extend((!is_input_closed).then(|| PollFd::new(&stdin, PollFlags::empty())));
    let first_of_rest = watched.len();
    watched.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
    let time = if end.is_some() && !is_input_closed { REAPING } else { POLLING };
    let _ = poll(&mut watched, Timespec::try_from(time).ok().as_ref());
    let has_occurred = |watched: &PollFd<'_>| !watched.revents().is_empty();
    match watched[..first_of_rest].iter().position(has_occurred) {
        Some(0) => Occurrence::Termination,
        Some(_) => Occurrence::InputClosed,
        None => Occurrence::Other,
    }
}

/// Kills all children, and those that become children thereby, until there are none. Returns the exit code of the worker, which is
/// `ended` if that is known.
fn kill_all(own: Pid, worker: Pid, mut ended: Option<i32>) -> i32 {
    let begun = Instant::now();
    loop {
        match next_ended() {
            Children::Ended(Ended { pid, code }) if pid == worker => ended = Some(code),
            Children::Ended(_) => {}
            Children::None => return ended.unwrap_or(FAILED),
            Children::Running if begun.elapsed() > ENDING => {
                return fail(FAILED, "a process of the worker does not end, although it was killed");
            }
            Children::Running => {
                kill_children(own);
                thread::sleep(PAUSE);
            }
        }
    }
}
