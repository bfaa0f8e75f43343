use std::sync::Arc;

use twinfer_case::Case;
use twinfer_generators::Family;

use crate::CampaignError;

/// Where a campaign's cases come from: the case at an index, the same whoever asks and in whatever order.
pub type CaseSource = Arc<dyn Fn(u64) -> Case + Send + Sync>;

/// The cases of `families` in turn.
pub fn generated(families: &[String], seed: u64) -> Result<CaseSource, CampaignError> {
    let families = families.iter().map(|name| family(name)).collect::<Result<Vec<_>, _>>()?;
    if families.is_empty() {
        return Err(unknown(""));
    }
    Ok(Arc::new(move |index| {
        let turn = (index % families.len() as u64) as usize;
        families[turn].stream(seed).case(index)
    }))
}

fn family(name: &str) -> Result<Family, CampaignError> {
    name.parse().map_err(|_| unknown(name))
}

fn unknown(name: &str) -> CampaignError {
    let known: Vec<_> = Family::ALL.iter().map(|family| family.name()).collect();
    CampaignError::UnknownFamily { name: name.to_owned(), known: known.join(", ") }
}
