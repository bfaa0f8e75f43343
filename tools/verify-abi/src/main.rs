//! `verify-abi`: checks nvinfer's tables against TensorRT's headers.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use twinfer_verify_abi::{Comparison, Coverage, CrateSource, Error, Headers};

/// Checks nvinfer's tables against TensorRT's headers, with clang.
///
/// Prints every difference, and a summary of each folder.
#[derive(Parser)]
#[command(
    name = "verify-abi",
    version,
    after_help = "Exit status: 0 no difference, 1 differences, 2 wrong usage, 3 clang, cargo or a file failed."
)]
struct Arguments {
    /// Folders that hold NvInfer.h and NvOnnxParser.h
    #[arg(value_name = "HEADERS", required_unless_present_any = ["crates", "table"])]
    folders: Vec<PathBuf>,
    /// Check every folder of headers in the source of a crates.io package
    #[arg(long = "from-crate", value_name = "NAME@VERSION")]
    crates: Vec<CrateSource>,
    /// Print, instead of differences, a Markdown table of the evidence for each method, from the headers and from
    /// the lists of called methods in this folder
    #[arg(long, value_name = "CALL_LISTS")]
    table: Option<PathBuf>,
    /// The clang to compile with
    #[arg(long, value_name = "PROGRAM", default_value = "clang++")]
    clang: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let mut folders = arguments.folders.clone();
    for source in &arguments.crates {
        folders.extend(source.header_folders()?);
    }
    let mut comparisons = Vec::new();
    for folder in &folders {
        let comparison = Comparison::new(&Headers::read(folder, &arguments.clang)?)?;
        if arguments.table.is_none() {
            print!("{comparison}");
        }
        comparisons.push(comparison);
    }
    if let Some(lists) = &arguments.table {
        print!("{}", Coverage::collect(lists, &comparisons)?.markdown());
    }
    let is_same = comparisons.iter().all(|comparison| comparison.differences.is_empty());
    Ok(ExitCode::from(u8::from(!is_same)))
}
