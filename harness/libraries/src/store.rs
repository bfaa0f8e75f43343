use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    ENVIRONMENTS, Environment, Error, Package, Product, Requirement, Step, folder,
    manifest::{FILE_NAME, Manifest, Origin},
    package::PACKAGES,
    pip, stand_in,
};

/// The folder in which installed libraries are kept, shared by every process of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

/// Installed libraries, ready to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The name of the installation, such as `tensorrt-8.6`.
    pub name: String,
    /// The product.
    pub product: Product,
    /// The version, as precise as the packaging states it.
    pub version: String,
    /// The folder that holds the libraries.
    pub directory: PathBuf,
    /// The paths of the libraries; the first is the one to load.
    pub files: Vec<PathBuf>,
    /// A folder of stand-ins for the loader; `None` if the libraries link nothing unused.
    pub stand_ins: Option<PathBuf>,
    /// What was recorded when it was installed; `None` if it was found by the path of its folder.
    pub(crate) record: Option<Manifest>,
}

impl Installed {
    /// The library to load, such as `libonnxruntime.so.1.31.1`.
    pub fn library(&self) -> &Path {
        self.files.first().map_or(&self.directory, PathBuf::as_path)
    }

    /// The lean runtime that these libraries of TensorRT copy into version-compatible engines, by the name of its installation,
    /// such as `tensorrt-lean-8.6`; `None` for another product, for a release without one, and if it is among the libraries.
    pub fn lean_runtime(&self) -> Option<String> {
        let name = Product::TensorrtLean.name_for_builders(&self.version)?;
        let has_one = self.product == Product::Tensorrt && version_key(&self.version) >= version_key("8.6");
        let is_needed = has_one && !self.directory.join(name).is_file();
        is_needed.then(|| short_name(Product::TensorrtLean, &self.version))
    }
}

