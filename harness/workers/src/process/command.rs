use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use twinfer_case::{BackendName, PoisonPattern, TrustedVariant, WorkerLimits};
use twinfer_keeper::{KEEPER_VARIABLE, Settings, TEMPORARY_FOLDER_VARIABLE};

use super::program;

/// Environment variables for workers, unless the supervisor's own environment sets them.
const ENVIRONMENT: [(&str, &str); 2] = [ALLOCATOR, LAZY_LOADING];

/// The environment variable that configures glibc's allocator, and its value.
///
/// A build allocates tens of megabytes and frees them. By default glibc returns such memory to the kernel and requests it
/// again for the next build, with a page fault at the first touch of every page: more than half of the processor time with
/// TensorRT-RTX. With these settings a worker keeps memory that it has needed once, in huge pages if the system has
/// some: a worker of TensorRT touches 780,000 small pages while it starts. (Tunables: manual of the GNU C library, 39.2.)
pub const ALLOCATOR: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864:\
     glibc.malloc.hugetlb=1",
);

/// Loads kernels when they are first launched, the default since CUDA 12.2: less memory, and TensorRT logs a warning
/// otherwise.
const LAZY_LOADING: (&str, &str) = ("CUDA_MODULE_LOADING", "LAZY");

/// The command that starts a worker of a built-in backend. An `external:` variant names its own command, backends that are Python
/// packages have adapters, and some backends have [programs](BackendName::program).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// The executable's arguments.
    pub args: Vec<String>,
    /// The command lines of adapters, by the library of their variants ([`Variant::library`](twinfer_case::Variant::library)).
    pub adapters: BTreeMap<String, Vec<OsString>>,
    /// A program that starts the worker, and its own arguments; empty for none.
    pub launcher: Vec<OsString>,
    /// Environment variables to set in addition to the supervisor's own.
    pub env: Vec<(String, String)>,
    /// Whether the executable also keeps workers, as [`twinfer_keeper`] describes. Without a keeper, processes that a worker
    /// starts can outlive it.
    pub keeps_workers: bool,
    /// What each worker may use of the machine.
    pub limits: WorkerLimits,
}

impl WorkerCommand {
    /// `program` without arguments, which also keeps workers, with the allocator tuned for workers (see [`ALLOCATOR`]) unless the environment
    /// configures it.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let unset = ENVIRONMENT.iter().filter(|(key, _)| env::var_os(key).is_none());
        let env = unset.map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Self {
            program: program.into(),
            args: Vec::new(),
            adapters: BTreeMap::new(),
            launcher: Vec::new(),
            env,
            keeps_workers: true,
            limits: WorkerLimits::default(),
        }
    }

    /// This command, with workers started as the last arguments of `launcher`: a program and its own arguments.
    #[must_use]
    pub fn under(self, launcher: Vec<OsString>) -> Self {
        Self { launcher, ..self }
    }

    /// This command for workers whose allocator fills memory before it hands it out, and after it was freed with the complement.
    pub(crate) fn filling_memory(&self, pattern: PoisonPattern) -> Self {
        let (key, _) = ALLOCATOR;
        let own = self.env.iter().rfind(|(name, _)| name == key).map(|(_, value)| value.clone());
        let inherited = || env::var(key).ok();
        let mut tunables = own.or_else(inherited).filter(|value| !value.is_empty()).unwrap_or_default();
        if !tunables.is_empty() {
            tunables.push(':');
        }
        // the bytes of memory that is handed out are the complement of this number, those of freed memory the number itself;
        // blocks that come from the cache of a thread would be left as they are
        let freed = !host_byte(pattern);
        let tunables = format!("{tunables}glibc.malloc.tcache_count=0:glibc.malloc.perturb={freed}");
        let mut command = self.clone();
        command.env.retain(|(name, _)| name != key);
        command.env.push((key.to_owned(), tunables));
        command
    }

    /// The process to spawn for `variant`, for a worker with this folder for temporary files.
    pub(crate) fn for_variant(
        &self,
        variant: &TrustedVariant,
        temporary_folder: &Path,
    ) -> io::Result<Command> {
        let worker = self.worker(variant)?;
        let mut command = if self.keeps_workers {
            let temporary_folder = temporary_folder.to_owned();
            let supervisor = std::process::id();
            let settings =
                Settings { command: worker, supervisor, temporary_folder, file_bytes: self.limits.disk };
            let mut command = Command::new(&self.program);
            command.args(&self.args).env(KEEPER_VARIABLE, settings.to_value()?);
            command
        } else {
            let mut words = worker.into_iter();
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).env(TEMPORARY_FOLDER_VARIABLE, temporary_folder);
            command
        };
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// The worker's own command line: this one, an adapter's, or an external variant's, split at spaces.
    fn worker(&self, variant: &TrustedVariant) -> io::Result<Vec<OsString>> {
        if let BackendName::External(line) = &variant.backend {
            return Ok(line.split_whitespace().map(OsString::from).collect());
        }
        if variant.backend.has_adapter() {
            return self.adapter(variant);
        }
        if let Some(program) = variant.backend.program() {
            return Ok(vec![program::find(program, variant, &self.program)?.into_os_string()]);
        }
        let program = self.program.clone().into_os_string();
        let args = self.args.iter().map(OsString::from);
        Ok(self.launcher.iter().cloned().chain([program]).chain(args).collect())
    }

    fn adapter(&self, variant: &TrustedVariant) -> io::Result<Vec<OsString>> {
        let library = variant.library();
        let line = library.as_ref().and_then(|library| self.adapters.get(library));
        line.cloned().ok_or_else(|| {
            let label = variant.backend.label();
            let reason = format!("{variant} has no adapter: run `twinfer backends install {label}`");
            io::Error::new(io::ErrorKind::NotFound, reason)
        })
    }
}

