use twinfer_case::{Case, Divergence, TrustedVariant, Verdict};
use twinfer_libraries::{Hashing, Installed, Store};
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Error, program};

/// Variants that are compared with golden case by case, each in a worker process of its own.
pub struct Conformance {
    subjects: Targets,
}

impl Conformance {
    /// Starts a worker for each of `variants`, written as for `--backends`: `ort:cpu,opt=off`.
    pub fn of(variants: &[&str]) -> Result<Self, Error> {
        let vouched = |text: &&str| text.parse().map(TrustedVariant::vouch);
        let variants = variants.iter().map(vouched).collect::<Result<Vec<_>, _>>()?;
        let libraries = libraries(&variants)?;
        let subjects = Targets::start(&variants, &program::worker(&libraries)?, Deadlines::default())?;
        Ok(Self { subjects })
    }

    /// The divergences of all variants on `case`; empty if every variant conforms, or a rule of its backend or of golden
    /// covers the case.
    pub fn check(&self, case: &Case) -> Result<Vec<Divergence>, Error> {
        let answers = self.subjects.survey(std::slice::from_ref(case), &|_, _| {})?;
        let verdicts = answers.into_iter().flatten().filter_map(|answer| answer.verdict);
        let divergences = verdicts.filter_map(|verdict| match verdict {
            Verdict::Diverges(divergences) => Some(divergences),
            _ => None,
        });
        Ok(divergences.flatten().collect())
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
