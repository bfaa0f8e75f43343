//! What a campaign came to, in one sentence that needs no glossary: what was found, and first of all if not everything was compared.

use crate::{Report, Severity, numbers::counted, uncompared};

/// Such as `3 bugs worth a look, 1 documented limit, 4 known findings`.
pub(crate) fn headline(report: &Report) -> String {
    let mut parts = Vec::new();
    let bugs = number(report, Severity::is_bug);
    parts.extend((bugs > 0).then(|| counted(bugs, "bug worth a look", "bugs worth a look")));
    for severity in Severity::ALL.into_iter().filter(|severity| !severity.is_bug()) {
        let (one, many) = nouns(severity);
        let findings = match severity {
            Severity::Known => {
                number(report, |other| other == severity) + report.known_by_name().count() as u64
            }
            _ => number(report, |other| other == severity),
        };
        parts.extend((findings > 0).then(|| counted(findings, one, many)));
    }
    let found = if parts.is_empty() {
        (!uncompared::is_incomplete(report)).then(|| nothing_found(report))
    } else {
        Some(parts.join(", "))
    };
    let caveat = uncompared::caveat(report);
    let (first, second) = if parts.is_empty() { (caveat, found) } else { (found, caveat) };
    first.into_iter().chain(second).collect::<Vec<_>>().join("; ")
}

/// That there is no new finding, as far as is known.
fn nothing_found(report: &Report) -> String {
    match report.summary.open {
        0 => "no new findings".to_owned(),
        open => {
            let open = counted(open, "case that differs is", "cases that differ are");
            format!("no new findings yet: {open} not investigated")
        }
    }
}

fn number(report: &Report, is_counted: impl Fn(Severity) -> bool) -> u64 {
    report.ranked().into_iter().filter(|found| is_counted(found.severity())).count() as u64
}

/// What one and several findings of a severity that is no bug are called.
const fn nouns(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Disagreement => ("disagreement between backends", "disagreements between backends"),
        Severity::Unconfirmed => ("difference not confirmed yet", "differences not confirmed yet"),
        Severity::Precision => {
            ("operator in another precision than asked for", "operators in another precision than asked for")
        }
        Severity::Logged => ("logged error", "logged errors"),
        Severity::Documented => ("documented limit", "documented limits"),
        Severity::Known => ("known finding", "known findings"),
        Severity::WrongValues
        | Severity::Broken
        | Severity::Unsteady
        | Severity::Refusal
        | Severity::Leniency => ("bug", "bugs"),
    }
}