/// The byte that stands for `pattern` in memory of the host, which glibc fills with one byte: a NaN in 16-bit floats and a
/// negative number in other types, or a large positive number.
const fn host_byte(pattern: PoisonPattern) -> u8 {
    match pattern {
        PoisonPattern::Nan => 0xfe,
        PoisonPattern::Large => 0x7b,
    }
}

#[cfg(test)]
mod tests {
    use std::{env, path::Path};

    use twinfer_case::{PoisonPattern, TrustedVariant};

    use super::{ALLOCATOR, ENVIRONMENT, WorkerCommand};

    #[test]
    fn memory_is_filled_beside_other_tunables() {
        let tunables = |env: &[(&str, &str)], pattern| {
            let env = env.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let command = WorkerCommand { env, ..WorkerCommand::new("worker") }.filling_memory(pattern);
            let (_, value) = command.env.iter().rfind(|(key, _)| key == ALLOCATOR.0).unwrap();
            value.clone()
        };
        let given = [(ALLOCATOR.0, "glibc.malloc.top_pad=1"), ("OTHER", "1")];
        let uncached = "glibc.malloc.tcache_count=0";
        assert_eq!(
            tunables(&given, PoisonPattern::Nan),
            format!("glibc.malloc.top_pad=1:{uncached}:glibc.malloc.perturb=1")
        );
        assert_eq!(
            tunables(&given, PoisonPattern::Large),
            format!("glibc.malloc.top_pad=1:{uncached}:glibc.malloc.perturb=132")
        );
    }

    #[test]
    fn worker_of_a_python_package_is_its_adapter() {
        let variant = TrustedVariant::vouch("openvino".parse().unwrap());
        let mut command = WorkerCommand { keeps_workers: false, ..WorkerCommand::new("twinfer") };
        let missing = command.for_variant(&variant, Path::new("/tmp")).unwrap_err();
        assert_eq!(missing.to_string(), "openvino has no adapter: run `twinfer backends install openvino`");
        let line = ["python3", "adapter.py"].map(Into::into).to_vec();
        command.adapters.insert("openvino".to_owned(), line);
        let started = command.for_variant(&variant, Path::new("/tmp")).unwrap();
        assert_eq!((started.get_program(), started.get_args().count()), ("python3".as_ref(), 1));
    }

    #[test]
    fn variables_of_the_environment_are_kept() {
        let command = WorkerCommand::new("worker");
        for (key, value) in ENVIRONMENT {
            let is_set_here = command.env.contains(&(key.to_owned(), value.to_owned()));
            assert_eq!(is_set_here, env::var_os(key).is_none(), "{key}");
        }
    }
}