impl Store {
    /// The user's store: `$TWINFER_HOME/libraries`, or `twinfer/libraries` in the XDG cache folder.
    pub fn open() -> Result<Self, Error> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("TWINFER_HOME")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("twinfer")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/twinfer")));
        home.map(|home| Self::at(home.join("libraries"))).ok_or(Error::NoHome)
    }

    /// A store in the folder `root`, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder that holds the installations.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds libraries by the name of a package or a registered folder, or by the path of a folder.
    pub fn find(&self, name: &str) -> Result<Installed, Error> {
        if is_path(name) {
            return folder::inspect(Path::new(name)).map(|found| found.into_installed(name));
        }
        let package = Package::named(name);
        if let Some(package) = package
            && self.directory_of(package).join(FILE_NAME).is_file()
        {
            return read(&self.directory_of(package));
        }
        if let Some(environment) = Environment::named(name) {
            return self.find_environment(environment);
        }
        let registered = self.list()?.into_iter().filter(|library| library.answers_to(name));
        let newest = registered.max_by(|a, b| version_key(&a.version).cmp(&version_key(&b.version)));
        newest.map_or_else(|| Err(self.why_absent(name, package)?), Ok)
    }

    fn find_environment(&self, environment: &Environment) -> Result<Installed, Error> {
        let name = environment.product.to_string();
        let path = self.directory_named(&name, environment.version);
        if path.join(FILE_NAME).is_file() { read(&path) } else { Err(Error::NotInstalled { name, path }) }
    }

    /// Why there is no intact installation of `name`.
    fn why_absent(&self, name: &str, package: Option<&Package>) -> Result<Error, Error> {
        let is_damaged =
            |error: &Error| matches!(error, Error::Damaged { name: damaged, .. } if damaged == name);
        if let Some(damage) = self.damages()?.into_iter().find(is_damaged) {
            return Ok(damage);
        }
        if let Some(package) = package {
            return Ok(Error::NotInstalled {
                name: package.name.to_owned(),
                path: self.directory_of(package),
            });
        }
        let Some(Requirement { product, version }) = Requirement::of_installation(name) else {
            return Ok(unknown(name));
        };
        if let Some(environment) = Environment::of(product) {
            return Ok(Error::NotPinned { product, version, pinned: environment.version });
        }
        let others = self.list()?.into_iter().filter(|library| library.product == product);
        let installed = others.map(|library| library.version).collect();
        Ok(Error::NoRelease { product, version, installed })
    }

    /// The libraries of `product` at `path`: a folder, or a file and those beside it. Nothing is known of their contents; a path
    /// where there are none is a library without files.
    pub fn given(&self, product: Product, path: &Path) -> Installed {
        let name = path.to_string_lossy();
        let file = fs::canonicalize(path).ok().filter(|path| path.is_file());
        let mut library = match folder::inspect(path) {
            Ok(found) => found.into_installed(&name),
            Err(_) => Installed {
                name: name.into_owned(),
                product,
                version: "unknown".to_owned(),
                directory: path.parent().unwrap_or(path).to_owned(),
                files: Vec::new(),
                stand_ins: None,
                record: None,
            },
        };
        let is_listed = |file: &PathBuf| {
            library.files.iter().any(|other| fs::canonicalize(other).is_ok_and(|other| other == *file))
        };
        if let Some(file) = file.filter(|file| !is_listed(file)) {
            library.files.insert(0, file);
        }
        library
    }

    /// The installed and registered libraries, by name; unreadable installations are left out.
    pub fn list(&self) -> Result<Vec<Installed>, Error> {
        let mut installed: Vec<Installed> =
            self.folders()?.iter().filter_map(|path| read(path).ok()).collect();
        installed.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(installed)
    }

    /// The errors of the installations that [`list`](Self::list) leaves out.
    pub fn damages(&self) -> Result<Vec<Error>, Error> {
        Ok(self.folders()?.iter().filter_map(|path| read(path).err()).collect())
    }

    fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        if !self.root.is_dir() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.root).map_err(Error::io("read", &self.root))?;
        let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        folders.retain(|path| path.join(FILE_NAME).is_file());
        folders.sort();
        Ok(folders)
    }

    /// Finds a package, and installs it first if it is absent; `report` is called as each step begins.
    pub fn ensure(&self, name: &str, report: &mut dyn FnMut(Step)) -> Result<Installed, Error> {
        match self.find(name) {
            Err(Error::NotInstalled { name, .. } | Error::Outdated { name, .. }) => {
                self.install(&name, report)
            }
            found => found,
        }
    }

    /// Installs a package by name, any release by `NAME==VERSION`, or the libraries in a wheel, or registers a folder that
    /// holds libraries.
    ///
    /// An existing installation is verified, and replaced if it is damaged. If two processes install the same
    /// package, one waits for the other. An installation is complete or absent, never partial. `report` is called as
    /// each step begins.
    pub fn install(&self, name_or_path: &str, report: &mut dyn FnMut(Step)) -> Result<Installed, Error> {
        let path = Path::new(name_or_path);
        if pip::is_wheel(path) {
            self.install_wheel(path, report)
        } else if let Some(environment) = Environment::named(name_or_path) {
            self.install_environment(environment, report)
        } else if let Some(requirement) = Requirement::parse(name_or_path) {
            self.install_requirement(&requirement, report)
        } else if !is_path(name_or_path) {
            let package = Package::named(name_or_path).ok_or_else(|| unknown(name_or_path))?;
            self.install_package(package, None, report)
        } else {
            self.register(path)
        }
    }

    pub(crate) fn directory_of(&self, package: &Package) -> PathBuf {
        self.directory_named(package.name, package.version)
    }

    pub(crate) fn directory_named(&self, name: &str, version: &str) -> PathBuf {
        self.root.join(format!("{name}-{version}"))
    }
}

pub(crate) fn read(directory: &Path) -> Result<Installed, Error> {
    let manifest = Manifest::read(directory)?;
    let libraries = match &manifest.origin {
        Origin::Folder(folder) => folder.clone(),
        Origin::Wheel { .. } | Origin::Environment { .. } => directory.to_owned(),
    };
    if let Some(outdated) = manifest.outdated() {
        return Err(outdated);
    }
    if let Some(file) = manifest.files.iter().find(|file| !file.has_its_size(&libraries)) {
        let fault = "is missing or has another size than when it was installed";
        return Err(manifest.damaged(libraries.join(&file.name), fault));
    }
    Ok(Installed {
        files: manifest.files.iter().map(|file| libraries.join(&file.name)).collect(),
        stand_ins: (!manifest.stand_ins.is_empty()).then(|| stand_in::folder(directory)),
        name: manifest.name.clone(),
        product: manifest.product,
        version: manifest.version.clone(),
        directory: libraries,
        record: Some(manifest),
    })
}

