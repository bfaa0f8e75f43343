use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use twinfer_case::{BackendName, Variant};

/// Environment variables that workers are started with where the supervisor's own environment does not set them.
const ENVIRONMENT: [(&str, &str); 2] = [ALLOCATOR, LAZY_LOADING];

/// The variable that sets up glibc's allocator, and its value.
///
/// A build allocates tens of megabytes and frees them. By default glibc gives such memory back to the kernel, and takes it
/// again for the next build, a page fault at each first touch of a page: with TensorRT-RTX more than half of the
/// processor's time. A worker rather keeps what it needed once, in huge pages where the system has some to give: starting one
/// with TensorRT touches 780,000 small ones. (Tunables of the GNU C library's manual, 39.2.)
pub const ALLOCATOR: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864:\
     glibc.malloc.hugetlb=1",
);

/// Kernels are loaded when they are first launched, as CUDA 12.2 and later do by themselves: less memory, and TensorRT
/// does not warn that they are not.
const LAZY_LOADING: (&str, &str) = ("CUDA_MODULE_LOADING", "LAZY");

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
    /// `program` without arguments, set up to be fast unless the environment says otherwise: see [`ALLOCATOR`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let unset = ENVIRONMENT.iter().filter(|(key, _)| env::var_os(key).is_none());
        let env = unset.map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Self { program: program.into(), args: Vec::new(), env }
    }

    /// The command for `variant`: this one, or an external variant's own words, split at spaces.
    pub(crate) fn for_variant(&self, variant: &Variant) -> Command {
        let mut command = if let BackendName::External(line) = &variant.backend {
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

#[cfg(test)]
mod tests {
    use std::env;

    use super::{ENVIRONMENT, WorkerCommand};

    #[test]
    fn what_the_environment_says_is_left_to_it() {
        let command = WorkerCommand::new("worker");
        for (key, value) in ENVIRONMENT {
            let ours = command.env.contains(&(key.to_owned(), value.to_owned()));
            assert_eq!(ours, env::var_os(key).is_none(), "{key}");
        }
    }
}
