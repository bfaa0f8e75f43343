use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;
use twinfer_workers::{MpsError, MpsServer, WorkerCommand};

use crate::actor::role::Role;
use crate::setup::against;

/// A stand-in for the control program of the multi-process service, which says `status` of its server. Its daemon starts another
/// process, as the real one does.
fn control(folder: &TempDir, status: &str) -> PathBuf {
    let path = folder.path().join("control");
    let script = format!(
        r#"#!/bin/sh
if [ "$1" = -f ]; then sleep 1000 & echo $! > "{0}/server"; exec sleep 1000; fi
read -r command rest
case "$command" in
get_server_list) cat "{0}/server" ;;
get_server_status) echo {status} ;;
esac
"#,
        folder.path().display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn worker() -> WorkerCommand {
    against(Role::Honest, 1).options.worker
}

fn is_running(server: &Path) -> bool {
    let pid = fs::read_to_string(server).unwrap();
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn mps_server_ends_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let control = control(&folder, "ACTIVE");
    let server = MpsServer::start_with(&control, &worker(), Duration::from_secs(20)).unwrap();
    let (variable, pipes) = server.environment();
    assert_eq!(variable, "CUDA_MPS_PIPE_DIRECTORY");
    assert!(Path::new(&pipes).is_dir());
    assert!(is_running(&folder.path().join("server")));
    drop(server);
    assert!(!is_running(&folder.path().join("server")));
    assert!(!Path::new(&pipes).exists());
}

#[test]
fn mps_server_that_cannot_serve_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let start = |control: &Path, patience| {
        MpsServer::start_with(control, &worker(), Duration::from_millis(patience)).unwrap_err()
    };
    assert!(matches!(start(&control(&folder, "FAULT"), 20_000), MpsError::Faulty(_)));
    assert!(!is_running(&folder.path().join("server")));
    assert!(matches!(start(&control(&folder, "INITIALIZING"), 300), MpsError::NotActive(_)));
    assert!(!is_running(&folder.path().join("server")));
    assert!(matches!(start(&folder.path().join("missing"), 20_000), MpsError::NotInstalled));
    let no_keeper = WorkerCommand::new(folder.path().join("no-twinfer"));
    let control = control(&folder, "ACTIVE");
    let error = MpsServer::start_with(&control, &no_keeper, Duration::from_secs(20)).unwrap_err();
    assert!(matches!(error, MpsError::Io(_)), "what is missing is not the service: {error}");
}
