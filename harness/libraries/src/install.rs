//! Installs libraries into a store: completely or not at all, one process at a time.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use crate::{
    Digest, Error, Hashing, Installed, PACKAGES, Package, Product, Release, Requirement, Step, Store,
    dependencies::unused,
    digest::sha256,
    folder,
    manifest::{FORMAT, LibraryFile, Manifest, Origin},
    pip, stand_in,
    store::{read, short_name},
    wheel,
    workspace::Workspace,
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
        let release = Release::of(package);
        self.install_release(&release, report, |workspace, staged, report| {
            let wheel = match from {
                Some(wheel) => wheel.to_owned(),
                None => fetch(package, workspace, report)?,
            };
            report(Step::Unpacking(release.clone(), self.directory_of(package)));
            stage(package, &wheel, staged)
        })
    }

    /// Installs a release that pip fetches. Only the pinned ones have a hash to compare with.
    pub(crate) fn install_requirement(
        &self,
        requirement: &Requirement,
        report: &mut dyn FnMut(Step),
    ) -> Result<Installed, Error> {
        if let Some(package) = requirement.pinned() {
            return self.install_package(package, None, report);
        }
        let name = format!("{}-{}", requirement.product, requirement.version);
        if let Ok(installed) = self.find(&name)
            && self.verify(std::slice::from_ref(&installed), Hashing::Full).is_ok()
        {
            return Ok(installed);
        }
        fs::create_dir_all(self.root()).map_err(Error::io("create", self.root()))?;
        let workspace = Workspace::new(self)?;
        report(Step::Fetching(requirement.clone()));
        let wheel = pip::download_any(requirement, workspace.path())?;
        self.install_wheel(&wheel, report)
    }

    /// Installs the libraries in a wheel. One with the hash of a package is that package.
    pub(crate) fn install_wheel(
        &self,
        wheel: &Path,
        report: &mut dyn FnMut(Step),
    ) -> Result<Installed, Error> {
        if !wheel.is_file() {
            return Err(Error::NoWheel { path: wheel.to_owned() });
        }
        let sha256 = sha256(wheel)?;
        if let Some(package) = PACKAGES.iter().find(|package| package.sha256 == sha256.as_str()) {
            return self.install_package(package, Some(wheel), report);
        }
        let contents = wheel::inspect(wheel)?;
        let release = contents.release();
        self.install_release(&release, report, |_, staged, report| {
            report(Step::Unpacking(release.clone(), self.directory_named(&release.name, &release.version)));
            stage_wheel(&contents, &release, wheel, &sha256, staged)
        })
    }

    /// Installs what `prepare` puts into a new folder, its second argument; the first is a folder for other files. An intact
    /// installation is kept.
    pub(crate) fn install_release(
        &self,
        release: &Release,
        report: &mut dyn FnMut(Step),
        prepare: impl FnOnce(&Path, &Path, &mut dyn FnMut(Step)) -> Result<(), Error>,
    ) -> Result<Installed, Error> {
        self.install_unless(release, report, |_| true, prepare)
    }

    /// As [`install_release`](Self::install_release); an intact installation is replaced unless `is_current` holds for it.
    pub(crate) fn install_unless(
        &self,
        release: &Release,
        report: &mut dyn FnMut(Step),
        is_current: impl FnOnce(&Installed) -> bool,
        prepare: impl FnOnce(&Path, &Path, &mut dyn FnMut(Step)) -> Result<(), Error>,
    ) -> Result<Installed, Error> {
        fs::create_dir_all(self.root()).map_err(Error::io("create", self.root()))?;
        let _lock = self.lock(release, report)?;
        let workspace = Workspace::new(self)?;
        let directory = self.directory_named(&release.name, &release.version);
        if let Ok(installed) = self.intact(&directory)
            && is_current(&installed)
        {
            return Ok(installed);
        }
        let staged = workspace.path().join("staged");
        fs::create_dir(&staged).map_err(Error::io("create", &staged))?;
        prepare(workspace.path(), &staged, report)?;
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
        let stand_ins = stand_ins_for(found.product, &paths);
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

    fn lock(&self, release: &Release, report: &mut dyn FnMut(Step)) -> Result<File, Error> {
        let path = self.root().join(format!(".{}.lock", release.name));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                report(Step::Waiting(release.clone()));
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
    report(Step::Verifying(Release::of(package)));
    wheel::verify(&wheel, package)?;
    Ok(wheel)
}

fn stage(package: &Package, wheel: &Path, staged: &Path) -> Result<(), Error> {
    wheel::unpack(wheel, package.folder, package.files, staged)?;
    let stand_ins: Vec<String> = package.stand_ins.iter().map(|&name| name.to_owned()).collect();
    stand_in::write_all(&stand_ins, staged)?;
    let names = named_as_opened(package.product, package.version, package.files, staged)?;
    let manifest = Manifest {
        format: FORMAT,
        name: package.name.to_owned(),
        product: package.product,
        version: package.version.to_owned(),
        origin: Origin::Wheel {
            distribution: package.distribution.to_owned(),
            sha256: package.sha256.to_owned(),
        },
        files: names.iter().map(|name| LibraryFile::describe(staged, name)).collect::<Result<_, _>>()?,
        stand_ins,
    };
    manifest.write(staged)
}

fn stage_wheel(
    contents: &wheel::Contents,
    release: &Release,
    wheel: &Path,
    sha256: &Digest,
    staged: &Path,
) -> Result<(), Error> {
    let wheel::Contents { metadata, product, folder, files } = contents;
    wheel::unpack(wheel, folder, files, staged)?;
    let names = named_as_opened(*product, &release.version, files, staged)?;
    let paths: Vec<PathBuf> = names.iter().map(|name| staged.join(name)).collect();
    let stand_ins = stand_ins_for(*product, &paths);
    stand_in::write_all(&stand_ins, staged)?;
    let manifest = Manifest {
        format: FORMAT,
        name: release.name.clone(),
        product: *product,
        version: release.version.clone(),
        origin: Origin::Wheel { distribution: metadata.name.clone(), sha256: sha256.to_string() },
        files: names.iter().map(|name| LibraryFile::describe(staged, name)).collect::<Result<_, _>>()?,
        stand_ins,
    };
    manifest.write(staged)
}

/// Renames the unpacked `files` to the names by which they are opened: a lean runtime by builders, libraries beside a plugin by the
/// loader. Returns the names of all files.
fn named_as_opened(
    product: Product,
    version: &str,
    files: &[impl AsRef<str>],
    staged: &Path,
) -> Result<Vec<String>, Error> {
    let names = files.iter().map(AsRef::as_ref).enumerate().map(|(place, name)| {
        let opened = match product.name_for_builders(version) {
            Some(opened) if place == 0 => opened,
            _ if product.is_plugin() => major_version(name).to_owned(),
            _ => name.to_owned(),
        };
        if opened != name {
            fs::rename(staged.join(name), staged.join(&opened)).map_err(Error::io("rename", staged))?;
        }
        Ok(opened)
    });
    names.collect()
}

/// A library's name with the first number of its version, by which others link it: `libx.so.1` for `libx.so.1.7.1`.
fn major_version(name: &str) -> &str {
    let Some(version) = name.find(".so.").map(|place| place + ".so.".len()) else { return name };
    let end = name[version..].find('.').map_or(name.len(), |length| version + length);
    &name[..end]
}

/// The libraries that `files` link and do not use.
fn stand_ins_for(product: Product, files: &[PathBuf]) -> Vec<String> {
    match product {
        Product::Tensorrt => unused(files),
        Product::Onnxruntime
        | Product::OnnxruntimeCuda
        | Product::OnnxruntimeEpOpenVino
        | Product::OnnxruntimeEpTensorrtRtx
        | Product::OnnxruntimeEpWebGpu
        | Product::TensorrtRtx
        | Product::TensorrtLean
        | Product::ComputeSanitizer
        | Product::OpenVino
        | Product::OnnxReference
        | Product::Tract
        | Product::Mnn
        | Product::TorchTensorRt => Vec::new(),
    }
}

impl wheel::Contents {
    fn release(&self) -> Release {
        let version = self.metadata.version.clone();
        Release { name: short_name(self.product, &version), version }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Release, Step, Store, wheel_fixture::wheel_with};

    #[test]
    fn lean_runtime_of_a_wheel_is_named_as_builders_open_it() {
        let (folder, made) = wheel_with(&[
            ("tensorrt_lean_libs/libnvinfer_lean.so.10", "lean"),
            (
                "tensorrt_lean_cu12_libs-10.14.1.48.dist-info/METADATA",
                "Name: tensorrt-lean-cu12-libs\nVersion: 10.14.1.48\n",
            ),
        ]);
        let path =
            folder.path().join("tensorrt_lean_cu12_libs-10.14.1.48-py3-none-manylinux_2_28_x86_64.whl");
        std::fs::rename(made, &path).unwrap();
        let home = tempfile::tempdir().unwrap();
        let installed = Store::at(home.path()).install(&path.to_string_lossy(), &mut |_| {}).unwrap();
        assert_eq!(installed.name, "tensorrt-lean-10.14");
        assert!(installed.library().ends_with("libnvinfer_lean.so.10.14.1"), "{installed:?}");
        assert!(installed.library().is_file());
    }

    #[test]
    fn libraries_beside_a_plugin_are_named_as_they_are_linked() {
        let (folder, made) = wheel_with(&[
            ("plugin/libonnxruntime_providers_nv_tensorrt_rtx.so", "plugin"),
            ("plugin/libtensorrt_rtx.so.1.9.2", "runtime"),
            ("plugin/libtensorrt_shim.so", "shim"),
            (
                "onnxruntime_ep_nv_tensorrt_rtx_cu13-0.9.0.dist-info/METADATA",
                "Name: onnxruntime-ep-nv-tensorrt-rtx-cu13\nVersion: 0.9.0\n",
            ),
        ]);
        let path = folder
            .path()
            .join("onnxruntime_ep_nv_tensorrt_rtx_cu13-0.9.0-py3-none-manylinux_2_28_x86_64.whl");
        std::fs::rename(made, &path).unwrap();
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let installed = store.install(&path.to_string_lossy(), &mut |_| {}).unwrap();
        let names: Vec<_> = installed.files.iter().map(|file| file.file_name().unwrap()).collect();
        assert_eq!(
            names,
            ["libonnxruntime_providers_nv_tensorrt_rtx.so", "libtensorrt_rtx.so.1", "libtensorrt_shim.so"]
        );
        assert!(installed.files.iter().all(|file| file.is_file()));
        assert_eq!(store.find("onnxruntime-ep-nv-tensorrt-rtx").unwrap(), installed);
    }

    #[test]
    fn concurrent_installations_run_one_after_the_other() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let release = Release { name: "onnxruntime".to_owned(), version: "1".to_owned() };
        let held = store.lock(&release, &mut |_| {}).unwrap();
        let (heard, steps) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lock = store.lock(&release, &mut |step| heard.send(step).unwrap()).unwrap();
            });
            assert_eq!(steps.recv().unwrap(), Step::Waiting(release.clone()));
            drop(held);
        });
    }
}
