use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use twinfer_case::{
    Case, Comparisons, Divergence, Expectation, Finding, TrustedVariant, Variant, VariantInfo, Verdict,
    ensure_declared,
};
use twinfer_libraries::{Hashing, Store};
use twinfer_provision::{Error as ProvisionError, Provision};
use twinfer_store::{FindingsFolder, RecordedObservation, known_findings};
use twinfer_targets::{Remaining, Targets};
use twinfer_workers::Deadlines;

use crate::{Error, Failure, Outputs, program};

/// What to do if no case was checked: an error that a test returns before is not shown if a panic ends the test.
const NO_CASE: &str = "\nno case was checked; if the test returned an error before, create the Conformance after what failed, so that the error is shown";

/// Variants that are compared with golden case by case, each in a worker process of its own.
///
/// A case need not be comparable: the specification may leave it open, or a backend documents that it does not support it. But a
/// variant for which that holds of every case was not tested. Therefore dropping a `Conformance` panics if one of its variants was
/// compared on no case, which fails the test, unless a check has returned an error or the thread panics already. A
/// `static` is never dropped: call [`ensure_compared`](Self::ensure_compared) at the end of such a test.
pub struct Conformance {
    targets: Targets,
    /// Findings that fail no test.
    known: Vec<Finding>,
    /// By variant, in the order of the targets.
    comparisons: Mutex<Vec<(Variant, Comparisons)>>,
    /// Whether a check returned an error, which fails the test by itself.
    has_failed: AtomicBool,
}

impl Conformance {
    /// Starts a worker for each of `variants`, written as for `--backends`: `ort:cpu,opt=off`.
    ///
    /// A library that is missing is installed first, as by `twinfer backends install`: that needs pip and its package index.
    pub fn of(variants: &[&str]) -> Result<Self, Error> {
        let vouched = |text: &&str| text.parse().map(TrustedVariant::vouch);
        let variants = variants.iter().map(vouched).collect::<Result<Vec<_>, _>>()?;
        let mut install = |store: &Store, name: &str| store.ensure(name, &mut |_| {});
        let store = Store::open().map_err(ProvisionError::from)?;
        let provision = Provision::of(store, &variants, &mut install)?;
        provision.verify(Hashing::Cached)?;
        let targets = Targets::start(&variants, &program::worker(&provision)?, Deadlines::default())?;
        let comparisons = targets.infos().map(|info| (info.variant.clone(), Comparisons::default()));
        let comparisons = Mutex::new(comparisons.collect());
        Ok(Self { targets, known: Vec::new(), comparisons, has_failed: AtomicBool::new(false) })
    }

    /// Lets [`check`](Self::check) and [`check_all`](Self::check_all) go on after a finding that is stored in `folder`: where `twinfer adopt`
    /// keeps findings, or the run directory of a campaign. A divergence that is not known as it is gets reduced, to tell which finding it shows.
    pub fn with_known(mut self, folder: impl AsRef<Path>) -> Result<Self, Error> {
        let findings = known_findings(folder.as_ref()).and_then(|folder| FindingsFolder::at(&folder).load());
        let findings = findings.inspect_err(|_| self.note_failure())?;
        self.known.extend(findings.into_iter().map(|(finding, _)| finding));
        Ok(self)
    }

    /// Fails with the case as it is if a variant diverges on it in a way that is not [known](Self::with_known).
    ///
    /// In a proptest this is the check to call: proptest makes the case smaller by checking smaller ones.
    pub fn check(&self, case: &Case) -> Result<(), Error> {
        let divergences = self.divergences(case)?;
        if divergences.is_empty()
            || !self.known.is_empty() && matches!(self.remaining(case, &divergences)?, Remaining::Nothing)
        {
            return Ok(());
        }
        Err(self.failed(Failure { case: case.clone(), divergences }))
    }

