use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_case::{Distribution, EncodedCase, printable};
use twinfer_generators::{Coverage, CoverageReport, Family};
use twinfer_store::write_generated_case;

use crate::{
    Exit, Failure,
    output::{note, write},
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to write; each case gets a subfolder
    #[arg(long, value_name = "DIR", required_unless_present = "coverage")]
    out: Option<PathBuf>,
    /// Print how often each attribute value occurs, and which pairs of values never do
    #[arg(long)]
    coverage: bool,
    /// Generator families, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Family::ALL)]
    family: Vec<Family>,
    /// What generators draw how often: baseline, which never changes, or full
    #[arg(long, default_value_t = Distribution::Full)]
    distribution: Distribution,
    /// Cases per family
    #[arg(long, default_value_t = 10)]
    cases: u64,
    /// Seed of the generators
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        write_all(arguments, out)?;
    }
    if arguments.coverage {
        write(&printable(&format!("{}\n", coverage(arguments))));
    }
    Ok(Exit::Conforms)
}

fn write_all(arguments: &Arguments, out: &Path) -> Result<(), Failure> {
    for family in &arguments.family {
        let stream = family.stream(arguments.distribution, arguments.seed);
        for index in 0..arguments.cases {
            let prepared = EncodedCase::encode(stream.case(index)).map_err(Failure::environment)?;
            write_generated_case(&out.join(format!("{family}-{}-{index}", arguments.seed)), &prepared)?;
        }
    }
    let total = arguments.cases * arguments.family.len() as u64;
    note!("wrote {total} cases to {}", out.display());
    Ok(())
}

fn coverage(arguments: &Arguments) -> CoverageReport {
    let mut coverage = Coverage::new();
    for family in &arguments.family {
        let stream = family.stream(arguments.distribution, arguments.seed);
        (0..arguments.cases).for_each(|index| coverage.record(&stream.case(index)));
    }
    coverage.report()
}
