use serde::{Deserialize, Serialize};

use crate::{BackendVersion, CaseHash, Diagnosis, Divergence, Kind, Provenance, Signature, Stage, Variant};

/// The version of the finding format that this crate writes.
pub const FINDING_FORMAT: u32 = 1;

/// A minimised, confirmed divergence: `finding.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// [`FINDING_FORMAT`].
    pub format: u32,
    /// What makes it the same bug as another.
    pub signature: Signature,
    /// In which way it diverges.
    pub kind: Kind,
    /// In which stage.
    pub stage: Stage,
    /// The semantic mutants that reproduce it; empty when nothing explains it.
    pub diagnosis: Vec<String>,
    /// The minimal graph in one line, behind the rule that it breaks where that should have been refused.
    pub graph: String,
    /// Every divergence of the minimal case, the one that gave the signature first.
    pub divergences: Vec<Divergence>,
    /// Where it was seen, in order of discovery.
    pub seen_in: Vec<Sighting>,
    /// The size of the case it was first found in.
    pub before: CaseSize,
    /// The size of the minimal case.
    pub after: CaseSize,
    /// Whether time was up before nothing smaller was left to try.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The minimal case.
    pub case: CaseHash,
    /// Where the first case came from.
    pub provenance: Option<Provenance>,
    /// For a state-dependent divergence: the cases that the worker ran before, in order.
    pub preceding: Vec<CaseHash>,
}

impl Finding {
    /// The diagnosis with its residual; `None` if neither values nor shapes were compared, or if the finding is an older one
    /// that holds only the names of the mutants.
    pub fn detailed_diagnosis(&self) -> Option<&Diagnosis> {
        self.divergences.iter().find_map(|divergence| divergence.diagnosis.as_ref())
    }
}

/// A variant at a version that shows a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Which variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
}

/// How large a case is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSize {
    /// Operators.
    pub nodes: usize,
    /// Elements of all inputs of the first run.
    pub input_elements: usize,
    /// Elements of all initializers.
    pub initializer_elements: usize,
    /// Runs.
    pub runs: usize,
}
