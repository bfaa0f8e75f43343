//! Archives of the command and of installed libraries, for machines without a network.
//!
//! An archive is a tar file that unpacks into a folder `twinfer`, which can be used as it is: `bin/twinfer` with `TWINFER_HOME` set to
//! that folder. [`Store::unpack`] copies its libraries into a store.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, BufWriter, ErrorKind, Write},
    path::{Component, Path, PathBuf},
};

use tar::{Archive, Builder, Entry, EntryType};

use crate::{
    Error, Hashing, Installed, Release, Step, Store,
    environment_install::unpack_wheels,
    manifest::{FILE_NAME, Manifest, Origin, is_plain},
    python::PACKAGES,
    stand_in,
    store::read,
    workspace::Workspace,
};

/// The folders in an archive.
const PROGRAM: &str = "twinfer/bin/twinfer";
const LIBRARIES: &str = "twinfer/libraries";

impl Store {
    /// Writes `program` and the installed `libraries` to an archive in a new file.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if a library is not as it was installed, [`Error::NotPacked`] if one is a folder of the user, and
    /// [`Error::Io`] if a file cannot be read or written.
    pub fn pack(&self, program: &Path, libraries: &[Installed], archive: &Path) -> Result<(), Error> {
        self.verify(libraries, Hashing::Full)?;
        let file = File::create_new(archive).map_err(Error::io("create", archive))?;
        let written = self.pack_into(program, libraries, BufWriter::new(file), archive);
        if written.is_err() {
            // half an archive is of no use
            let _ = fs::remove_file(archive);
        }
        written
    }

    fn pack_into(
        &self,
        program: &Path,
        libraries: &[Installed],
        out: impl Write,
        archive: &Path,
    ) -> Result<(), Error> {
        let mut builder = Builder::new(out);
        builder.sparse(false);
        let mut add = |path: &Path, name: &Path| {
            builder.append_path_with_name(path, name).map_err(Error::io("pack", path))
        };
        add(program, Path::new(PROGRAM))?;
        for library in libraries {
            let manifest = library.record.as_ref().filter(|manifest| manifest.is_of_wheel());
            let manifest = manifest.ok_or_else(|| Error::NotPacked { path: library.directory.clone() })?;
            let release = manifest.release();
            let folder = Path::new(LIBRARIES).join(self.folder_name(&release));
            let stand_ins = manifest.stand_ins.iter().map(|name| stand_in::folder(Path::new("")).join(name));
            let files = manifest.files.iter().map(|file| PathBuf::from(&file.name));
            for name in files.chain(stand_ins).chain([PathBuf::from(FILE_NAME)]) {
                add(&library.directory.join(&name), &folder.join(&name))?;
            }
            for name in library.package_files()? {
                add(&library.directory.join(&name), &folder.join(&name))?;
            }
        }
        builder.into_inner().and_then(|mut out| out.flush()).map_err(Error::io("write", archive))
    }

    /// Installs the libraries in an archive that [`pack`](Self::pack) wrote, each verified with what the archive records of it. An
    /// intact installation of the same name and version is kept. `report` is called as each step begins.
    ///
    /// # Errors
    ///
    /// [`Error::Archive`] if the file is no such archive, [`Error::Damaged`] if a library in it is not as recorded,
    /// [`Error::NoPython`] or [`Error::PythonVersion`] if a Python environment in it needs a Python that is not on `PATH`.
    pub fn unpack(&self, archive: &Path, report: &mut dyn FnMut(Step)) -> Result<Vec<Installed>, Error> {
        fs::create_dir_all(self.root()).map_err(Error::io("create", self.root()))?;
        let workspace = Workspace::new(self)?;
        let mut installed = Vec::new();
        for (folder, staged) in extract(archive, workspace.path())? {
            let manifest = Manifest::read(&staged)?;
            let release = manifest.release();
            if self.folder_name(&release) != folder || !is_plain(&folder) || !manifest.is_of_wheel() {
                return Err(fault(archive, format!("{folder} is not what its manifest says")));
            }
            stand_in::write_all(&manifest.stand_ins, &staged)?;
            manifest.with_python_of_this_machine()?.write(&staged)?;
            unpack_wheels(&staged)?;
            report(Step::Verifying(release.clone()));
            self.verify(&[read(&staged)?], Hashing::Full)?;
            installed.push(self.install_release(&release, report, |_, prepared, report| {
                report(Step::Unpacking(
                    release.clone(),
                    self.directory_named(&release.name, &release.version),
                ));
                fs::remove_dir(prepared).map_err(Error::io("replace", prepared))?;
                fs::rename(&staged, prepared).map_err(Error::io("move", &staged))
            })?);
        }
        if installed.is_empty() {
            return Err(fault(archive, "it holds no libraries".to_owned()));
        }
        Ok(installed)
    }

