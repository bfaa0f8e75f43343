use std::{
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    sync::Arc,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use super::deadline::Deadline;

/// The requested size of the pipes to and from a worker: cases wait there.
pub const PIPE_BYTES: usize = 1 << 18;
/// The longest sleep before another look at the deadline, which another thread may have moved.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// One end of a pipe to a worker. A read or a write fails with [`ErrorKind::TimedOut`] once the deadline has passed, whoever
/// holds the other end.
pub struct Pipe<P> {
    end: P,
    deadline: Arc<Deadline>,
}

impl<P: AsFd> Pipe<P> {
    /// Wraps an end of a pipe.
    ///
    /// # Errors
    ///
    /// If the end cannot be made non-blocking.
    pub fn new(end: P, deadline: &Arc<Deadline>) -> io::Result<Self> {
        // the flag belongs to this end: the worker's end still blocks
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        Ok(Self { end, deadline: Arc::clone(deadline) })
    }

    /// Calls `transfer`, after waiting for `ready` as often as the pipe is not ready.
    fn transfer(
        &mut self,
        ready: PollFlags,
        mut transfer: impl FnMut(&mut P) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            // before every call: a worker that sends a byte now and then is late, too
            let left = self.deadline.left().ok_or(ErrorKind::TimedOut)?;
            match transfer(&mut self.end) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(ready, left)?,
                result => return result,
            }
        }
    }

    fn wait(&self, ready: PollFlags, time: Duration) -> io::Result<()> {
        let time = Timespec::try_from(time.min(LONGEST_SLEEP)).ok();
        match poll(&mut [PollFd::new(&self.end, ready)], time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl<P: AsFd + Read> Read for Pipe<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.transfer(PollFlags::IN, |end| end.read(buffer))
    }
}

impl<P: AsFd + Write> Write for Pipe<P> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.transfer(PollFlags::OUT, |end| end.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    fn after(time: Duration) -> Arc<Deadline> {
        Arc::new(Deadline::after(time))
    }

    #[test]
    fn read_of_a_pipe_without_a_writer_at_work_times_out() {
        let (reader, writer) = io::pipe().unwrap();
        let mut reader = Pipe::new(reader, &after(Duration::from_millis(20))).unwrap();
        assert_eq!(reader.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(writer);
    }

    #[test]
    fn write_to_a_full_pipe_times_out() {
        let (reader, writer) = io::pipe().unwrap();
        let mut writer = Pipe::new(writer, &after(Duration::from_millis(20))).unwrap();
        assert_eq!(writer.write_all(&vec![0; 1 << 22]).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(reader);
    }

    #[test]
    fn bytes_that_trickle_in_do_not_move_the_deadline() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut reader = Pipe::new(reader, &after(Duration::from_millis(50))).unwrap();
        let trickle = thread::spawn(move || while writer.write_all(&[1]).is_ok() {});
        assert_eq!(io::copy(&mut reader, &mut io::sink()).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(reader);
        trickle.join().unwrap();
    }

    #[test]
    fn closed_pipe_ends_before_its_deadline() {
        let (reader, writer) = io::pipe().unwrap();
        let mut reader = Pipe::new(reader, &after(Duration::from_hours(1))).unwrap();
        drop(writer);
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
    }
}
