use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinfer_onnx::{Graph, Node};

use crate::{Arithmetic, BackendVersion, Condition, FallbackReason, Outcome, Stage};

/// Who answers in a worker: what a backend says of itself when its worker starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The backend's own name for itself, such as `ONNX Runtime`.
    pub name: String,
    /// The version of the library that does the work.
    pub version: String,
    /// What it does not take, each limit a rule with its source.
    pub capabilities: Vec<Capability>,
    /// The deepest stage it reaches on this machine: a builder without a GPU stops after `build`.
    pub reaches: Stage,
    /// Its options as they are in force, those left to their defaults too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What it takes and treats otherwise than the graph says, each limit a rule with its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<Limitation>,
    /// Which operators of a quantised graph it promises to run quantised.
    #[serde(default, skip_serializing_if = "Quantization::is_default")]
    pub quantization: Quantization,
    /// How many of its workers may be busy with one device.
    #[serde(default, skip_serializing_if = "DeviceUse::is_default")]
    pub device_use: DeviceUse,
    /// What its arithmetic may do, from which the error bounds of the reference follow.
    #[serde(default, skip_serializing_if = "Arithmetic::is_default")]
    pub arithmetic: Arithmetic,
    /// Options with which it works harder on the same graphs, the weakest first; those that a set does not name stay as
    /// they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<BTreeMap<String, String>>,
}

/// How many workers of a backend may be busy with one device at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceUse {
    /// As many as there are.
    #[default]
    Shared,
    /// One: its builds time kernels on the device, which takes long and chooses at random beside others.
    Alone,
}

impl DeviceUse {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit that a backend states about itself: a graph that the condition holds for is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// The rule's name, unique for the backend.
    pub rule: String,
    /// Where the backend documents it, or where it was measured.
    pub source: String,
    /// Which graphs it refuses.
    pub refuses: Condition,
    /// How the refusal shows.
    #[serde(default, skip_serializing_if = "Refusal::is_default")]
    pub shows: Refusal,
}

/// How a refusal shows that a rule predicts: a graph that fails in another way fails for another reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stage that refuses; any where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Words of the reason. Without them it is whatever the backend calls a refusal; an internal error is one only by its
    /// words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Refusal {
    /// One that the backend calls a refusal, in this stage.
    pub const fn in_stage(stage: Stage) -> Self {
        Self { stage: Some(stage), words: None }
    }

    /// One whose reason has these words, in this stage.
    pub fn saying(stage: Stage, words: &str) -> Self {
        Self { stage: Some(stage), words: Some(words.to_owned()) }
    }

    /// Whether a case that ended like this in `stage` was refused so.
    pub fn is(&self, stage: Stage, outcome: &Outcome) -> bool {
        let has_words = match &self.words {
            Some(words) => outcome.error().is_some_and(|error| error.message().contains(words)),
            None => matches!(outcome, Outcome::Rejected(_)),
        };
        has_words && self.stage.is_none_or(|expected| expected == stage)
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit that a backend states about itself: where the condition holds for an operator, it is taken and treated
/// otherwise than the graph says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limitation {
    /// The rule's name, unique for the backend.
    pub rule: String,
    /// Where the backend documents it, or where it was measured.
    pub source: String,
    /// Which operators it concerns.
    pub concerns: Condition,
    /// What becomes of them.
    pub effect: Effect,
    /// What the values are where the effect is that they are wrong: those of golden with one of these mutants. Other values
    /// are not what the rule says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<String>,
}

/// What a backend does where a limitation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It runs the operator in another precision, for this reason.
    Fallback(FallbackReason),
    /// It computes other values, those of [`Limitation::mutants`].
    WrongValues,
}

/// What a backend promises of operators that the graph asks to run quantised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantization {
    /// It does not say.
    #[default]
    Unstated,
    /// Nothing: every operator computes on what `DequantizeLinear` gives it.
    Simulates,
    /// An operator whose operands are dequantised runs on quantised operands.
    FusesOperands,
    /// An operator whose operands are dequantised and whose result is quantised runs on quantised operands.
    FusesPairs,
}

impl Quantization {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde takes")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Description {
    /// A backend that states nothing about itself.
    pub fn new(name: impl Into<String>, version: impl Into<String>, reaches: Stage) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            capabilities: Vec::new(),
            reaches,
            options: BTreeMap::new(),
            limitations: Vec::new(),
            quantization: Quantization::default(),
            device_use: DeviceUse::default(),
            arithmetic: Arithmetic::default(),
            ladder: Vec::new(),
        }
    }

    /// The backend's name for itself with its version.
    pub fn backend_version(&self) -> BackendVersion {
        BackendVersion::new(&self.name, &self.version)
    }

    /// The rules that predict a refusal of `graph`.
    pub fn refusals(&self, graph: &Graph) -> impl Iterator<Item = &Capability> {
        self.capabilities.iter().filter(|capability| capability.refuses.holds(graph))
    }

    /// The limitations that hold for a node of `graph`.
    pub fn limitations_at(&self, graph: &Graph, node: &Node) -> impl Iterator<Item = &Limitation> {
        self.limitations.iter().filter(move |limitation| limitation.concerns.holds_at(graph, node))
    }
}
