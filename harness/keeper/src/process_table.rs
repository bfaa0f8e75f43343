use std::{
    collections::{BTreeMap, HashSet},
    fs,
};

use rustix::process::Pid;

/// The processes of this machine and their parents, at one moment.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable {
    /// The children of each parent, by process id.
    children: BTreeMap<i32, Vec<i32>>,
}

impl ProcessTable {
    /// Reads `/proc`, with one file per process.
    pub fn read() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else { return Self::default() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Self::of(pids.filter_map(|pid: i32| Some((pid, parent(pid)?))))
    }

    /// The table of processes, each with its parent.
    pub fn of(processes: impl IntoIterator<Item = (i32, i32)>) -> Self {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (pid, parent) in processes {
            children.entry(parent).or_default().push(pid);
        }
        for children in children.values_mut() {
            children.sort_unstable();
        }
        Self { children }
    }

    /// The children of `parent`, in the order of their ids.
    pub fn children(&self, parent: Pid) -> Vec<Pid> {
        let children = self.children.get(&parent.as_raw_nonzero().get());
        children.into_iter().flatten().filter_map(|pid| Pid::from_raw(*pid)).collect()
    }

    /// All processes below `root`, without `root` itself.
    pub fn descendants(&self, root: Pid) -> Vec<Pid> {
        // a table of two moments can hold circles
        let (mut found, mut seen) = (vec![root], HashSet::from([root]));
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(self.children(parent).into_iter().filter(|child| seen.insert(*child)));
            next += 1;
        }
        found.remove(0);
        found
    }
}

/// The parent of a process; `None` once the process has ended.
fn parent(pid: i32) -> Option<i32> {
    parent_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The parent in a line of `/proc/PID/stat`: the second field after the name, which may hold spaces and parentheses.
fn parent_in(stat: &str) -> Option<i32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    fn below(table: &ProcessTable, root: i32) -> Vec<i32> {
        table.descendants(pid(root)).iter().map(|pid| pid.as_raw_nonzero().get()).collect()
    }

    #[test]
    fn descendants_are_found_at_every_depth() {
        let table = ProcessTable::of([(2, 1), (3, 1), (9, 3), (4, 3), (7, 4), (8, 2)]);
        assert_eq!(below(&table, 3), [4, 9, 7]);
        assert_eq!(below(&table, 1), [2, 3, 8, 4, 9, 7]);
        assert!(below(&table, 7).is_empty());
    }

    #[test]
    fn circle_of_parents_ends() {
        let table = ProcessTable::of([(2, 3), (3, 2), (4, 4)]);
        assert_eq!(below(&table, 2), [3]);
        assert!(below(&table, 4).is_empty());
    }

    #[test]
    fn parent_is_read_behind_any_name() {
        assert_eq!(parent_in("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in("12 (a) S 9 (b) R 8) S 7 12"), Some(7));
        assert_eq!(parent_in("12 (sh"), None);
    }

    #[test]
    fn this_process_is_a_child_of_its_parent() {
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let children = ProcessTable::read().children(pid(parent as i32));
        assert!(children.contains(&pid(own as i32)), "{children:?}");
    }
}
