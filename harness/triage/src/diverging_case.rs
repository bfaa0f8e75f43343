use twinfer_case::{Kind, Verdict};
use twinfer_checks::Evaluated;

use crate::{scrutiny::Whole, symptom::Symptom};

/// A case with the symptom that it shows.
#[derive(Clone)]
pub struct DivergingCase {
    /// The case, with what was observed and concluded.
    pub evaluated: Evaluated,
    /// What a smaller case must still show to show the same bug.
    pub symptom: Symptom,
}

impl DivergingCase {
    /// `evaluated` with each symptom that is left of it: one for each cause of its divergences.
    pub fn all(evaluated: &Evaluated, whole: Whole) -> Vec<Self> {
        let symptoms = whole.symptoms(evaluated).into_iter();
        symptoms.map(|(_, symptom)| Self { evaluated: evaluated.clone(), symptom }).collect()
    }

    /// `evaluated` with its symptom, if that is of the kind of `symptom`, however it is explained; `None` otherwise.
    pub(crate) fn recurring(symptom: &Symptom, evaluated: Evaluated) -> Option<Self> {
        let symptom = symptom.recurring_in(&evaluated)?;
        Some(Self { evaluated, symptom })
    }

    /// `evaluated` with its symptom, if it shows the bug of `symptom` as clearly; `None` if it does not.
    pub(crate) fn with_shared_symptom(symptom: &Symptom, evaluated: Evaluated) -> Option<Self> {
        let symptom = symptom.shared_with(&evaluated)?;
        Some(Self { evaluated, symptom })
    }

    /// The case with its symptom whichever mutants explain it, or smaller cases.
    pub(crate) fn without_explanations(self) -> Self {
        Self { symptom: self.symptom.without_explanations(), ..self }
    }

    /// Whether both are one case.
    pub(crate) fn is_case_of(&self, other: &Self) -> bool {
        self.evaluated.encoded.task.hash == other.evaluated.encoded.task.hash
    }

    /// The case with its divergence changed to `kind`, since a confirmation showed `how` it recurs.
    pub(crate) fn reclassified(mut self, kind: Kind, how: &str) -> Self {
        if let Verdict::Diverges(divergences) = &mut self.evaluated.judgement.verdict {
            let place = self.symptom.place_among(divergences);
            if let Some(lead) = divergences.get_mut(place) {
                lead.reclassify(kind, how);
            }
        }
        Self { symptom: self.symptom.with_kind(kind), ..self }
    }
}
