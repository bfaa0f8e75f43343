//! Installs Python environments: wheels with pinned hashes, unpacked, and the adapter beside them.

use std::{
    fs, mem,
    path::{Path, PathBuf},
};

use crate::{
    Environment, Error, Installed, PinnedPackage, Release, Step, Store,
    digest::sha256,
    manifest::{FORMAT, LibraryFile, Manifest, Origin},
    pip,
    python::{Interpreter, packages_in},
    wheel_tree,
};

impl Store {
    /// Installs an environment for its Python on `PATH`. Wheels of an earlier installation are used again.
    pub(crate) fn install_environment(
        &self,
        environment: &'static Environment,
        report: &mut dyn FnMut(Step),
    ) -> Result<Installed, Error> {
        let interpreter = Interpreter::on_path(environment.python)?;
        let python = &interpreter.version;
        if environment.packages.iter().any(|package| package.sha256(python).is_none()) {
            let versions = environment.python.versions.iter().copied().map(str::to_owned).collect();
            return Err(environment.wheels_for(versions, interpreter.version));
        }
        let release = Release::of_environment(environment);
        let directory = self.directory_named(&release.name, &release.version);
        let is_current = |installed: &Installed| installed.is_for(&interpreter);
        self.install_unless(&release, report, is_current, |workspace, staged, report| {
            for package in environment.packages {
                let wheel = provide(package, python, &directory, workspace, report)?;
                let target = staged.join(wheel.file_name().unwrap_or_default());
                // wheels may be gigabytes
                let link = fs::hard_link(&wheel, &target);
                link.or_else(|_| fs::copy(&wheel, &target).map(drop)).map_err(Error::io("copy", &wheel))?;
            }
            report(Step::Unpacking(release.clone(), directory.clone()));
            stage(environment, &interpreter, staged)
        })
    }
}

/// The wheel of a package with the pinned hash: that of the installation in `directory`, or a new one.
fn provide(
    package: &'static PinnedPackage,
    python: &str,
    directory: &Path,
    workspace: &Path,
    report: &mut dyn FnMut(Step),
) -> Result<PathBuf, Error> {
    let expected = package.sha256(python).unwrap_or_default();
    let is_pinned = |wheel: &PathBuf| sha256(wheel).is_ok_and(|actual| actual.as_str() == expected);
    if let Some(wheel) = wheels_in(directory).into_iter().find(is_pinned) {
        return Ok(wheel);
    }
    report(Step::FetchingPackage(package));
    let folder = workspace.join(package.distribution);
    let wheel = pip::download_pinned(&package.requirement(), python, &folder)?;
    let actual = sha256(&wheel)?;
    if actual.as_str() == expected {
        return Ok(wheel);
    }
    Err(Error::WrongHash { path: wheel, expected: expected.to_owned(), actual: actual.to_string() })
}

fn wheels_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut wheels: Vec<_> = entries.filter(|path| pip::is_wheel(path)).collect();
    wheels.sort();
    wheels
}

/// Unpacks the wheels in `staged`, and writes the adapter and the manifest beside them.
fn stage(environment: &Environment, interpreter: &Interpreter, staged: &Path) -> Result<(), Error> {
    for source in environment.sources {
        let path = staged.join(source.name);
        fs::write(&path, source.text).map_err(Error::io("write", path))?;
    }
    unpack_wheels(staged)?;
    let sources = environment.sources.iter().map(|source| source.name.to_owned());
    let wheels = wheels_in(staged);
    let wheels = wheels.iter().filter_map(|wheel| wheel.file_name()?.to_str().map(str::to_owned));
    let manifest = Manifest {
        format: FORMAT,
        name: environment.product.to_string(),
        product: environment.product,
        version: environment.version.to_owned(),
        origin: Origin::Environment {
            python: interpreter.version.clone(),
            program: interpreter.program.clone(),
        },
        files: sources
            .chain(wheels)
            .map(|name| LibraryFile::describe(staged, &name))
            .collect::<Result<_, _>>()?,
        stand_ins: Vec::new(),
    };
    manifest.write(staged)
}

