//! The runs of a case *apart*: whether what diverges in one of them shows without the runs before it.

use twinfer_case::{Case, EncodedCase, Kind, TensorSource};
use twinfer_checks::{Evaluated, references};

use crate::{TriageError, diverging_case::DivergingCase, reduction::Reduction};

/// What a divergence is called that no run shows by itself.
pub const AFTER_OTHER_RUNS: &str = "only after other runs of the case";

/// Whether no run of a case shows its symptom as the only run of a worker that has run nothing, so that it depends on the runs before. An
/// engine is built for the shapes of all runs: where these differ, a run by itself says nothing of the same engine.
pub fn depends_on_earlier_runs(
    reduction: &Reduction<'_>,
    diverging: &DivergingCase,
) -> Result<bool, TriageError> {
    let case = &diverging.evaluated.encoded.case;
    let info = reduction.workers.confirming_info();
    let is_other_engine = info.variant.backend.builds_engines() && !have_same_shapes(case);
    if case.runs.len() < 2 || !is_of_runs(diverging.symptom.kind()) || is_other_engine {
        return Ok(false);
    }
    let symptom = diverging.symptom.clone().without_explanations();
    for run in &case.runs {
        if !reduction.cancellation.is_active() {
            return Ok(false);
        }
        let encoded = EncodedCase::encode(Case { runs: vec![run.clone()], ..case.clone() })?;
        let references = references(&encoded, reduction.oracle, info.description.arithmetic);
        let observation = reduction.workers.observe_fresh(&encoded.task)?;
        let alone = Evaluated::new(info, encoded, references, observation);
        if symptom.recurring_in(&alone).is_some() {
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
