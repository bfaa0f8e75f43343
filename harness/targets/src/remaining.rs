//! What a case shows besides known findings.

use twinfer_case::{Case, Finding};
use twinfer_triage::{DivergingCase, Scrutiny, Triageable, Whole, finding, is_known_as};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets};

/// What a case shows besides known findings.
pub enum Remaining {
    /// It does not diverge in fresh workers.
    NoDivergence,
    /// Nothing: all that it shows is known.
    Nothing,
    /// A finding that is not known, with the smallest case that shows it.
    New(Box<(Finding, Case)>),
}

/// Something that a case shows.
struct Cause {
    diverging: DivergingCase,
    /// Whether a smaller case may show it.
    is_reducible: bool,
}

impl Targets {
    /// What `case` shows besides `known` findings: of each variant, every cause of its divergences, of the whole case and of wrong segments. A
    /// cause is known as it is, or else once it is reduced to the smallest case that shows it. Findings are without experiments and repeats.
    ///
    /// # Errors
    ///
    /// If a worker fails.
    pub fn remaining(&self, case: &Case, known: &[Finding]) -> Result<Remaining, TargetError> {
        let is_known = |finding: &Finding| known.iter().any(|known| is_known_as(finding, known));
        let mut remaining = Remaining::NoDivergence;
        for workers in &self.variants {
            for Cause { diverging, is_reducible } in self.causes(workers, case)? {
                remaining = Remaining::Nothing;
                let whole = diverging.evaluated.clone();
                if is_known(&finding(workers.info(), &whole, &diverging, Vec::new())) {
                    continue;
                }
                let minimal =
                    if is_reducible { self.smallest(workers, diverging, &mut |_| {})? } else { diverging };
                let finding = finding(workers.info(), &whole, &minimal, Vec::new());
                if !is_known(&finding) {
                    let case = minimal.evaluated.encoded.case.clone();
                    return Ok(Remaining::New(Box::new((finding, case))));
                }
            }
        }
        Ok(remaining)
    }

    /// What the variant of `workers` shows on `case`.
    fn causes(&self, workers: &TriageWorkers, case: &Case) -> Result<Vec<Cause>, TargetError> {
        let mut evaluated = self.evaluate_fresh(workers, case)?;
        let Triageable { whole, segments } = Scrutiny::Rounded.apply(workers, &mut evaluated)?;
        let (of_whole, is_reducible) = match whole {
            Whole::Outputs => (DivergingCase::all(&evaluated), true),
            // a smaller case would show the wrong segments
            Whole::Unaccounted => (DivergingCase::all(&evaluated), false),
            Whole::Inside => (DivergingCase::inside(&evaluated), false),
            Whole::Nothing => (Vec::new(), false),
        };
        let mut causes: Vec<_> =
            of_whole.into_iter().map(|diverging| Cause { diverging, is_reducible }).collect();
        for segment in segments {
            let fresh = self.evaluate_fresh(workers, &segment.encoded.case)?;
            let of_segment = DivergingCase::all(&fresh).into_iter();
            causes.extend(of_segment.map(|diverging| Cause { diverging, is_reducible: true }));
        }
        Ok(causes)
    }
}
