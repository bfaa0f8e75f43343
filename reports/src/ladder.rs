//! The table of escalated cases, which every format shows.

use twinfer_case::{Ladder, Variant, VariantSummary};

use crate::{
    Report,
    numbers::{cell, counts, part},
    poison::is_poisoned,
    reach::label,
    table::Table,
};

/// What `--ladder` re-runs; `None` if the campaign ran without it.
pub(crate) fn title(report: &Report) -> Option<String> {
    let ladder = report.run.as_ref()?.ladder?;
    let scope = match ladder {
        Ladder::Sample(cases) => format!("suspicious cases and 1 in {cases} of the rest"),
        Ladder::Time(_) => {
            format!("suspicious cases and a sample of the rest, in {ladder} of backend time,")
        }
    };
    Some(format!("ladder {ladder}: {scope} re-run at higher optimization levels"))
}

/// A row for each variant with rungs, followed by its rungs, the weakest first.
pub(crate) fn table(report: &Report) -> Table {
    let head = ["variant", "cases", "share of cases", "share of backend time", "not seen at lower levels"];
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
        label(rung),
        cell(rung.cases()),
        part(rung.cases(), cases),
        part(rung.micros, micros),
        if first_seen.is_empty() { "-".to_owned() } else { counts(first_seen) },
    ]
}

fn is_above(variant: &VariantSummary, base: &Variant) -> bool {
    variant.rung_of.as_ref() == Some(base) && !is_poisoned(variant)
}
