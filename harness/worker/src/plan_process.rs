//! The process of a lean runtime: this worker's program once more, which serves a [plan runner](twinfer_backend::open_plan_runner) over the worker
//! protocol, with plans in place of models.
//!
//! The supervisor does not know it. The deadlines of the worker's stages include the work of this process, the worker's keeper kills
//! it with the worker, and a crash of it ends the worker in the same way, so that the case is repeated and judged like one that
//! ends its worker.

use std::{
    env,
    io::{self, BufReader, Write},
    os::unix::process::ExitStatusExt,
    panic::resume_unwind,
    process::{self, Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::Signal;
use twinfer_backend::{Backend, OpenError};
use twinfer_case::{Description, DeviceMemory, Observation, Stage, Task, Variant};
use twinfer_protocol::{FromWorker, MessageError, PROTOCOL_VERSION, ToWorker, read_from_worker};

use crate::end::end_by;

/// The environment variable that has a worker run plans.
const PLANS_VARIABLE: &str = "TWINFER_RUNS_PLANS";

/// The exit code of a worker whose other process is gone and was not waited for.
const FAILED: i32 = 3;

/// Whether this process is to run plans.
pub fn is_this_process() -> bool {
    env::var_os(PLANS_VARIABLE).is_some()
}

/// A process that runs the plans of this one.
pub struct PlanProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    description: Description,
    device_memory: Option<DeviceMemory>,
    is_lost: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("it closed its output")]
    Closed,
    #[error("it stops: {0}")]
    Fault(String),
    #[error("it sent a message that does not belong there")]
    Unexpected,
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error("it cannot be started or written to: {0}")]
    Io(#[from] io::Error),
}

impl PlanProcess {
    /// Starts the process and waits until the lean runtime of `variant` is loaded.
    pub fn start(variant: &Variant) -> Result<Self, OpenError> {
        let started = this_program().and_then(|program| Self::spawn(program, variant));
        started.map_err(|error| OpenError::PlanRunner { reason: error.to_string() })
    }

    fn spawn(mut program: Command, variant: &Variant) -> Result<Self, NoAnswer> {
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NoAnswer::Closed);
        };
        let description = Description::new("", "", Stage::Execute);
        let output = BufReader::new(output);
        let mut process = Self { child, input, output, description, device_memory: None, is_lost: false };
        process.greet(variant)?;
        Ok(process)
    }

    fn greet(&mut self, variant: &Variant) -> Result<(), NoAnswer> {
        let mut hello = Vec::new();
        ToWorker::write_hello(&mut hello, PROTOCOL_VERSION, std::slice::from_ref(variant))
            .map_err(MessageError::from)?;
        // a process that ends at once says why before
        let written = self.input.write_all(&hello);
        match self.receive()? {
            FromWorker::Hello { backends, device_memory, .. } => {
                self.description = backends.into_iter().next().ok_or(NoAnswer::Unexpected)?;
                self.device_memory = device_memory;
                Ok(written?)
            }
            _ => Err(NoAnswer::Unexpected),
        }
    }

    fn receive(&mut self) -> Result<FromWorker, NoAnswer> {
        match read_from_worker(&mut self.output)?.ok_or(NoAnswer::Closed)? {
            FromWorker::Fault(fault) => Err(NoAnswer::Fault(fault.message)),
            message => Ok(message),
        }
    }

    fn observe(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Result<Observation, NoAnswer> {
        let mut case = Vec::new();
        ToWorker::write_case(&mut case, task, &[0]).map_err(MessageError::from)?;
        self.input.write_all(&case)?;
        loop {
            match self.receive()? {
                FromWorker::Stage { hash, stage, .. } if hash == task.hash => progress(stage),
                FromWorker::Answer { hash, observation, last, .. } if hash == task.hash => {
                    self.is_lost |= last;
                    return Ok(observation);
                }
                _ => return Err(NoAnswer::Unexpected),
            }
        }
    }

    /// Ends this process as the other one has ended.
    fn end_alike(&mut self) -> ! {
        let status = self.child.wait();
        let _ = writeln!(io::stderr(), "the process of the lean runtime has ended: {status:?}");
        let status = status.ok();
        match status.and_then(|status| Signal::from_named_raw(status.signal()?)) {
            Some(signal) => end_by(signal),
            None => process::exit(status.and_then(|status| status.code()).unwrap_or(FAILED)),
        }
    }
}

/// This program with its own arguments, which make it a worker as its environment does.
fn this_program() -> Result<Command, NoAnswer> {
    let mut program = Command::new(env::current_exe()?);
    program.args(env::args_os().skip(1)).env(PLANS_VARIABLE, "1");
    Ok(program)
}

impl Backend for PlanProcess {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        match self.observe(task, progress) {
            Ok(observation) => observation,
            Err(NoAnswer::Closed | NoAnswer::Io(_)) => self.end_alike(),
            // no fault of the backend: the worker reports it as it reports a panic
            Err(fault) => resume_unwind(Box::new(format!("the process of the lean runtime: {fault}"))),
        }
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn device_memory(&self) -> Option<DeviceMemory> {
        self.device_memory
    }
}