/// The product and the first two numbers of its version, such as `tensorrt-10.7`.
pub(crate) fn short_name(product: Product, version: &str) -> String {
    let short: Vec<&str> = version.split('.').take(2).collect();
    format!("{product}-{}", short.join("."))
}

impl folder::Found {
    /// The name of a registered folder: the product and the first two numbers of its version, such as `tensorrt-10.7`.
    pub(crate) fn name(&self) -> String {
        short_name(self.product, &self.version)
    }

    fn into_installed(self, name: &str) -> Installed {
        Installed {
            name: name.to_owned(),
            product: self.product,
            version: self.version,
            files: self.files.iter().map(|file| self.directory.join(file)).collect(),
            directory: self.directory,
            stand_ins: None,
            record: None,
        }
    }
}

impl Installed {
    fn answers_to(&self, name: &str) -> bool {
        let is_release = |requirement: Requirement| {
            requirement.product == self.product && requirement.is_met_by(&self.version)
        };
        self.name == name
            || self.product.to_string() == name
            || Requirement::of_installation(name).is_some_and(is_release)
    }
}

/// Whether the text is a path: a name has no separator, and a path of one component is written `./libs`.
fn is_path(text: &str) -> bool {
    text.contains(std::path::is_separator) || text == "." || text == ".."
}

