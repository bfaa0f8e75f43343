//! The options that a finding needs: the variant that showed it is run with one option after another left out.

use std::path::Path;

use twinfer_case::{Finding, Kind, TrustedVariant};
use twinfer_store::{read_finding, update_finding};

use crate::{TargetError, Targets, case::read_case, minimize::symptom};

/// Finds a variant that shows the finding in `folder` and shows it no more if another of `removable` is left out, starting at `shown_in`,
/// which showed it, and writes it to its `finding.json`. `start` starts the workers of a variant.
///
/// `None` if the finding does not recur with `shown_in`, or if it is not one that a single case shows.
pub fn reduce_options(
    folder: &Path,
    shown_in: &TrustedVariant,
    removable: &[&str],
    start: &dyn Fn(&TrustedVariant) -> Result<Targets, TargetError>,
) -> Result<Option<Finding>, TargetError> {
    let mut finding = read_finding(folder)?.ok_or_else(|| TargetError::NoFinding(folder.to_owned()))?;
    if finding.kind == Kind::Unstable || !finding.preceding.is_empty() {
        return Ok(None);
    }
    let case = read_case(folder)?;
    let shows = |variant: &TrustedVariant| -> Result<bool, TargetError> {
        let targets = start(variant)?;
        let Some(workers) = targets.variants.first() else { return Ok(false) };
        let shown = symptom(&targets.evaluate_fresh(workers, &case)?, Some(&finding));
        Ok(shown.is_some_and(|shown| (shown.kind(), shown.stage()) == (finding.kind, finding.stage)))
    };
    if !shows(shown_in)? {
        return Ok(None);
    }
    let needed = fewest(shown_in.clone(), removable, &shows)?;
    finding.fewest_options = Some(needed.into_inner());
    update_finding(folder, &finding)?;
    Ok(Some(finding))
}

/// `variant` without every option of `removable` that `shows` does not need. An option that could be left out only together with one
/// before it is tried again.
fn fewest(
    mut variant: TrustedVariant,
    removable: &[&str],
    shows: &dyn Fn(&TrustedVariant) -> Result<bool, TargetError>,
) -> Result<TrustedVariant, TargetError> {
    loop {
        let before = variant.options.len();
        for key in removable {
            let fewer = variant.without(key);
            if fewer != variant && shows(&fewer)? {
                variant = fewer;
            }
        }
        if variant.options.len() == before {
            return Ok(variant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options with which a bug shows that needs those of `needed`.
    fn reduced(variant: &str, needed: &[&str]) -> String {
        let shows =
            |variant: &TrustedVariant| Ok(needed.iter().all(|key| variant.options.contains_key(*key)));
        let variant = TrustedVariant::vouch(variant.parse().unwrap());
        fewest(variant, &["precision", "refit", "vc"], &shows).unwrap().to_string()
    }

    #[test]
    fn only_options_that_the_bug_needs_are_left() {
        assert_eq!(reduced("trt,precision=fp16,refit=on,vc=on", &["refit"]), "trt,refit=on");
        assert_eq!(reduced("trt,precision=fp16,refit=on", &[]), "trt");
        let both = "trt,precision=fp16,vc=on";
        assert_eq!(reduced("trt,precision=fp16,refit=on,vc=on", &["precision", "vc"]), both);
    }

    #[test]
    fn options_that_were_not_drawn_stay() {
        assert_eq!(reduced("trt,level=3,refit=on,version=8.6", &[]), "trt,level=3,version=8.6");
    }
}
