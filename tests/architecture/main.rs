//! The walls of the program: which crate may import which, that the files of a crate import each other in one direction,
//! that only `harness/store` knows the names of files on disk, that `unsafe` stands in few places, that few places vouch for
//! code that is run, and that few read the clock of the machine.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod circles;
mod crates;
mod imports;
mod sources;
mod stored_names;
mod trust;
mod unsafe_code;
mod wall_clock;
