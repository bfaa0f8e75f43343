//! Measures what a worker uses, in `/proc` and in its folder for temporary files.

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use rustix::process::Pid;

use crate::{limits::Usage, memory, process_stat::ProcessStat};

/// Files and folders that are counted at most; a worker with more of them counts as using all of its disk.
const MAX_ENTRIES: usize = 100_000;
/// The size of a block in the count of a file's blocks, whatever the file system.
const BLOCK: u64 = 512;

/// What `processes` and the files in `folder` use.
pub fn of(processes: &[Pid], folder: &Path) -> Usage {
    let memory = processes.iter().filter_map(|pid| memory::private_bytes(number(*pid))).sum();
    Usage { memory, processes: processes.len() as u64, disk: disk(folder) }
}

/// The number of a process.
pub const fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// The processor time of a process and of those of its descendants that have ended, also once it has ended itself, until it is waited for. `None` if the
/// system does not report it.
pub fn processor_time(pid: Pid) -> Option<Duration> {
    let stat = ProcessStat::read(&number(pid).to_string())?;
    Some(stat.processor() + stat.ended_children)
}

/// Bytes on disk of all files below `folder`.
fn disk(folder: &Path) -> u64 {
    let (mut bytes, mut entries, mut folders) = (0, 0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        // what vanishes meanwhile uses nothing
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return u64::MAX;
            }
            // of the link itself, if it is one
            let Ok(metadata) = entry.metadata() else { continue };
            bytes += metadata.blocks() * BLOCK;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use twinfer_keeper::ProcessTable;

    use super::*;

    #[test]
    fn files_at_every_depth_count_and_targets_of_links_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("large"), vec![1; 1 << 22]).unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), vec![1; 1 << 20]).unwrap();
        symlink(elsewhere.path(), deep.join("link")).unwrap();
        let bytes = disk(folder.path());
        assert!((1 << 20..1 << 21).contains(&bytes), "{bytes}");
    }

    #[test]
    fn children_of_this_process_count() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = Pid::from_raw(std::process::id() as i32).unwrap();
        let usage = of(&ProcessTable::read().descendants(own), Path::new("/no/such/folder"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage.processes >= 1 && usage.memory > 0, "{usage:?}");
    }
}
