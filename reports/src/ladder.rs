//! What every format says of the cases that climbed, in the same words.

use twinfer_case::{Ladder, Variant, VariantSummary};

use crate::{
    Report,
    numbers::{cell, counts, part},
    table::Table,
};

/// `ladder 1/50: suspects and one case in 50 were run again on the rungs above`; nothing where no case climbs.
pub(crate) fn title(report: &Report) -> Option<String> {
    let ladder = report.run.as_ref()?.ladder?;
    let which = match ladder {
        Ladder::Sample(cases) => format!("suspects and one case in {cases} are run again on the rungs above"),
        Ladder::Time(_) => {
            format!("as many cases as take {ladder} of the backends' time are run again on the rungs above")
        }
    };
    Some(format!("ladder {ladder}: {which}"))
}

/// Each variant that has rungs and those above it, the weakest first.
pub(crate) fn table(report: &Report) -> Table {
    let head = ["rung", "cases", "of all cases", "of the backends' time", "first seen there"];
    let mut table = Table::new(head, 1);
    let all = &report.summary.variants;
    let micros = all.iter().map(|variant| variant.micros).sum();
    for base in all {
        let rungs: Vec<_> = all.iter().filter(|variant| is_above(variant, &base.variant)).collect();
        if !rungs.is_empty() {
            for rung in [base].into_iter().chain(rungs) {
                table.row(row(rung, report.summary.cases, micros));
            }
        }
    }
    table
}

fn row(rung: &VariantSummary, cases: u64, micros: u64) -> Vec<String> {
    let first_seen = if rung.rung_of.is_some() { &rung.first_seen } else { &rung.divergences };
    vec![
        rung.variant.to_string(),
        cell(rung.cases()),
        part(rung.cases(), cases),
        part(rung.micros, micros),
        if first_seen.is_empty() { "-".to_owned() } else { counts(first_seen) },
    ]
}

fn is_above(variant: &VariantSummary, base: &Variant) -> bool {
    variant.rung_of.as_ref() == Some(base)
}
