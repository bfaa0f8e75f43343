//! Running the `twinfer` command and looking at what came of it.

use std::{
    path::Path,
    process::{Command, Output},
};

/// A run of the command that is about to start.
pub struct Twinfer(Command);

/// What a run of the command left.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it told besides.
    pub stderr: String,
}

impl Twinfer {
    /// The executable `program` with `arguments`, without colours.
    pub fn new(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        Self(command)
    }

    /// With another home than the user's.
    #[must_use]
    pub fn home(mut self, home: &Path) -> Self {
        self.0.env("TWINFER_HOME", home);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// Where the executable does not start or writes something that is no text.
    pub fn run(mut self) -> Outcome {
        let Output { status, stdout, stderr } = self.0.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Outcome { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Outcome {
    /// For a snapshot or a failed assertion: the exit code and both streams.
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code.unwrap_or(-1), self.stdout, self.stderr)
    }
}
