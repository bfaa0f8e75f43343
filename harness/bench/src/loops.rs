//! Measures several backends: each alone, all in one loop, and in a campaign.

use std::{num::NonZeroUsize, slice};

use twinfer_case::{BackendName, MemoryMode, OptionKey, Stage, Variant};

use crate::{
    Alone, BenchError, Host, Part, Report, Settings,
    costs::{self, costs},
    end_to_end::Measured,
    fleet::Fleet,
    host::line,
    parts::Parts,
    solo::Loop,
    usage::Usage,
};

/// Takes the measurements that the settings select and prints the results.
pub fn run(settings: &Settings, variants: &[Variant], host: &dyn Host) -> Result<Report, BenchError> {
    let mut report = Report { jobs: settings.jobs.get(), ..Report::default() };
    if settings.only.contains(&Part::Bare) {
        report.alone = bare(settings, variants, host)?;
    }
    if settings.only.contains(&Part::Naive) {
        report.naive = Some(naive(settings, variants, host)?);
    }
    if settings.only.contains(&Part::Campaign) {
        campaign(settings, variants, &mut report, host)?;
    }
    Ok(report)
}

fn bare(settings: &Settings, variants: &[Variant], host: &dyn Host) -> Result<Vec<Alone>, BenchError> {
    let mut processes = settings.processes.clone();
    if processes.is_empty() {
        processes = vec![NonZeroUsize::MIN, settings.jobs];
        processes.dedup();
    }
    host.print_heading(format_args!("each backend alone"));
    line!(host, "  processes  a second   done  parse ms  build ms  execute ms  opening s  backend");
    let mut alone = Vec::new();
    for variant in variants.iter().flat_map(with_memory_modes) {
        for &processes in &processes {
            let fleet = Fleet { variants: slice::from_ref(&variant), processes, judged: false };
            let total = Total::of(&fleet.run(settings, host)?);
            print_bare(fleet, &variant, &total, host);
            alone.push(total.alone(&variant, processes));
        }
    }
    Ok(alone)
}

/// The variant as it is measured alone: TensorRT without and with kept memory unless the variant says which, others as a
/// campaign screens with them.
fn with_memory_modes(variant: &Variant) -> Vec<Variant> {
    match variant.backend {
        BackendName::Trt | BackendName::TrtApi if !variant.options.contains_key(OptionKey::Memory.key()) => {
            [MemoryMode::Off, MemoryMode::Keep].map(|mode| variant.with_memory(mode)).into()
        }
        _ => vec![variant.for_screening()],
    }
}

fn print_bare(fleet: Fleet<'_>, variant: &Variant, total: &Total, host: &dyn Host) {
    line!(
        host,
        "  {:>9}  {:>8.1}  {:>4.0}%  {:>8.2}  {:>8.2}  {:>10.2}  {:>9.1}  {variant}",
        fleet.processes,
        total.rate,
        100.0 * total.done / total.cases.max(1.0),
        total.milliseconds(Stage::Parse),
        total.milliseconds(Stage::Build),
        total.milliseconds(Stage::Execute),
        total.opening,
    );
    for detail in &total.details {
        host.print_detail(format_args!("             {detail}"));
    }
}

fn naive(settings: &Settings, variants: &[Variant], host: &dyn Host) -> Result<f64, BenchError> {
    let variants: Vec<Variant> =
        variants.iter().map(|variant| at_default_level(variant).with_memory(MemoryMode::Off)).collect();
    let fleet = Fleet { variants: &variants, processes: NonZeroUsize::MIN, judged: true };
    let total = Total::of(&fleet.run(settings, host)?);
    host.print_heading(format_args!(
        "all of them and golden in one loop, at default levels, with memory=off"
    ));
    line!(host, "  executed and compared               {:>8.1} cases/s", total.rate);
    line!(host, "  cases                               {:>8.0}, {:.0} compared", total.cases, total.done);
    total.details.iter().for_each(|detail| host.print_detail(format_args!("  {detail}")));
    Ok(total.rate)
}

fn at_default_level(variant: &Variant) -> Variant {
    let mut variant = variant.clone();
    variant.options.remove("level");
    variant
}

fn campaign(
    settings: &Settings,
    variants: &[Variant],
    report: &mut Report,
    host: &dyn Host,
) -> Result<(), BenchError> {
    let variants: Vec<Variant> = variants.iter().map(Variant::for_screening).collect();
    let measured = Measured::of(settings, variants.clone(), host.worker(&variants)?)?;
    let (rate, jobs) = (measured.rate(), settings.jobs);
    host.print_heading(format_args!("a campaign of {} cases, jobs: {jobs}", measured.summary.cases));
    line!(host, "  executed and compared               {rate:>8.1} cases/s");
    if let Some(naive) = report.naive.filter(|naive| *naive > 0.0) {
        line!(host, "  ratio to the loop                   {:>8.1}", rate / naive);
    }
    for variant in &variants {
        if let Some(alone) = report.best_alone(&variant.to_string()).filter(|alone| *alone > 0.0) {
            line!(host, "  ratio to the best of one alone      {:>8.2}  {variant}", rate / alone);
        }
    }
    line!(host, "  multiply-accumulates, median        {:>8}", measured.median_macs());
    let parts = |variant: &Variant| Ok((variant.clone(), Parts::of(variant, settings, host)?));
    let parts: Vec<_> = variants.iter().map(parts).collect::<Result<_, BenchError>>()?;
    report.costs = costs(&measured, &parts, jobs.get());
    costs::print(&report.costs, host);
    report.campaign = Some(measured.campaign());
    Ok(())
}

/// The combined result of concurrent loops.
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
                "processor time per case: {:.1} ms, {:.1} ms in the kernel, {:.0} page faults",
                1e3 * usage.user / cases.max(1.0),
                1e3 * usage.system / cases.max(1.0),
                usage.page_faults as f64 / cases.max(1.0)
            ),
            format!(
                "processor time to open: {:.1} s, {:.1} s in the kernel, {} page faults",
                opening.user / loops.len() as f64,
                opening.system / loops.len() as f64,
                opening.page_faults / loops.len() as u64
            ),
        ];
        let stuck = loops.iter().filter(|it| it.stuck).count();
        if stuck > 0 {
            details
                .push(format!("{stuck} of {} still in a case one minute after the time limit", loops.len()));
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

    /// The mean time of a stage per case.
    fn milliseconds(&self, stage: Stage) -> f64 {
        let micros = self.micros.iter().find(|(other, _)| *other == stage).map_or(0.0, |(_, micros)| *micros);
        micros / 1e3 / self.cases.max(1.0)
    }
}
