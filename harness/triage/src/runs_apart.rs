//! The runs of a case *apart*: whether what diverges in one of them shows without the runs before it.

use std::sync::Arc;

use twinfer_case::{Case, EncodedCase, Kind, Run, TensorSource};
use twinfer_checks::{Evaluated, references};

use crate::{TriageError, diverging_case::DivergingCase, reduction::Reduction};

/// What a divergence is called that no run shows by itself.
pub const AFTER_OTHER_RUNS: &str = "only after other runs of the case";

/// Whether no run of a case shows its symptom as the only run of a worker that has run nothing, so that it depends on the runs before. An
/// engine is built for the shapes of all runs: where these differ, a run by itself says nothing of the same engine. `fresh` is the case as it
/// ran in a worker that had run nothing, in which no run came before the first.
pub fn depends_on_earlier_runs(
    reduction: &Reduction<'_>,
    diverging: &DivergingCase,
    fresh: Option<&Evaluated>,
) -> Result<bool, TriageError> {
    let case = &diverging.evaluated.encoded.case;
    let info = reduction.workers.confirming_info();
    let is_other_engine = info.variant.backend.builds_engines() && !have_same_shapes(case);
    if case.runs.len() < 2 || !is_of_runs(diverging.symptom.kind()) || is_other_engine {
        return Ok(false);
    }
    let symptom = diverging.symptom.clone().without_explanations();
    let alone = |run: &Run| EncodedCase::encode(Case { runs: vec![run.clone()], ..case.clone() });
    let recurs_in = |encoded: Arc<EncodedCase>, observation| {
        let references = references(&encoded, reduction.oracle, info.description.arithmetic);
        let alone = Evaluated::new(info, encoded, references, observation);
        symptom.recurring_in(&alone).is_some()
    };
    let same_case = |fresh: &&Evaluated| fresh.encoded.task.hash == diverging.evaluated.encoded.task.hash;
    let fresh = fresh.filter(same_case);
    if let Some(fresh) = fresh {
        let mut observation = fresh.observation.clone();
        observation.runs.truncate(1);
        if recurs_in(alone(&case.runs[0])?, observation) {
            return Ok(false);
        }
    }
    let tried = usize::from(fresh.is_some());
    for run in &case.runs[tried..] {
        if !reduction.cancellation.is_active() {
            return Ok(false);
        }
        let encoded = alone(run)?;
        let observation = reduction.workers.observe_fresh(&encoded.task)?;
        if recurs_in(encoded, observation) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a divergence of this kind is one of single runs.
const fn is_of_runs(kind: Kind) -> bool {
    matches!(kind, Kind::WrongValues | Kind::WrongShape | Kind::WrongDtype | Kind::UnwrittenOutput)
}

fn have_same_shapes(case: &Case) -> bool {
    let shapes = |place: usize| case.runs[place].inputs.iter().map(TensorSource::shape);
    (1..case.runs.len()).all(|place| shapes(place).eq(shapes(0)))
}
