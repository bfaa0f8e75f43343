use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use twinfer_case::{Divergence, Observation, Task, VariantInfo, VariantRecord, Verdict};
use twinfer_checks::{Evidence, Judgement, judge};

use crate::{
    CampaignError,
    diagnosis::explain,
    prepared::{Prepared, References},
    worker::{Nursery, WorkerProcess, observe},
};

/// One variant with the workers that serve it outside the campaign's lanes.
pub struct Crew {
    info: VariantInfo,
    nursery: Arc<Nursery>,
    /// Workers that have run cases and wait for more.
    warm: Mutex<Vec<WorkerProcess>>,
    hands: NonZeroUsize,
}

/// A case with what a variant made of it.
#[derive(Clone)]
pub struct Tried {
    pub prepared: Arc<Prepared>,
    pub references: References,
    pub observation: Observation,
    pub judgement: Judgement,
}

impl Crew {
    /// A crew of at most `hands` workers at once.
    pub const fn new(info: VariantInfo, nursery: Arc<Nursery>, hands: NonZeroUsize) -> Self {
        Self { info, nursery, warm: Mutex::new(Vec::new()), hands }
    }

    /// A crew of one, whose worker is started now.
    pub fn start(nursery: Arc<Nursery>) -> Result<Self, CampaignError> {
        let worker = nursery.take()?;
        let info =
            VariantInfo { variant: nursery.variant().clone(), description: worker.description().clone() };
        Ok(Self { info, nursery, warm: Mutex::new(vec![worker]), hands: NonZeroUsize::MIN })
    }

    /// Which variant, and what its backend says of itself.
    pub const fn info(&self) -> &VariantInfo {
        &self.info
    }

    /// How many cases may be run at once.
    pub const fn hands(&self) -> usize {
        self.hands.get()
    }

    /// What the variant does with a case in a worker that has run nothing else.
    pub fn observe_fresh(&self, task: &Task) -> Result<Observation, CampaignError> {
        Ok(self.nursery.try_fresh(task, None)?.observation)
    }

    /// What the variant does with a case in a worker that has run others.
    pub fn observe_warm(&self, task: &Task) -> Result<Observation, CampaignError> {
        let waiting = self.waiting().pop();
        let mut worker = waiting.map_or_else(|| self.nursery.take(), Ok)?;
        match observe(&mut worker, task) {
            Ok(observation) => {
                self.waiting().push(worker);
                Ok(observation)
            }
            Err((_, loss)) => {
                drop(worker);
                let trial = self.nursery.try_fresh(task, Some(&loss))?;
                self.waiting().extend(trial.survivor);
                Ok(trial.observation)
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<WorkerProcess>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the variant does with the last of these cases, when one fresh worker runs them all; `None` where an
    /// earlier one ends it.
    pub fn observe_after(
        &self,
        preceding: &[Arc<Prepared>],
        prepared: &Prepared,
    ) -> Result<Option<Observation>, CampaignError> {
        let mut worker = self.nursery.take()?;
        let mut last = None;
        for prepared in preceding.iter().map(AsRef::as_ref).chain([prepared]) {
            last = observe(&mut worker, &prepared.task).ok();
            if last.is_none() {
                return Ok(None);
            }
        }
        Ok(last)
    }

    /// What the checks say of an observation.
    pub fn judge(&self, prepared: Arc<Prepared>, references: References, observation: Observation) -> Tried {
        let mut judgement = judge(&Evidence {
            case: &prepared.case,
            variant: &self.info.variant,
            description: &self.info.description,
            references: &references,
            observation: &observation,
            repeat: None,
            fresh: None,
        });
        explain(&mut judgement, &prepared, &references, &observation);
        Tried { prepared, references, observation, judgement }
    }
}

impl Tried {
    /// The journal's record of it.
    pub fn record(&self, info: &VariantInfo) -> VariantRecord {
        record(info, &self.observation, self.judgement.clone())
    }

    /// What diverges; empty for every other verdict.
    pub fn divergences(&self) -> &[Divergence] {
        match &self.judgement.verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => &[],
        }
    }
}

/// The journal's record of what a variant did and of what the checks say of it.
pub fn record(info: &VariantInfo, observation: &Observation, judgement: Judgement) -> VariantRecord {
    VariantRecord {
        variant: info.variant.clone(),
        stage: observation.stage,
        verdict: judgement.verdict,
        notes: judgement.notes,
        compared: judgement.compared,
        timings: observation.timings.clone(),
    }
}
