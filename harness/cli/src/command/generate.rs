use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_case::EncodedCase;
use twinfer_generators::{Coverage, CoverageReport, Family};
use twinfer_store::write_generated_case;

use crate::{Exit, Failure, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to write: a folder for each case
    #[arg(long, value_name = "DIR", required_unless_present = "coverage")]
    out: Option<PathBuf>,
    /// Print what the cases reach: how often each attribute value occurs, and which pairs never do
    #[arg(long)]
    coverage: bool,
    /// Which generators, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Family::ALL)]
    family: Vec<Family>,
    /// How many cases of each
    #[arg(long, default_value_t = 10)]
    cases: u64,
    /// Decides every case
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        write_all(arguments, out)?;
    }
    if arguments.coverage {
        line!("{}", coverage(arguments));
    }
    Ok(Exit::Conforms)
}

fn write_all(arguments: &Arguments, out: &Path) -> Result<(), Failure> {
    for family in &arguments.family {
        let stream = family.stream(arguments.seed);
        for index in 0..arguments.cases {
            let prepared = EncodedCase::of(stream.case(index)).map_err(Failure::environment)?;
            write_generated_case(&out.join(format!("{family}-{}-{index}", arguments.seed)), &prepared)?;
        }
    }
    let total = arguments.cases * arguments.family.len() as u64;
    eprintln!("{} in {}", paint::good(format!("{total} cases")), out.display());
    Ok(())
}

fn coverage(arguments: &Arguments) -> CoverageReport {
    let mut coverage = Coverage::new();
    for family in &arguments.family {
        let stream = family.stream(arguments.seed);
        (0..arguments.cases).for_each(|index| coverage.record(&stream.case(index)));
    }
    coverage.report()
}
