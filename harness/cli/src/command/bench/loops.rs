//! Several backends, each alone, all of them in one loop, and in a campaign.

use std::{num::NonZeroUsize, slice};

use twinfer_case::{BackendName, Stage, Variant};
use twinfer_driver_cache::CacheMode;

use super::{
    Arguments, Part,
    costs::{self, costs},
    end_to_end::Measured,
    fleet::Fleet,
    parts::Parts,
    report::{Alone, Report},
    solo::Loop,
    usage::Usage,
};
use crate::{Failure, output::line, paint, worker::worker_for};

/// Measures and prints what the arguments ask for.
pub fn run(arguments: &Arguments, variants: &[Variant], jobs: NonZeroUsize) -> Result<Report, Failure> {
    let mut report = Report { jobs: jobs.get(), ..Report::default() };
    if arguments.only.contains(&Part::Bare) {
        report.alone = bare(arguments, variants, jobs)?;
    }
    if arguments.only.contains(&Part::Naive) {
        report.naive = Some(naive(arguments, variants)?);
    }
    if arguments.only.contains(&Part::Campaign) {
        campaign(arguments, variants, jobs, &mut report)?;
    }
    Ok(report)
}

fn bare(arguments: &Arguments, variants: &[Variant], jobs: NonZeroUsize) -> Result<Vec<Alone>, Failure> {
    let mut processes: Vec<_> = arguments.processes.iter().map(|jobs| jobs.number()).collect();
    if processes.is_empty() {
        processes = vec![NonZeroUsize::MIN, jobs];
        processes.dedup();
    }
    line!("{}", paint::heading("each backend alone"));
    line!("  processes  cache   a second   done  parse ms  build ms  execute ms  opening s  backend");
    let mut alone = Vec::new();
    for variant in variants {
        for &processes in &processes {
            for &cache in caches(arguments, variant) {
                let fleet = Fleet { variants: slice::from_ref(variant), processes, cache, judged: false };
                let total = Total::of(&fleet.run(arguments)?);
                print_bare(fleet, variant, &total);
                alone.push(total.alone(variant, processes));
            }
        }
    }
    Ok(alone)
}

/// The ways to use the cache that are worth a measurement: its effect is known where there is none.
fn caches<'a>(arguments: &'a Arguments, variant: &Variant) -> &'a [CacheMode] {
    match variant.backend {
        _ if !arguments.driver_cache.is_empty() => &arguments.driver_cache,
        BackendName::Trt | BackendName::TrtApi => &[CacheMode::Off, CacheMode::On],
        _ => &[CacheMode::On],
    }
}

fn print_bare(fleet: Fleet<'_>, variant: &Variant, total: &Total) {
    line!(
        "  {:>9}  {:<6}  {:>8.1}  {:>4.0}%  {:>8.2}  {:>8.2}  {:>10.2}  {:>9.1}  {variant}",
        fleet.processes,
        fleet.cache,
        total.rate,
        100.0 * total.done / total.cases.max(1.0),
        total.milliseconds(Stage::Parse),
        total.milliseconds(Stage::Build),
        total.milliseconds(Stage::Execute),
        total.opening,
    );
    for detail in &total.details {
        line!("             {}", paint::faint(detail));
    }
}

fn naive(arguments: &Arguments, variants: &[Variant]) -> Result<f64, Failure> {
    let variants: Vec<Variant> = variants.iter().map(at_default_level).collect();
    let fleet =
        Fleet { variants: &variants, processes: NonZeroUsize::MIN, cache: CacheMode::Off, judged: true };
    let total = Total::of(&fleet.run(arguments)?);
    line!("{}", paint::heading("all of them and golden in one loop, at default levels, without the cache"));
    line!("  executed and compared               {:>8.1} a second", total.rate);
    line!("  cases                               {:>8.0}, {:.0} of them compared", total.cases, total.done);
    total.details.iter().for_each(|detail| line!("  {}", paint::faint(detail)));
    Ok(total.rate)
}

fn at_default_level(variant: &Variant) -> Variant {
    let mut variant = variant.clone();
    variant.options.remove("level");
    variant
}

