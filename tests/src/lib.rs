//! Running the `twinfer` command and looking at what came of it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::LazyLock,
};

/// The folder `golden` of the workspace: `TWINFER_GOLDEN`, where it was when the tests were compiled, or in the current
/// folder, so that compiled tests run on machines without the toolchain.
pub fn golden() -> PathBuf {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let named = env::var_os("TWINFER_GOLDEN").map(PathBuf::from);
    let found = named.unwrap_or_else(|| if compiled.is_dir() { compiled } else { PathBuf::from("golden") });
    found.canonicalize().unwrap_or(found)
}

/// A folder without findings, for a campaign that is to know of none.
///
/// # Panics
///
/// Where no temporary folder can be made.
pub fn no_findings() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| {
        let folder = env::temp_dir().join("twinfer-tests-no-findings");
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        folder.into_os_string().into_string().expect("a temporary path is UTF-8")
    });
    &FOLDER
}

/// The command under test: `TWINFER_BINARY`, where Cargo put it (`compiled`), or beside the tests.
pub fn executable(compiled: &str) -> PathBuf {
    if let Some(named) = env::var_os("TWINFER_BINARY") {
        return named.into();
    }
    let compiled = PathBuf::from(compiled);
    let beside = || {
        let tests = env::current_exe().ok()?;
        let folders = tests.ancestors().skip(1).take(2);
        let names = compiled.file_name().into_iter().chain(["twinfer".as_ref()]);
        let candidates = names.flat_map(|name| folders.clone().map(move |folder| folder.join(name)));
        candidates.into_iter().find(|candidate| candidate.is_file())
    };
    if compiled.is_file() { compiled } else { beside().unwrap_or(compiled) }
}

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
    pub fn new(program: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        Self(command)
    }

    /// With another home than the user's.
    #[must_use]
    pub fn home(mut self, home: &Path) -> Self {
        self.0.env("TWINFER_HOME", home);
        self
    }

    /// In this folder.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Starts it, with nobody to read what it prints.
    ///
    /// # Panics
    ///
    /// Where the executable does not start.
    pub fn start(mut self) -> Child {
        self.0.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.spawn().expect("the command starts")
    }

    /// Starts it; whoever has it reads what it prints.
    ///
    /// # Panics
    ///
    /// Where the executable does not start.
    pub fn start_heard(mut self) -> Child {
        self.0.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.0.spawn().expect("the command starts")
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// Where the executable does not start or writes something that is no text.
    pub fn run(mut self) -> Outcome {
        Outcome::of(self.0.output().expect("the command starts"))
    }
}

impl Outcome {
    /// What a process left.
    ///
    /// # Panics
    ///
    /// Where it wrote something that is no text.
    pub fn of(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// For a snapshot or a failed assertion: the exit code and both streams.
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code.unwrap_or(-1), self.stdout, self.stderr)
    }
}
