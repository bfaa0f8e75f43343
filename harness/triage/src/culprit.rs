//! The segment of a finding's case that is wrong.

use twinfer_case::Culprit;
use twinfer_segments::concerns_values;
use twinfer_workers::TriageWorkers;

use crate::{Scrutiny, TriageError, suspect::Suspect, triage_result::Confirmed};

/// Adds to the divergences of a finding which segment is wrong: the one that is known of the suspect, or otherwise the one that judging the
/// minimal case segment by segment shows. The record of the case does not get it: it would differ from the records of the finding's other
/// cases, and which one stands for a finding depends on the cases that a campaign has.
pub fn add(
    mut confirmed: Confirmed,
    suspect: &Suspect,
    workers: &TriageWorkers,
) -> Result<Confirmed, TriageError> {
    let is_concerned = confirmed.recurs && confirmed.finding.divergences.iter().any(concerns_values);
    if !is_concerned {
        return Ok(confirmed);
    }
    let known = suspect.lead().and_then(|lead| lead.culprit.clone());
    let culprit = match known {
        Some(known) => Some(known),
        None => of_minimal(&confirmed, workers)?,
    };
    let divergences = confirmed.finding.divergences.iter_mut();
    divergences
        .filter(|divergence| concerns_values(divergence))
        .for_each(|divergence| divergence.culprit.clone_from(&culprit));
    Ok(confirmed)
}

fn of_minimal(confirmed: &Confirmed, workers: &TriageWorkers) -> Result<Option<Culprit>, TriageError> {
    let mut minimal = confirmed.minimal.clone();
    Scrutiny::Rounded.apply(workers, &mut minimal)?;
    Ok(minimal.divergences().iter().find_map(|divergence| divergence.culprit.clone()))
}
