//! What variants choose by options.

use nvinfer::{Availability, BuilderConfig, BuilderFlag, Layer, Product, TacticSource};

use super::option_type::{Choice, Form, OptionType};

/// Whether graphs run that are known to end workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazards {
    /// They run, and each may cost a worker.
    Run,
    /// They are refused under a named rule.
    Skip,
}

/// ONNX Runtime's graph optimizations, the fewest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimization {
    Off,
    Basic,
    All,
}

/// What Torch-TensorRT compiles. Its adapter reads the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntermediateRepresentation {
    /// What `torch.export` makes of a module.
    Dynamo,
    /// What `torch.jit.trace` makes of it.
    TorchScript,
    /// Nothing: PyTorch runs the module on the CPU.
    Eager,
}

/// How a cuDNN algorithm is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Heuristic,
    Exhaustive,
    Default,
}

/// A builder optimization level of TensorRT, or the release's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(pub Option<u8>);

/// Whose tactics a layer may take besides those that every release of TensorRT has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    All,
    EdgeMask,
    Jit,
    None,
}

/// What TensorRT may compute 32-bit floats in, besides what the graph itself asks for. Graphs with quantizers may always use int8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// What the case asks for: TF32 if it allows TF32, otherwise FP32.
    Graph,
    Fp32,
    Tf32,
    Fp16,
    Bf16,
    Int8,
    /// All that the release has.
    Best,
}

/// Whether a layer must have the precision that it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraints {
    /// TensorRT may ignore it.
    Free,
    /// TensorRT ignores it only where it has no such kernel.
    Prefer,
    /// Otherwise the build fails.
    Obey,
}

/// The precision that convolutions are asked for one by one, in networks without quantizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerPrecision {
    Free,
    Fp32,
    Fp16,
    /// FP16 and FP32 by turns.
    Alternate,
}

/// The shapes for which an engine is optimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimum {
    /// The shapes of the case's first run.
    First,
    Smallest,
    Largest,
    /// Twice the largest, which no run has.
    Beyond,
}

/// Which builds share timings of tactics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Each has its own.
    Build,
    /// All builds of a worker.
    Worker,
    /// None: equal layers of one network are timed again, too.
    Off,
}

/// Whether an engine's weights can be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refit {
    Off,
    On,
}

/// Whether later releases can run an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionCompatible {
    Off,
    On,
}

/// What runs an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanRuntime {
    /// The TensorRT that has built it.
    Own,
    /// The lean runtime of this release, such as `10.16`.
    Lean(String),
}

impl Precision {
    /// Whether 32-bit floats may be computed in FP16.
    pub const fn allows_half(self) -> bool {
        matches!(self, Self::Fp16 | Self::Best)
    }

    /// Whether 32-bit floats may be computed in bfloat16, where the release has it.
    pub const fn allows_bfloat16(self) -> bool {
        matches!(self, Self::Bf16 | Self::Best)
    }
}

impl LayerPrecision {
    /// Whether a layer is asked to compute in FP16.
    pub const fn has_half(self) -> bool {
        matches!(self, Self::Fp16 | Self::Alternate)
    }
}

impl Choice for Precision {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("graph", Self::Graph),
        ("fp32", Self::Fp32),
        ("tf32", Self::Tf32),
        ("fp16", Self::Fp16),
        ("bf16", Self::Bf16),
        ("int8", Self::Int8),
        ("best", Self::Best),
    ];

    fn needs(self) -> Option<Availability> {
        match self {
            Self::Graph | Self::Fp32 | Self::Tf32 => None,
            Self::Fp16 | Self::Best => Some(weakly_typed(BuilderFlag::Fp16)),
            Self::Bf16 => Some(weakly_typed(BuilderFlag::Bf16)),
            Self::Int8 => Some(weakly_typed(BuilderFlag::Int8)),
        }
    }
}

/// The releases in which a flag says what a layer may compute in: TensorRT-RTX 1.4 has such flags, and refuses a network that is built
/// with one.
fn weakly_typed(flag: BuilderFlag) -> Availability {
    flag.availability().of(Product::TensorRt)
}

impl Choice for Constraints {
    const WORDS: &'static [(&'static str, Self)] =
        &[("free", Self::Free), ("prefer", Self::Prefer), ("obey", Self::Obey)];

    fn needs(self) -> Option<Availability> {
        match self {
            Self::Free => None,
            Self::Prefer => Some(weakly_typed(BuilderFlag::PreferPrecisionConstraints)),
            Self::Obey => Some(weakly_typed(BuilderFlag::ObeyPrecisionConstraints)),
        }
    }
}

impl Choice for LayerPrecision {
    const WORDS: &'static [(&'static str, Self)] =
        &[("free", Self::Free), ("fp32", Self::Fp32), ("fp16", Self::Fp16), ("alternate", Self::Alternate)];

    fn needs(self) -> Option<Availability> {
        (self != Self::Free).then(|| Layer::releases_with_precision().of(Product::TensorRt))
    }
}

