use twinfer_case::{
    CaseOutcome, Circumstance, Kind, Observation, Outcome, RepeatedOutcome, Task, VariantRecord, Verdict,
};
use twinfer_checks::outputs_agree;
use twinfer_onnx::PartialGraph;
use twinfer_triage::{Recurrence, Repeat, Round, circumstances, classify};
use twinfer_workers::TriageWorkers;

use super::segment_verdict::judge_with;
use crate::{OpaqueModel, TargetError, Targets};

/// Rounds in workers that have run nothing, in workers that have run a case before, and with memory filled with each pattern.
const FRESH: usize = 2;
const WARM: usize = 4;
const FILLED: usize = 2;

/// What a variant came to each time a diverging case was repeated; nothing if it was not.
#[derive(Default)]
pub struct Repeats {
    rounds: Vec<Repeated>,
}

struct Repeated {
    circumstance: Circumstance,
    observation: Observation,
    outcome: CaseOutcome,
}

impl Targets {
    /// Repeats a case that ran in `fresh` workers twice, until it has run ten times: four times warm, and twice with memory filled with
    /// each pattern. In each round, all variants run it and are judged together: what each came to, in their order.
    ///
    /// A case that hangs takes long, so it is not repeated warm, and once with each pattern.
    pub(super) fn repeat(
        &self,
        model: &OpaqueModel,
        task: &Task,
        fresh: [&[Observation]; FRESH],
    ) -> Result<Vec<Repeats>, TargetError> {
        let hangs = fresh.iter().all(|round| round.iter().any(|one| one.outcome == Outcome::TimedOut));
        let (warm, filled) = if hangs { (0, 1) } else { (WARM, FILLED) };
        let mut repeats: Vec<_> = self.variants.iter().map(|_| Repeats::default()).collect();
        let mut add = |circumstance, observations: Vec<Observation>| {
            let records = self.judged(model, &observations, &[]);
            let judged = repeats.iter_mut().zip(observations).zip(records);
            judged.for_each(|((repeats, one), record)| repeats.add(circumstance, one, &record.verdict));
        };
        for round in fresh {
            add(Circumstance::Fresh, round.to_vec());
        }
        for circumstance in circumstances(0, warm, filled) {
            let runs = self.variants.iter().map(|workers| Round::new(workers, circumstance).observe(task));
            if let Some(observations) = runs.collect::<Result<Option<_>, _>>()? {
                add(circumstance, observations);
            }
        }
        Ok(repeats)
    }
}

/// Judges the segments of a model ten times more on the variant of `workers`, on which one of them is wrong inside the model alone.
/// `record` is what the variant came to before its segments were judged. Where no worker with filled memory starts any more within a
/// round, the rest of the round runs without.
pub fn repeat_inside(
    workers: &TriageWorkers,
    graph: &PartialGraph,
    task: &Task,
    record: &VariantRecord,
) -> Result<Repeats, TargetError> {
    let mut repeats = Repeats::default();
    for circumstance in circumstances(FRESH, WARM, FILLED) {
        let mut round = Round::new(workers, circumstance);
        let Some(observation) = round.observe(task)? else { continue };
        let mut record = record.clone();
        let mut again = |task: &Task| round.observe_again(task);
        if observation.outcome == Outcome::Ok {
            judge_with(workers, (graph, task), &observation, &mut record, 0, &mut again)?;
        }
        repeats.add(circumstance, observation, &record.verdict);
    }
    Ok(repeats)
}

/// Makes the first divergence of `record` what repeats show it to be.
pub fn reclassify(record: &mut VariantRecord, recurrence: impl FnOnce(Kind) -> Recurrence) {
    if let Verdict::Diverges(divergences) = &mut record.verdict
        && let Some(lead) = divergences.first_mut()
        && let Some((kind, how)) = recurrence(lead.kind).reclassifies(lead.kind)
    {
        lead.reclassify(kind, how);
    }
}

impl Repeats {
    fn add(&mut self, circumstance: Circumstance, observation: Observation, verdict: &Verdict) {
        let outcome = CaseOutcome::of(&observation, verdict.divergences());
        self.rounds.push(Repeated { circumstance, observation, outcome });
    }

    /// Makes the first divergence of `record`, the verdict on the case, what the repeats show it to be, and returns what they came to, with
    /// how often.
    pub fn settle(&self, model: &OpaqueModel, record: &mut VariantRecord) -> Vec<RepeatedOutcome> {
        reclassify(record, |kind| classify(kind, &self.runs(model)));
        RepeatedOutcome::count(self.rounds.iter().map(|round| (round.circumstance, round.outcome.clone())))
    }

    fn runs(&self, model: &OpaqueModel) -> Vec<Repeat> {
        let sources = model.output_sources();
        let is_like = |one: &Repeated, other: &Repeated| {
            one.outcome == other.outcome && outputs_agree(&one.observation, &other.observation, &sources)
        };
        let run = |(number, round): (usize, &Repeated)| Repeat {
            circumstance: round.circumstance,
            outcome: round.outcome.clone(),
            mutants: Vec::new(),
            like: self.rounds[..number].iter().position(|other| is_like(round, other)).unwrap_or(number),
        };
        self.rounds.iter().enumerate().map(run).collect()
    }
}
