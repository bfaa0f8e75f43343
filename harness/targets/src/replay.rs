//! *Replaying* runs the case of a finding again and compares what happens with what was recorded.

use std::{path::Path, sync::Arc};

use twinfer_case::{
    BackendVersion, Case, EncodedCase, Finding, LibraryDifference, Variant, VariantRecord, Verdict,
};
use twinfer_checks::{Evaluated, references};
use twinfer_store::{RecordedObservation, Recording, read_finding, read_preceding};
use twinfer_triage::Scrutiny;
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets, case::read_case};

/// How a recorded observation compares with what the same variant does now.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The variant.
    pub variant: Variant,
    /// The backend version that was recorded, and the one that ran now.
    pub versions: (BackendVersion, BackendVersion),
    /// The files of the variant's library that are not those of the recording although both have the same version.
    pub library_differences: Vec<LibraryDifference>,
    /// Whether stage, outcome, writes out of bounds and every output recur, byte for byte; or, if the finding is unstable, whether
    /// the outcome is one of those that it lists.
    pub recurs: bool,
    /// The verdict on what the variant does now.
    pub record: VariantRecord,
}

impl Targets {
    /// Runs the case of the finding in `folder` on every variant under test that is in its recording, after the cases that it
    /// needs before it. One result for each recorded version.
    pub fn replay(&self, folder: &Path) -> Result<Vec<Replay>, TargetError> {
        let case = read_case(folder)?;
        let history = read_history(folder)?;
        let recording = Recording::read_beside(folder)?;
        let hash = EncodedCase::encode(case.clone())?.task.hash;
        let finding = read_finding(folder)?.filter(|finding| finding.case == hash);
        let is_listed =
            |now: &Evaluated| finding.as_ref().is_some_and(|finding| finding.lists(&now.outcome()));
        let mut replays = Vec::new();
        for workers in &self.variants {
            let info = workers.info();
            for recorded in recording.observed.iter().filter(|one| one.variant == info.variant) {
                let evaluated = self.evaluate_after(workers, &history, &case)?;
                let version = info.description.backend_version();
                replays.push(Replay {
                    variant: recorded.variant.clone(),
                    library_differences: self.library_differences(recorded, &version),
                    versions: (recorded.version.clone(), version),
                    recurs: recorded.recurs_as(&evaluated.observation) || is_listed(&evaluated),
                    record: explained(evaluated.record(info), finding.as_ref()),
                });
            }
        }
        Ok(replays)
    }

    /// Runs the case of the finding in `folder` on every variant under test, after the cases that it needs before it, whatever is recorded. A
    /// case that shows its finding only inside is judged segment by segment.
    pub fn rerun(&self, folder: &Path) -> Result<Vec<VariantRecord>, TargetError> {
        let (case, history) = (read_case(folder)?, read_history(folder)?);
        let shows_inside = read_finding(folder)?.is_some_and(|finding| finding.only_inside);
        let rerun = |workers: &TriageWorkers| {
            let mut evaluated = self.evaluate_after(workers, &history, &case)?;
            if shows_inside {
                Scrutiny::Rounded.apply(workers, &mut evaluated)?;
            }
            Ok(evaluated.record(workers.info()))
        };
        self.variants.iter().map(rerun).collect()
    }

    /// How the library that the variant of `recorded` loads differs from the recorded one. A library of another `version` differs
    /// anyway.
    fn library_differences(
        &self,
        recorded: &RecordedObservation,
        version: &BackendVersion,
    ) -> Vec<LibraryDifference> {
        match (&recorded.library, self.libraries.of(&recorded.variant)) {
            (Some(then), Some(now)) if recorded.version == *version => then.differences(now),
            _ => Vec::new(),
        }
    }

    /// Runs `case` in a worker that has run `history` and nothing else, and judges what it does. Without a history, or if the
    /// history ends the worker, `case` runs in a fresh worker.
    fn evaluate_after(
        &self,
        workers: &TriageWorkers,
        history: &[Arc<EncodedCase>],
        case: &Case,
    ) -> Result<Evaluated, TargetError> {
        if history.is_empty() {
            return self.evaluate_fresh(workers, case);
        }
        let encoded = EncodedCase::encode(case.clone())?;
        let Some(observation) = workers.observe_after(history, &encoded)? else {
            return self.evaluate_fresh(workers, case);
        };
        let references = references(&encoded, &self.oracle, workers.info().description.arithmetic);
        Ok(Evaluated::new(workers.info(), encoded, references, observation))
    }
}

/// The cases that a finding needs before its own, encoded.
fn read_history(folder: &Path) -> Result<Vec<Arc<EncodedCase>>, TargetError> {
    let history = read_preceding(folder)?.into_iter().map(EncodedCase::encode);
    Ok(history.collect::<Result<_, _>>()?)
}

/// What recurs of `finding` is explained as the finding explains it: experiments may have refuted what explains its case alone.
fn explained(mut record: VariantRecord, finding: Option<&Finding>) -> VariantRecord {
    let listed = finding.map_or(&[][..], |finding| &finding.divergences);
    if let Verdict::Diverges(divergences) = &mut record.verdict {
        for now in divergences {
            if let Some(then) = listed.iter().find(|then| then.is_like(now)) {
                (now.kind, now.diagnosis) = (then.kind, then.diagnosis.clone());
            }
        }
    }
    record
}
