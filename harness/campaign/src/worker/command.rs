use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use twinfer_case::{Backend, Variant};

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
    /// `program` without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args: Vec::new(), env: Vec::new() }
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
