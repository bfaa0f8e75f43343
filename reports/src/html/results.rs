//! What came of the cases of each variant, as bars and as a table.

use maud::{Markup, html};
use twinfer_case::VariantSummary;

use super::words::short;
use crate::{
    Report,
    case_result::CaseResult,
    numbers::{cell, count, part},
    reach::remark,
    summary::last_stage,
};

/// A bar a variant, the meaning of its colors, and the numbers.
pub fn results(report: &Report) -> Markup {
    let variants = &report.summary.variants;
    html! {
        @if !variants.is_empty() {
            section aria-labelledby="results" {
                h2 id="results" { "Results by backend" }
                (legend(variants))
                div.bars {
                    @for variant in variants { (bar(report, variant)) }
                }
                (numbers(variants))
            }
        }
    }
}

/// A variant with how far it goes; a long name is shortened, and the rest is not.
fn short_label(variant: &VariantSummary) -> String {
    short(&variant.variant.to_string()) + &remark(variant.reaches)
}

/// The results that occur, with their colors.
fn legend(variants: &[VariantSummary]) -> Markup {
    let occurring =
        CaseResult::ALL.into_iter().filter(|result| variants.iter().any(|one| result.of(one) > 0));
    html! {
        ul.legend {
            @for result in occurring {
                li { span.swatch.(result.class()) {} (result.title()) }
            }
        }
    }
}

fn bar(report: &Report, variant: &VariantSummary) -> Markup {
    let cases = variant.cases() + CaseResult::LeftOut.of(variant);
    let described = CaseResult::ALL.into_iter().filter(|result| result.of(variant) > 0);
    let described: Vec<_> =
        described.map(|result| format!("{} {}", count(result.of(variant)), result.title())).collect();
    html! {
        div.bar {
            div.bar-title {
                span.backend { (short_label(variant)) }
                span.quiet { (report.version(&variant.variant)) }
            }
            svg role="img" aria-label=(described.join(", ")) viewBox={ "0 0 " (cases.max(1)) " 1" } preserveAspectRatio="none" {
                @for (result, from) in stacked(variant) {
                    rect.(result.class()) x=(from) y="0" width=(result.of(variant)) height="1" {
                        title { (result.title()) ": " (count(result.of(variant))) ", " (part(result.of(variant), cases)) }
                    }
                }
            }
        }
    }
}

/// The results that occur, each with the number of cases in front of it.
fn stacked(variant: &VariantSummary) -> Vec<(CaseResult, u64)> {
    let mut from = 0;
    let mut stacked = Vec::new();
    for result in CaseResult::ALL {
        let cases = result.of(variant);
        if cases > 0 {
            stacked.push((result, from));
        }
        from += cases;
    }
    stacked
}

fn numbers(variants: &[VariantSummary]) -> Markup {
    let is_shown =
        |result: &CaseResult| result.is_usual() || variants.iter().any(|variant| result.of(variant) > 0);
    let results: Vec<_> = CaseResult::ALL.into_iter().filter(is_shown).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Results by backend, in numbers" {
            table.numbers {
                thead {
                    tr {
                        th scope="col" { "backend" }
                        th scope="col" { "cases" }
                        @for result in &results { th scope="col" { (result.title()) } }
                        th scope="col" { "got as far as" }
                    }
                }
                tbody {
                    @for variant in variants {
                        tr {
                            th scope="row" { (short_label(variant)) }
                            td { (cell(variant.cases())) }
                            @for result in &results { td { (cell(result.of(variant))) } }
                            td { (last_stage(variant)) }
                        }
                    }
                }
            }
        }
    }
}
