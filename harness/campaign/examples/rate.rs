//! Runs a campaign over generated cases and prints its rate: `rate BACKENDS FAMILIES CASES JOBS [SEED]`.

use std::{collections::BTreeMap, num::NonZeroUsize};

use twinfer_campaign::{Campaign, Options, WorkerCommand};
use twinfer_case::{Budget, Event};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    twinfer_worker::become_worker_if_asked();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [backends, families, cases, jobs, rest @ ..] = arguments.as_slice() else {
        return Err("rate BACKENDS FAMILIES CASES JOBS [SEED]".into());
    };
    let worker = WorkerCommand {
        env: vec![(twinfer_worker::WORKER_VARIABLE.to_owned(), "1".to_owned())],
        ..WorkerCommand::new(std::env::current_exe()?)
    };
    let out = std::env::temp_dir().join(format!("twinfer-rate-{}", std::process::id()));
    let variants = backends.split(';').map(str::parse).collect::<Result<_, _>>()?;
    let options = Options {
        families: families.split(',').map(str::to_owned).collect(),
        budget: Budget::Cases(cases.parse()?),
        jobs: NonZeroUsize::new(jobs.parse()?).ok_or("no jobs")?,
        seed: rest.first().map_or(Ok(0), |seed| seed.parse())?,
        ..Options::new(variants, worker, out.clone())
    };
    let mut macs = Vec::new();
    let summary = Campaign::new(options)?.run(&mut |event| match event {
        Event::CaseFinished { record } => macs.push(record.macs),
        Event::Progress { .. } | Event::CampaignStarted { .. } => {}
        Event::FindingRecorded { slug, finding, .. } => {
            println!("{slug}\n    {}\n    {}", finding.graph, finding.divergences[0].detail);
        }
        other => println!("{other:?}"),
    })?;
    macs.sort_unstable();
    let rate = summary.cases as f64 / summary.seconds;
    println!(
        "{} cases, {} compared, {rate:.0} a second, median macs {}",
        summary.cases,
        summary.compared,
        macs[macs.len() / 2]
    );
    for variant in &summary.variants {
        println!(
            "{}: conforms {} vacuous {} {:?} {:?} {:?} {:?} rounding {} bound {:.3} accepted {:?}",
            variant.variant,
            variant.conforms,
            variant.vacuous,
            variant.unsupported,
            variant.unspecified,
            variant.divergences.iter().map(|(k, v)| (k.to_string(), *v)).collect::<BTreeMap<_, _>>(),
            variant.stages,
            variant.algorithm_rounding,
            variant.bound_used,
            variant.accepted_despite
        );
    }
    println!("{}", out.display());
    Ok(())
}
