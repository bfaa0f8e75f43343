use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinfer_onnx::{DataType, Graph, Node};

use crate::{Arithmetic, BackendVersion, Condition, FallbackReason, OptionKey, Outcome, Stage};

/// A backend's own description of itself, which its worker sends when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The backend's name for itself, such as `ONNX Runtime`.
    pub name: String,
    /// The version of the library that does the work. That of its package begins with it: otherwise the tests of stored cases
    /// skip what was recorded of the backend, as another version's.
    pub version: String,
    /// The graphs that the backend refuses, each limit a rule with its source.
    pub capabilities: Vec<Capability>,
    /// The deepest stage that the backend reaches on this machine: a builder without a GPU stops after `build`.
    #[serde(default = "last_stage")]
    pub reaches: Stage,
    /// The variant's options with the values in force, defaults included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The operators that the backend computes otherwise than the graph says, each limit a rule with its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<Limitation>,
    /// Which convolutions of a quantized graph the backend promises to run quantized.
    #[serde(default, skip_serializing_if = "Quantization::is_default")]
    pub quantization: Quantization,
    /// The operators other than convolutions that the backend promises to run quantized, each promise a rule with its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantizes: Vec<QuantizationPromise>,
    /// How many workers of the backend may use one device at once.
    #[serde(default, skip_serializing_if = "DeviceUse::is_default")]
    pub device_use: DeviceUse,
    /// What the backend's arithmetic may do, from which the error bounds of the reference follow.
    #[serde(default, skip_serializing_if = "Arithmetic::is_default")]
    pub arithmetic: Arithmetic,
    /// What layers may compute 32-bit floats in, and what they have to; `None` if the backend does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub float_precision: Option<FloatPrecision>,
    /// Sets of stronger options for the same graphs, the weakest set first. Options that a set does not name keep their
    /// values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<BTreeMap<String, String>>,
    /// How many workers may use one device at once with the options of any of those sets.
    #[serde(default, skip_serializing_if = "DeviceUse::is_default")]
    pub ladder_device_use: DeviceUse,
}

/// What an external backend reaches that does not say.
const fn last_stage() -> Stage {
    Stage::Execute
}

/// How many workers of a backend may use one device at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceUse {
    /// Any number.
    #[default]
    Shared,
    /// One: builds time kernels on the device, which is slow and unreliable beside other work.
    Alone,
}

impl DeviceUse {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit that a backend states about itself: it refuses every graph for which the condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// The rule's name, unique within the backend.
    pub rule: String,
    /// Where the backend documents it, or where it was measured.
    pub source: String,
    /// The graphs that the backend refuses.
    pub refuses: Condition,
    /// How the refusal is recognized.
    #[serde(default, skip_serializing_if = "Refusal::is_default")]
    pub shows: Refusal,
}

/// How a predicted refusal is recognized: a graph that fails in another way fails for another reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stage that refuses; any stage if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Words that the error contains. If `None`, every [`Outcome::Rejected`] counts and no [`Outcome::Failed`] does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Refusal {
    /// A rejection in this stage, whatever its error.
    pub const fn in_stage(stage: Stage) -> Self {
        Self { stage: Some(stage), words: None }
    }

    /// A rejection or failure in this stage whose error contains these words.
    pub fn with_words(stage: Stage, words: &str) -> Self {
        Self { stage: Some(stage), words: Some(words.to_owned()) }
    }

    /// Whether a case that ended with `outcome` in `stage` was refused in this way.
    pub fn matches(&self, stage: Stage, outcome: &Outcome) -> bool {
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

/// A limit that a backend states about itself: it accepts an operator for which the condition holds, and computes it
/// otherwise than the graph says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limitation {
    /// The rule's name, unique within the backend.
    pub rule: String,
    /// Where the backend documents it, or where it was measured.
    pub source: String,
    /// The operators that the limitation is about.
    pub concerns: Condition,
    /// What the backend does with those operators.
    pub effect: Effect,
    /// The mutants of golden that give the wrong values, if the effect is [`Effect::WrongValues`]. Other wrong values are not
    /// covered by the rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<String>,
}

/// What a backend does with an operator for which a limitation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The operator runs in another precision, for this reason.
    Fallback(FallbackReason),
    /// The operator gives other values, those of [`Limitation::mutants`].
    WrongValues,
    /// The operator runs on floats by design, whatever its quantizers say: no promise covers it.
    OnFloats,
}

/// A promise that a backend makes: it runs an operator for which the condition holds on quantized operands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantizationPromise {
    /// The rule's name, unique within the backend.
    pub rule: String,
    /// Where the backend documents it.
    pub source: String,
    /// The operators that the promise is about, with what has to hold for them.
    pub concerns: Condition,
}

/// What the convolutions of a backend may compute 32-bit floats in, and what they have to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloatPrecision {
    /// The types besides those of 32-bit floats and of the graph.
    pub allowed: Vec<DataType>,
    /// The type that every convolution was asked for and has to have; `None` if it may have any that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<DataType>,
}

/// What a backend promises about convolutions that a graph asks to run quantized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantization {
    /// The backend promises nothing and states nothing.
    #[default]
    Unstated,
    /// Every operator computes on the floats that `DequantizeLinear` gives it.
    Simulates,
    /// A convolution with dequantized operands runs on quantized operands.
    FusesOperands,
    /// A convolution with dequantized operands and a quantized result runs on quantized operands.
    FusesPairs,
}

impl Quantization {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde takes")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Description {
    /// The description of a backend that states no limits.
    pub fn new(name: impl Into<String>, version: impl Into<String>, reaches: Stage) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            capabilities: Vec::new(),
            reaches,
            options: BTreeMap::new(),
            limitations: Vec::new(),
            quantization: Quantization::default(),
            quantizes: Vec::new(),
            device_use: DeviceUse::default(),
            arithmetic: Arithmetic::default(),
            float_precision: None,
            ladder: Vec::new(),
            ladder_device_use: DeviceUse::default(),
        }
    }

    /// What the backend will say of itself with the options of one set of its ladder; `None` if there is no such set.
    pub fn on_rung(&self, set: usize) -> Option<Self> {
        let mut options = self.options.clone();
        options.extend(self.ladder.get(set)?.clone());
        let ladder = self.ladder[set + 1..].to_vec();
        Some(Self { options, ladder, device_use: self.ladder_device_use, ..self.clone() })
    }

    /// What the backend will say of itself with another value of an option.
    #[must_use]
    pub fn with_option(mut self, key: OptionKey, value: String) -> Self {
        self.options.insert(key.key().to_owned(), value);
        self
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

    /// The promise to run a node quantized that is no convolution; `None` if there is none, or a limitation takes the node out of it.
    pub fn quantization_promise(&self, graph: &Graph, node: &Node) -> Option<&QuantizationPromise> {
        let promise = self.quantizes.iter().find(|promise| promise.concerns.holds_at(graph, node))?;
        let is_limited =
            self.limitations_at(graph, node).any(|limitation| limitation.effect == Effect::OnFloats);
        (!is_limited).then_some(promise)
    }
}
