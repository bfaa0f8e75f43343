//! A *keeper*: a small process between the supervisor and one worker, which leaves nothing of the worker behind.
//!
//! A worker may start processes, and those may leave its process group, its session, and their parents. They cannot leave the
//! keeper: it is their subreaper (`PR_SET_CHILD_SUBREAPER`), so a process whose parent ends becomes its child. When the worker
//! ends, the supervisor is gone, or a termination signal arrives, the keeper kills its children until it has none.
//!
//! The keeper passes its standard input and output on to the worker and reads nothing itself, so it costs nothing per case. It
//! learns that the supervisor is gone, even by SIGKILL, because nobody can write to its standard input any more.

mod children;
mod keeper;
mod process_table;
mod settings;

pub use children::first_child;
pub use keeper::become_keeper_if_asked;
pub use process_table::ProcessTable;
pub use settings::{KEEPER_VARIABLE, Settings, TEMPORARY_FOLDER_VARIABLE};

/// The exit code of a program that a signal ended, as shells report it, is this plus the number of the signal.
pub const SIGNAL_EXIT: i32 = 128;
