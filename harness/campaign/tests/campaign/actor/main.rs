//! An *actor*: a worker that answers as golden does, except for what its role does wrong.
//!
//! `campaign-actor ROLE [LABEL]`; a label distinguishes workers in the same role. With `TWINFER_WORKER` set it is an ordinary
//! worker with the built-in backends.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a fixture may panic")]

mod defects;
mod devices;
mod outputs;
mod processes;
mod role;
mod shared_folder;

use std::{
    collections::HashSet,
    env,
    io::{self, BufRead, BufReader, Read, Write},
    process::{self, ExitCode},
    thread,
    time::Duration,
};

use twinfer_case::{
    Arithmetic, CaseHash, Description, DeviceUse, Fillable, Filling, MemoryMode, Observation, Outcome, Stage,
    Task, Variant,
};
use twinfer_onnx::{AutoPad, Graph, Op};
use twinfer_protocol::{Fault, FromWorker, PROTOCOL_VERSION, ToWorker, read_to_worker};
use twinfer_worker::{MessageSink, message_sink};

use crate::{
    defects::Defect,
    devices::ExclusiveUse,
    role::{Role, SLOW_CASE, SLOW_START},
};

/// Bytes that a leaking actor keeps for each case.
const LEAK_PER_CASE: usize = 300_000;

/// One case in this many hangs in an actor that hangs rarely.
const HANGING_PART: u64 = 512;

/// The pause of a slow actor before each byte.
const PAUSE: Duration = Duration::from_millis(100);

/// Errors that differ in the condition that failed.
const CONDITIONS: [&str; 2] =
    ["INVALID_NODE: Assertion failed: bias.rank == 1", "INVALID_NODE: Assertion failed: bias.channels == 4"];

fn main() -> ExitCode {
    twinfer_worker::become_worker_if_asked();
    let Some(Ok(role)) = env::args().nth(1).map(|name| name.parse()) else {
        eprintln!("this program is a fixture of twinfer-campaign's tests: campaign-actor ROLE [LABEL]");
        return ExitCode::from(2);
    };
    if devices::is_slow(role) {
        thread::sleep(SLOW_START);
    }
    Actor::new(role).serve();
    ExitCode::SUCCESS
}

struct Actor {
    role: Role,
    sink: Box<dyn MessageSink>,
    /// The `level` of the variant; `None` for the variant that the command line names.
    level: Option<String>,
    /// Whether the variant's memory is poisoned.
    is_poisoned: bool,
    has_seen_relu: bool,
    has_lost_context: bool,
    /// Cases that ran before, as far as they matter to the role.
    seen: HashSet<CaseHash>,
    /// How many cases with a bias ran before.
    biased: usize,
    leaked: Vec<Vec<u8>>,
}

/// The facts of a graph that roles depend on.
#[derive(Clone, Copy)]
struct Features {
    bias: bool,
    relu: bool,
}

impl Features {
    fn of(graph: &Graph) -> Self {
        Self {
            bias: graph.nodes.iter().any(|node| node.op.is_convolution() && node.inputs.len() == 3),
            relu: graph.nodes.iter().any(|node| node.op == Op::Relu),
        }
    }
}

impl Actor {
    fn new(role: Role) -> Self {
        Self {
            role,
            sink: message_sink(io::stdout().lock()),
            level: None,
            is_poisoned: false,
            has_seen_relu: false,
            has_lost_context: false,
            seen: HashSet::new(),
            biased: 0,
            leaked: Vec::new(),
        }
    }

    fn serve(&mut self) {
        let mut input = io::stdin().lock();
        if let Some(ToWorker::Hello { variants, .. }) = read_to_worker(&mut input).unwrap() {
            self.start(&variants);
        }
        match self.role {
            Role::NeverReads => hang(),
            Role::ReadsSlowly => self.serve_cases(&mut BufReader::with_capacity(1, SlowReader(input))),
            _ => self.serve_cases(&mut input),
        }
    }

    fn serve_cases(&mut self, input: &mut impl BufRead) {
        while let Some(ToWorker::Case { task, .. }) = read_to_worker(input).unwrap() {
            self.run(&task);
        }
    }

    fn send(&mut self, message: &FromWorker) {
        self.sink.send(message).unwrap();
    }

    fn start(&mut self, variants: &[Variant]) {
        match self.role {
            Role::DoesNotStart => self.fail(Fault::of_environment("the library is missing")),
            Role::NeverGreets => hang(),
            _ => {}
        }
        devices::count_start(self.role);
        if let Some(loss) = devices::loss(self.role) {
            self.fail(loss);
        }
        self.level = variants.first().and_then(|variant| variant.options.get("level").cloned());
        self.is_poisoned = matches!(variants.first().and_then(Variant::memory), Some(MemoryMode::Poison(_)));
        let backends = vec![self.description()];
        let device_memory = devices::memory(self.role);
        let fills = match self.role {
            Role::LeavesUnwritten | Role::ComputesFilling => vec![Fillable::Outputs],
            Role::ReadsScratch => vec![Fillable::Scratch],
            _ => Vec::new(),
        };
        self.send(&FromWorker::Hello { protocol: PROTOCOL_VERSION, backends, device_memory, fills });
    }

