//! *Reduction*: making a case smaller that still shows its symptom, by running candidates in a warm worker.

use twinfer_case::{Case, CaseHash, Event};
use twinfer_minimize::Reducer;

use crate::{
    CampaignError, Oracle,
    crew::{Crew, Tried},
    prepared::Prepared,
    symptom::Symptom,
};

/// Candidates that are tried for one case at most.
const LIMIT: usize = 500;

/// The smallest case found that shows `symptom` of `crew`'s variant, with what it shares with all larger ones; `tried`
/// itself where there is no smaller one, or where a smaller one does not show it in a fresh worker.
pub fn reduce(
    tried: Tried,
    mut symptom: Symptom,
    crew: &Crew,
    oracle: &Oracle,
    sink: &mut dyn FnMut(&Event),
) -> Result<(Tried, Symptom), CampaignError> {
    let original = tried.prepared.task.hash;
    let unreduced = symptom.clone();
    let failed = |reason: twinfer_case::OversizedRecipe| CampaignError::Supervisor(reason.to_string());
    let mut reducer = Reducer::new(&tried.prepared.case, LIMIT).map_err(failed)?;
    let mut smallest = None;
    let mut count = 0;
    while let Some(candidate) = reducer.propose(1).pop() {
        let candidate = try_warm(candidate, crew, oracle)?;
        count += 1;
        let shared = symptom.shared_with(&candidate);
        reducer.decide(shared.is_some().then_some(0));
        if let Some(shared) = shared {
            symptom = shared;
            tell(original, &candidate, count, sink);
            smallest = Some(candidate);
        }
    }
    let Some(smallest) = smallest else { return Ok((tried, unreduced)) };
    let observation = crew.observe_fresh(&smallest.prepared)?;
    let confirmed = crew.judge(smallest.prepared, smallest.references, observation);
    Ok(match symptom.shared_with(&confirmed) {
        Some(symptom) => (confirmed, symptom),
        None => (tried, unreduced),
    })
}

fn try_warm(candidate: Case, crew: &Crew, oracle: &Oracle) -> Result<Tried, CampaignError> {
    let prepared = Prepared::of(candidate)?;
    let references = prepared.references(oracle);
    let observation = crew.observe_warm(&prepared)?;
    Ok(crew.judge(prepared, references, observation))
}

fn tell(case: CaseHash, smaller: &Tried, tried: u64, sink: &mut dyn FnMut(&Event)) {
    sink(&Event::Minimizing { case, size: smaller.prepared.size(), tried });
}
