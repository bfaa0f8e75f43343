//! NVIDIA's compute-sanitizer: a case runs in a worker under it, and what it reports is a confirmation by other means.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use twinfer_case::{EncodedCase, MemoryMode, Observation, TrustedVariant, Variant};
use twinfer_store::read_preceding;
use twinfer_workers::{WorkerCommand, run_batch};

use crate::{TargetError, read_case};

/// How long a worker may take under the sanitizer, which makes kernels ten to a hundred times slower.
const LIMIT: Duration = Duration::from_mins(20);
/// The most bytes of a report that are read, and the most lines of it that are kept.
const MAX_BYTES: u64 = 1 << 20;
const MAX_LINES: usize = 60;
/// Begins every line of a report.
const PREFIX: &str = "=========";
/// The line that ends a complete report, before the number of errors.
const SUMMARY: &str = "ERROR SUMMARY: ";

/// The program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sanitizer {
    program: PathBuf,
}

/// What the sanitizer looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SanitizerTool {
    /// Accesses outside of blocks of memory, and of blocks that were freed.
    Memcheck,
    /// Reads of device memory that was never written.
    Initcheck,
}

/// What the sanitizer says of a variant on a case.
#[derive(Clone, Debug, PartialEq)]
pub struct SanitizerReport {
    /// The variant, with `memory=off`.
    pub variant: Variant,
    /// What was looked for.
    pub tool: SanitizerTool,
    /// What the variant did with the case; `None` if its worker did not get that far.
    pub observation: Option<Observation>,
    /// The first lines of the report, without the sanitizer's prefix.
    pub lines: Vec<String>,
    /// The number of errors; `None` if the report has no end.
    pub errors: Option<u64>,
}

impl Sanitizer {
    /// The sanitizer whose program is at `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Runs the case of the finding in `folder`, after the cases that it needs before it, on each of `variants` under each tool. Nothing
    /// is changed in their memory, each variant that differs in that alone runs once, and those that use no CUDA do not run.
    ///
    /// # Errors
    ///
    /// If the finding cannot be read, a worker does not start, or the sanitizer writes no report.
    pub fn replay(
        &self,
        folder: &Path,
        variants: &[TrustedVariant],
        worker: &WorkerCommand,
    ) -> Result<Vec<SanitizerReport>, TargetError> {
        let history = read_preceding(folder)?.into_iter().map(EncodedCase::encode);
        let mut cases = history.collect::<Result<Vec<_>, _>>()?;
        cases.push(EncodedCase::encode(read_case(folder)?)?);
        let mut untouched: Vec<TrustedVariant> = Vec::new();
        for variant in variants.iter().filter(|variant| variant.backend.loads_cuda_runtime()) {
            let variant = variant.with_memory(MemoryMode::Off);
            if !untouched.contains(&variant) {
                untouched.push(variant);
            }
        }
        let tasks: Vec<_> = cases.iter().map(|case| &case.task).collect();
        let mut reports = Vec::new();
        for variant in &untouched {
            for tool in SanitizerTool::ALL {
                let scratch = tempfile::tempdir().map_err(TargetError::Sanitizer)?;
                let log = scratch.path().join("report");
                let command = worker.clone().under(self.command(tool, &log));
                let mut observations = run_batch(&command, variant, &tasks, LIMIT)?;
                let observation = observations.pop().filter(|_| observations.len() + 1 == tasks.len());
                let text = read_report(&log).map_err(TargetError::Sanitizer)?;
                let (lines, errors) = (lines_of(&text), errors_of(&text));
                let variant = (**variant).clone();
                reports.push(SanitizerReport { variant, tool, observation, lines, errors });
            }
        }
        Ok(reports)
    }

    /// The sanitizer with arguments, before the program that it watches.
    fn command(&self, tool: SanitizerTool, log: &Path) -> Vec<OsString> {
        let words =
            [OsStr::new("--tool"), OsStr::new(tool.name()), OsStr::new("--log-file"), log.as_os_str()];
        [self.program.as_os_str()].into_iter().chain(words).map(OsStr::to_owned).collect()
    }
}

impl SanitizerTool {
    /// Both tools, in the order in which they run.
    pub const ALL: [Self; 2] = [Self::Memcheck, Self::Initcheck];

    const fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Initcheck => "initcheck",
        }
    }
}

impl fmt::Display for SanitizerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn read_report(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines that say something, at most [`MAX_LINES`].
fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.strip_prefix(PREFIX).unwrap_or(line).trim());
    lines.filter(|line| !line.is_empty()).take(MAX_LINES).map(str::to_owned).collect()
}

/// The number of errors of a complete report.
fn errors_of(text: &str) -> Option<u64> {
    let summary = text.lines().rev().find_map(|line| line.split_once(SUMMARY))?.1;
    summary.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at write_element+0x90
=========
========= ERROR SUMMARY: 1 error
";

    #[test]
    fn report_is_read_without_its_prefix() {
        assert_eq!(errors_of(REPORT), Some(1));
        assert_eq!(
            lines_of(REPORT),
            [
                "COMPUTE-SANITIZER",
                "Invalid __global__ write of size 4 bytes",
                "at write_element+0x90",
                "ERROR SUMMARY: 1 error"
            ]
        );
    }

    #[test]
    fn report_without_an_end_has_no_number_of_errors() {
        assert_eq!(errors_of("========= COMPUTE-SANITIZER\n"), None);
        assert_eq!(lines_of(&"line\n".repeat(1000)).len(), MAX_LINES);
    }
}
