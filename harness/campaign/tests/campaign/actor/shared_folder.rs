//! The folder through which a test and the actors of its campaign share facts. A counter is a file that grows by a byte.

/// The environment variable that names the folder.
pub const VARIABLE: &str = "TWINFER_ACTOR_FOLDER";
/// Counts the processes that started.
pub const STARTS: &str = "starts";
/// Counts the cases that ran.
pub const CASES: &str = "cases";
/// The folder of the counters of [`Role::CountsCasesByDevice`](super::role::Role): `DEVICE-PROCESS`.
pub const CASES_BY_DEVICE: &str = "cases-by-device";
/// The file that a process locks to take a place on a crowded device.
pub fn place(number: usize) -> String {
    format!("place-{number}")
}

/// Counts the processes that found no place on a crowded device.
pub const REFUSED: &str = "refused";
/// Exists once the failing devices are lost.
pub const LOST: &str = "lost";
/// Exists once the devices are repaired.
pub const REPAIRED: &str = "repaired";
/// Exists once slow actors are slow no longer.
pub const QUICK: &str = "quick";
/// Exists once an actor hangs that does so once.
pub const HUNG: &str = "hung";