    /// Checks cases in order. Fails at the first on which a variant diverges in a way that is not [known](Self::with_known), with the
    /// smallest case that shows the same.
    pub fn check_all(&self, cases: impl IntoIterator<Item = Case>) -> Result<(), Error> {
        for case in cases {
            let divergences = self.divergences(&case)?;
            if divergences.is_empty() {
                continue;
            }
            let failure = match self.remaining(&case, &divergences)? {
                Remaining::Nothing => continue,
                Remaining::New(new) => {
                    let (finding, case) = *new;
                    Failure { case, divergences: finding.divergences }
                }
                // it diverges only in a worker that has run other cases
                Remaining::NoDivergence => Failure { case, divergences },
            };
            return Err(self.failed(failure));
        }
        Ok(())
    }

    /// What a case with these divergences shows besides known findings.
    fn remaining(&self, case: &Case, divergences: &[Divergence]) -> Result<Remaining, Error> {
        let variants: Vec<_> = divergences.iter().map(|divergence| &divergence.variant).collect();
        let remaining = self.targets.remaining(case, &variants, &self.known);
        Ok(remaining.inspect_err(|_| self.note_failure())?)
    }

    /// The divergences of all variants on `case`; empty if every variant conforms, or a rule of its backend or of golden
    /// covers the case.
    pub fn divergences(&self, case: &Case) -> Result<Vec<Divergence>, Error> {
        let verdicts = self.answers(case)?.into_iter().filter_map(|answer| answer.verdict);
        let divergences = verdicts.filter_map(|verdict| match verdict {
            Verdict::Diverges(divergences) => Some(divergences),
            _ => None,
        });
        Ok(divergences.flatten().collect())
    }

    /// What every variant computes on `case`, in the order of the variants, to compare in another way than this crate does.
    ///
    /// An error if a variant does not execute the case.
    pub fn outputs(&self, case: &Case) -> Result<Vec<Outputs>, Error> {
        self.answers(case)?.into_iter().map(Outputs::of).collect()
    }

    /// An error that says why if a variant was compared on none of the cases that were checked so far.
    ///
    /// A variant is compared on a case if the case conforms or diverges at the deepest stage that its backend reaches on this
    /// machine. A case that is unsupported, unspecified, without a reference or vacuous is no comparison.
    pub fn ensure_compared(&self) -> Result<(), Error> {
        let comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = comparisons.iter().flat_map(|(variant, comparisons)| comparisons.causes(variant));
        let causes: Vec<_> = causes.collect();
        if causes.is_empty() { Ok(()) } else { Err(Error::NothingCompared(causes.join("\n"))) }
    }

    /// The variants that are compared, with the descriptions that their backends give.
    pub fn variants(&self) -> impl Iterator<Item = &VariantInfo> {
        self.targets.infos()
    }

    /// What every variant does with `case`, in the order of the variants.
    fn answers(&self, case: &Case) -> Result<Vec<RecordedObservation>, Error> {
        if case.expectation == Expectation::Valid {
            let unfit = case.runs.iter().try_for_each(|run| ensure_declared(&case.graph.inputs, run));
            unfit.inspect_err(|_| self.note_failure())?;
        }
        let surveyed = self.targets.survey(std::slice::from_ref(case), &|_, _| {});
        let answers = surveyed.inspect_err(|_| self.note_failure())?;
        let mut comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        for (answers, (_, comparisons)) in answers.iter().zip(comparisons.iter_mut()) {
            for record in answers.iter().filter_map(RecordedObservation::record) {
                comparisons.record(&record);
            }
        }
        drop(comparisons);
        Ok(answers.into_iter().flatten().collect())
    }

    fn failed(&self, failure: Failure) -> Error {
        self.note_failure();
        Error::Diverges(Box::new(failure))
    }

    fn was_given_cases(&self) -> bool {
        let comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        comparisons.iter().any(|(_, comparisons)| !comparisons.is_empty())
    }

    fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Conformance {
    #[expect(clippy::panic, reason = "a test that compared nothing must fail")]
    fn drop(&mut self) {
        if thread::panicking() || self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.ensure_compared() {
            let advice = if self.was_given_cases() { "" } else { NO_CASE };
            panic!("{error}{advice}");
        }
    }
}