/// Unpacks all wheels in `directory` for Python.
pub(crate) fn unpack_wheels(directory: &Path) -> Result<(), Error> {
    let packages = packages_in(directory);
    wheels_in(directory).iter().try_for_each(|wheel| wheel_tree::unpack(wheel, &packages))
}

impl Installed {
    /// Whether this is no environment, or one that this Python runs.
    fn is_for(&self, interpreter: &Interpreter) -> bool {
        match self.record.as_ref().map(|record| &record.origin) {
            Some(Origin::Environment { python, program }) => {
                *python == interpreter.version && *program == interpreter.program
            }
            _ => true,
        }
    }

    /// The unpacked files of a Python environment, by their paths in its folder.
    pub(crate) fn package_files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for wheel in self.files.iter().filter(|file| pip::is_wheel(file)) {
            files.extend(
                wheel_tree::files(wheel)?.into_iter().map(|file| packages_in(Path::new("")).join(file)),
            );
        }
        Ok(files)
    }

    /// The first unpacked file of a Python environment that is not as in its wheel; `None` if there is none.
    pub(crate) fn changed_package_file(&self) -> Result<Option<PathBuf>, Error> {
        let packages = packages_in(&self.directory);
        for wheel in self.files.iter().filter(|file| pip::is_wheel(file)) {
            if let Some(changed) = wheel_tree::changed(wheel, &packages)? {
                return Ok(Some(changed));
            }
        }
        Ok(None)
    }
}

impl Environment {
    /// The error that the wheels are for other versions than `python`.
    fn wheels_for(&self, versions: Vec<String>, python: String) -> Error {
        Error::PythonVersion { name: self.product, python, program: self.python.program, versions }
    }
}

impl Manifest {
    /// This manifest, with the Python on `PATH` in place of the recorded one if this is an environment: an archive of another machine does
    /// not decide which program runs on this one.
    pub(crate) fn with_python_of_this_machine(mut self) -> Result<Self, Error> {
        let Some(environment) = Environment::of(self.product) else { return Ok(self) };
        if let Origin::Environment { python, program } = &mut self.origin {
            let interpreter = Interpreter::on_path(environment.python)?;
            if interpreter.version != *python {
                return Err(environment.wheels_for(vec![mem::take(python)], interpreter.version));
            }
            *program = interpreter.program;
        }
        Ok(self)
    }

