//! The table of cases that ran with poisoned memory, which every format shows.

use twinfer_case::VariantSummary;

use crate::{
    Report,
    numbers::{cell, counts, part},
    reach::label,
    table::Table,
};

/// What the table holds; `None` if no variant was poisoned.
pub(crate) fn title(report: &Report) -> Option<String> {
    let any = report.summary.variants.iter().any(is_poisoned);
    any.then(|| {
        "poisoned memory: a sample of cases re-run with memory filled with a pattern and guard bytes behind it"
            .to_owned()
    })
}

/// A row for each variant that was poisoned.
pub(crate) fn table(report: &Report) -> Table {
    let mut table = Table::new(["variant", "cases", "share of cases", "seen only with poisoned memory"], 1);
    for variant in report.summary.variants.iter().filter(|variant| is_poisoned(variant)) {
        table.row(row(variant, report.summary.cases));
    }
    table
}

fn row(variant: &VariantSummary, cases: u64) -> Vec<String> {
    let only_here = &variant.first_seen;
    vec![
        label(variant),
        cell(variant.cases()),
        part(variant.cases(), cases),
        if only_here.is_empty() { "-".to_owned() } else { counts(only_here) },
    ]
}

/// Whether a variant is another one of the campaign with poisoned memory.
pub(crate) fn is_poisoned(variant: &VariantSummary) -> bool {
    variant.rung_of.as_ref().is_some_and(|base| variant.variant.poison_of(base).is_some())
}
