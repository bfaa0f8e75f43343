//! A note for every device on which the backend says it ran a layer.

use std::collections::BTreeSet;

use twinfer_case::{Note, Observation};

use crate::report::Report;

pub fn check(observation: &Observation, report: &mut Report<'_>) {
    let Some(precision) = &observation.precision else { return };
    let places: BTreeSet<_> = precision.layers.iter().filter_map(|layer| layer.placement.as_ref()).collect();
    for place in places {
        report.note(Note::Placement(place.clone()));
    }
}