    fn fail(&mut self, fault: Fault) -> ! {
        self.send(&FromWorker::Fault(fault));
        process::exit(3)
    }

    fn description(&self) -> Description {
        let device_use = if self.needs_exclusive_device() { DeviceUse::Alone } else { DeviceUse::Shared };
        let rung = |level: &str| [("level".to_owned(), level.to_owned())].into();
        let ladder = if self.has_ladder() { vec![rung("1"), rung("2")] } else { Vec::new() };
        let arithmetic =
            if self.role == Role::OverstatesPrecision { Arithmetic::STRICT } else { Arithmetic::default() };
        Description { device_use, ladder, arithmetic, ..Description::new("actor", "1", Stage::Execute) }
    }

    fn needs_exclusive_device(&self) -> bool {
        match self.role {
            Role::NeedsExclusiveDevice => true,
            Role::NeedsExclusiveDeviceAtLevels => self.level.is_some(),
            _ => false,
        }
    }

    fn has_ladder(&self) -> bool {
        matches!(
            self.role,
            Role::ErrsAtLevel2
                | Role::ErrsAtEveryLevel
                | Role::HangsAtLevels
                | Role::NeedsExclusiveDeviceAtLevels
                | Role::DropsBiasAndMore
        )
    }

    fn run(&mut self, task: &Task) {
        let graph = Graph::decode(&task.model).unwrap();
        let features = Features::of(&graph);
        let exclusive_use = self.needs_exclusive_device().then(ExclusiveUse::acquire);
        self.send(&FromWorker::Stage { hash: task.hash, variant: 0, stage: Stage::Execute });
        if features.bias {
            self.misbehave(task.hash);
        }
        if self.role == Role::HangsAtLevels && self.level.is_some() {
            hang();
        }
        if self.role == Role::HangsIfGroupedStridedAndSame && is_grouped_strided_and_same(&graph) {
            hang();
        }
        let is_relu_alone = features.relu && !features.bias;
        if self.role == Role::NamesAnotherConditionAndHangsOnRepeat
            && is_relu_alone
            && !self.seen.insert(task.hash)
        {
            hang();
        }
        if self.role == Role::HangsRarely && task.hash.number().is_multiple_of(HANGING_PART) {
            hang();
        }
        devices::work(self.role);
        if self.role == Role::FloodsStderr {
            io::stderr().write_all(&vec![b'x'; 64 << 20]).unwrap();
        }
        let observation = self.observe(&graph, features, task);
        drop(exclusive_use);
        let last = self.role == Role::LosesContext && features.bias;
        let answer = FromWorker::Answer { hash: task.hash, variant: 0, observation, last };
        match self.role {
            Role::AnswersSlowly if features.bias => send_slowly(&answer),
            Role::FloodsOutput => (0..100).for_each(|_| self.send(&answer)),
            _ => self.send(&answer),
        }
    }

    /// Does what the role does in place of, or before, an answer to a case with a bias.
    fn misbehave(&mut self, hash: CaseHash) {
        match self.role {
            Role::Aborts => {
                eprintln!("assertion failed: no bias");
                process::abort()
            }
            Role::Hangs => hang(),
            Role::HangsOnRepeatOrMisshapes if self.seen.contains(&hash) => hang(),
            Role::LeavesOrphan => {
                processes::leave_orphan();
                process::abort()
            }
            Role::StartsDaemons => {
                processes::start_daemons();
                process::abort()
            }
            Role::HangsWithOrphan => {
                processes::leave_orphan();
                hang()
            }
            Role::ClosesOutput => {
                drop(twinfer_worker::take_stdout());
                hang()
            }
            Role::GreetsTwice => self.start(&[]),
            Role::GarblesPipe => {
                io::stdout().write_all(b"library says hello\n").unwrap();
                io::stdout().flush().unwrap();
            }
            Role::RepeatsStage => self.repeat_stage(hash),
            Role::ReportsFault => self.send(&FromWorker::Fault(Fault::of_environment("out of disk"))),
            Role::LosesContext => self.has_lost_context = true,
            _ => {}
        }
    }

    /// Enters the same stage until the supervisor closes the pipe.
    fn repeat_stage(&mut self, hash: CaseHash) -> ! {
        let stage = FromWorker::Stage { hash, variant: 0, stage: Stage::Execute };
        while self.sink.send(&stage).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
        process::exit(0)
    }

