//! Worker processes as the supervisor sees them: started, fed, watched, killed and replaced.

mod command;
mod cores;
mod device;
mod gate;
mod health;
mod leash;
pub mod memory;
mod pool;
mod process;
mod stderr;

pub use command::{ALLOCATOR, WorkerCommand};
pub use cores::IdleCores;
pub use device::Device;
pub use gate::{Access, Gate, Urgency};
pub use leash::Watchdog;
pub use pool::{Expectation, Nursery, Reserve, Trial, lost, observe, timed};
pub use process::{Answer, Loss, PIPE_BYTES, WorkerProcess};
