use twinfer_case::{Case, Divergence, InvalidVariant, Variant, Verdict};
use twinfer_libraries::{Installed, Store};
use twinfer_targets::{TargetError, Targets};
use twinfer_workers::Deadlines;

use crate::program;

/// Variants that are compared with golden case by case, each in a worker process of its own.
pub struct Conformance {
    subjects: Targets,
}

/// The error of backends that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text does not name a variant.
    #[error(transparent)]
    Variant(#[from] InvalidVariant),
    /// A library is not installed, or is damaged.
    #[error(transparent)]
    Library(#[from] twinfer_libraries::Error),
    /// There is no program to run as a worker.
    #[error(
        "no worker: call twinfer::become_worker_if_asked() first in main, set TWINFER_PROGRAM, or put twinfer beside the tests"
    )]
    NoProgram,
    /// A worker failed.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl Conformance {
    /// Starts a worker for each of `variants`, written as for `--backends`: `ort:cpu,opt=off`.
    pub fn of(variants: &[&str]) -> Result<Self, Error> {
        let variants = variants.iter().map(|text| text.parse()).collect::<Result<Vec<Variant>, _>>()?;
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

/// The installed libraries that the variants load.
fn libraries(variants: &[Variant]) -> Result<Vec<Installed>, Error> {
    let store = Store::open()?;
    let names = variants.iter().filter_map(Variant::library);
    Ok(names.map(|name| store.find(&name)).collect::<Result<_, _>>()?)
}
