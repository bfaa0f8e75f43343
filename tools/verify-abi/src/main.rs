//! `verify-abi`: checks nvinfer's tables against TensorRT's headers.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use twinfer_verify_abi::{
    Comparison, Coverage, CrateSource, Error, Headers, NumberedLibrary, VtableLengths, markdown,
};

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
    #[arg(value_name = "HEADERS", required_unless_present_any = ["crates", "table", "libraries"])]
    folders: Vec<PathBuf>,
    /// Check every folder of headers in the source of a crates.io package
    #[arg(long = "from-crate", value_name = "NAME@VERSION")]
    crates: Vec<CrateSource>,
    /// Print, instead of differences, a Markdown table of the evidence for each method, from the headers and from
    /// the lists of called methods in this folder
    #[arg(long, value_name = "CALL_LISTS")]
    table: Option<PathBuf>,
    /// Print, instead of differences, a Markdown table of the lengths of vtables in these libraries, each with its release's
    /// number, such as 8501=libnvinfer.so.8; a table of nvinfer that uses more entries is a difference
    #[arg(long = "library", value_name = "NUMBER=FILE", conflicts_with_all = ["folders", "crates", "table"])]
    libraries: Vec<NumberedLibrary>,
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
    if !arguments.libraries.is_empty() {
        return print_lengths(&arguments.libraries);
    }
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

fn print_lengths(libraries: &[NumberedLibrary]) -> Result<ExitCode, Error> {
    let releases = libraries.iter().map(VtableLengths::read).collect::<Result<Vec<_>, _>>()?;
    print!("{}", markdown(&releases));
    for release in &releases {
        for interface in release.exceeded() {
            println!(
                "difference: {}: {interface} has fewer virtual functions than the tables use",
                release.version
            );
        }
    }
    let is_same = releases.iter().all(|release| release.exceeded().next().is_none());
    Ok(ExitCode::from(u8::from(!is_same)))
}
