//! The safe layer against real libraries.
//!
//! A process can load only one release, so this program starts itself for each: `live` finds the installed releases
//! and makes a test of each; `live --library FOLDER` runs the suite against one, and can be copied to a machine with
//! a GPU. The list of called methods is written to the file that `NVINFER_CALLS` names.
#![expect(unsafe_code, reason = "device addresses and streams come from outside")]

mod config;
mod device;
mod engine;
mod loading;
mod logger;
mod memory;
mod models;
mod network;
mod parser;
mod suite;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use libtest_mimic::{Arguments, Trial};
use twinfer_libraries::Store;

/// Releases that the suite installs if it can: the newest, and the oldest of the family before.
const INSTALLED_ON_FIRST_USE: [&str; 2] = ["tensorrt-rtx-1.7", "tensorrt-rtx-1.4"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    match arguments.iter().position(|argument| argument == "--library") {
        Some(at) if at + 1 < arguments.len() => {
            suite::run(Path::new(&arguments[at + 1]), &arguments[at + 2..])
        }
        _ if arguments.iter().any(|argument| argument == "--load") => loading::child(&arguments),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let releases = releases().into_iter().map(|(name, folder)| {
        Trial::test(format!("the suite passes against {name}"), move || against(&folder))
    });
    loading::trials().into_iter().chain(releases).collect()
}

fn releases() -> Vec<(String, PathBuf)> {
    let Ok(store) = Store::open() else { return Vec::new() };
    for name in INSTALLED_ON_FIRST_USE {
        if let Err(error) = store.ensure(name, &mut |step| eprintln!("{step}")) {
            eprintln!("skipped {name}: {error}");
        }
    }
    let mut releases: Vec<_> = store
        .list()
        .unwrap_or_default()
        .into_iter()
        .filter(|installed| installed.name.starts_with("tensorrt"))
        .map(|installed| (format!("{} {}", installed.name, installed.version), installed.directory))
        .collect();
    releases.sort();
    releases
}

fn against(folder: &Path) -> Result<(), libtest_mimic::Failed> {
    let child = Command::new(env::current_exe()?)
        .arg("--library")
        .arg(folder)
        .stdin(Stdio::null())
        .env("LD_LIBRARY_PATH", stand_ins(folder))
        .output()?;
    let text = String::from_utf8_lossy(&child.stdout);
    let skipped: Vec<&str> = text.lines().filter(|line| line.starts_with("skipped: ")).collect();
    println!("{}{}", text.lines().last().unwrap_or_default(), skipped.first().unwrap_or(&""));
    if child.status.success() {
        Ok(())
    } else {
        Err(format!("{}\n{text}{}", child.status, String::from_utf8_lossy(&child.stderr)).into())
    }
}

/// The search path with the folder's stand-ins for libraries that TensorRT 8's plugins name and no test uses.
fn stand_ins(folder: &Path) -> String {
    let inherited = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    format!("{inherited}:{}", folder.join("stand-ins").display())
}
