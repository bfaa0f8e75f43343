//! Wheels that are unpacked as a whole, for Python to import.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use zip::{ZipArchive, read::ZipFile, result::ZipError};

use crate::{Error, wheel::fault};

/// The most bytes that a wheel may unpack to.
const LARGEST_TREE: u64 = 4 << 30;
/// The most files that a wheel may hold.
const MOST_FILES: usize = 100_000;
/// The bytes of a file that are compared at a time.
const CHUNK: usize = 64 << 10;

/// Unpacks all files of `wheel` into `directory`, which is created. No file is written outside it, and none twice: one that another wheel
/// has put there must be the same.
pub(crate) fn unpack(wheel: &Path, directory: &Path) -> Result<(), Error> {
    let mut left = LARGEST_TREE;
    each_file(wheel, &mut |inside, entry| {
        let target = directory.join(inside);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        if target.is_file() {
            let is_same = is_equal(entry, File::open(&target)?)?;
            let other = || ZipError::InvalidArchive("another wheel has a different file of this name".into());
            return if is_same { Ok(()) } else { Err(other()) };
        }
        let mut file = File::create_new(&target)?;
        left -= io::copy(&mut entry.take(left), &mut file)?;
        if left == 0 { Err(ZipError::InvalidArchive("it unpacks to more than 4 GiB".into())) } else { Ok(()) }
    })
}

/// The paths of all files of `wheel`.
pub(crate) fn files(wheel: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    each_file(wheel, &mut |inside, _| {
        files.push(inside.to_owned());
        Ok(())
    })?;
    Ok(files)
}

/// The first file of `wheel` that is missing in `directory` or has other bytes there; `None` if there is none.
pub(crate) fn changed(wheel: &Path, directory: &Path) -> Result<Option<PathBuf>, Error> {
    let mut changed = None;
    each_file(wheel, &mut |inside, entry| {
        let path = directory.join(inside);
        if changed.is_none() && !File::open(&path).is_ok_and(|file| is_equal(entry, file).unwrap_or(false)) {
            changed = Some(path);
        }
        Ok(())
    })?;
    Ok(changed)
}

/// What is done with a file of a wheel and its path.
type Visit<'a> = dyn FnMut(&Path, &mut ZipFile<'_, File>) -> Result<(), ZipError> + 'a;

/// Calls `visit` with each file of `wheel` and its path, which stays inside the wheel.
fn each_file(wheel: &Path, visit: &mut Visit<'_>) -> Result<(), Error> {
    let file = File::open(wheel).map_err(Error::io("open", wheel))?;
    let mut archive = ZipArchive::new(file).map_err(fault(wheel, "its index"))?;
    if archive.len() > MOST_FILES {
        let many = ZipError::InvalidArchive("it holds more than 100,000 files".into());
        return Err(fault(wheel, "its index")(many));
    }
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(fault(wheel, "a file"))?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().map_err(fault(wheel, "a file"))?.into_owned();
        let inside = PathBuf::from(&name);
        let visited = if is_inside(&inside) && !entry.is_symlink() {
            visit(&inside, &mut entry)
        } else {
            Err(ZipError::InvalidArchive("it lies outside the wheel".into()))
        };
        visited.map_err(fault(wheel, &name))?;
    }
    Ok(())
}

fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some()
}

fn is_equal(mut one: impl Read, mut other: impl Read) -> io::Result<bool> {
    let (mut ones, mut others) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let read = one.read(&mut ones)?;
        if read == 0 {
            return Ok(other.read(&mut others)? == 0);
        }
        if other.read_exact(&mut others[..read]).is_err() || ones[..read] != others[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheel_fixture::wheel_with;

    #[test]
    fn whole_wheel_is_unpacked_and_compared() {
        let (folder, wheel) = wheel_with(&[("package/__init__.py", "one"), ("package/data/a.bin", "two")]);
        let tree = folder.path().join("tree");
        unpack(&wheel, &tree).unwrap();
        assert_eq!(fs::read_to_string(tree.join("package/data/a.bin")).unwrap(), "two");
        assert_eq!(changed(&wheel, &tree).unwrap(), None);
        for other in ["owt", "tw", "two "] {
            fs::write(tree.join("package/data/a.bin"), other).unwrap();
            assert_eq!(changed(&wheel, &tree).unwrap(), Some(tree.join("package/data/a.bin")), "{other:?}");
        }
        fs::remove_file(tree.join("package/__init__.py")).unwrap();
        assert_eq!(changed(&wheel, &tree).unwrap(), Some(tree.join("package/__init__.py")));
    }

    #[test]
    fn wheels_share_files_that_are_the_same() {
        let (folder, wheel) = wheel_with(&[("vendor/__init__.py", ""), ("vendor/one.py", "1")]);
        let (_other_folder, same) = wheel_with(&[("vendor/__init__.py", ""), ("vendor/two.py", "2")]);
        let (_third_folder, different) = wheel_with(&[("vendor/__init__.py", "x")]);
        let tree = folder.path().join("tree");
        unpack(&wheel, &tree).unwrap();
        unpack(&same, &tree).unwrap();
        assert!(tree.join("vendor/one.py").is_file() && tree.join("vendor/two.py").is_file());
        let refused = unpack(&different, &tree).unwrap_err().to_string();
        assert!(refused.contains("another wheel has a different file"), "{refused}");
        assert_eq!(fs::read_to_string(tree.join("vendor/__init__.py")).unwrap(), "");
    }

    #[test]
    fn wheel_writes_nothing_outside_its_folder() {
        for name in ["../escaped.py", "/tmp/twinfer-escaped.py", "package/../../escaped.py"] {
            let (folder, wheel) = wheel_with(&[(name, "outside")]);
            let refused = unpack(&wheel, &folder.path().join("tree"));
            assert!(matches!(refused, Err(Error::Wheel { .. })), "{name}: {refused:?}");
            assert!(!folder.path().join("escaped.py").exists(), "{name}");
        }
        assert!(!Path::new("/tmp/twinfer-escaped.py").exists());
    }
}