    /// The error of an environment whose adapter is not the one that this program contains, or whose Python is gone; `None` if it can run.
    pub(crate) fn outdated(&self) -> Option<Error> {
        let environment = Environment::of(self.product)?;
        let Origin::Environment { program, .. } = &self.origin else { return None };
        let is_recorded = |source: &crate::environment::Source| {
            self.files.iter().any(|file| file.name == source.name && file.sha256 == source.sha256())
        };
        let is_current = environment.version == self.version
            && environment.sources.iter().all(is_recorded)
            && program.is_absolute();
        let outdated = |other| Error::Outdated { name: self.name.clone(), other };
        if !is_current {
            return Some(outdated("by another build of twinfer".to_owned()));
        }
        (!program.is_file()).then(|| outdated(format!("for {}, which is no longer there", program.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hashing, Product, pinned_package::Python};

    fn environment() -> &'static Environment {
        Environment::of(Product::OnnxReference).unwrap()
    }

    /// A Python of this version, whose program is a file that is no Python.
    fn interpreter(version: &str, folder: &Path) -> Interpreter {
        let program = folder.join(format!("python{version}"));
        fs::write(&program, "").unwrap();
        Interpreter { version: version.to_owned(), program }
    }

    /// A store with an environment for Python 3.11 that has no packages.
    fn store() -> (tempfile::TempDir, Store, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let directory = store.directory_named("onnx-reference", environment().version);
        fs::create_dir(&directory).unwrap();
        stage(environment(), &interpreter("3.11", home.path()), &directory).unwrap();
        (home, store, directory)
    }

    #[test]
    fn environment_is_found_by_its_label_and_release() {
        let (home, store, directory) = store();
        let found = store.find("onnx-reference").unwrap();
        assert_eq!(found.library(), directory.join("onnx_reference_adapter.py"));
        assert_eq!(store.find(&format!("onnx-reference-{}", environment().version)).unwrap(), found);
        store.verify(std::slice::from_ref(&found), Hashing::Full).unwrap();
        let python = interpreter("3.11", home.path());
        assert!(found.is_for(&python) && !found.is_for(&interpreter("3.12", home.path())));
        assert!(!found.is_for(&interpreter("3.11", &directory)), "another program");
        let line = found.adapter().unwrap();
        let expected = [python.program.as_os_str(), "-I".as_ref(), found.library().as_os_str()];
        assert_eq!(line[..3], expected, "whatever PATH is");
    }

    #[test]
    fn environment_whose_python_is_gone_is_outdated() {
        let (home, store, _) = store();
        let python = home.path().join("python3.11");
        fs::remove_file(&python).unwrap();
        assert_eq!(
            store.find("onnx-reference").unwrap_err().to_string(),
            format!(
                "onnx-reference was installed for {}, which is no longer there: run `twinfer backends install onnx-reference`",
                python.display()
            )
        );
    }

    #[test]
    fn archive_does_not_decide_which_python_runs() {
        let (_home, store, directory) = store();
        let local = Interpreter::on_path(environment().python).unwrap();
        let packed = |python: &str| {
            let origin = Origin::Environment { python: python.to_owned(), program: "/bin/false".into() };
            Manifest { origin, ..Manifest::read(&directory).unwrap() }
        };
        packed(&local.version).with_python_of_this_machine().unwrap().write(&directory).unwrap();
        assert!(store.find("onnx-reference").unwrap().is_for(&local));
        assert_eq!(
            packed("2.7").with_python_of_this_machine().unwrap_err().to_string(),
            format!(
                "onnx-reference has no wheels for Python {}: put a python3 of version 2.7 first on PATH",
                local.version
            )
        );
    }

    #[test]
    fn environment_that_takes_its_python_from_path_is_outdated() {
        let (_home, store, directory) = store();
        let path = directory.join(crate::manifest::FILE_NAME);
        let mut manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        manifest["origin"]["environment"].as_object_mut().unwrap().remove("program").unwrap();
        fs::write(&path, manifest.to_string()).unwrap();
        let error = store.find("onnx-reference").unwrap_err();
        assert!(
            matches!(&error, Error::Outdated { other, .. } if other == "by another build of twinfer"),
            "{error}"
        );
    }

    #[test]
    fn python_on_path_is_found_without_links() {
        let python = Interpreter::on_path(environment().python).unwrap();
        assert_eq!(python.program, fs::canonicalize(&python.program).unwrap());
        assert!(python.version.starts_with("3."), "{python:?}");
    }

    #[test]
    fn missing_python_is_named_with_its_version() {
        let python = Python { program: "python9.9", versions: &["9.9"] };
        assert_eq!(
            Interpreter::on_path(python).unwrap_err().to_string(),
            "cannot run `python9.9`: install Python 9.9, and put it on PATH"
        );
    }

    #[test]
    fn adapter_of_another_build_is_outdated() {
        let (_home, store, directory) = store();
        let mut manifest = Manifest::read(&directory).unwrap();
        fs::write(directory.join("worker_protocol.py"), "another").unwrap();
        let place = manifest.files.iter().position(|file| file.name == "worker_protocol.py").unwrap();
        manifest.files[place] = LibraryFile::describe(&directory, "worker_protocol.py").unwrap();
        manifest.write(&directory).unwrap();
        assert_eq!(
            store.find("onnx-reference").unwrap_err().to_string(),
            "onnx-reference was installed by another build of twinfer: run `twinfer backends install onnx-reference`"
        );
    }

    #[test]
    fn missing_environment_names_its_folder_and_command() {
        assert_eq!(
            Store::at("/nowhere/libraries").find("openvino").unwrap_err().to_string(),
            "openvino is not installed (looked in /nowhere/libraries/openvino-2026.4.1): run `twinfer backends install openvino`"
        );
    }
}
