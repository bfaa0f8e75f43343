use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use twinfer_case::Distribution;
use twinfer_generators::Family;
use twinfer_triage::Neighbors;

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

/// The seed of the cases for experiments, which are the same in every campaign.
const NEIGHBORS_SEED: u64 = 0x6e65_6967_6862_6f72;

/// Cases for experiments: for each operator those of the families that have it, in turn. They are of the distribution that never changes,
/// so that a stored case leads to the same finding in every version.
pub static NEIGHBORS: LazyLock<Neighbors> = LazyLock::new(|| {
    let stream = |family: Family| (family, family.stream(Distribution::Baseline, NEIGHBORS_SEED));
    let streams: BTreeMap<_, _> = Family::VALID.map(stream).into();
    Neighbors::new(move |operator, place| {
        let families = Family::with_operator(operator);
        streams[&families[(place % families.len() as u64) as usize]].case(place)
    })
});

fn family(name: &str) -> Result<Family, CampaignError> {
    name.parse().map_err(|_| unknown(name))
}

fn unknown(name: &str) -> CampaignError {
    let known: Vec<_> = Family::ALL.iter().map(|family| family.name()).collect();
    CampaignError::UnknownFamily { name: name.to_owned(), known: known.join(", ") }
}
