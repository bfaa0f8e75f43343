use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use libloading::os::unix::{Library as SharedObject, RTLD_LAZY, RTLD_LOCAL};

use crate::{
    Error, Message, Product, Result, Sink, Version, driver, locate,
    logger::{Logger, Mark},
    sys::{
        Ptr,
        export::{self, Export},
        table,
    },
};

/// A loaded release of TensorRT or TensorRT-RTX; a handle that is cheap to copy and usable from any thread.
///
/// A process holds one release until it ends: releases share sonames, and the ONNX parser binds to whichever was
/// loaded first.
#[derive(Clone, Copy)]
pub struct Library(&'static Loaded);

struct Loaded {
    path: PathBuf,
    version: Version,
    core: SharedObject,
    parser: OnceLock<std::result::Result<Parser, (PathBuf, String)>>,
    logger: &'static Logger,
}

struct Parser {
    shared: SharedObject,
    path: PathBuf,
}

/// The type of the exported functions that create builders and runtimes.
pub(crate) type Create = unsafe extern "C" fn(Ptr, i32) -> Ptr;

/// What this process has loaded: the file, and the library if loading succeeded.
static HELD: Mutex<Option<(PathBuf, Option<Library>)>> = Mutex::new(None);

impl Library {
    /// Loads the release in a folder, or the core library with this file name.
    ///
    /// Loading the same file again returns the same library. Loading another file fails with
    /// [`Error::AlreadyLoaded`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = locate::core(path.as_ref())?;
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some((loaded, Some(library))) if *loaded == path => return Ok(*library),
            Some((loaded, _)) if *loaded != path => {
                return Err(Error::AlreadyLoaded { requested: path, loaded: loaded.clone() });
            }
            _ => {}
        }
        for companion in locate::companions(&path, "libnvinfer_builder_resource.so") {
            // The core library looks for this one by name only; kept loaded for good.
            std::mem::forget(open(&companion));
        }
        let core = open(&path)?;
        *held = Some((path.clone(), None));
        let number = match symbol(&core, &export::GET_INFER_LIB_VERSION) {
            // SAFETY: the function takes nothing and returns the version number; it has C linkage in every release.
            Some(get_version) => unsafe { get_version() },
            None => return Err(Error::WrongKind { path }),
        };
        let Some(version) = u32::try_from(number).ok().and_then(Version::from_number) else {
            return Err(Error::UnknownVersion { path, number });
        };
        let logger = Logger::new(version);
        let loaded = Loaded { path: path.clone(), version, core, parser: OnceLock::new(), logger };
        let library = Self(Box::leak(Box::new(loaded)));
        *held = Some((path, Some(library)));
        Ok(library)
    }

    /// The release.
    pub fn version(self) -> Version {
        self.0.version
    }

    /// The path of the core library.
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Sends the library's log messages to `sink`, or discards them if it is `None`. Returns the previous sink.
    ///
    /// The sink is called on the library's thread that logs. TensorRT has one logger per process, so this is
    /// a property of the library, not of a builder.
    pub fn set_log_sink(self, sink: Option<Sink>) -> Option<Sink> {
        self.0.logger.set_sink(sink)
    }

    /// Loads `stand_in` under its file name, unless the dynamic loader finds a library of that name by itself.
    ///
    /// TensorRT 8's plugin library, which the ONNX parser needs, links cuBLAS and cuDNN by name. A program that uses
    /// no plugin can stand in empty libraries for them before it makes its first parser.
    pub fn provide(self, stand_in: &Path) -> Result<()> {
        let name = stand_in.file_name().map_or(stand_in, Path::new);
        std::mem::forget(open(name).or_else(|_| open(stand_in))?);
        Ok(())
    }

    /// Checks that a builder finds the lean runtime of its release, which it copies into version-compatible engines: beside the
    /// core library, or where the dynamic loader looks for `libnvinfer_lean.so` with the release's three numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Load`] with the reason of the dynamic loader.
    pub fn check_lean_runtime(self) -> Result<()> {
        let (major, minor, patch) = self.version().parts();
        let name = format!("libnvinfer_lean.so.{major}.{minor}.{patch}");
        if !locate::companions(self.path(), &name).is_empty() {
            return Ok(());
        }
        // kept loaded for good, so that the builder finds what was found here
        std::mem::forget(open(Path::new(&name))?);
        Ok(())
    }

    /// Calls the exported function `entry`, which creates a builder or a runtime; null if it fails. The mark is where the log was
    /// before.
    pub(crate) fn create(self, call: &'static str, entry: &Export<Create>) -> Result<(Mark, Ptr)> {
        let version = self.0.version;
        if version.product() == Product::TensorRt {
            driver::device_count().map_err(|reason| Error::NoGpu { version, call, reason })?;
        }
        let create = symbol(&self.0.core, entry).ok_or_else(|| Error::MissingSymbol {
            path: self.0.path.clone(),
            version,
            symbol: entry.name,
        })?;
        let mark = self.mark();
        // SAFETY: both entry points take a logger, whose vtable has this release's shape and which is never freed,
        // and the version number of the headers, which must be the library's own.
        Ok((mark, unsafe { create(self.0.logger.as_ptr(), version.number().cast_signed()) }))
    }

    /// Creates an ONNX parser that fills `network`.
    pub(crate) fn create_parser(self, network: table::INetworkDefinition) -> Result<table::IParser> {
        let version = self.0.version;
        let Parser { shared, path } = self.parser()?;
        let missing = |symbol| Error::MissingSymbol { path: path.clone(), version, symbol };
        let get_version = symbol(shared, &export::GET_NV_ONNX_PARSER_VERSION)
            .ok_or_else(|| missing(export::GET_NV_ONNX_PARSER_VERSION.name))?;
        let create = symbol(shared, &export::CREATE_NV_ONNX_PARSER)
            .ok_or_else(|| missing(export::CREATE_NV_ONNX_PARSER.name))?;
        let mark = self.mark();
        // SAFETY: the entry point takes a live network, the library's logger, which is never freed, and the version
        // number of the parser's own headers.
        let raw = unsafe { create(network.0.as_ptr(), self.0.logger.as_ptr(), get_version()) };
        table::IParser::new(version, raw).ok_or_else(|| self.refused("createParser", mark))
    }

    /// The ONNX parser's shared object, loaded on first use: a program that only uses the network API does not need
    /// it.
    fn parser(self) -> Result<&'static Parser> {
        let (version, core) = (self.0.version, &self.0.path);
        let path = locate::parser(core, version.product(), version.parts().0)?;
        let loaded = self.0.parser.get_or_init(|| {
            for companion in locate::companions(core, "libnvinfer_plugin.so") {
                // The parser needs this one by name only; kept loaded for good. If it cannot be loaded, the parser
                // cannot either, and says why.
                std::mem::forget(open(&companion));
            }
            match open(&path) {
                Ok(shared) => Ok(Parser { shared, path }),
                Err(Error::Load { path, reason }) => Err((path, reason)),
                Err(other) => Err((path, other.to_string())),
            }
        });
        loaded.as_ref().map_err(|(path, reason)| Error::Load { path: path.clone(), reason: reason.clone() })
    }

    pub(crate) fn log(self, message: &Message) {
        self.0.logger.log(message);
    }

    pub(crate) fn mark(self) -> Mark {
        self.0.logger.mark()
    }

    pub(crate) fn refused(self, call: &'static str, since: Mark) -> Error {
        Error::Refused { call, reason: self.0.logger.errors_since(since) }
    }

    /// Runs a call that returns null or false when it fails.
    pub(crate) fn expect<T>(
        self,
        call: &'static str,
        run: impl FnOnce() -> std::result::Result<Option<T>, crate::Unsupported>,
    ) -> Result<T> {
        let mark = self.mark();
        run()?.ok_or_else(|| self.refused(call, mark))
    }

    /// Runs a call that returns false when it fails.
    pub(crate) fn expect_true(
        self,
        call: &'static str,
        run: impl FnOnce() -> std::result::Result<bool, crate::Unsupported>,
    ) -> Result<()> {
        self.expect(call, || Ok(run()?.then_some(())))
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.0.version, self.0.path.display())
    }
}

fn open(path: &Path) -> Result<SharedObject> {
    // SAFETY: loading runs the library's initializers. They are the vendor's and have no preconditions; lazy
    // binding leaves symbols of libraries that are absent unresolved until they are called, which they are not.
    unsafe { SharedObject::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }
        .map_err(|error| Error::Load { path: path.to_owned(), reason: driver::reason(&error) })
}

/// An exported function; libraries are never unloaded, so it stays valid.
fn symbol<F: Copy>(shared: &SharedObject, export: &Export<F>) -> Option<F> {
    // SAFETY: an export names its C signature, which is the same in every release; verify-abi compares it with the
    // headers.
    unsafe { shared.get::<F>(export.name).ok().map(|symbol| *symbol) }
}
