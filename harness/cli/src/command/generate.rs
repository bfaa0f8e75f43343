use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_case::{Distribution, EncodedCase, printable};
use twinfer_generators::{Coverage, CoverageReport, Family};
use twinfer_store::{has_case, write_generated_case};

use crate::{
    Exit, Failure,
    out_folder::is_free_but_for,
    output::{note, write},
    whole_number::whole_number,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to write, with a subfolder for each case; must be empty or absent, or hold generated cases
    #[arg(long, value_name = "DIR", required_unless_present = "coverage")]
    out: Option<PathBuf>,
    /// Print how often each attribute value occurs, and which pairs of values never do
    #[arg(long)]
    coverage: bool,
    /// Generator families, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Family::ALL)]
    family: Vec<Family>,
    /// Which cases the generators draw: baseline, which never changes, or full
    #[arg(long, default_value_t = Distribution::Full)]
    distribution: Distribution,
    /// Cases per family
    #[arg(long, default_value_t = 10, value_parser = whole_number::<u64>)]
    cases: u64,
    /// Seed of the generators
    #[arg(long, default_value_t = 0, value_parser = whole_number::<u64>)]
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
    is_free_but_for(out, &is_generated)?;
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

/// Whether a folder is a generated case: it holds one and is called `FAMILY-SEED-INDEX`.
fn is_generated(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplitn(3, '-');
    let is_numbered = parts.by_ref().take(2).all(|part| part.parse::<u64>().is_ok());
    is_numbered && parts.next().is_some_and(|family| family.parse::<Family>().is_ok()) && has_case(folder)
}

fn coverage(arguments: &Arguments) -> CoverageReport {
    let mut coverage = Coverage::new();
    for family in &arguments.family {
        let stream = family.stream(arguments.distribution, arguments.seed);
        (0..arguments.cases).for_each(|index| coverage.record(&stream.case(index)));
    }
    coverage.report()
}
