//! *Reduction*: making a case smaller that still shows its symptom, by running candidates in warm workers. Candidates
//! run at once, and the first success in the order of the passes counts, whichever finishes first.

use std::thread;

use twinfer_case::{Case, Event};
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
    loop {
        let candidates = reducer.propose(crew.hands());
        if candidates.is_empty() {
            break;
        }
        let mut candidates = try_warm(candidates, crew, oracle)?;
        let success = candidates
            .iter()
            .enumerate()
            .find_map(|(place, candidate)| Some((place, symptom.shared_with(candidate)?)));
        reducer.decide(success.as_ref().map(|(place, _)| *place));
        count += success.as_ref().map_or(candidates.len(), |(place, _)| place + 1) as u64;
        if let Some((place, shared)) = success {
            symptom = shared;
            let smaller = candidates.swap_remove(place);
            sink(&Event::Minimizing { case: original, size: smaller.prepared.size(), tried: count });
            smallest = Some(smaller);
        }
    }
    let Some(smallest) = smallest else { return Ok((tried, unreduced)) };
    let observation = crew.observe_fresh(&smallest.prepared.task)?;
    let confirmed = crew.judge(smallest.prepared, smallest.references, observation);
    Ok(match symptom.shared_with(&confirmed) {
        Some(symptom) => (confirmed, symptom),
        None => (tried, unreduced),
    })
}

/// Runs candidates at once, each in a worker of its own, and gives them in their order.
fn try_warm(candidates: Vec<Case>, crew: &Crew, oracle: &Oracle) -> Result<Vec<Tried>, CampaignError> {
    let try_one = |candidate: Case| {
        let prepared = Prepared::of(candidate)?;
        let references = prepared.references(oracle);
        let observation = crew.observe_warm(&prepared.task)?;
        Ok(crew.judge(prepared, references, observation))
    };
    thread::scope(|scope| {
        let running: Vec<_> =
            candidates.into_iter().map(|candidate| scope.spawn(move || try_one(candidate))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    })
}

fn panicked() -> CampaignError {
    CampaignError::Supervisor("a thread that tried a candidate panicked".to_owned())
}
