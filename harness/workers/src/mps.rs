//! A server of NVIDIA's multi-process service (MPS), with which processes use a GPU side by side instead of one after the other.

use std::{
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, getuid, kill_process};
use twinfer_keeper::{KEEPER_VARIABLE, Settings};

use crate::WorkerCommand;

/// The service's control program, which is also its daemon.
const CONTROL: &str = "nvidia-cuda-mps-control";
/// Names the folder through which programs reach the service.
const PIPES: &str = "CUDA_MPS_PIPE_DIRECTORY";
const LOGS: &str = "CUDA_MPS_LOG_DIRECTORY";
/// A server that saw only some devices would count them anew, and workers select theirs by the usual numbers.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Time between two looks at what is waited for.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the control program may take to answer, and the service to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server of the multi-process service that belongs to this process: in a folder of its own, kept by a
/// [keeper](twinfer_keeper), so that it ends with this process however that ends. Dropping it ends it.
#[derive(Debug)]
pub struct MpsServer {
    control: PathBuf,
    folder: PathBuf,
    keeper: Child,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum MpsError {
    /// The service is not installed.
    #[error("{CONTROL} is not installed")]
    NotInstalled,
    /// The service ended as soon as it was started.
    #[error("`{CONTROL} -f` ended with {0}")]
    Ended(ExitStatus),
    /// The server reports a fault.
    #[error("its server reports {0:?}")]
    Faulty(String),
    /// The server did not become active in time.
    #[error("its server was not active after {} s", .0.as_secs())]
    NotActive(Duration),
    /// A process or a folder could not be made, or the control program not be spoken to.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl MpsServer {
    /// Starts a server, kept by the program of `worker`, and waits until it is active.
    ///
    /// # Errors
    ///
    /// If the service is not installed, is refused on this machine, or is not active within `patience`.
    pub fn start(worker: &WorkerCommand, patience: Duration) -> Result<Self, MpsError> {
        Self::start_with(Path::new(CONTROL), worker, patience)
    }

    /// As [`start`](Self::start), with `control` as the service's control program.
    ///
    /// # Errors
    ///
    /// If `control` does not exist, is refused on this machine, or is not active within `patience`.
    pub fn start_with(control: &Path, worker: &WorkerCommand, patience: Duration) -> Result<Self, MpsError> {
        let folder = tempfile::Builder::new().prefix("twinfer-mps-").tempdir()?;
        let settings = Settings {
            command: vec![control.into(), "-f".into()],
            supervisor: std::process::id(),
            temporary_folder: folder.path().to_owned(),
            file_bytes: u64::MAX,
        };
        let mut command = Command::new(&worker.program);
        command.args(&worker.args).envs(worker.env.iter().map(|(key, value)| (key, value)));
        let value = settings.to_value().map_err(io::Error::from)?;
        command
            .env(KEEPER_VARIABLE, value)
            .env(PIPES, folder.path())
            .env(LOGS, folder.path())
            .env_remove(VISIBLE_DEVICES);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C in a terminal is for this process, which ends the server after its workers
        let keeper = command.process_group(0).spawn()?;
        let mut server = Self { control: control.to_owned(), folder: folder.keep(), keeper };
        server.wait_until_active(patience)?;
        Ok(server)
    }

    /// The variable that has a worker use the server, and its value.
    pub fn environment(&self) -> (String, String) {
        (PIPES.to_owned(), self.folder.to_string_lossy().into_owned())
    }

    fn wait_until_active(&mut self, patience: Duration) -> Result<(), MpsError> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            // it says nothing useful while the daemon is starting, and if there is a server already
            self.ask(&format!("start_server -uid {}", getuid().as_raw()))?;
            // only now: the daemon of a service that is not installed ends as well
            if let Some(status) = self.keeper.try_wait()? {
                return Err(MpsError::Ended(status));
            }
            let servers = self.ask("get_server_list")?;
            if let Some(server) = servers.lines().find_map(|line| line.trim().parse::<u32>().ok()) {
                let status = self.ask(&format!("get_server_status {server}"))?;
                if status.contains("FAULT") {
                    return Err(MpsError::Faulty(status.trim().to_owned()));
                }
                if !status.contains("INITIALIZING") {
                    return Ok(());
                }
            }
            thread::sleep(PAUSE);
        }
        Err(MpsError::NotActive(patience))
    }

    /// What the service answers to a command; nothing if it does not answer in time.
    fn ask(&self, command: &str) -> Result<String, MpsError> {
        let mut control = Command::new(&self.control);
        control.env(PIPES, &self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut control = control.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => MpsError::NotInstalled,
            _ => MpsError::Io(error),
        })?;
        if let Some(mut stdin) = control.stdin.take() {
            // a control program that is gone has no answer
            let _ = writeln!(stdin, "{command}");
        }
        if ended_within(&mut control, PATIENCE).is_none() {
            let _ = control.kill();
            control.wait()?;
            return Ok(String::new());
        }
        let mut answer = String::new();
        if let Some(stdout) = control.stdout.take() {
            stdout.take(1 << 16).read_to_string(&mut answer)?;
        }
        Ok(answer)
    }
}

impl Drop for MpsServer {
    fn drop(&mut self) {
        // the keeper ends all processes of the service and removes the folder
        let _ = kill_process(Pid::from_child(&self.keeper), Signal::TERM);
        if ended_within(&mut self.keeper, PATIENCE).is_none() {
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
    }
}

/// How a process ended; `None` if it is running after `patience`.
fn ended_within(process: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match process.try_wait() {
            Ok(None) if begun.elapsed() < patience => thread::sleep(PAUSE),
            Ok(ended) => return ended,
            Err(_) => return None,
        }
    }
}
