use twinfer_case::{EncodedCase, Signature, VariantInfo};
use twinfer_triggers::{DescribedNode, describe_runs};

use crate::{BrokenBy, symptom::Symptom};

/// How a divergence looks before its case is minimized.
#[derive(Clone, Debug)]
pub struct Provisional {
    /// The signature of the case as it is.
    pub signature: Signature,
    /// What the nodes of the case are like in each run, of which some may satisfy the trigger of a finding.
    pub nodes: Vec<DescribedNode>,
    /// Where the graph breaks a rule; `None` if it is valid or breaks another rule first.
    pub broken_by: Option<BrokenBy>,
}

impl Provisional {
    /// How `symptom` of the case `encoded` looks.
    pub(crate) fn of(symptom: &Symptom, info: &VariantInfo, encoded: &EncodedCase) -> Self {
        Self {
            signature: symptom.signature(info, encoded),
            nodes: describe_runs(&encoded.case),
            broken_by: BrokenBy::of(&encoded.case),
        }
    }
}

impl From<Signature> for Provisional {
    /// A case whose nodes are not known.
    fn from(signature: Signature) -> Self {
        Self { signature, nodes: Vec::new(), broken_by: None }
    }
}