    fn observe(&mut self, graph: &Graph, features: Features, task: &Task) -> Observation {
        let mut observation = match self.role {
            Role::DropsBiasAndMore => outputs::evaluate(&without_bias(graph), task),
            Role::DropsBiasUnsteadilyAlone if graph.nodes.len() > 1 || self.biased % 3 != 2 => {
                outputs::evaluate(&without_bias(graph), task)
            }
            Role::OverstatesPrecision => outputs::evaluate_roughly(graph, task),
            _ => outputs::evaluate(graph, task),
        };
        if self.has_lost_context {
            observation.runs.clear();
            observation.outcome = Outcome::failed("CUDA error 700: an illegal address");
        }
        if devices::is_slow(self.role) {
            thread::sleep(SLOW_CASE);
        }
        if self.role == Role::Leaks {
            self.leaked.push(vec![1; LEAK_PER_CASE]);
        }
        if let Some(defect) = self.defect(graph, features, task) {
            outputs::apply(defect, &mut observation);
        }
        if self.role == Role::ErrsInLaterRuns && features.bias {
            outputs::apply_to_later_runs(&mut observation);
        }
        if self.role == Role::MisinfersOrFailsToBuild && features.bias {
            outputs::misinfer(graph, task, &mut observation);
        }
        if features.bias {
            match self.role {
                Role::LeavesUnwritten => outputs::leave_last_element(task.filling, &mut observation),
                Role::ComputesFilling => outputs::leave_last_element(Filling::default(), &mut observation),
                _ => {}
            }
        }
        if self.role == Role::WritesOutOfBounds && self.is_poisoned && features.bias {
            outputs::write_out_of_bounds(&mut observation);
        }
        self.has_seen_relu |= features.relu;
        if features.bias {
            self.seen.insert(task.hash);
            self.biased += 1;
        }
        observation
    }

    /// How the role answers a case wrongly; `None` if it does not.
    fn defect(&self, graph: &Graph, Features { bias, relu }: Features, task: &Task) -> Option<Defect> {
        let is_level_2 = self.level.as_deref() == Some("2");
        let wrong_values = match self.role {
            Role::AlternatesErrors if bias => {
                let errors = ["UNSUPPORTED_NODE", "INVALID_NODE"];
                return Some(Defect::Refused(errors[self.biased % errors.len()]));
            }
            Role::NamesAnotherConditionAndHangsOnRepeat if relu && !bias => return Some(Defect::Shape),
            Role::NamesAnotherConditionOnceWarm | Role::NamesAnotherConditionAndHangsOnRepeat if bias => {
                return Some(Defect::Refused(CONDITIONS[usize::from(self.biased > 0)]));
            }
            Role::NamesConditionsByHistory if bias => {
                return Some(Defect::Refused(
                    CONDITIONS[self.biased.count_ones() as usize % CONDITIONS.len()],
                ));
            }
            Role::RefusesByFilling if bias => return defects::of_filling(),
            Role::ReadsScratch if bias => return defects::of_scratch(task.filling),
            Role::HasManyBugs
            | Role::HasManyBugsSlowly
            | Role::HasManyBugsAndCountsStarts
            | Role::HasManyBugsOnCrowdedDevice => {
                return defects::of(graph);
            }
            Role::HasTwoBugs | Role::HangsOnRepeatOrMisshapes if !bias => return Some(Defect::Shape),
            Role::ErrsAtEveryLevel if relu && !(is_level_2 && bias) => return Some(Defect::Shape),
            Role::IgnoresBias
            | Role::HasTwoBugs
            | Role::HangsOnRepeatOrMisshapes
            | Role::NeedsExclusiveDevice => bias,
            Role::ErrsAtLevel2 | Role::ErrsAtEveryLevel | Role::NeedsExclusiveDeviceAtLevels => {
                is_level_2 && bias
            }
            Role::DependsOnHistory => self.has_seen_relu && bias,
            Role::ErrsOnce => bias && self.seen.is_empty(),
            Role::DiffersOnRepeat => bias && self.seen.contains(&task.hash),
            Role::DropsBiasAndMore => bias && relu,
            Role::ReadsUnwrittenMemory => self.is_poisoned && bias,
            _ => false,
        };
        wrong_values.then_some(Defect::Values)
    }
}

/// Whether a Conv has several groups, a stride above 1, and pads that are chosen for it.
fn is_grouped_strided_and_same(graph: &Graph) -> bool {
    graph.nodes.iter().filter_map(|node| node.op.window()).any(|window| {
        !window.transposed
            && window.group.is_some_and(|group| group > 1)
            && window.strides.is_some_and(|strides| strides.iter().any(|&stride| stride > 1))
            && matches!(window.auto_pad, Some(AutoPad::SameUpper | AutoPad::SameLower))
    })
}

/// Sleeps longer than any deadline of a test.
fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_mins(10));
    }
}

/// Sends a message a byte at a time.
fn send_slowly(message: &FromWorker) {
    let mut bytes = Vec::new();
    message.write(&mut bytes).unwrap();
    for byte in bytes {
        thread::sleep(PAUSE);
        io::stdout().write_all(&[byte]).unwrap();
        io::stdout().flush().unwrap();
    }
}

/// A reader that pauses before each read.
struct SlowReader<R>(R);

impl<R: Read> Read for SlowReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        thread::sleep(PAUSE);
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

/// The same graph whose convolutions have no bias.
fn without_bias(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for node in &mut graph.nodes {
        if node.op.is_convolution() {
            node.inputs.truncate(2);
        }
    }
    graph
}
