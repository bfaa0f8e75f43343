//! What a case shows besides known findings.

use twinfer_case::{Case, Culprit, Finding, Variant, Verdict};
use twinfer_checks::Evaluated;
use twinfer_triage::{DivergingCase, Scrutiny, Triageable, Whole, finding, is_known_as};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets};

/// What a case shows besides known findings.
pub enum Remaining {
    /// A variant does not diverge in fresh workers.
    NoDivergence,
    /// Nothing: all that it shows is known.
    Nothing,
    /// A finding that is not known, with the smallest case that shows it.
    New(Box<(Finding, Case)>),
}

/// A divergence that may be a finding.
struct Candidate {
    diverging: DivergingCase,
    /// The segment that the case is, by its names in the model.
    culprit: Option<Culprit>,
    /// Whether a smaller case may show it.
    is_reducible: bool,
}

impl Targets {
    /// What `case` shows besides `known` findings on `variants`, which diverge on it: every cause of a divergence, of the whole case and of wrong
    /// segments. A cause is known as it is, or else once it is reduced to the smallest case that shows it. Findings are without
    /// experiments and repeats.
    ///
    /// # Errors
    ///
    /// If a worker fails.
    pub fn remaining(
        &self,
        case: &Case,
        variants: &[&Variant],
        known: &[Finding],
    ) -> Result<Remaining, TargetError> {
        let is_known = |finding: &Finding| known.iter().any(|known| is_known_as(finding, known));
        for workers in self.variants.iter().filter(|workers| variants.contains(&&workers.info().variant)) {
            let candidates = self.candidates(workers, case)?;
            if candidates.is_empty() {
                return Ok(Remaining::NoDivergence);
            }
            for candidate in candidates {
                if is_known(&candidate.finding(workers, &candidate.diverging)) {
                    continue;
                }
                let minimal = if candidate.is_reducible {
                    self.smallest(workers, candidate.diverging.clone(), &mut |_| {})?
                } else {
                    candidate.diverging.clone()
                };
                let finding = candidate.finding(workers, &minimal);
                if !is_known(&finding) {
                    let case = minimal.evaluated.encoded.case.clone();
                    return Ok(Remaining::New(Box::new((finding, case))));
                }
            }
        }
        Ok(Remaining::Nothing)
    }

    /// What the variant of `workers` shows on `case`, first what a smaller case may show.
    fn candidates(&self, workers: &TriageWorkers, case: &Case) -> Result<Vec<Candidate>, TargetError> {
        let whole = self.evaluate_fresh(workers, case)?;
        let mut evaluated = whole.clone();
        let Triageable { whole: left, segments } = Scrutiny::Rounded.apply(workers, &mut evaluated)?;
        let (mut of_segments, mut recur) = (Vec::new(), true);
        for segment in segments {
            let culprit = segment.divergences().iter().find_map(|divergence| divergence.culprit.clone());
            let mut fresh = self.evaluate_fresh(workers, &segment.encoded.case)?;
            blame(&mut fresh, culprit.as_ref());
            recur &= !fresh.divergences().is_empty();
            of_segments.extend(Candidate::all(
                DivergingCase::all(&fresh, Whole::All),
                culprit.as_ref(),
                true,
            ));
        }
        let of_case = if left == Whole::Rest && !recur {
            DivergingCase::all(&whole, Whole::All)
        } else {
            DivergingCase::all(&evaluated, left)
        };
        // where wrong segments do not account for the outputs, a smaller case would show the segments
        let is_reducible = matches!(left, Whole::All | Whole::Rest);
        let of_case = Candidate::all(of_case, None, is_reducible);
        let mut candidates: Vec<_> = of_case.into_iter().chain(of_segments).collect();
        candidates.sort_by_key(|candidate| !candidate.is_reducible);
        Ok(candidates)
    }
}

impl Candidate {
    fn all(diverging: Vec<DivergingCase>, culprit: Option<&Culprit>, is_reducible: bool) -> Vec<Self> {
        let candidate = |diverging| Self { diverging, culprit: culprit.cloned(), is_reducible };
        diverging.into_iter().map(candidate).collect()
    }

    /// The finding that `minimal`, to which the case was reduced, shows.
    fn finding(&self, workers: &TriageWorkers, minimal: &DivergingCase) -> Finding {
        let mut finding = finding(workers.info(), &self.diverging.evaluated, minimal, Vec::new());
        if let Some(lead) = finding.divergences.first_mut() {
            lead.culprit = lead.culprit.take().or_else(|| self.culprit.clone());
        }
        finding
    }
}

/// Has the divergences of a segment name it.
fn blame(segment: &mut Evaluated, culprit: Option<&Culprit>) {
    if let Verdict::Diverges(divergences) = &mut segment.judgement.verdict {
        for divergence in divergences {
            divergence.culprit = culprit.cloned();
        }
    }
}
