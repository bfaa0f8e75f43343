use std::sync::Arc;

use twinfer_case::{Case, CaseHash, Divergence, EncodedCase, Observation, Signature, Variant, VariantInfo};
use twinfer_checks::{Evaluated, Judgement, Oracle, references};

use crate::{TriageError, catalog::may_repeat_on_rung, causes::leads, symptom::Symptom};

/// Where a campaign's cases come from: the case at an index, the same whoever asks and in whatever order.
pub type CaseSource = Arc<dyn Fn(u64) -> Case + Send + Sync>;

/// A suspect's place in the order of the campaign: that of its case, of its variant and of its divergence.
pub type Place = (u64, usize, usize);

/// What one variant did with one case where that diverges, for one of the causes.
///
/// Many may wait for their turn, so that it holds nothing that its case's place tells.
pub struct Suspect {
    /// The case's place in the campaign.
    pub index: u64,
    /// The case.
    pub case: CaseHash,
    /// The variant's place among the campaign's.
    pub variant: usize,
    /// The divergence that gives the symptom; those before it have other causes.
    pub lead: usize,
    /// That of this divergence.
    pub symptom: Symptom,
    /// The signature before anything was minimised.
    pub provisional: Signature,
    /// The cases that the worker ran before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
    /// The variant above which its own is a rung; its own where that is none.
    base: Variant,
    judged: Arc<Judged>,
}

/// What was seen, which the causes share.
struct Judged {
    observation: Observation,
    judgement: Judgement,
}

impl Suspect {
    /// The suspects that the case at `index` is on the variant at `variant`, one a cause.
    pub fn all(
        info: &VariantInfo,
        (index, variant): (u64, usize),
        evaluated: Evaluated,
        preceding: &[u64],
    ) -> Vec<Self> {
        let causes: Vec<_> = leads(evaluated.divergences())
            .into_iter()
            .map(|lead| {
                let symptom = Symptom::of(&evaluated.divergences()[lead], &evaluated);
                let provisional = symptom.signature(info, &evaluated.encoded);
                (lead, symptom, provisional)
            })
            .collect();
        let Evaluated { encoded, observation, judgement, .. } = evaluated;
        let (case, judged) = (encoded.task.hash, Arc::new(Judged { observation, judgement }));
        let suspect = |(lead, symptom, provisional)| Self {
            index,
            case,
            variant,
            lead,
            symptom,
            provisional,
            preceding: preceding.to_vec(),
            base: info.rung_of.as_ref().unwrap_or(&info.variant).clone(),
            judged: Arc::clone(&judged),
        };
        causes.into_iter().map(suspect).collect()
    }

    /// Everything that diverges.
    pub fn divergences(&self) -> &[Divergence] {
        self.judged.judgement.verdict.divergences()
    }

    /// The divergence that makes it one.
    pub fn lead(&self) -> Option<&Divergence> {
        self.divergences().get(self.lead)
    }

    /// Whether it shows on a rung what `lower`, of the same case, showed below: then that is one bug.
    pub fn repeats(&self, lower: &Self) -> bool {
        self.variant != lower.variant
            && self.base == lower.base
            && may_repeat_on_rung(&lower.provisional, &self.provisional)
    }

    /// Its place in the order of the campaign.
    pub const fn place(&self) -> Place {
        (self.index, self.variant, self.lead)
    }

    /// The case with what was observed.
    pub fn evaluated(&self, source: &CaseSource, oracle: &Oracle) -> Result<Evaluated, TriageError> {
        let encoded = EncodedCase::encode(source(self.index))?;
        let references = references(&encoded, oracle);
        let Judged { observation, judgement } = &*self.judged;
        let (observation, judgement) = (observation.clone(), judgement.clone());
        Ok(Evaluated { encoded, references, observation, judgement })
    }
}
