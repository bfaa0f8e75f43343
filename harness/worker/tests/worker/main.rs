//! A worker process spoken to by hand. This binary is its own worker, and prints to stdout meanwhile.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Trial};
use twinfer_case::{Case, Expectation, Outcome, Request, Run, Stage, Task, TensorSource, Variant};
use twinfer_driver_cache::CACHE_MODE_VARIABLE;
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, Tensor, TensorData, ValueInfo};
use twinfer_protocol::{FaultCause, FromWorker, PROTOCOL_VERSION, ToWorker, read_from_worker};
use twinfer_worker::{WORKER_VARIABLE, become_worker_if_asked};

const PRINTS: &str = "prints";
const LOADING: Duration = Duration::from_millis(200);

fn main() {
    if env::args().any(|argument| argument == PRINTS) {
        // what a library might do at any time once it is loaded
        thread::spawn(|| {
            thread::sleep(LOADING);
            loop {
                println!("a line that no frame begins with");
                thread::sleep(Duration::from_micros(50));
            }
        });
    }
    become_worker_if_asked();
    let trial = |name: &str, test: fn()| {
        Trial::test(name.to_owned(), move || {
            test();
            Ok(())
        })
    };
    let tests = vec![
        trial("cases_are_answered_in_order_with_their_stages", answers_in_order),
        trial("what_a_library_prints_does_not_come_between_frames", printing),
        trial("several_variants_share_a_case", several_variants),
        trial("a_closed_pipe_ends_the_worker_in_peace", closed_pipe),
        trial("a_worker_ends_with_its_parent_even_while_its_pipe_stays_open", orphan),
        trial("a_variant_that_cannot_be_served_is_a_fault", unknown_option),
        trial("another_protocol_version_is_a_fault", other_protocol),
        trial("a_case_before_the_handshake_is_a_fault", case_first),
        trial("a_word_that_the_driver_cache_does_not_have_is_a_fault", unknown_cache),
        trial("bytes_that_are_no_frame_end_the_worker_with_a_reason", garbage),
        trial("a_model_that_is_none_is_refused_and_the_worker_goes_on", no_model),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(arguments: &[&str]) -> Self {
        Self::with(arguments, &[])
    }

    fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(arguments)
            .env(WORKER_VARIABLE, "1")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), stdout, child }
    }

    fn greeted(arguments: &[&str], variants: &[&str]) -> Self {
        let mut worker = Self::start(arguments);
        let variants: Vec<Variant> = variants.iter().map(|variant| variant.parse().unwrap()).collect();
        worker.hello(PROTOCOL_VERSION, &variants);
        let FromWorker::Hello { protocol: PROTOCOL_VERSION, backends, .. } = worker.hear() else {
            panic!("no handshake")
        };
        assert_eq!(backends.len(), variants.len());
        worker
    }

    fn hello(&mut self, protocol: u32, variants: &[Variant]) {
        let stdin = self.stdin.as_mut().unwrap();
        let mut hello = Vec::new();
        ToWorker::write_hello(&mut hello, protocol, variants).unwrap();
        stdin.write_all(&hello).unwrap();
    }

    fn send(&mut self, task: &Task, variants: &[usize]) {
        let stdin = self.stdin.as_mut().unwrap();
        let mut case = Vec::new();
        ToWorker::write_case(&mut case, task, variants, &[]).unwrap();
        stdin.write_all(&case).unwrap();
    }

    fn hear(&mut self) -> FromWorker {
        read_from_worker(&mut self.stdout).unwrap().expect("the worker closed its pipe")
    }

    fn fault(&mut self, cause: FaultCause) -> String {
        match self.hear() {
            FromWorker::Fault(fault) => {
                assert_eq!(fault.cause, cause, "{}", fault.message);
                fault.message
            }
            other => panic!("no fault: {other:?}"),
        }
    }

    fn close(mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().unwrap()
    }
}

/// Relu of one value.
fn task(x: f32) -> Task {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(1)]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![Node {
            name: "relu".to_owned(),
            op: Op::Relu,
            inputs: vec!["x".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    };
    let input = Tensor { shape: vec![1], data: TensorData::Float(vec![x]) };
    let case = Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    };
    Task::of(&case).unwrap()
}

