//! An *actor*: a worker that answers as golden does, but for the mistakes of its role.

use std::{
    collections::HashSet,
    env, fs,
    io::{self, Write},
    process, thread,
    time::Duration,
};

use twinfer_case::{Description, DeviceUse, Observation, Outcome, RunOutput, Stage, Task};
use twinfer_onnx::{Graph, Op, Tensor};
use twinfer_protocol::{Fault, FromWorker, PROTOCOL_VERSION, ToWorker, read_to_worker};
use twinfer_worker::{MessageSink, message_sink};

use crate::{
    defects::{self, Defect},
    devices,
};

const ARGUMENT: &str = "actor";
/// What a slow actor takes to start, and for a case.
pub const SLOW_START: Duration = Duration::from_secs(3);
pub const SLOW_CASE: Duration = Duration::from_millis(100);
/// What one that keeps everything keeps of a case.
const KEPT: usize = 300_000;

/// The command line of an actor; what follows a colon in its role tells it from others in the same role.
pub fn command(role: &str) -> String {
    format!("external:{} {ARGUMENT} {role}", env::current_exe().unwrap().display())
}

/// Plays the role that the command line names, if it does.
pub fn become_actor_if_asked() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [first, role] = arguments.as_slice()
        && first == ARGUMENT
    {
        play(role.split(':').next().unwrap_or_default());
        process::exit(0);
    }
}

fn play(role: &str) {
    let mut input = io::stdin().lock();
    let mut sink = message_sink(io::stdout().lock());
    let sink = sink.as_mut();
    let (mut met_relu, mut met) = (false, HashSet::new());
    let (is_slow, has_many_bugs) = (role.starts_with("is-slow"), role.ends_with("has-many-bugs"));
    let (mut is_lost, mut level) = (false, None);
    let mut kept = Vec::new();
    if is_slow {
        thread::sleep(SLOW_START);
    }
    while let Some(message) = read_to_worker(&mut input).unwrap() {
        match message {
            ToWorker::Hello { .. } if role == "does-not-start" => {
                tell(&FromWorker::Fault(Fault::of_environment("the library is missing")), sink);
                process::exit(3);
            }
            ToWorker::Hello { variants, .. } => {
                devices::meet(role, sink);
                level = variants.first().and_then(|variant| variant.options.get("level").cloned());
                let backends = vec![description(role, level.is_some())];
                let device_memory = devices::memory(role);
                tell(&FromWorker::Hello { protocol: PROTOCOL_VERSION, backends, device_memory }, sink);
            }
            ToWorker::Case { task, .. } => {
                let graph = Graph::decode(&task.model).unwrap();
                let hash = task.hash;
                let is_alone = match role {
                    "wants-its-device-alone" => true,
                    "wants-its-device-alone-above" => level.is_some(),
                    _ => false,
                };
                let place = is_alone.then(|| {
                    let place = Place::take(role).expect("somebody else is busy with the device");
                    thread::sleep(Duration::from_millis(10));
                    place
                });
                tell(&FromWorker::Stage { hash, variant: 0, stage: Stage::Execute }, sink);
                while role == "never-comes-to-an-end" && has_bias(&graph) {
                    thread::sleep(Duration::from_millis(10));
                    // the supervisor closes the pipe when it has had enough
                    let stage = FromWorker::Stage { hash, variant: 0, stage: Stage::Execute };
                    if sink.send(&stage).is_err() {
                        process::exit(0);
                    }
                }
                misbehave(role, &graph, sink);
                devices::work(role);
                let mut observation = match role {
                    "drops-bias-and-more-after-relu" => truth(&without_bias(&graph), &task),
                    _ => truth(&graph, &task),
                };
                if is_lost || role == "loses-its-context" && has_bias(&graph) {
                    observation.runs.clear();
                    observation.outcome = Outcome::failed("CUDA error 700: an illegal address");
                }
                if is_slow {
                    thread::sleep(SLOW_CASE);
                }
                if role == "keeps-everything" {
                    kept.push(vec![1_u8; KEPT]);
                }
                if let Some(defect) = defects::of(&graph).filter(|_| has_many_bugs) {
                    suffer(defect, &mut observation);
                }
                let wrong = match role {
                    "ignores-bias" | "has-two-bugs" | "wants-its-device-alone" => has_bias(&graph),
                    "errs-above" | "errs-at-both" | "wants-its-device-alone-above" => {
                        level.as_deref() == Some("2") && has_bias(&graph)
                    }
                    "remembers" => met_relu && has_bias(&graph),
                    // only the first of its process
                    "errs-once" => has_bias(&graph) && met.is_empty() && met.insert(hash),
                    "drops-bias-and-more-after-relu" => has_bias(&graph) && has_relu(&graph),
                    "wavers" => has_bias(&graph) && !met.insert(hash),
                    _ => false,
                };
                met_relu |= has_relu(&graph);
                drop(place);
                if wrong {
                    observation.runs.iter_mut().for_each(spoil);
                } else if role == "has-two-bugs" || role == "errs-at-both" && has_relu(&graph) {
                    observation.runs.iter_mut().for_each(flatten);
                }
                let last = role == "loses-its-context" && has_bias(&graph);
                tell(&FromWorker::Answer { hash, variant: 0, observation, last }, sink);
                is_lost |= last;
            }
        }
    }
}

