//! The costs of a case: the processor time of each part, and the time that a campaign spent on it.

use twinfer_case::{Stage, Variant};

use crate::{Cost, Host, end_to_end::Measured, host::line, parts::Parts};

const STAGES: [Stage; 4] = [Stage::Load, Stage::Parse, Stage::Build, Stage::Execute];

/// The costs of a case. The last two entries are the unattributed rest and the sum.
pub fn costs(measured: &Measured, variants: &[(Variant, Parts)], processors: usize) -> Vec<Cost> {
    let processor = |name: &str, micros| Cost {
        name: name.to_owned(),
        processor: Some(micros),
        spread: None,
        campaign: None,
    };
    let Some((_, first)) = variants.first() else { return Vec::new() };
    let mut costs = vec![
        processor("generate", first.micros(first.generate)),
        processor("encode", first.micros(first.encode)),
        processor("golden", first.micros(first.golden)),
    ];
    for (variant, parts) in variants {
        for stage in STAGES {
            let alone = parts.stages.get(&stage).map(|seconds| parts.micros(*seconds));
            let campaign = measured.stage(variant, stage);
            if alone.is_some() || campaign.is_some() {
                let name = format!("{variant}: {stage}");
                costs.push(Cost { name, processor: alone, spread: None, campaign });
            }
        }
        let isolation = |what: &str, part| {
            let [low, median, high] = parts.isolation(part)?;
            let name = format!("{variant}: isolation, {what}");
            Some(Cost { spread: Some([low, high]), ..processor(&name, median) })
        };
        costs.extend(isolation("messages", |isolation| isolation.messages));
        costs.extend(isolation("stages", |isolation| isolation.stages));
    }
    let sum = |of: fn(&Parts) -> f64| variants.iter().map(|(_, parts)| parts.micros(of(parts))).sum();
    costs.push(processor("compare", sum(|parts| parts.compare)));
    costs.push(processor("journal", sum(|parts| parts.journal)));
    let known: f64 = costs.iter().filter_map(|cost| cost.processor).sum();
    let spent = measured.micros(measured.spent.both());
    costs.push(processor("rest", spent - known));
    let campaign = measured.micros(measured.summary.seconds * processors as f64);
    costs.push(Cost { campaign: Some(campaign), ..processor("all together", spent) });
    costs
}

/// Prints a table of costs.
pub fn print(costs: &[Cost], host: &dyn Host) {
    host.print_heading(format_args!("time per case, microseconds"));
    line!(host, "  {:<40} {:>10}  {:>12}", "", "processor", "in campaign");
    let shown = |micros: Option<f64>| micros.map_or_else(String::new, |micros| format!("{micros:.0}"));
    for Cost { name, processor, spread, campaign } in costs {
        let spread = spread.map_or_else(String::new, |[low, high]| {
            format!("  median of turns, quartiles {low:.0} to {high:.0}")
        });
        line!(host, "  {name:<40} {:>10}  {:>12}{spread}", shown(*processor), shown(*campaign));
    }
}
