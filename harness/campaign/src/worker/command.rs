use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use twinfer_case::{Backend, Variant};

/// The environment variable that sets up glibc's allocator, and what workers are started with unless it is set.
///
/// A build allocates tens of megabytes and frees them. By default glibc gives such memory back to the kernel, and takes it
/// again for the next build, a page fault at each first touch of a page: with TensorRT-RTX more than half of the
/// processor's time. A worker rather keeps what it needed once. (Tunables of the GNU C library's manual, 39.2.)
pub const ALLOCATOR: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864",
);

/// The command that starts a worker of a built-in backend; `external:` variants bring their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set besides the supervisor's own.
    pub env: Vec<(String, String)>,
}

impl WorkerCommand {
    /// `program` without arguments, whose allocator keeps memory: see [`ALLOCATOR`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let allocator = env::var_os(ALLOCATOR.0).is_none().then_some(ALLOCATOR);
        let env = allocator.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self { program: program.into(), args: Vec::new(), env: env.into_iter().collect() }
    }

    /// The command for `variant`: this one, or an external variant's own words, split at spaces.
    pub(crate) fn for_variant(&self, variant: &Variant) -> Command {
        let mut command = if let Backend::External(line) = &variant.backend {
            let mut words = line.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        } else {
            let mut command = Command::new(&self.program);
            command.args(&self.args);
            command
        };
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}