fn campaign(
    arguments: &Arguments,
    variants: &[Variant],
    jobs: NonZeroUsize,
    report: &mut Report,
) -> Result<(), Failure> {
    let measured = Measured::of(arguments, variants.to_vec(), worker_for(variants)?, jobs)?;
    let rate = measured.rate();
    line!("{}", paint::heading(format!("a campaign of {} cases, {jobs} jobs", measured.summary.cases)));
    line!("  executed and compared               {rate:>8.1} a second");
    if let Some(naive) = report.naive.filter(|naive| *naive > 0.0) {
        line!("  ratio to the loop                   {:>8.1}", rate / naive);
    }
    for variant in variants {
        if let Some(alone) = report.best_alone(&variant.to_string()).filter(|alone| *alone > 0.0) {
            line!("  ratio to the best of one alone      {:>8.2}  {variant}", rate / alone);
        }
    }
    line!("  multiply-accumulates, median        {:>8}", measured.median_macs());
    let parts = |variant: &Variant| Ok((variant.clone(), Parts::of(variant, arguments)?));
    let parts: Vec<_> = variants.iter().map(parts).collect::<Result<_, Failure>>()?;
    report.costs = costs(&measured, &parts, jobs.get());
    costs::print(&report.costs);
    report.campaign = Some(measured.campaign());
    Ok(())
}

/// What loops side by side came to together.
struct Total {
    rate: f64,
    cases: f64,
    done: f64,
    processor: f64,
    opening: f64,
    micros: Vec<(Stage, f64)>,
    details: Vec<String>,
}

impl Total {
    fn of(loops: &[Loop]) -> Self {
        let sum = |of: fn(&Loop) -> u64| loops.iter().map(of).sum::<u64>();
        let longest = |of: fn(&Loop) -> f64| loops.iter().map(of).fold(0.0, f64::max);
        let stage = |stage| {
            let micros: u64 = loops.iter().filter_map(|it| it.stages.get(&stage)).sum();
            (stage, micros as f64)
        };
        let cases = sum(|it| it.cases) as f64;
        let usage = loops.iter().fold(Usage::default(), |total, it| total.and(it.usage));
        let opening = loops.iter().fold(Usage::default(), |total, it| total.and(it.opening_usage));
        let mut details = vec![
            format!(
                "processor time a case: {:.1} ms, {:.1} ms in the kernel, {:.0} page faults",
                1e3 * usage.user / cases.max(1.0),
                1e3 * usage.system / cases.max(1.0),
                usage.page_faults as f64 / cases.max(1.0)
            ),
            format!(
                "processor time of an opening: {:.1} s, {:.1} s in the kernel, {} page faults",
                opening.user / loops.len() as f64,
                opening.system / loops.len() as f64,
                opening.page_faults / loops.len() as u64
            ),
        ];
        let stuck = loops.iter().filter(|it| it.stuck).count();
        if stuck > 0 {
            details
                .push(format!("{stuck} of {} still in a case a minute after the time was up", loops.len()));
        }
        if sum(|it| it.attributes_asked) > 0 {
            details.push(format!(
                "device attributes: {} asked, {} answered by the driver, {} compared, {} changed",
                sum(|it| it.attributes_asked),
                sum(|it| it.attributes_answered_by_driver),
                sum(|it| it.attributes_compared),
                sum(|it| it.attributes_changed)
            ));
        }
        if sum(|it| it.allocations) > 0 {
            details.push(format!(
                "memory: {} allocations, {} by the driver",
                sum(|it| it.allocations),
                sum(|it| it.allocations_by_driver)
            ));
        }
        Self {
            rate: sum(|it| it.done) as f64 / longest(|it| it.seconds),
            cases,
            done: sum(|it| it.done) as f64,
            processor: usage.processor(),
            opening: longest(|it| it.opening),
            micros: [Stage::Parse, Stage::Build, Stage::Execute].map(stage).into(),
            details,
        }
    }

    fn alone(&self, variant: &Variant, processes: NonZeroUsize) -> Alone {
        Alone {
            backend: variant.to_string(),
            parallel: processes.get(),
            rate: self.rate,
            processor: self.processor * 1e6 / self.done.max(1.0),
        }
    }

    /// A case's time in a stage.
    fn milliseconds(&self, stage: Stage) -> f64 {
        let micros = self.micros.iter().find(|(other, _)| *other == stage).map_or(0.0, |(_, micros)| *micros);
        micros / 1e3 / self.cases.max(1.0)
    }
}
