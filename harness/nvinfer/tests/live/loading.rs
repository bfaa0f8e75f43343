//! Errors of loading a library. Each test runs in a process of its own, because a process can load only one release.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use libtest_mimic::{Failed, Trial};
use nvinfer::{Error, Library};
use tempfile::TempDir;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a folder without TensorRT is not found, and the message says what installs it", || {
            let folder = TempDir::new()?;
            expect("NotFound", &[folder.path()], "pip download")
        }),
        Trial::test("a file that is no library cannot be loaded", || {
            let folder = TempDir::new()?;
            let path = folder.path().join("libnvinfer.so.8");
            fs::write(&path, "no library")?;
            expect("Load", &[&path], "LD_LIBRARY_PATH")
        }),
        Trial::test("a library of another kind is refused", || {
            let (_folder, path) = fake("libnvinfer.so.10", "int something_else(void) { return 1; }")?;
            expect("WrongKind", &[&path], "is not a TensorRT library")
        }),
        Trial::test("an unknown major version is refused before anything is called", || {
            let (_folder, path) =
                fake("libnvinfer.so.10", "int getInferLibVersion(void) { return 120000; }")?;
            expect("UnknownVersion", &[&path], "supported: TensorRT 8.4 to 9.2")
        }),
        Trial::test("a library without a builder is a missing symbol", || {
            let (_folder, path) =
                fake("libtensorrt_rtx.so.1", "int getInferLibVersion(void) { return 10701; }")?;
            expect("MissingSymbol", &[&path], "createInferBuilder_INTERNAL")
        }),
        Trial::test("a second release in one process is refused, the first one again is not", || {
            let (_first, first) =
                fake("libtensorrt_rtx.so.1", "int getInferLibVersion(void) { return 10701; }")?;
            let (_second, second) =
                fake("libtensorrt_rtx.so.1", "int getInferLibVersion(void) { return 10701; }")?;
            expect("AlreadyLoaded", &[&first, &first, &second], "a process can hold one release")
        }),
    ]
}

/// Loads the libraries named after `--load`, makes a builder of the last, and prints the error.
pub fn child(arguments: &[String]) -> ExitCode {
    let mut paths = arguments.iter().skip_while(|argument| *argument != "--load").skip(1).peekable();
    while let Some(path) = paths.next() {
        match (Library::load(path), paths.peek()) {
            (Err(error), _) => println!("{}: {error}", kind(&error)),
            (Ok(_), Some(_)) => println!("loaded"),
            (Ok(library), None) => match library.create_builder() {
                Ok(_) => println!("made a builder"),
                Err(error) => println!("{}: {error}", kind(&error)),
            },
        }
    }
    ExitCode::SUCCESS
}

fn kind(error: &Error) -> String {
    format!("{error:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn expect(kind: &str, paths: &[&Path], text: &str) -> Result<(), Failed> {
    let output = Command::new(env::current_exe()?).arg("--load").args(paths).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = printed.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{}: {printed}", output.status);
    assert!(last.starts_with(&format!("{kind}: ")) && last.contains(text), "{printed}");
    let path = paths.last().map(|path| path.display().to_string()).unwrap_or_default();
    assert!(last.contains(&path), "{last} does not name {path}");
    assert_eq!(printed.lines().filter(|line| *line == "loaded").count(), paths.len() - 1, "{printed}");
    Ok(())
}

/// A shared object that exports the given C functions.
fn fake(name: &str, source: &str) -> Result<(TempDir, PathBuf), Failed> {
    let folder = TempDir::new()?;
    let (code, path) = (folder.path().join("fake.c"), folder.path().join(name));
    fs::write(&code, source)?;
    let status = Command::new("cc").arg("-shared").arg("-fPIC").arg("-o").arg(&path).arg(&code).status()?;
    if status.success() { Ok((folder, path)) } else { Err(format!("cc: {status}").into()) }
}
