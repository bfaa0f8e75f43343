use std::io::Write;

use crate::{message_sink::MessageSink, message_writer::MessageWriter};

/// Opens the sink that writes to `output`. With the feature `fault-injection`, it injects a fault if the environment variable
/// `TWINFER_INJECT` asks for one.
pub fn message_sink<'a>(output: impl Write + 'a) -> Box<dyn MessageSink + 'a> {
    let writer = MessageWriter::new(output);
    #[cfg(feature = "fault-injection")]
    if let Some(seed) = crate::fault_injection::seed_from_environment() {
        return Box::new(crate::fault_injection::FaultInjection::new(writer, seed));
    }
    Box::new(writer)
}
