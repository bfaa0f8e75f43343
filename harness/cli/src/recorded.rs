//! The variants that a recording names.

use std::path::Path;

use twinfer_case::TrustedVariant;
use twinfer_store::Recording;

use crate::{Failure, Obstacle, output::line, paint, trust::TrustArguments};

/// The recorded variants that may run and do so on this machine, each once; prints a line for each other one.
pub fn runnable(folder: &Path, trust: TrustArguments) -> Result<Vec<TrustedVariant>, Failure> {
    let mut variants = Vec::new();
    let mut refused = None;
    let recorded = Recording::read_beside(folder)?.observed;
    for one in &recorded {
        let variant = match trust.with_given(&[]).admit(&one.variant) {
            Ok(variant) => variant,
            Err(untrusted) => {
                line!(paint::faint("skipped  ") => " {untrusted}");
                refused.get_or_insert(untrusted);
                continue;
            }
        };
        match Obstacle::to(&one.variant, &one.version) {
            Some(obstacle @ (Obstacle::NoDevice | Obstacle::Device)) => {
                line!(paint::faint("skipped  ") => " {} ({}): {obstacle}", one.variant, one.version);
            }
            _ if variants.contains(&variant) => {}
            _ => variants.push(variant),
        }
    }
    if let (true, Some(refused)) = (variants.is_empty(), refused) {
        return Err(Failure::usage(format!(
            "the recording of {}: {refused}: if you trust it, repeat with --trust, or name the backend with --backends",
            folder.display()
        )));
    }
    if variants.is_empty() && !recorded.is_empty() {
        return Err(Failure::environment(format!(
            "no backend recorded for {} runs on this machine: name backends with --backends",
            folder.display()
        )));
    }
    Ok(variants)
}
