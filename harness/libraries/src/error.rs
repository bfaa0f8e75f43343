use std::{io, path::PathBuf};

use crate::Product;

/// Why a library cannot be installed or found; every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No package has this name.
    #[error(
        "unknown library {name:?}: {}use one of {known}, or give the path of a wheel or of a folder of libraries",
        similar.as_ref().map_or_else(String::new, |similar| format!("did you mean {similar}? "))
    )]
    UnknownPackage {
        /// The requested name.
        name: String,
        /// The known name that is most like it; `None` if none is alike.
        similar: Option<String>,
        /// The known names.
        known: String,
    },
    /// The package has no wheel for this machine.
    #[error("{name} is available for x86-64 Linux only: give the path of a folder of libraries")]
    Platform {
        /// The package.
        name: &'static str,
    },
    /// A known package is not installed.
    #[error("{name} is not installed (looked in {}): run `twinfer backends install {name}`", path.display())]
    NotInstalled {
        /// The package.
        name: String,
        /// The folder in which it would be installed.
        path: PathBuf,
    },
    /// A release of a product is not installed, and no package is pinned to it.
    #[error(
        "{product} {version} is not installed{}: run `twinfer backends install {product}=={version}`",
        beside(installed)
    )]
    NoRelease {
        /// The product.
        product: Product,
        /// The release, or the numbers that it begins with.
        version: String,
        /// The installed releases of the product.
        installed: Vec<String>,
    },
    /// Another release than the pinned one of a runtime that is a Python package.
    #[error("{product} {version} is not supported: leave `version` out for {pinned}")]
    NotPinned {
        /// The product.
        product: Product,
        /// The release that was asked for.
        version: String,
        /// The pinned release.
        pinned: &'static str,
    },
    /// No home folder is known.
    #[error("cannot determine a cache folder: set TWINFER_HOME to a writable folder")]
    NoHome,
    /// A folder of a library cannot be put on the loader's search path.
    #[error("the loader's search path is not UTF-8: check LD_LIBRARY_PATH and TWINFER_HOME")]
    SearchPath,
    /// pip cannot be started.
    #[error("cannot run `{command}`: install Python 3 with pip ({source})")]
    NoPip {
        /// The command line.
        command: String,
        /// The reason it did not start.
        source: io::Error,
    },
    /// Python cannot be started, or has no version.
    #[error("cannot run `{program}`: install Python {}, and put it on PATH", versions.join(" or "))]
    NoPython {
        /// The program.
        program: &'static str,
        /// The versions that have wheels.
        versions: &'static [&'static str],
    },
    /// The packages of an environment have no wheels for the version of Python.
    #[error(
        "{name} has no wheels for Python {python}: put a {program} of version {} first on PATH",
        versions.join(" or ")
    )]
    PythonVersion {
        /// The product.
        name: Product,
        /// The version of the first Python on `PATH`.
        python: String,
        /// The program that was looked for.
        program: &'static str,
        /// The versions that have wheels.
        versions: Vec<String>,
    },
    /// An environment holds the adapter of another build of twinfer, or was installed for a Python that is gone.
    #[error("{name} was installed {other}: run `twinfer backends install {name}`")]
    Outdated {
        /// The environment.
        name: String,
        /// What is different, as an adverbial phrase.
        other: String,
    },
    /// pip ran and failed.
    #[error("`{command}` failed: {reason}")]
    Pip {
        /// The command line.
        command: String,
        /// The last line of its error output.
        reason: String,
    },
    /// The hash of a file differs from the pinned one.
    #[error("{} has SHA-256 {actual}, expected {expected}: the download is damaged or was replaced, try again", path.display())]
    WrongHash {
        /// The file.
        path: PathBuf,
        /// The pinned hash.
        expected: String,
        /// The hash of the file.
        actual: String,
    },
    /// There is no wheel at the path.
    #[error("there is no file {}: give the path of a wheel, a folder of libraries, or a name from `twinfer backends list`", path.display())]
    NoWheel {
        /// The path.
        path: PathBuf,
    },
    /// A wheel that holds the libraries of no product.
    #[error(
        "no backend libraries in {}: expected {}; those of TensorRT 10 and later are in the wheels tensorrt_cu12_libs and tensorrt_cu13_libs, \
         and wheels of ONNX Runtime hold libonnxruntime.so from 1.19 on: for earlier releases give the unpacked folder of \
         onnxruntime-linux-x64-VERSION.tgz",
        path.display(),
        Product::files_in_words()
    )]
    NoLibrariesInWheel {
        /// The wheel.
        path: PathBuf,
    },
    /// The metadata of a wheel is missing, or is not that of its file name.
    #[error("{} is not the wheel that its name says: {reason}; download it again", path.display())]
    Metadata {
        /// The wheel.
        path: PathBuf,
        /// What does not match.
        reason: String,
    },
    /// The wheel cannot be read, or lacks a library.
    #[error("cannot unpack {file} from {}: {source}", wheel.display())]
    Wheel {
        /// The wheel.
        wheel: PathBuf,
        /// The file inside it.
        file: String,
        /// The reason.
        source: zip::result::ZipError,
    },
    /// A folder holds the libraries of no product.
    #[error("no backend libraries in {}: expected {}", path.display(), Product::files_in_words())]
    NoLibraries {
        /// The folder.
        path: PathBuf,
    },
    /// An archive is none that `twinfer backends pack` wrote.
    #[error("cannot unpack {}: {reason}; give a file that `twinfer backends pack` wrote", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder of the user is registered, not installed, and so not packed.
    #[error("{} is a folder of yours: copy it, and register the copy with `twinfer backends install FOLDER`", path.display())]
    NotPacked {
        /// The folder.
        path: PathBuf,
    },
    /// An installed file is missing or has changed.
    #[error("{} {fault}: run `twinfer backends install {origin}`", path.display())]
    Damaged {
        /// The installed library's name.
        name: String,
        /// What to install again: the name of a package, or the path of a folder.
        origin: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with the file, as a verb phrase.
        fault: &'static str,
    },
    /// A manifest cannot be read.
    #[error("cannot read the manifest {}: remove its folder and install again ({reason})", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The installed releases, in parentheses.
fn beside(installed: &[String]) -> String {
    if installed.is_empty() { String::new() } else { format!(" (installed: {})", installed.join(", ")) }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
