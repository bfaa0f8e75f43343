//! The control group of this process (`cgroups(7)`), of version 1 or 2.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The strictest limit on memory among a control group and those around it, and what is used within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// The most bytes that may be used.
    pub limit: u64,
    used: u64,
    /// Bytes of `used` that the kernel takes back if memory is short.
    cache: u64,
}

/// The files of a version of control groups.
struct Version {
    limit: &'static str,
    used: &'static str,
    /// The name of a line of `memory.stat`: files that nobody used lately.
    cache: &'static str,
}

const VERSION_1: Version =
    Version { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file" };
const VERSION_2: Version = Version { limit: "memory.max", used: "memory.current", cache: "inactive_file" };

impl ControlGroup {
    /// The control group of this process; `None` if no limit applies to it.
    pub fn of_this_process() -> Option<Self> {
        Self::in_files(Path::new(ROOT), &fs::read_to_string("/proc/self/cgroup").ok()?)
    }

    /// The group that `/proc/PID/cgroup` names, below `root`.
    fn in_files(root: &Path, membership: &str) -> Option<Self> {
        let group_1 = membership.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|controller| controller == "memory").then_some(group)
        });
        let group_2 = membership.lines().find_map(|line| line.strip_prefix("0::"));
        let limits_1 = group_1.map(|group| VERSION_1.strictest(&root.join("memory"), group));
        let limits_2 = group_2.map(|group| VERSION_2.strictest(root, group));
        limits_1.flatten().or(limits_2.flatten())
    }

    /// Bytes that are left.
    pub const fn available(&self) -> u64 {
        self.limit.saturating_sub(self.used).saturating_add(self.cache)
    }
}

impl Version {
    /// The strictest of the limits of `group` and the groups around it. In a container the path of the group may be that of the
    /// machine outside, which is not mounted: the group is the root then.
    fn strictest(&self, root: &Path, group: &str) -> Option<ControlGroup> {
        let path: PathBuf = root.join(group.trim_start_matches('/'));
        let path = if path.is_dir() { path } else { root.to_owned() };
        let around = path.ancestors().take_while(|folder| folder.starts_with(root));
        around.filter_map(|folder| self.read(folder)).min_by_key(|group| group.limit)
    }

    /// The limit of the group in `folder`; `None` if it has none.
    fn read(&self, folder: &Path) -> Option<ControlGroup> {
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        // "max" and the largest number of pages stand for no limit
        let limit = read(self.limit)?.trim().parse().ok().filter(|limit| *limit < u64::MAX / 4)?;
        let used = read(self.used)?.trim().parse().ok()?;
        let stat = read("memory.stat").unwrap_or_default();
        let cache = stat.lines().find_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            (name == self.cache).then(|| bytes.parse().ok())?
        });
        Some(ControlGroup { limit, used, cache: cache.unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files of a group.
    fn write(root: &Path, group: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(root.join(group)).unwrap();
        for (file, text) in files {
            fs::write(root.join(group).join(file), text).unwrap();
        }
    }

    #[test]
    fn strictest_limit_around_the_group_counts_in_version_2() {
        let root = tempfile::tempdir().unwrap();
        let outer = [
            ("memory.max", "1000\n"),
            ("memory.current", "300\n"),
            ("memory.stat", "anon 7\ninactive_file 50\n"),
        ];
        write(root.path(), "outer", &outer);
        write(root.path(), "outer/inner", &[("memory.max", "max\n"), ("memory.current", "20\n")]);
        let group = ControlGroup::in_files(root.path(), "0::/outer/inner\n").unwrap();
        assert_eq!((group.limit, group.available()), (1000, 750));
    }

    #[test]
    fn memory_controller_counts_in_version_1() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "400\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 100\n"),
        ];
        write(root.path(), "memory/job", &files);
        write(
            root.path(),
            "memory",
            &[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.usage_in_bytes", "9\n")],
        );
        let group = ControlGroup::in_files(root.path(), "8:pids:/\n4:cpu,memory:/job\n0::/\n").unwrap();
        assert_eq!((group.limit, group.available()), (1000, 700));
    }

    #[test]
    fn group_of_a_container_is_the_root() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "memory",
            &[("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "1\n")],
        );
        let group = ControlGroup::in_files(root.path(), "4:memory:/docker/0123\n").unwrap();
        assert_eq!(group.limit, 1000);
    }

    #[test]
    fn group_without_a_limit_is_none() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a", &[("memory.max", "max\n"), ("memory.current", "1\n")]);
        assert_eq!(ControlGroup::in_files(root.path(), "0::/a\n"), None);
        assert_eq!(ControlGroup::in_files(root.path(), ""), None);
    }
}
