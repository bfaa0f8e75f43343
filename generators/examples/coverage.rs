//! Prints the space that families reach together: `coverage CASES FAMILY...`.

use std::{env, error::Error};

use twinfer_generators::{Coverage, Family};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let Some((cases, families)) = arguments.split_first() else {
        return Err("usage: coverage CASES FAMILY...".into());
    };
    let cases: u64 = cases.parse()?;
    let mut coverage = Coverage::new();
    for family in families {
        let stream = family.parse::<Family>()?.stream(0);
        (0..cases).for_each(|index| coverage.record(&stream.case(index)));
    }
    println!("# The space that {} reach\n\n{}", families.join(", "), coverage.report());
    Ok(())
}
