//! The worker process: the only user of GPU libraries.
