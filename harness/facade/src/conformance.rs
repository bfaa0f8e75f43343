use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use twinfer_case::{Case, Comparisons, Divergence, TrustedVariant, Variant, Verdict};
use twinfer_libraries::{Hashing, Installed, Store};
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Error, program};

/// Variants that are compared with golden case by case, each in a worker process of its own.
///
/// A case need not be comparable: the specification may leave it open, or a backend documents that it does not support it. But a
/// variant for which that holds of every case was not tested. Therefore dropping a `Conformance` panics if one of its variants was
/// compared on no case, which fails the test, unless [`check`](Self::check) has returned an error or the thread panics already. A
/// `static` is never dropped: call [`ensure_compared`](Self::ensure_compared) at the end of such a test.
pub struct Conformance {
    subjects: Targets,
    /// By variant, in the order of the subjects.
    comparisons: Mutex<Vec<(Variant, Comparisons)>>,
    /// Whether a check returned an error, which fails the test by itself.
    has_failed: AtomicBool,
}

impl Conformance {
    /// Starts a worker for each of `variants`, written as for `--backends`: `ort:cpu,opt=off`.
    pub fn of(variants: &[&str]) -> Result<Self, Error> {
        let vouched = |text: &&str| text.parse().map(TrustedVariant::vouch);
        let variants = variants.iter().map(vouched).collect::<Result<Vec<_>, _>>()?;
        let libraries = libraries(&variants)?;
        let subjects = Targets::start(&variants, &program::worker(&libraries)?, Deadlines::default())?;
        let comparisons = subjects.infos().map(|info| (info.variant.clone(), Comparisons::default()));
        let comparisons = Mutex::new(comparisons.collect());
        Ok(Self { subjects, comparisons, has_failed: AtomicBool::new(false) })
    }

    /// The divergences of all variants on `case`; empty if every variant conforms, or a rule of its backend or of golden
    /// covers the case.
    pub fn check(&self, case: &Case) -> Result<Vec<Divergence>, Error> {
        let surveyed = self.subjects.survey(std::slice::from_ref(case), &|_, _| {});
        let answers = surveyed.inspect_err(|_| self.has_failed.store(true, Ordering::Relaxed))?;
        let mut comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        for (answers, (_, comparisons)) in answers.iter().zip(comparisons.iter_mut()) {
            for answer in answers {
                if let Some(record) = answer.record() {
                    comparisons.record(&record);
                }
            }
        }
        drop(comparisons);
        let verdicts = answers.into_iter().flatten().filter_map(|answer| answer.verdict);
        let divergences = verdicts.filter_map(|verdict| match verdict {
            Verdict::Diverges(divergences) => Some(divergences),
            _ => None,
        });
        Ok(divergences.flatten().collect())
    }

    /// An error that says why if a variant was compared on none of the cases that were checked so far.
    ///
    /// A variant is compared on a case if the case conforms or diverges at the deepest stage that its backend reaches on this
    /// machine. A case that is unsupported, unspecified or vacuous is no comparison.
    pub fn ensure_compared(&self) -> Result<(), Error> {
        let comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = comparisons.iter().flat_map(|(variant, comparisons)| comparisons.causes(variant));
        let causes: Vec<_> = causes.collect();
        if causes.is_empty() { Ok(()) } else { Err(Error::NothingCompared(causes.join("\n"))) }
    }
}

impl Drop for Conformance {
    #[expect(clippy::panic, reason = "a test that compared nothing must fail")]
    fn drop(&mut self) {
        if thread::panicking() || self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.ensure_compared() {
            panic!("{error}");
        }
    }
}

/// The installed libraries that the variants load, verified.
fn libraries(variants: &[TrustedVariant]) -> Result<Vec<Installed>, Error> {
    let store = Store::open()?;
    let names = variants.iter().filter_map(|variant| variant.library());
    let libraries = names.map(|name| store.find(&name)).collect::<Result<Vec<_>, _>>()?;
    store.verify(&libraries, Hashing::Cached)?;
    Ok(libraries)
}