impl Drop for PlanProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        panic::{AssertUnwindSafe, catch_unwind},
        path::Path,
    };

    use twinfer_case::{CaseHash, Outcome, Request};
    use twinfer_onnx::DataType;

    use super::*;

    /// Set in the process of a test that ends its process.
    const OWN_PROCESS_VARIABLE: &str = "TWINFER_TEST_OWN_PROCESS";

    fn variant() -> Variant {
        "trt,runtime=lean-10.16,vc=on".parse().unwrap()
    }

    fn task() -> Task {
        let request = Request { precision: DataType::Float, tf32: false };
        Task::new(b"a plan".to_vec(), request, Vec::new())
    }

    fn hello() -> FromWorker {
        let backends = vec![Description::new("TensorRT's lean runtime", "10.16.1", Stage::Execute)];
        FromWorker::Hello { protocol: PROTOCOL_VERSION, backends, device_memory: None, fills: Vec::new() }
    }

    fn answer(hash: CaseHash, last: bool) -> FromWorker {
        let observation = Observation::new(Stage::Execute, Outcome::failed("no"));
        FromWorker::Answer { hash, variant: 0, observation, last }
    }

    /// A shell that writes `messages`, whatever it is sent, and then runs `script`.
    fn shell(folder: &Path, messages: &[FromWorker], script: &str) -> Command {
        let mut bytes = Vec::new();
        for message in messages {
            message.write(&mut bytes).unwrap();
        }
        fs::write(folder.join("messages"), bytes).unwrap();
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", &format!("cat messages; {script}")]);
        command
    }

    fn start(messages: &[FromWorker], script: &str) -> Result<PlanProcess, NoAnswer> {
        let folder = tempfile::tempdir().unwrap();
        // the shell has read the file once it has said hello
        PlanProcess::spawn(shell(folder.path(), messages, script), &variant())
    }

    /// Runs the calling test again in a process of its own, which ends it; returns how.
    fn end_of(test: &str) -> process::ExitStatus {
        let path = format!("plan_process::tests::{test}");
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", &path, "--nocapture"]).env(OWN_PROCESS_VARIABLE, "1");
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
    }

    fn is_own_process() -> bool {
        env::var_os(OWN_PROCESS_VARIABLE).is_some()
    }

    #[test]
    fn answer_to_a_plan_is_the_observation() {
        let hash = task().hash;
        let stage = FromWorker::Stage { hash, variant: 0, stage: Stage::Execute };
        let messages = [hello(), stage, answer(hash, true)];
        let mut process = start(&messages, "cat > /dev/null").unwrap();
        assert_eq!(process.describe().version, "10.16.1");
        let mut stages = Vec::new();
        let observation = process.run(&task(), &mut |stage| stages.push(stage));
        assert_eq!((observation.outcome, stages), (Outcome::failed("no"), vec![Stage::Execute]));
        assert!(process.is_lost());
    }

    #[test]
    fn process_that_cannot_serve_says_why() {
        let fault = FromWorker::Fault(twinfer_protocol::Fault::of_environment("no such library"));
        let error = start(&[fault], "exit 3").err().unwrap();
        assert_eq!(error.to_string(), "it stops: no such library");
        let error = start(&[], "exit 3").err().unwrap();
        assert_eq!(error.to_string(), "it closed its output");
        let unexpected = start(&[answer(task().hash, false)], "cat > /dev/null").err().unwrap();
        assert!(matches!(unexpected, NoAnswer::Unexpected));
    }

    #[test]
    fn crash_of_the_runtime_ends_this_process_by_the_same_signal() {
        if is_own_process() {
            let mut process = start(&[hello()], "head -c 300 > /dev/null; kill -BUS $$").unwrap();
            process.run(&task(), &mut |_| {});
        }
        let status = end_of("crash_of_the_runtime_ends_this_process_by_the_same_signal");
        assert_eq!(status.signal(), Some(Signal::BUS.as_raw()), "{status}");
    }

    #[test]
    fn exit_of_the_runtime_ends_this_process_with_the_same_code() {
        if is_own_process() {
            let mut process = start(&[hello()], "head -c 300 > /dev/null; exit 7").unwrap();
            process.run(&task(), &mut |_| {});
        }
        let status = end_of("exit_of_the_runtime_ends_this_process_with_the_same_code");
        assert_eq!(status.code(), Some(7), "{status}");
    }

    #[test]
    fn fault_of_the_process_is_a_fault_of_the_worker() {
        let fault = FromWorker::Fault(twinfer_protocol::Fault::of_environment("the memory mode"));
        for (message, text) in [(fault, "it stops: the memory mode"), (hello(), "does not belong there")] {
            let mut process = start(&[hello(), message], "cat > /dev/null").unwrap();
            let run = catch_unwind(AssertUnwindSafe(|| process.run(&task(), &mut |_| {})));
            let payload = run.unwrap_err().downcast::<String>().unwrap();
            assert!(payload.contains(text), "{payload}");
        }
    }
}
