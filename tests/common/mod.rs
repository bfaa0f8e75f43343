//! Running the `twinfer` command and looking at what came of it.

use std::{
    path::Path,
    process::{Command, Output},
};

/// The command with some arguments, in a folder and with a home of its own where a test asks for them.
pub struct Twinfer(Command);

/// What a run of the command left.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Twinfer {
    pub fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_twinfer-under-test"));
        command.args(arguments).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
        Self(command)
    }

    pub fn home(mut self, home: &Path) -> Self {
        self.0.env("TWINFER_HOME", home);
        self
    }

    pub fn run(mut self) -> Outcome {
        let Output { status, stdout, stderr } = self.0.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Outcome { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Outcome {
    /// For a snapshot: the exit code and both streams.
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code.unwrap_or(-1), self.stdout, self.stderr)
    }
}
