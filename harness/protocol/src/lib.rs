//! The worker protocol: frames of a JSON header and raw tensor bytes over stdin and stdout.
