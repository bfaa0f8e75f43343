//! NVIDIA's multi-process service: with it processes use a GPU side by side, without it one after the other, by time slices.

use std::{
    env, fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

/// Names the folder of a service that is not the default one.
const VARIABLE: &str = "CUDA_MPS_PIPE_DIRECTORY";
const DEFAULT: &str = "/tmp/nvidia-mps";
/// Where the service's daemon leaves its process id.
const DAEMON: &str = "nvidia-cuda-mps-control.pid";
/// CUDA Multi-Process Service: 48 clients a device since Volta. On an H200 it refused another one with 54 workers alive, some
/// of which were still starting (docs/campaigns.md).
pub const PROCESSES_A_DEVICE: NonZeroUsize = NonZeroUsize::new(48).unwrap();

/// Whether what this process asks of a GPU goes through a service that is running.
pub fn is_serving() -> bool {
    let folder = env::var_os(VARIABLE).map_or_else(|| DEFAULT.into(), PathBuf::from);
    has_daemon(&folder)
}

/// How many processes a device serves at once; `None` if unlimited.
pub fn processes_a_device() -> Option<NonZeroUsize> {
    Some(PROCESSES_A_DEVICE).filter(|_| is_serving())
}

/// Whether the daemon of a service's folder is alive: the folder stays behind when it ends.
fn has_daemon(folder: &Path) -> bool {
    let id = fs::read_to_string(folder.join(DAEMON)).ok().and_then(|text| text.trim().parse::<u32>().ok());
    id.is_some_and(|id| Path::new("/proc").join(id.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_serves_while_its_daemon_lives() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_daemon(folder.path()), "no daemon was ever here");
        let file = folder.path().join(DAEMON);
        fs::write(&file, format!("{}\n", std::process::id())).unwrap();
        assert!(has_daemon(folder.path()));
        // no process has this id: the kernel gives none above 2^22
        fs::write(&file, "4194305").unwrap();
        assert!(!has_daemon(folder.path()), "it ended and left its file");
        fs::write(&file, "nonsense").unwrap();
        assert!(!has_daemon(folder.path()));
    }
}
