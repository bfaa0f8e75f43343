//! The backends that commands ask about a case or a finding if the user names none.

use twinfer_case::{Finding, Sighting, Trust, TrustedVariant};
use twinfer_provision::lacks_device;

use crate::{Failure, backends::Backends, machine, output::note};

/// The variants to compare with golden: those that the user `given` names; otherwise those that showed the finding, if it is one, or those
/// that this machine has.
pub fn variants(given: Option<&Backends>, finding: Option<&Finding>) -> Result<Vec<TrustedVariant>, Failure> {
    match (given, finding) {
        (Some(given), _) => Ok(given.subjects()),
        (None, Some(finding)) => showing(finding),
        (None, None) => machine::variants(),
    }
}

/// The variants that showed a finding and may run here, each once.
fn showing(finding: &Finding) -> Result<Vec<TrustedVariant>, Failure> {
    let mut variants = Vec::new();
    let mut refused = None;
    for Sighting { variant, .. } in &finding.seen_in {
        match Trust::Given(&[]).admit(variant) {
            Err(untrusted) => {
                note!("skipped: {untrusted}");
                refused.get_or_insert(untrusted);
            }
            Ok(_) if lacks_device(variant) => note!("skipped: {variant} needs an NVIDIA GPU"),
            Ok(known) if variants.contains(&known) => {}
            Ok(new) => variants.push(new),
        }
    }
    match refused {
        _ if !variants.is_empty() => Ok(variants),
        Some(refused) => Err(Failure::usage(format!(
            "the finding in this folder: {refused}: if you trust it, name the backend with --backends"
        ))),
        None => Err(Failure::environment(
            "no backend that showed the finding runs here: name others with --backends",
        )),
    }
}
