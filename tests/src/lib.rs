//! Runs the `twinfer` command in tests and captures its output.
//!
//! ```no_run
//! use twinfer_tests::Twinfer;
//!
//! let outcome = Twinfer::new("target/debug/twinfer", &["backends", "list"]).run();
//! assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
//! ```

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::LazyLock,
};

/// The folder `golden` of the workspace.
///
/// Compiled tests also run on machines without the toolchain: the environment variable `TWINFER_GOLDEN` takes precedence
/// over the path at compile time, and the current folder is the last resort.
pub fn golden() -> PathBuf {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let named = env::var_os("TWINFER_GOLDEN").map(PathBuf::from);
    let found = named.unwrap_or_else(|| if compiled.is_dir() { compiled } else { PathBuf::from("golden") });
    found.canonicalize().unwrap_or(found)
}

/// An empty folder, for campaigns that must not have known findings.
///
/// # Panics
///
/// Panics if no temporary folder can be created.
pub fn no_findings() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| {
        let folder = env::temp_dir().join("twinfer-tests-no-findings");
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        folder.into_os_string().into_string().expect("a temporary path is UTF-8")
    });
    &FOLDER
}

/// The executable under test: `TWINFER_BINARY` if set, otherwise `compiled`, where Cargo put it, otherwise a file of the same
/// name or `twinfer` beside the test executable or in its parent folder.
pub fn executable(compiled: &str) -> PathBuf {
    if let Some(named) = env::var_os("TWINFER_BINARY") {
        return named.into();
    }
    let compiled = PathBuf::from(compiled);
    if compiled.is_file() { compiled } else { beside_tests(&compiled).unwrap_or(compiled) }
}

fn beside_tests(compiled: &Path) -> Option<PathBuf> {
    let tests = env::current_exe().ok()?;
    let folders = tests.ancestors().skip(1).take(2);
    let names = compiled.file_name().into_iter().chain(["twinfer".as_ref()]);
    let mut candidates = names.flat_map(|name| folders.clone().map(move |folder| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// A `twinfer` command that has not started yet.
pub struct Twinfer(Command);

/// The result of a `twinfer` command.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// The text on standard output.
    pub stdout: String,
    /// The text on standard error.
    pub stderr: String,
}

impl Twinfer {
    /// The executable `program` with `arguments`, without colors.
    pub fn new(program: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        Self(command)
    }

    /// Sets `TWINFER_HOME`, the folder of installed libraries.
    #[must_use]
    pub fn home(mut self, home: &Path) -> Self {
        self.0.env("TWINFER_HOME", home);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Sends standard output to `file`.
    #[must_use]
    pub fn output_to(mut self, file: fs::File) -> Self {
        self.0.stdout(file);
        self
    }

    /// Sends standard error to `file`.
    #[must_use]
    pub fn errors_to(mut self, file: fs::File) -> Self {
        self.0.stderr(file);
        self
    }

    /// Starts the command and discards its output.
    ///
    /// # Panics
    ///
    /// Panics if the executable does not start.
    pub fn start(mut self) -> Child {
        self.0.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.spawn().expect("the command starts")
    }

    /// Starts the command with piped output, which the caller must read.
    ///
    /// # Panics
    ///
    /// Panics if the executable does not start.
    pub fn start_with_output(mut self) -> Child {
        self.0.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.0.spawn().expect("the command starts")
    }

    /// Runs the command and waits for its end.
    ///
    /// # Panics
    ///
    /// Panics if the executable does not start or its output is not UTF-8.
    pub fn run(mut self) -> Outcome {
        Outcome::of(self.0.output().expect("the command starts"))
    }
}

impl Outcome {
    /// The result of a finished process.
    ///
    /// # Panics
    ///
    /// Panics if the output is not UTF-8.
    pub fn of(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// The exit code and both streams as one text, for snapshots and assertion messages.
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code.unwrap_or(-1), self.stdout, self.stderr)
    }
}
