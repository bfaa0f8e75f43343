//! Installs libraries into a store: completely or not at all, one process at a time.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use crate::{
    Error, Hashing, Installed, Package, Product, Step, Store,
    dependencies::unused,
    folder,
    manifest::{FORMAT, LibraryFile, Manifest, Origin},
    pip, stand_in,
    store::read,
    wheel,
};

impl Store {
    pub(crate) fn install_package(
        &self,
        package: &'static Package,
        from: Option<&Path>,
        report: &mut dyn FnMut(Step),
    ) -> Result<Installed, Error> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Error::Platform { name: package.name });
        }
        fs::create_dir_all(self.root()).map_err(Error::io("create", self.root()))?;
        let _lock = self.lock(package, report)?;
        let directory = self.directory_of(package);
        if let Ok(installed) = self.intact(&directory) {
            return Ok(installed);
        }
        let workspace = tempfile::Builder::new()
            .prefix(".installing-")
            .tempdir_in(self.root())
            .map_err(Error::io("write into", self.root()))?;
        let wheel = match from {
            Some(wheel) => wheel.to_owned(),
            None => fetch(package, workspace.path(), report)?,
        };
        let staged = workspace.path().join("staged");
        fs::create_dir(&staged).map_err(Error::io("create", &staged))?;
        report(Step::Unpacking(package, directory.clone()));
        stage(package, &wheel, &staged)?;
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(Error::io("remove", &directory))?;
        }
        fs::rename(&staged, &directory).map_err(Error::io("create", &directory))?;
        read(&directory)
    }

    fn intact(&self, directory: &Path) -> Result<Installed, Error> {
        let installed = read(directory)?;
        self.verify(std::slice::from_ref(&installed), Hashing::Full)?;
        Ok(installed)
    }

    pub(crate) fn register(&self, path: &Path) -> Result<Installed, Error> {
        let found = folder::inspect(path)?;
        let name = found.name();
        let describe = |name: &String| LibraryFile::describe(&found.directory, name);
        let paths: Vec<PathBuf> = found.files.iter().map(|file| found.directory.join(file)).collect();
        let stand_ins = match found.product {
            Product::Tensorrt => unused(&paths),
            _ => Vec::new(),
        };
        let manifest = Manifest {
            format: FORMAT,
            name: name.clone(),
            product: found.product,
            version: found.version.clone(),
            origin: Origin::Folder(found.directory.clone()),
            files: found.files.iter().map(describe).collect::<Result<_, _>>()?,
            stand_ins,
        };
        let directory = self.directory_named(&name, &found.version);
        fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
        stand_in::write_all(&manifest.stand_ins, &directory)?;
        manifest.write(&directory)?;
        read(&directory)
    }

    fn lock(&self, package: &'static Package, report: &mut dyn FnMut(Step)) -> Result<File, Error> {
        let path = self.root().join(format!(".{}.lock", package.name));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                report(Step::Waiting(package));
                file.lock().map_err(Error::io("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(Error::Io { action: "lock", path, source }),
        }
        Ok(file)
    }
}

fn fetch(
    package: &'static Package,
    workspace: &Path,
    report: &mut dyn FnMut(Step),
) -> Result<PathBuf, Error> {
    report(Step::Downloading(package));
    let wheel = pip::download(package, workspace)?;
    report(Step::Verifying(package));
    wheel::verify(&wheel, package)?;
    Ok(wheel)
}

fn stage(package: &Package, wheel: &Path, staged: &Path) -> Result<(), Error> {
    wheel::unpack(wheel, package, staged)?;
    let stand_ins: Vec<String> = package.stand_ins.iter().map(|&name| name.to_owned()).collect();
    stand_in::write_all(&stand_ins, staged)?;
    let describe = |name: &&str| LibraryFile::describe(staged, name);
    let manifest = Manifest {
        format: FORMAT,
        name: package.name.to_owned(),
        product: package.product,
        version: package.version.to_owned(),
        origin: Origin::Wheel {
            distribution: package.distribution.to_owned(),
            sha256: package.sha256.to_owned(),
        },
        files: package.files.iter().map(describe).collect::<Result<_, _>>()?,
        stand_ins,
    };
    manifest.write(staged)
}

#[cfg(test)]
mod tests {
    use crate::{Package, Step, Store};

    #[test]
    fn concurrent_installations_run_one_after_the_other() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let package = Package::named("onnxruntime").unwrap();
        let held = store.lock(package, &mut |_| {}).unwrap();
        let (heard, steps) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lock = store.lock(package, &mut |step| heard.send(step).unwrap()).unwrap();
            });
            assert_eq!(steps.recv().unwrap(), Step::Waiting(package));
            drop(held);
        });
    }
}
