//! A disk that loses power: it keeps what was synced, and of the rest whatever it likes.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use twinfer_store::Disk;

/// Records what is on the disk whenever something is about to be synced.
#[derive(Debug)]
pub struct LossyDisk {
    /// The folder above everything that is written.
    root: PathBuf,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    moments: Vec<Moment>,
    /// Open, so that no number is given to another file.
    handles: BTreeMap<u64, File>,
    reported: usize,
}

/// The disk just before something is synced.
#[derive(Debug)]
struct Moment {
    /// What is synced then.
    synced: PathBuf,
    inode: u64,
    /// What every process sees, synced or not.
    seen: Tree,
    /// How many events were reported by then.
    reported: usize,
}

/// Files and folders by their inode.
#[derive(Clone, Debug, Default)]
struct Tree {
    files: BTreeMap<u64, Arc<Vec<u8>>>,
    folders: BTreeMap<u64, BTreeMap<OsString, u64>>,
}

impl LossyDisk {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), record: Mutex::default() }
    }

    /// Notes that an event was reported.
    pub fn report(&self) {
        self.record.lock().unwrap().reported += 1;
    }

    /// The number of moments at which the power can be cut.
    pub fn moments(&self) -> usize {
        self.record.lock().unwrap().moments.len()
    }

    /// Writes to `to` what a cut at `moment` leaves, if `is_done` says which syncs were done; how many events were reported before.
    pub fn cut(&self, moment: usize, is_done: fn(&Path) -> bool, random: &mut Random, to: &Path) -> usize {
        let record = self.record.lock().unwrap();
        let mut kept = Tree::default();
        for Moment { synced, inode, seen, .. } in
            record.moments[..moment].iter().filter(|moment| is_done(&moment.synced))
        {
            assert!(synced.starts_with(&self.root));
            kept.files.extend(seen.files.get(inode).map(|bytes| (*inode, Arc::clone(bytes))));
            kept.folders.extend(seen.folders.get(inode).map(|names| (*inode, names.clone())));
        }
        let Moment { seen, reported, .. } = &record.moments[moment];
        let root = fs::metadata(&self.root).unwrap().ino();
        Cut { kept: &kept, seen, random }.folder(root, to);
        *reported
    }

    fn record(&self, path: &Path) -> io::Result<()> {
        let record = &mut *self.record.lock().unwrap();
        let mut seen = Tree::default();
        seen.read(&self.root, record.moments.last().map(|moment| &moment.seen), &mut record.handles)?;
        let (synced, inode) = (path.to_owned(), fs::metadata(path)?.ino());
        record.moments.push(Moment { synced, inode, seen, reported: record.reported });
        Ok(())
    }
}

impl Disk for LossyDisk {
    fn sync_file(&self, _file: &File, path: &Path) -> io::Result<()> {
        self.record(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.record(path)
    }
}

impl Tree {
    /// Adds what is in the folder at `path`. Contents that are as they were `before` are shared.
    fn read(
        &mut self,
        path: &Path,
        before: Option<&Self>,
        handles: &mut BTreeMap<u64, File>,
    ) -> io::Result<()> {
        let inode = fs::metadata(path)?.ino();
        handles.entry(inode).or_insert(File::open(path)?);
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let (path, inode) = (entry.path(), entry.metadata()?.ino());
            names.insert(entry.file_name(), inode);
            if path.is_dir() {
                self.read(&path, before, handles)?;
            } else {
                handles.entry(inode).or_insert(File::open(&path)?);
                let bytes = Arc::new(fs::read(&path)?);
                let same = before.and_then(|before| before.files.get(&inode)).filter(|same| **same == bytes);
                self.files.insert(inode, same.map_or(bytes, Arc::clone));
            }
        }
        self.folders.insert(inode, names);
        Ok(())
    }
}

/// What a cut leaves.
struct Cut<'a> {
    /// What was synced.
    kept: &'a Tree,
    seen: &'a Tree,
    random: &'a mut Random,
}

impl Cut<'_> {
    /// Writes the folder with this inode to `to`: of each name that changed since it was synced, either version.
    fn folder(&mut self, inode: u64, to: &Path) {
        fs::create_dir_all(to).unwrap();
        let names = |tree: &Tree| tree.folders.get(&inode).cloned().unwrap_or_default();
        let (kept, seen) = (names(self.kept), names(self.seen));
        let mut all: Vec<_> = kept.keys().chain(seen.keys()).collect();
        all.sort();
        all.dedup();
        for name in all {
            let version = if self.random.below(2) == 0 { &kept } else { &seen };
            let Some(inode) = version.get(name) else { continue };
            let is_folder = |tree: &Tree| tree.folders.contains_key(inode);
            if is_folder(self.kept) || is_folder(self.seen) {
                self.folder(*inode, &to.join(name));
            } else {
                fs::write(to.join(name), self.contents(*inode)).unwrap();
            }
        }
    }

    /// The contents of a file: what was synced, and some of what was written since, or something else in its place.
    fn contents(&mut self, inode: u64) -> Vec<u8> {
        let (kept, seen) = (self.kept.files.get(&inode), self.seen.files.get(&inode));
        let kept = kept.map(|bytes| bytes.as_slice()).unwrap_or_default();
        let Some(seen) = seen.map(|bytes| bytes.as_slice()) else { return kept.to_vec() };
        let Some(rest) = seen.strip_prefix(kept) else {
            return if self.random.below(2) == 0 { kept } else { seen }.to_vec();
        };
        let mut rest = rest.to_vec();
        let (from, to) = (self.random.below(rest.len() + 1), self.random.below(rest.len() + 1));
        match self.random.below(5) {
            0 => rest.clear(),
            1 => rest.truncate(to),
            2 => rest[to..].fill(0),
            3 => rest[from.min(to)..from.max(to)].fill(0),
            _ => {}
        }
        [kept, &rest].concat()
    }
}

/// Numbers that depend on the seed alone.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit.max(1)
    }
}