    fn folder_name(&self, release: &Release) -> String {
        let directory = self.directory_named(&release.name, &release.version);
        directory.strip_prefix(self.root()).unwrap_or(&directory).to_string_lossy().into_owned()
    }
}

impl Manifest {
    fn release(&self) -> Release {
        Release { name: self.name.clone(), version: self.version.clone() }
    }

    /// Whether the libraries lie beside the manifest.
    const fn is_of_wheel(&self) -> bool {
        matches!(self.origin, Origin::Wheel { .. } | Origin::Environment { .. })
    }
}

/// Extracts the installations in `archive` into new folders of `workspace`, by the names of their folders. Nothing is written anywhere
/// else, whatever the archive says.
fn extract(archive: &Path, workspace: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    let file = File::open(archive).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fault(archive, error.to_string()),
        _ => Error::io("open", archive)(error),
    })?;
    let mut folders = BTreeMap::new();
    // the messages of the reader quote the file
    let unreadable = |_: std::io::Error| fault(archive, "it is no tar archive, or damaged".to_owned());
    let mut reader = Archive::new(BufReader::new(file));
    for entry in reader.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let Some((folder, name)) = place(&entry).map_err(|reason| fault(archive, reason))? else { continue };
        let staged = folders.len();
        let staged = folders.entry(folder).or_insert_with(|| workspace.join(format!("archived-{staged}")));
        fs::create_dir_all(&*staged).map_err(Error::io("create", &*staged))?;
        let path = staged.join(name);
        let mut out = File::create_new(&path).map_err(Error::io("create", &path))?;
        std::io::copy(&mut entry, &mut out).map_err(Error::io("unpack", &path))?;
    }
    Ok(folders)
}

/// The installation that an entry belongs to and the name of its file; `None` for the program, and for stand-ins and unpacked
/// packages, which are made again. An error if it is of no archive of ours.
fn place(entry: &Entry<'_, impl std::io::Read>) -> Result<Option<(String, String)>, String> {
    let path = entry.path().map_err(|error| error.to_string())?;
    let strange = || format!("unexpected entry {:?}", path.to_string_lossy());
    if entry.header().entry_type() != EntryType::Regular {
        return Err(strange());
    }
    if path == Path::new(PROGRAM) {
        return Ok(None);
    }
    let inside = path.strip_prefix(LIBRARIES).map_err(|_| strange())?;
    let parts: Option<Vec<&str>> = inside
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match parts.as_deref() {
        Some([folder, name]) => Ok(Some(((*folder).to_owned(), (*name).to_owned()))),
        Some([_, "stand-ins", _] | [_, PACKAGES, ..]) => Ok(None),
        _ => Err(strange()),
    }
}

