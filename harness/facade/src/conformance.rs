use twinfer_case::{Case, Divergence, InvalidVariant, Variant, Verdict};
use twinfer_libraries::{Installed, Store};
use twinfer_targets::{TargetError, Targets};
use twinfer_workers::Deadlines;

use crate::program;

/// Backends with a worker each, compared with golden case by case.
pub struct Conformance {
    subjects: Targets,
}

/// Why backends cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text names no variant.
    #[error(transparent)]
    Variant(#[from] InvalidVariant),
    /// A library is not installed, or not whole.
    #[error(transparent)]
    Library(#[from] twinfer_libraries::Error),
    /// There is no program to serve backends.
    #[error(
        "no worker: call twinfer::become_worker_if_asked() first in main, set TWINFER_PROGRAM, or put twinfer beside the tests"
    )]
    NoProgram,
    /// The workers failed.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl Conformance {
    /// Starts a worker for each of `variants`, as `--backends` writes one: `ort:cpu,opt=off`.
    pub fn of(variants: &[&str]) -> Result<Self, Error> {
        let variants = variants.iter().map(|text| text.parse()).collect::<Result<Vec<Variant>, _>>()?;
        let libraries = libraries(&variants)?;
        let subjects = Targets::start(&variants, &program::worker(&libraries)?, Deadlines::default())?;
        Ok(Self { subjects })
    }

    /// What diverges on `case`; nothing where every variant conforms, or is excused by a rule of its own or of golden.
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

/// What the variants run on, as far as it is installed by a name.
fn libraries(variants: &[Variant]) -> Result<Vec<Installed>, Error> {
    let store = Store::open()?;
    let names = variants.iter().filter_map(Variant::library);
    Ok(names.map(|name| store.find(&name)).collect::<Result<_, _>>()?)
}
