//! The table of a survey: what golden and every variant give for every case.

use twinfer_case::{Case, Ending, Expectation, Observation, Task};
use twinfer_reports::{Answer, Survey, SurveyedCase, SurveyedVariant};
use twinfer_store::RecordedObservation;

use super::entry::Entry;

/// A row per case, and a column per variant and version; `uncompared` is why variants were not compared.
pub fn table(entries: &[Entry], uncompared: Vec<String>) -> Survey {
    let observations = entries.iter().flat_map(|entry| &entry.observations);
    let mut variants: Vec<SurveyedVariant> = observations.map(variant_of).collect();
    variants.sort();
    variants.dedup();
    let cases = entries.iter().map(|entry| row(entry, &variants)).collect();
    Survey { uncompared, ..Survey::new(variants, cases) }
}

fn row(entry: &Entry, variants: &[SurveyedVariant]) -> SurveyedCase {
    SurveyedCase {
        name: entry.name(),
        topic: entry.topic.clone(),
        graph: entry.case.as_ref().map(|case| case.graph.to_string()),
        golden: entry.case.as_ref().map_or_else(|| "not supported".to_owned(), golden),
        answers: variants.iter().map(|variant| answer(entry, variant)).collect(),
    }
}

fn answer(entry: &Entry, variant: &SurveyedVariant) -> Option<Answer> {
    let observed = entry.observations.iter().find(|one| variant_of(one) == *variant)?;
    let Observation { stage, outcome, .. } = &observed.observation;
    Some(Answer { stage: *stage, ended: Ending::of(outcome), verdict: observed.verdict.clone()? })
}

fn variant_of(observed: &RecordedObservation) -> SurveyedVariant {
    SurveyedVariant { variant: observed.variant.clone(), version: observed.version.clone() }
}

/// The result of golden: the rule that an invalid case breaks, or the shape of the first output with the rule that leaves it
/// unspecified, if any.
fn golden(case: &Case) -> String {
    if let Expectation::Invalid(rule) = &case.expectation {
        return format!("invalid: {rule}");
    }
    let Ok(task) = Task::of(case) else { return "too large".to_owned() };
    let evaluate = |inputs: &Vec<_>| twinfer_golden::evaluate(&case.graph, inputs);
    let evaluations = task.runs.iter().map(evaluate).collect::<Result<Vec<_>, _>>();
    match evaluations {
        Err(unknown) => unknown.to_string(),
        Ok(evaluations) => {
            let unspecified = evaluations.iter().flat_map(|evaluation| &evaluation.unspecified).next();
            let last = evaluations.last().and_then(|evaluation| evaluation.outputs.first());
            let shape = last.map(|output| format!("{:?}", output.shape)).unwrap_or_default();
            match unspecified {
                Some(rule) => format!("{shape}, unspecified: {}", rule.name),
                None => shape,
            }
        }
    }
}
