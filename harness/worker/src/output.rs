use std::io::Write;

use crate::{
    fault_injection::{self, FaultInjection},
    message_sink::MessageSink,
    message_writer::MessageWriter,
};

/// Opens the sink that writes to `output`, which injects a fault if
/// [`FAULT_INJECTION_VARIABLE`](crate::FAULT_INJECTION_VARIABLE) asks for one.
pub fn message_sink<'a>(output: impl Write + 'a) -> Box<dyn MessageSink + 'a> {
    let writer = MessageWriter::new(output);
    match fault_injection::seed_from_environment() {
        None => Box::new(writer),
        Some(seed) => Box::new(FaultInjection::new(writer, seed)),
    }
}
