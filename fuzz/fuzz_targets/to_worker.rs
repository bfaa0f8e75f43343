//! The frames that a worker reads from a supervisor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twinfer_case::Task;
use twinfer_onnx::{Graph, element_count};
use twinfer_protocol::{ToWorker, read_to_worker};

fuzz_target!(|bytes: &[u8]| {
    let mut stream = bytes;
    while let Ok(Some(message)) = read_to_worker(&mut stream) {
        let written = written(&message);
        let again = read_to_worker(&mut written.as_slice()).expect("our own frame").expect("one message");
        assert_eq!(self::written(&again), written);
        if let ToWorker::Case { task, .. } = message {
            fits(&task);
        }
    }
});

fn written(message: &ToWorker) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = match message {
        ToWorker::Hello { protocol, variants } => ToWorker::write_hello(&mut bytes, *protocol, variants),
        ToWorker::Case { task, variants } => ToWorker::write_case(&mut bytes, task, variants),
    };
    written.expect("no larger than what was read");
    bytes
}

/// Tensors have as many elements as their shapes, whatever the header contains.
fn fits(task: &Task) {
    let mut tensors = task.runs.iter().flatten();
    assert!(tensors.all(|tensor| element_count(&tensor.shape) == Some(tensor.len())));
    let _ = Graph::decode(&task.model);
}