/// Reads the stages and the answer of one case on one variant, and checks what they say.
fn expect_answer(worker: &mut Worker, task: &Task, on: usize, result: f32) {
    let mut stages = Vec::new();
    loop {
        match worker.hear() {
            FromWorker::Stage { hash, variant, stage } => {
                assert_eq!((hash, variant), (task.hash, on));
                stages.push(stage);
            }
            FromWorker::Answer { hash, variant, observation, .. } => {
                assert_eq!((hash, variant), (task.hash, on));
                assert_eq!(observation.outcome, Outcome::Ok);
                assert_eq!(observation.runs[0].outputs[0].to_f64(), [f64::from(result)]);
                assert_eq!(stages, [Stage::Parse, Stage::Execute]);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn answers_in_order() {
    let mut worker = Worker::greeted(&[], &["golden"]);
    let tasks: Vec<_> = [-1.0, 2.0, 3.0].map(task).into();
    for task in &tasks {
        worker.send(task, &[0]);
    }
    for (task, result) in tasks.iter().zip([0.0, 2.0, 3.0]) {
        expect_answer(&mut worker, task, 0, result);
    }
}

fn printing() {
    let mut worker = Worker::greeted(&[PRINTS], &["golden"]);
    thread::sleep(2 * LOADING);
    for x in 1..200 {
        let task = task(x as f32);
        worker.send(&task, &[0]);
        expect_answer(&mut worker, &task, 0, x as f32);
    }
}

fn several_variants() {
    let mut worker = Worker::greeted(&[], &["golden", "golden"]);
    let task = task(5.0);
    worker.send(&task, &[1, 0]);
    expect_answer(&mut worker, &task, 1, 5.0);
    expect_answer(&mut worker, &task, 0, 5.0);
    worker.send(&task, &[2]);
    assert!(worker.fault(FaultCause::Environment).contains("variant 2"));
}

fn closed_pipe() {
    assert!(Worker::start(&[]).close().success());
    assert!(Worker::greeted(&[], &["golden"]).close().success());
}

/// A shell starts a worker whose stdin someone else keeps open, says its number, and ends.
fn orphan() {
    let mut shell = Command::new("sh")
        .args([
            "-c",
            "sleep 30 | \"$0\" >&2 & echo $!; sleep 0.5",
            &env::current_exe().unwrap().to_string_lossy(),
        ])
        .env(WORKER_VARIABLE, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    let mut line = BufReader::new(shell.stdout.take().unwrap());
    line.read_line(&mut number).unwrap();
    let process = format!("/proc/{}/exe", number.trim());
    let serves = || fs::read_link(&process).is_ok_and(|exe| exe == env::current_exe().unwrap());
    assert!(shell.wait().unwrap().success());
    assert!(serves(), "the worker did not start");
    let begun = Instant::now();
    while serves() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the worker outlives its parent");
        thread::sleep(Duration::from_millis(50));
    }
}

fn unknown_option() {
    let mut worker = Worker::start(&[]);
    worker.hello(PROTOCOL_VERSION, &["golden,speed=high".parse().unwrap()]);
    assert_eq!(worker.fault(FaultCause::Variant), r#"golden has no option "speed""#);
    assert_eq!(worker.close().code(), Some(3));
}

fn other_protocol() {
    let mut worker = Worker::start(&[]);
    worker.hello(PROTOCOL_VERSION + 1, &[]);
    assert!(worker.fault(FaultCause::Environment).contains("use the same release"));
}

fn case_first() {
    let mut worker = Worker::start(&[]);
    worker.send(&task(1.0), &[0]);
    assert_eq!(worker.fault(FaultCause::Environment), "the handshake comes first, and once");
}

fn unknown_cache() {
    // it says so before it is spoken to, and may have closed its pipe by then
    let mut worker = Worker::with(&[], &[(CACHE_MODE_VARIABLE, "sometimes")]);
    assert_eq!(
        worker.fault(FaultCause::Environment),
        "TWINFER_DRIVER_CACHE=sometimes: the value is one of on, attributes, off, verify"
    );
    assert_eq!(worker.close().code(), Some(3));
}

fn garbage() {
    let mut worker = Worker::greeted(&[], &["golden"]);
    worker.stdin.as_mut().unwrap().write_all(&[0xff; 64]).unwrap();
    assert!(worker.fault(FaultCause::Environment).contains("over the limit"));
    let mut rest = Vec::new();
    worker.stdout.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(worker.close().code(), Some(3));
}

fn no_model() {
    let mut worker = Worker::greeted(&[], &["golden"]);
    let broken = Task::new(b"no model".to_vec(), task(1.0).request, Vec::new());
    worker.send(&broken, &[0]);
    assert!(matches!(worker.hear(), FromWorker::Stage { stage: Stage::Parse, .. }));
    let FromWorker::Answer { observation, .. } = worker.hear() else { panic!("no answer") };
    assert!(matches!(observation.outcome, Outcome::Rejected(_)), "{observation:?}");
    let task = task(4.0);
    worker.send(&task, &[0]);
    expect_answer(&mut worker, &task, 0, 4.0);
}
