//! The backends that `check` asks if the user names none.

use twinfer_case::{Finding, Sighting, Trust, TrustedVariant};

use super::subject::Subject;
use crate::{Failure, backends::Backends, machine, obstacle::lacks_device, output::note};

/// The variants to compare with golden: those that the user `given` names; otherwise those that showed the finding, if the subject is one.
pub fn of_subject(given: Option<&Backends>, subject: &Subject) -> Result<Vec<TrustedVariant>, Failure> {
    match subject {
        Subject::Finding(finding, _) if given.is_none() => showing(finding),
        Subject::Finding(..) | Subject::Cases(_) | Subject::Opaque(_) => of_cases(given),
    }
}

/// The variants to compare with golden: those that the user `given` names, or those that run on any machine.
pub fn of_cases(given: Option<&Backends>) -> Result<Vec<TrustedVariant>, Failure> {
    given.map_or_else(machine::variants_for_any, |given| Ok(given.subjects()))
}

/// The variants that showed a finding and may run here, each once.
fn showing(finding: &Finding) -> Result<Vec<TrustedVariant>, Failure> {
    let mut variants = Vec::new();
    for Sighting { variant, .. } in &finding.seen_in {
        match Trust::Given(&[]).admit(variant) {
            Err(untrusted) => note!("skipped: {untrusted}"),
            Ok(_) if lacks_device(variant) => note!("skipped: {variant} needs an NVIDIA GPU"),
            Ok(known) if variants.contains(&known) => {}
            Ok(new) => variants.push(new),
        }
    }
    if variants.is_empty() {
        return Err(Failure::environment(
            "no backend that showed the finding runs here: name others with --backends",
        ));
    }
    Ok(variants)
}