fn fault(archive: &Path, reason: String) -> Error {
    Error::Archive { path: archive.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;
    use crate::{
        Product,
        manifest::{FORMAT, LibraryFile},
    };

    /// A store in which a library and a stand-in are installed.
    fn store() -> (TempDir, Store) {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path().join("libraries"));
        let directory = store.directory_named("tensorrt-8.6", "8.6.0");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("libnvinfer.so.8"), "kernels").unwrap();
        let stand_ins = vec!["libcudnn.so.8".to_owned()];
        stand_in::write_all(&stand_ins, &directory).unwrap();
        let manifest = Manifest {
            format: FORMAT,
            name: "tensorrt-8.6".to_owned(),
            product: Product::Tensorrt,
            version: "8.6.0".to_owned(),
            origin: Origin::Wheel { distribution: "tensorrt".to_owned(), sha256: "0".repeat(64) },
            files: vec![LibraryFile::describe(&directory, "libnvinfer.so.8").unwrap()],
            stand_ins,
        };
        manifest.write(&directory).unwrap();
        fs::write(home.path().join("program"), "the command").unwrap();
        (home, store)
    }

    fn packed(home: &TempDir, store: &Store) -> PathBuf {
        let archive = home.path().join("twinfer.tar");
        store.pack(&home.path().join("program"), &store.list().unwrap(), &archive).unwrap();
        archive
    }

    /// An archive with one file.
    fn archive_of(folder: &Path, name: &str, contents: &str) -> PathBuf {
        let path = folder.join("strange.tar");
        let mut builder = Builder::new(File::create(&path).unwrap());
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, contents.as_bytes()).unwrap();
        builder.finish().unwrap();
        path
    }

    #[test]
    fn what_is_packed_is_installed_elsewhere() {
        let (home, store) = store();
        let archive = packed(&home, &store);
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Store::at(elsewhere.path());
        let installed = other.unpack(&archive, &mut |_| {}).unwrap();
        assert_eq!((installed[0].name.as_str(), installed.len()), ("tensorrt-8.6", 1));
        assert_eq!(other.find("tensorrt-8.6").unwrap(), installed[0]);
        other.verify(&installed, Hashing::Full).unwrap();
        assert_eq!(other.unpack(&archive, &mut |_| {}).unwrap(), installed, "it is there already");
    }

    /// Without `backends unpack`, by tar alone.
    #[test]
    fn unpacked_folder_is_a_home() {
        let (home, store) = store();
        let archive = packed(&home, &store);
        let elsewhere = tempfile::tempdir().unwrap();
        Archive::new(File::open(archive).unwrap()).unpack(elsewhere.path()).unwrap();
        let other = Store::at(elsewhere.path().join(LIBRARIES));
        other.verify(&[other.find("tensorrt-8.6").unwrap()], Hashing::Full).unwrap();
        assert_eq!(fs::read_to_string(elsewhere.path().join(PROGRAM)).unwrap(), "the command");
    }

    #[test]
    fn damaged_library_is_neither_packed_nor_installed() {
        let (home, store) = store();
        let archive = packed(&home, &store);
        let bytes = fs::read(&archive).unwrap();
        let at = bytes.windows(7).position(|bytes| bytes == b"kernels").unwrap();
        let damaged = [&bytes[..at], b"Kernels", &bytes[at + 7..]].concat();
        fs::write(&archive, damaged).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Store::at(elsewhere.path());
        assert!(matches!(other.unpack(&archive, &mut |_| {}), Err(Error::Damaged { .. })));
        assert!(other.list().unwrap().is_empty());
        let library = store.directory_named("tensorrt-8.6", "8.6.0").join("libnvinfer.so.8");
        fs::write(&library, "Kernels").unwrap();
        let again = home.path().join("again.tar");
        let refused = store.pack(&home.path().join("program"), &store.list().unwrap(), &again);
        assert!(matches!(refused, Err(Error::Damaged { .. })) && !again.exists());
    }

    #[test]
    fn archive_writes_nothing_outside_its_folders() {
        let (home, store) = store();
        for name in [
            "../escaped",
            "/tmp/twinfer-escaped",
            "twinfer/libraries/../../escaped",
            "twinfer/libraries/x/../../../escaped",
            "twinfer/libraries/manifest.json",
            "twinfer/libraries/tensorrt-8.6-8.6.0/deeper/escaped",
            "elsewhere",
        ] {
            let archive = archive_of(home.path(), name, "text");
            let refused = store.unpack(&archive, &mut |_| {});
            assert!(matches!(refused, Err(Error::Archive { .. })), "{name}: {refused:?}");
        }
        assert!(!home.path().join("escaped").exists() && !Path::new("/tmp/twinfer-escaped").exists());
        let unknown = archive_of(home.path(), "twinfer/libraries/x-1/libx.so", "text");
        assert!(store.unpack(&unknown, &mut |_| {}).is_err(), "it has no manifest");
        let none = archive_of(home.path(), PROGRAM, "text");
        assert!(matches!(store.unpack(&none, &mut |_| {}), Err(Error::Archive { .. })));
        fs::write(home.path().join("none"), "no archive").unwrap();
        assert!(store.unpack(&home.path().join("none"), &mut |_| {}).is_err());
    }

    #[test]
    fn links_in_an_archive_are_refused() {
        let (home, store) = store();
        let link = home.path().join("link");
        symlink("/etc/hosts", &link).unwrap();
        let archive = home.path().join("links.tar");
        let mut builder = Builder::new(File::create(&archive).unwrap());
        builder.follow_symlinks(false);
        builder.append_path_with_name(&link, "twinfer/libraries/x-1/libx.so").unwrap();
        builder.finish().unwrap();
        assert!(matches!(store.unpack(&archive, &mut |_| {}), Err(Error::Archive { .. })));
    }

    #[test]
    fn folder_of_the_user_is_not_packed() {
        let (home, store) = store();
        let libraries = tempfile::tempdir().unwrap();
        fs::write(libraries.path().join("libonnxruntime.so.1.31.1"), "one").unwrap();
        let folder = store.install(&libraries.path().to_string_lossy(), &mut |_| {}).unwrap();
        let archive = home.path().join("twinfer.tar");
        let refused = store.pack(&home.path().join("program"), &[folder], &archive);
        assert!(matches!(refused, Err(Error::NotPacked { .. })) && !archive.exists());
    }
}
