use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_campaign::Replay;
use twinfer_case::{Finding, Variant, Verdict};

use crate::{Exit, Failure, json, output::line, paint, subjects, variants::Variants};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a finding
    finding: PathBuf,
    /// Which of the backends that were recorded [default: all]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let variants = match &arguments.backends {
        Some(chosen) => chosen.subjects(),
        None => seen_in(&arguments.finding)?,
    };
    let replays = subjects::start(&variants)?.replay(&arguments.finding)?;
    if replays.is_empty() {
        return Err(Failure::usage(format!(
            "nothing is recorded of these backends for {}: leave --backends out",
            arguments.finding.display()
        )));
    }
    replays.iter().for_each(print);
    Ok(if replays.iter().all(|replay| replay.recurs) { Exit::Conforms } else { Exit::Findings })
}

/// The variants that showed a finding, each once.
fn seen_in(folder: &Path) -> Result<Vec<Variant>, Failure> {
    let finding: Finding = json::read(&folder.join("finding.json"))?;
    let mut variants: Vec<Variant> = finding.seen_in.into_iter().map(|sighting| sighting.variant).collect();
    variants.sort();
    variants.dedup();
    Ok(variants)
}

fn print(replay: &Replay) {
    let (then, now) = &replay.versions;
    let versions = if then == now { now.clone() } else { format!("recorded with {then}, now {now}") };
    let mark = if replay.recurs {
        paint::good("recurs   ").to_string()
    } else {
        paint::bad("different").to_string()
    };
    line!("{mark} {} ({versions})", replay.variant);
    match &replay.record.verdict {
        Verdict::Diverges(divergences) => {
            for divergence in divergences {
                line!("          {} {}: {}", divergence.stage, divergence.kind, divergence.detail);
            }
        }
        Verdict::Conforms => line!("          conforms, as far as {}", replay.record.stage),
        Verdict::Unsupported(rule) => line!("          unsupported: {rule}"),
        Verdict::Unspecified(rule) => line!("          unspecified: {rule}"),
        Verdict::Vacuous => line!("          vacuous: the error bound is too wide to tell"),
    }
}