impl Choice for Optimum {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("first", Self::First),
        ("smallest", Self::Smallest),
        ("largest", Self::Largest),
        ("beyond", Self::Beyond),
    ];
}

impl Choice for Timing {
    const WORDS: &'static [(&'static str, Self)] =
        &[("build", Self::Build), ("worker", Self::Worker), ("off", Self::Off)];
}

impl Choice for Refit {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("on", Self::On)];
}

impl Choice for VersionCompatible {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("on", Self::On)];

    fn needs(self) -> Option<Availability> {
        (self == Self::On).then(|| BuilderFlag::VersionCompatible.availability())
    }
}

impl Choice for Hazards {
    const WORDS: &'static [(&'static str, Self)] = &[("run", Self::Run), ("skip", Self::Skip)];
}

impl Choice for IntermediateRepresentation {
    const WORDS: &'static [(&'static str, Self)] =
        &[("dynamo", Self::Dynamo), ("ts", Self::TorchScript), ("eager", Self::Eager)];
}

impl Choice for Optimization {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("basic", Self::Basic), ("all", Self::All)];
}

impl Choice for Search {
    const WORDS: &'static [(&'static str, Self)] =
        &[("heuristic", Self::Heuristic), ("exhaustive", Self::Exhaustive), ("default", Self::Default)];
}

impl Level {
    /// The level on which the first tactic that fits is taken, and none is timed.
    pub const LOWEST: u8 = 0;
    /// The level that looks hardest.
    pub const HIGHEST: u8 = 5;
    const DEFAULT: &'static str = "default";
}

impl OptionType for Level {
    fn read(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(level @ Self::LOWEST..=Self::HIGHEST) => Some(Self(Some(level))),
            _ if text == Self::DEFAULT => Some(Self(None)),
            _ => None,
        }
    }

    fn written(&self) -> String {
        self.0.map_or_else(|| Self::DEFAULT.to_owned(), |level| level.to_string())
    }

    fn forms() -> Vec<Form> {
        let levels = format!("{} to {}", Self::LOWEST, Self::HIGHEST);
        vec![Form { text: levels, releases: Self(Some(Self::LOWEST)).releases() }, Form::of(Self::DEFAULT)]
    }

    fn releases(&self) -> Option<Availability> {
        self.0.map(|_| BuilderConfig::releases_with_optimization_levels())
    }
}

impl PlanRuntime {
    const OWN: &'static str = "own";
    const LEAN: &'static str = "lean-";
}

impl OptionType for PlanRuntime {
    fn read(text: &str) -> Option<Self> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match text.strip_prefix(Self::LEAN) {
            Some(release) => release.split('.').all(is_number).then(|| Self::Lean(release.to_owned())),
            None => (text == Self::OWN).then_some(Self::Own),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Own => Self::OWN.to_owned(),
            Self::Lean(release) => format!("{}{release}", Self::LEAN),
        }
    }

    fn forms() -> Vec<Form> {
        let lean = Self::Lean("10.16".to_owned());
        let text = format!("{}RELEASE ({})", Self::LEAN, lean.written());
        vec![Form::of(Self::OWN), Form { text, releases: lean.releases() }]
    }

    fn releases(&self) -> Option<Availability> {
        match self {
            Self::Own => None,
            Self::Lean(_) => Some(BuilderFlag::VersionCompatible.availability()),
        }
    }
}

impl Choice for Sources {
    const WORDS: &'static [(&'static str, Self)] =
        &[("all", Self::All), ("edge-mask", Self::EdgeMask), ("jit", Self::Jit), ("none", Self::None)];

    fn needs(self) -> Option<Availability> {
        match self {
            Self::All | Self::Jit => Some(TacticSource::JitConvolutions.availability()),
            Self::EdgeMask | Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_digit_up_to_five_or_the_default() {
        assert_eq!(Level::read("0"), Some(Level(Some(0))));
        assert_eq!(Level::read("5"), Some(Level(Some(5))));
        assert_eq!(Level::read("default"), Some(Level(None)));
        assert!(Level::read("6").is_none() && Level::read("").is_none());
    }

    #[test]
    fn runtime_is_its_own_or_a_lean_one_of_a_release() {
        assert_eq!(PlanRuntime::read("own"), Some(PlanRuntime::Own));
        for release in ["8.6", "10.16.1.11"] {
            let runtime = PlanRuntime::read(&format!("lean-{release}")).unwrap();
            assert_eq!(runtime, PlanRuntime::Lean(release.to_owned()));
            assert_eq!(PlanRuntime::read(&runtime.written()), Some(runtime));
        }
        for other in ["", "lean", "lean-", "lean-10.", "lean-../x", "lean-10.16/x", "full-10"] {
            assert_eq!(PlanRuntime::read(other), None, "{other}");
        }
    }

    #[test]
    fn sources_are_called_by_their_names() {
        for (name, sources) in Sources::WORDS {
            assert_eq!((Sources::named(name), sources.word()), (Some(*sources), *name));
        }
        assert_eq!(Sources::named("cudnn"), None);
    }
}