fn misbehave(role: &str, graph: &Graph, sink: &mut dyn MessageSink) {
    match role {
        "aborts" if has_bias(graph) => {
            eprintln!("assertion failed: no bias");
            process::abort()
        }
        "hangs" if has_bias(graph) => thread::sleep(Duration::from_mins(10)),
        "garbles" if has_bias(graph) => {
            io::stdout().write_all(b"library says hello\n").unwrap();
            io::stdout().flush().unwrap();
        }
        "faults" if has_bias(graph) => tell(&FromWorker::Fault(Fault::of_environment("out of disk")), sink),
        _ => {}
    }
}

pub fn tell(message: &FromWorker, sink: &mut dyn MessageSink) {
    sink.send(message).unwrap();
}

fn description(role: &str, is_rung: bool) -> Description {
    // a version that a test can change, as an upgrade of the backend would
    let version = fs::read_to_string(version_file()).unwrap_or_else(|_| "1".to_owned());
    let is_alone = role == "wants-its-device-alone" || role == "wants-its-device-alone-above" && is_rung;
    let device_use = if is_alone { DeviceUse::Alone } else { DeviceUse::Shared };
    let has_ladder = role.starts_with("errs-")
        || ["wants-its-device-alone-above", "drops-bias-and-more-after-relu"].contains(&role);
    let rung = |level: &str| [("level".to_owned(), level.to_owned())].into();
    let ladder = if has_ladder { vec![rung("1"), rung("2")] } else { Vec::new() };
    Description { device_use, ladder, ..Description::new("actor", version, Stage::Execute) }
}

/// The device that the workers in one role share.
struct Place(std::path::PathBuf);

impl Place {
    fn take(role: &str) -> Option<Self> {
        let name = format!("twinfer-actor-{}-{role}", std::os::unix::process::parent_id());
        let path = env::temp_dir().join(name);
        fs::File::create_new(&path).is_ok().then_some(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn version_file() -> std::path::PathBuf {
    env::temp_dir().join("twinfer-actor-version")
}

fn truth(graph: &Graph, task: &Task) -> Observation {
    let evaluate = |inputs: &Vec<Tensor>| -> Option<RunOutput> {
        let evaluation = twinfer_golden::evaluate(graph, inputs).ok()?;
        let outputs = evaluation.outputs.iter().map(|output| output.to_tensor().unwrap()).collect();
        Some(RunOutput { outputs, intermediates: Vec::new() })
    };
    let runs: Option<Vec<_>> = task.runs.iter().map(evaluate).collect();
    Observation {
        stage: Stage::Execute,
        outcome: if runs.is_some() { Outcome::Ok } else { Outcome::rejected("Invalid: no") },
        inferred_shapes: None,
        runs: runs.unwrap_or_default(),
        precision: None,
        log: Vec::new(),
        timings: Vec::new(),
    }
}

/// Moves every output far from where it should be.
fn spoil(run: &mut RunOutput) {
    for tensor in &mut run.outputs {
        let values: Vec<_> = tensor.to_f64().iter().map(|value| value * 2.0 + 1000.0).collect();
        *tensor = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values).unwrap();
    }
}

/// Gives every output as a vector.
fn flatten(run: &mut RunOutput) {
    for tensor in &mut run.outputs {
        tensor.shape = vec![tensor.len()];
    }
}

fn suffer(defect: Defect, observation: &mut Observation) {
    match defect {
        Defect::Values => observation.runs.iter_mut().for_each(spoil),
        Defect::Shape => observation.runs.iter_mut().for_each(flatten),
        Defect::Refused(code) => {
            observation.stage = Stage::Parse;
            observation.runs.clear();
            observation.outcome = Outcome::rejected(format!("{code}: cannot import the node"));
        }
    }
}

fn has_bias(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| node.op.is_convolution() && node.inputs.len() == 3)
}

/// The same graph, whose convolutions have none.
fn without_bias(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for node in &mut graph.nodes {
        if node.op.is_convolution() {
            node.inputs.truncate(2);
        }
    }
    graph
}

fn has_relu(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| node.op == Op::Relu)
}
