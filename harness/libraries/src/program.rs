//! Runs a program for its output, for a limited time.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The most bytes of output that are read of each stream.
const MAX_OUTPUT: u64 = 1 << 20;
/// The pause between two looks at the program.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs `command` and returns its output, of each stream the first MiB.
///
/// # Errors
///
/// If the program does not start, or if it is killed because it has not ended after `time`.
pub fn output_within(command: &mut Command, time: Duration) -> io::Result<Output> {
    // in files, which neither block the program nor wait for a process that it leaves behind
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() >= time => return Err(killed(&mut child, time)),
            None => thread::sleep(PAUSE),
        }
    };
    Ok(Output { status, stdout: written_to(&mut stdout)?, stderr: written_to(&mut stderr)? })
}

fn killed(child: &mut Child, time: Duration) -> io::Error {
    let _ = child.kill();
    let _ = child.try_wait();
    io::Error::new(ErrorKind::TimedOut, format!("it had not ended after {} s", time.as_secs()))
}

fn written_to(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time: Duration) -> io::Result<Output> {
        output_within(Command::new("sh").args(["-c", script]), time)
    }

    #[test]
    fn both_streams_are_read() {
        let output = shell("echo out; echo err >&2; exit 3", Duration::from_mins(1)).unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn program_that_does_not_end_is_killed() {
        let error = shell("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn process_that_is_left_behind_is_not_waited_for() {
        let output = shell("sleep 60 & echo done", Duration::from_secs(30)).unwrap();
        assert_eq!(output.stdout, b"done\n");
    }
}
