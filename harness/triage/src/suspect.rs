use std::sync::Arc;

use twinfer_case::{Case, CaseHash, Divergence, EncodedCase, Observation, Variant, VariantInfo};
use twinfer_checks::{Evaluated, Judgement, Oracle, references};

use crate::{
    TriageError,
    provisional::Provisional,
    resemblance::may_repeat_on_rung,
    scrutiny::{Triageable, Whole},
    symptom::Symptom,
};

/// The source of a campaign's cases: gives the case at an index, and the same case each time.
pub type CaseSource = Arc<dyn Fn(u64) -> Case + Send + Sync>;

/// Identifies a suspect within its campaign. Suspects are ordered by case, variant, segment and divergence, as they are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SuspectId {
    /// The case's place in the campaign.
    pub case: u64,
    /// The variant's place among the variants of the campaign.
    pub variant: usize,
    /// The place of the segment, or of the case itself, among those of the case that are triaged.
    pub segment: usize,
    /// The place of the divergence among those of the variant.
    pub divergence: usize,
}

impl SuspectId {
    /// The first that a suspect of this case may have.
    pub const fn first_of(case: u64) -> Self {
        Self { case, variant: 0, segment: 0, divergence: 0 }
    }
}

/// A divergence that may be a new finding: what one variant did with one case, for one of the causes of its divergences.
///
/// Many suspects may wait for triage, so a suspect does not hold its case, which its place identifies.
pub struct Suspect {
    /// The case's place in the campaign.
    pub index: u64,
    /// The hash of the case.
    pub case: CaseHash,
    /// The variant's place among the variants of the campaign.
    pub variant: usize,
    /// The place of the divergence that gives the symptom; the divergences before it have other causes.
    pub lead: usize,
    /// The symptom of the divergence at `lead`.
    pub symptom: Symptom,
    /// How the divergence looks, before minimization.
    pub provisional: Arc<Provisional>,
    /// The cases that the worker had run before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
    /// The variant above which the suspect's variant is a rung; the suspect's variant if it is no rung.
    base: Variant,
    outcome: Arc<JudgedObservation>,
    /// The segment of the case that is wrong, as a case of its own; `None` if it is the case itself.
    segment: Option<Arc<EncodedCase>>,
    /// The place of the segment, or of the case itself, among those of the case that are triaged.
    place: usize,
}

/// Where suspects come from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The case's place in the campaign.
    pub index: u64,
    /// The variant's place among the variants of the campaign.
    pub variant: usize,
    /// The cases that the worker had run before, oldest first, as places in the campaign.
    pub preceding: &'a [u64],
}

/// What was observed and concluded, shared by the suspects of one case and variant.
struct JudgedObservation {
    observation: Observation,
    judgement: Judgement,
}

impl Suspect {
    /// The suspects of a case, one for each cause: of what is left to triage of the case itself, and of its segments. What of it no segment
    /// shows comes last.
    pub fn all(
        info: &VariantInfo,
        origin: Origin<'_>,
        evaluated: Evaluated,
        Triageable { whole, segments }: Triageable,
    ) -> Vec<Self> {
        let of_segment = |evaluated: Evaluated| {
            let segment = Some(Arc::clone(&evaluated.encoded));
            let suspects = Self::of(info, origin, evaluated, Whole::All).into_iter();
            suspects.map(|suspect| Self { segment: segment.clone(), ..suspect }).collect()
        };
        let mut groups: Vec<Vec<Self>> = segments.into_iter().map(of_segment).collect();
        let of_case = Self::of(info, origin, evaluated, whole);
        groups.insert(if whole == Whole::Rest { groups.len() } else { 0 }, of_case);
        groups.retain(|group| !group.is_empty());
        let with_place = |(place, group): (usize, Vec<Self>)| {
            group.into_iter().map(move |suspect| Self { place, ..suspect })
        };
        groups.into_iter().enumerate().flat_map(with_place).collect()
    }

    /// The suspects of what is left of a case or a segment.
    fn of(info: &VariantInfo, origin: Origin<'_>, evaluated: Evaluated, whole: Whole) -> Vec<Self> {
        let causes: Vec<_> = whole
            .symptoms(&evaluated)
            .into_iter()
            .map(|(lead, symptom)| {
                let provisional = Provisional::of(&symptom, info, &evaluated.encoded);
                (lead, symptom, Arc::new(provisional))
            })
            .collect();
        let Evaluated { encoded, observation, judgement, .. } = evaluated;
        let (case, outcome) = (encoded.task.hash, Arc::new(JudgedObservation { observation, judgement }));
        let suspect = |(lead, symptom, provisional)| Self {
            index: origin.index,
            case,
            variant: origin.variant,
            lead,
            symptom,
            provisional,
            preceding: origin.preceding.to_vec(),
            base: info.rung_of.as_ref().unwrap_or(&info.variant).clone(),
            outcome: Arc::clone(&outcome),
            segment: None,
            place: 0,
        };
        causes.into_iter().map(suspect).collect()
    }

    /// All divergences of the case on the variant, of whatever cause.
    pub fn divergences(&self) -> &[Divergence] {
        self.outcome.judgement.verdict.divergences()
    }

    /// The divergence that gives the symptom.
    pub fn lead(&self) -> Option<&Divergence> {
        self.divergences().get(self.lead)
    }

    /// Whether the suspect is on a rung and may be the same bug as `lower`, a suspect of the same case below that rung.
    pub fn repeats(&self, lower: &Self) -> bool {
        self.variant != lower.variant
            && self.base == lower.base
            && may_repeat_on_rung(&lower.provisional.signature, &self.provisional.signature)
    }

    /// What identifies the suspect within its campaign.
    pub const fn id(&self) -> SuspectId {
        let Self { index, variant, place, lead, .. } = *self;
        SuspectId { case: index, variant, segment: place, divergence: lead }
    }

    /// Whether it is the first suspect of its case and variant.
    pub const fn is_first(&self) -> bool {
        self.place == 0 && self.lead == 0
    }

    /// Whether it is about a segment of its case.
    pub const fn is_of_segment(&self) -> bool {
        self.segment.is_some()
    }

    /// The case, generated and encoded again unless it is a segment, with what the variant of `info` did and what was concluded.
    pub fn evaluated(
        &self,
        info: &VariantInfo,
        source: &CaseSource,
        oracle: &Oracle,
    ) -> Result<Evaluated, TriageError> {
        let encoded = match &self.segment {
            Some(segment) => Arc::clone(segment),
            None => EncodedCase::encode(source(self.index))?,
        };
        let references = references(&encoded, oracle, info.description.arithmetic);
        let JudgedObservation { observation, judgement } = &*self.outcome;
        let (observation, judgement) = (observation.clone(), judgement.clone());
        Ok(Evaluated { encoded, references: references.into(), observation, judgement })
    }
}