fn unknown(name: &str) -> Error {
    let packages = PACKAGES.iter().map(|package| package.name.to_owned());
    let environments = ENVIRONMENTS.iter().map(|environment| environment.product.to_string());
    let known: Vec<String> = packages.chain(environments).collect();
    // newer releases stand first and win ties
    let alike = known.iter().rev().map(|known| (strsim::jaro_winkler(known, name), known));
    let most_alike = alike
        .filter(|(similarity, _)| *similarity >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let similar = most_alike.map(|(_, known)| known.clone());
    Error::UnknownPackage { name: name.to_owned(), similar, known: known.join(", ") }
}

/// How alike two names are at least for one to be suggested in place of the other, from 0 to 1.
const ALIKE: f64 = 0.85;

/// A sort key that orders `8.10` after `8.9`.
fn version_key(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        digest::sha256_of,
        manifest::{FORMAT, LibraryFile},
    };

    #[test]
    fn error_of_missing_library_has_path_and_install_command() {
        let store = Store::at("/nowhere/libraries");
        assert_eq!(
            store.find("tensorrt-8.6").unwrap_err().to_string(),
            "tensorrt-8.6 is not installed (looked in /nowhere/libraries/tensorrt-8.6-8.6.0): \
             run `twinfer backends install tensorrt-8.6`"
        );
    }

    #[test]
    fn error_of_unknown_name_lists_the_known_ones() {
        let message = Store::at("/nowhere").find("tensorflow-9.9").unwrap_err().to_string();
        assert!(message.contains("\"tensorflow-9.9\"") && message.contains("tensorrt-rtx-1.7"), "{message}");
    }

    #[test]
    fn error_of_misspelled_name_suggests_the_newest_release() {
        let message = |name: &str| Store::at("/nowhere").find(name).unwrap_err().to_string();
        assert!(message("tensorr-rtx").contains(": did you mean tensorrt-rtx-1.7? use one of "));
        assert!(message("onnxruntim").contains(": did you mean onnxruntime? use one of "));
        assert!(!message("xyz").contains("did you mean"), "{}", message("xyz"));
    }

    #[test]
    fn releases_beside_each_other_are_found_by_their_numbers() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let folders = ["1.2.0", "1.22.0", "1.22.1"].map(|version| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(format!("libonnxruntime.so.{version}")), version).unwrap();
            store.install(&folder.path().to_string_lossy(), &mut |_| {}).unwrap();
            folder
        });
        let found = |name: &str| store.find(name).map(|library| library.version);
        assert_eq!(found("onnxruntime-1.22").unwrap(), "1.22.1");
        assert_eq!(found("onnxruntime-1.22.0").unwrap(), "1.22.0");
        assert_eq!(found("onnxruntime-1.2").unwrap(), "1.2.0");
        assert_eq!(
            found("onnxruntime-1.17").unwrap_err().to_string(),
            "onnxruntime 1.17 is not installed (installed: 1.2.0, 1.22.0, 1.22.1): run `twinfer backends install onnxruntime==1.17`"
        );
        drop(folders);
    }

    #[test]
    fn registered_folder_is_found_by_name_and_product() {
        let (libraries, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["libnvinfer.so.10", "libnvinfer.so.10.7.0", "libnvonnxparser.so.10"] {
            fs::write(libraries.path().join(name), name).unwrap();
        }
        let store = Store::at(home.path());
        let installed = store.install(&libraries.path().to_string_lossy(), &mut |_| {}).unwrap();
        assert_eq!((installed.name.as_str(), installed.version.as_str()), ("tensorrt-10.7", "10.7.0"));
        assert!(installed.library().ends_with("libnvinfer.so.10"));
        assert_eq!(store.find("tensorrt-10.7").unwrap(), installed);
        assert_eq!(store.find("tensorrt").unwrap(), installed);
    }

    #[test]
    fn version_compatible_engines_need_a_lean_runtime_that_is_not_beside_the_builder() {
        let lean = |version: &str, files: &[&str]| {
            let libraries = tempfile::tempdir().unwrap();
            let core = format!("libnvinfer.so.{version}");
            for name in files.iter().copied().chain([core.as_str(), "libnvonnxparser.so.8"]) {
                fs::write(libraries.path().join(name), name).unwrap();
            }
            Store::at("/nowhere").given(Product::Tensorrt, libraries.path()).lean_runtime()
        };
        assert_eq!(lean("8.6.0", &[]).as_deref(), Some("tensorrt-lean-8.6"));
        assert_eq!(lean("8.6.1", &["libnvinfer_lean.so.8.6.1"]), None);
        assert_eq!(lean("8.5.3", &[]), None);
    }

    #[test]
    fn library_of_another_size_is_reported_as_damaged() {
        let (libraries, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let library = libraries.path().join("libonnxruntime.so.1.31.1");
        fs::write(&library, "one").unwrap();
        let store = Store::at(home.path());
        store.install(&libraries.path().to_string_lossy(), &mut |_| {}).unwrap();
        fs::write(&library, "three").unwrap();
        assert!(matches!(store.find("onnxruntime-1.31"), Err(Error::Damaged { .. })));
        assert!(matches!(&store.damages().unwrap()[..], [Error::Damaged { .. }]));
        fs::write(&library, "one").unwrap();
        assert!(store.damages().unwrap().is_empty());
    }

    #[test]
    fn manifest_that_points_outside_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let package = Package::named("onnxruntime").unwrap();
        let store = Store::at(home.path());
        let directory = store.directory_of(package);
        fs::create_dir(&directory).unwrap();
        let manifest = Manifest {
            format: FORMAT,
            name: "onnxruntime".into(),
            product: Product::Onnxruntime,
            version: package.version.into(),
            origin: Origin::Wheel { distribution: "onnxruntime".into(), sha256: package.sha256.into() },
            files: vec![LibraryFile { name: "../../etc/hosts".into(), bytes: 1, sha256: sha256_of(b"") }],
            stand_ins: vec![],
        };
        manifest.write(&directory).unwrap();
        assert!(matches!(store.find("onnxruntime"), Err(Error::Manifest { .. })));
    }

    #[test]
    fn partial_installation_is_not_installed() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let directory = store.directory_of(Package::named("onnxruntime").unwrap());
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("libonnxruntime.so.1.31.1"), "half").unwrap();
        assert!(matches!(store.find("onnxruntime"), Err(Error::NotInstalled { .. })));
    }

    #[test]
    fn given_file_stands_before_those_beside_it() {
        let libraries = tempfile::tempdir().unwrap();
        let path = |name: &str| fs::canonicalize(libraries.path()).unwrap().join(name);
        let store = Store::at("/nowhere");
        let files = |given: &Path| store.given(Product::Tensorrt, given).files;
        assert!(files(&path("libmine.so")).is_empty());
        fs::write(path("libmine.so"), "mine").unwrap();
        assert_eq!(files(&path("libmine.so")), [path("libmine.so")]);
        for name in ["libnvinfer.so.10", "libnvonnxparser.so.10"] {
            fs::write(path(name), name).unwrap();
        }
        let both = [path("libnvinfer.so.10"), path("libnvonnxparser.so.10")];
        assert_eq!(files(&path("libmine.so")), [&[path("libmine.so")][..], &both].concat());
        assert_eq!(files(&path("libnvinfer.so.10")), both);
        assert_eq!(files(&path("")), both);
    }

    #[test]
    fn newest_version_is_chosen_numerically() {
        assert!(version_key("8.10.1") > version_key("8.9"));
    }
}
