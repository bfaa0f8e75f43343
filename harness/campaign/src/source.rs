use std::sync::Arc;

use twinfer_case::Distribution;
use twinfer_generators::Family;

use crate::{CampaignError, CaseSource};

/// The cases of `families` in turn.
pub fn generated(
    families: &[String],
    distribution: Distribution,
    seed: u64,
) -> Result<CaseSource, CampaignError> {
    let stream = |name: &String| family(name).map(|family| family.stream(distribution, seed));
    let streams = families.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    if streams.is_empty() {
        return Err(unknown(""));
    }
    Ok(Arc::new(move |index| {
        let turn = (index % streams.len() as u64) as usize;
        streams[turn].case(index)
    }))
}

fn family(name: &str) -> Result<Family, CampaignError> {
    name.parse().map_err(|_| unknown(name))
}

fn unknown(name: &str) -> CampaignError {
    let known: Vec<_> = Family::ALL.iter().map(|family| family.name()).collect();
    CampaignError::UnknownFamily { name: name.to_owned(), known: known.join(", ") }
}
