use twinfer_case::{
    CaseOutcome, Circumstance, Observation, Outcome, PoisonPattern, RepeatedOutcome, Task, VariantRecord,
    Verdict,
};
use twinfer_checks::outputs_agree;
use twinfer_triage::{Repeat, classify};

use crate::{OpaqueModel, TargetError, Targets};

/// Rounds in workers that have run a case before, and with memory filled with each pattern.
const WARM: usize = 4;
const FILLED: usize = 2;

/// The rounds in which a diverging case was repeated: in each, all variants ran it and were judged together.
pub struct Repeats<'a> {
    model: &'a OpaqueModel,
    rounds: Vec<Round>,
}

struct Round {
    circumstance: Circumstance,
    observations: Vec<Observation>,
    /// By variant.
    outcomes: Vec<CaseOutcome>,
}

impl Targets {
    /// Repeats a case that ran in `fresh` workers twice, until it has run ten times: four times warm, and twice with memory filled with
    /// each pattern. A case that hangs takes long, so it is not repeated warm, and once with each pattern.
    pub(super) fn repeat<'a>(
        &self,
        model: &'a OpaqueModel,
        task: &Task,
        fresh: [&[Observation]; 2],
    ) -> Result<Repeats<'a>, TargetError> {
        let hangs = fresh.iter().all(|round| round.iter().any(|one| one.outcome == Outcome::TimedOut));
        let (warm, filled) = if hangs { (0, 1) } else { (WARM, FILLED) };
        let mut rounds: Vec<_> =
            fresh.into_iter().map(|round| self.round(model, Circumstance::Fresh, round.to_vec())).collect();
        for _ in 0..warm {
            let observations = self.observed(|workers| workers.observe_warm(task))?;
            rounds.push(self.round(model, Circumstance::Warm, observations));
        }
        for _ in 0..filled {
            for pattern in PoisonPattern::ALL {
                let filled = self.filled(pattern, task)?;
                rounds.extend(filled.map(|observations| self.round(model, pattern.into(), observations)));
            }
        }
        Ok(Repeats { model, rounds })
    }

    /// What every variant does in a worker of its own whose memory is filled; `None` if such a worker does not start.
    fn filled(&self, pattern: PoisonPattern, task: &Task) -> Result<Option<Vec<Observation>>, TargetError> {
        let runs = self.variants.iter().map(|workers| workers.repeat(Some(pattern), &[], task, 1));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        Ok(runs.into_iter().map(|mut runs| runs.pop().map(|run| run.observation)).collect())
    }

    fn round(
        &self,
        model: &OpaqueModel,
        circumstance: Circumstance,
        observations: Vec<Observation>,
    ) -> Round {
        let records = self.judged(model, &observations, &[]);
        let judged = observations.iter().zip(&records);
        let outcomes =
            judged.map(|(one, record)| CaseOutcome::of(one, record.verdict.divergences())).collect();
        Round { circumstance, observations, outcomes }
    }
}

impl Repeats<'_> {
    /// `records`, the verdicts on the case, with each divergence as what the repeats show it to be.
    pub fn settle(&self, mut records: Vec<VariantRecord>) -> Vec<VariantRecord> {
        for (place, record) in records.iter_mut().enumerate() {
            if let Verdict::Diverges(divergences) = &mut record.verdict
                && let Some(lead) = divergences.first_mut()
                && let Some((kind, how)) = classify(lead.kind, &self.runs(place)).reclassifies(lead.kind)
            {
                lead.reclassify(kind, how);
            }
        }
        records
    }

    /// What the variant at `place` came to, with how often.
    pub fn outcomes(&self, place: usize) -> Vec<RepeatedOutcome> {
        let runs = self.rounds.iter().map(|round| (round.circumstance, round.outcomes[place].clone()));
        RepeatedOutcome::count(runs)
    }

    /// The runs of the variant at `place`.
    fn runs(&self, place: usize) -> Vec<Repeat> {
        let sources = self.model.output_sources();
        let is_like = |one: &Round, other: &Round| {
            one.outcomes[place] == other.outcomes[place]
                && outputs_agree(&one.observations[place], &other.observations[place], &sources)
        };
        let run = |(number, round): (usize, &Round)| Repeat {
            circumstance: round.circumstance,
            outcome: round.outcomes[place].clone(),
            mutants: Vec::new(),
            like: self.rounds[..number].iter().position(|other| is_like(round, other)).unwrap_or(number),
        };
        self.rounds.iter().enumerate().map(run).collect()
    }
}
