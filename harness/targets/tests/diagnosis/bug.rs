//! A *bug* of the adapter, and the cases on which it is tried.

use twinfer_case::{Case, Condition};
use twinfer_generators::{CaseStream, Distribution, Family};
use twinfer_golden::{Combination, Mutant, Nature};
use twinfer_onnx::{DataType, Graph};

/// Cases that are looked at before a bug is given up that none of them concerns.
const LOOKED_AT: u64 = 200_000;

/// A bug of the adapter.
#[derive(Clone, Debug)]
pub struct Bug {
    /// Golden's name for it, or the adapter's for a stranger.
    pub name: &'static str,
    /// What it does, where golden knows it.
    pub known: Option<Combination>,
}

impl Bug {
    pub fn known(combination: Combination) -> Self {
        Self { name: combination.name, known: Some(combination) }
    }

    pub fn stranger(name: &'static str) -> Self {
        Self { name, known: None }
    }

    /// As the adapter calls it.
    pub fn planted(&self) -> String {
        match self.mutants() {
            [] => self.name.to_owned(),
            mutants => mutants.iter().map(|mutant| mutant.name()).collect::<Vec<_>>().join("+"),
        }
    }

    /// What golden takes it for; nothing where it does not know it.
    pub fn mutants(&self) -> &'static [Mutant] {
        self.known.map_or(&[], |known| known.mutants)
    }

    /// Whether golden takes it for a matter of precision.
    pub fn is_of_precision(&self) -> bool {
        self.known.is_some_and(|known| known.is_precision())
    }

    /// Cases of the families that it may change, in turns, that have what it concerns.
    pub fn cases(&self, seed: u64) -> impl Iterator<Item = Case> {
        let streams: Vec<CaseStream> =
            self.families().into_iter().map(|family| family.stream(Distribution::Baseline, seed)).collect();
        let concerned = self.mutants().iter().copied().map(concerns).collect::<Option<Vec<_>>>();
        let concerned = concerned.filter(|conditions| !conditions.is_empty()).map(Condition::Any);
        let is_told_by_sums = self.mutants().contains(&Mutant::SumsInHalf);
        let turns = streams.len() as u64;
        (0..LOOKED_AT).map(move |index| streams[(index % turns) as usize].case(index / turns)).filter(
            move |case| {
                concerned.as_ref().is_none_or(|condition| condition.holds(&case.graph))
                    && (!is_told_by_sums || gives_sums(&case.graph))
            },
        )
    }

    fn families(&self) -> Vec<Family> {
        let is_of_quantization = match self.mutants() {
            [] => {
                ["scale-of-the-neighbor", "dequantized-one-step-up", "least-bit-dropped"].contains(&self.name)
            }
            mutants => mutants.iter().any(|mutant| mutant.nature() == Nature::Quantization),
        };
        let families = Family::VALID.into_iter().filter(|family| {
            let is_quantized = !matches!(family, Family::Conv | Family::Deconv);
            is_quantized || !is_of_quantization
        });
        families.collect()
    }
}

/// Whether every output of the graph is that of a convolution, as it sums it.
fn gives_sums(graph: &Graph) -> bool {
    graph.outputs.iter().all(|output| {
        let producer = graph.producer(&output.name);
        producer.is_some_and(|node| node.op.is_convolution())
    })
}

/// What a graph must have for a mistake to change anything; nothing where most graphs have it.
fn concerns(mutant: Mutant) -> Option<Condition> {
    use Mutant::{
        ActivationZeroPointKept, AddendDropped, BiasNotOnStrip, BoundsInSevenDigits, ConcatWithOneScale,
        DilationIgnored, EpsilonIgnored, FloatWeightsQuantized, GroupsCollapsed, GroupsDealt,
        GroupsInterleaved, LowerBoundLast, NormalizedByInterleavedGroup, OutputPaddingDropped,
        OutputPaddingIgnored, OutputPaddingInFront, OutputShapeIgnored, OutputShapeSplitSwapped,
        PairsSaturated, PoolFromLowest, PoolPaddingLowest, PoolPaddingZero, QuantizedAxesExchanged,
        ReluDropped, SameAsValid, SameLowerAsUpper, SameSwapped, SameUpperAsLower, StrideShort, Uint8AsInt8,
        UnsignedAsSigned, WeightZeroPointKept, ZeroPointIgnored,
    };
    let operator = |name: &str| Condition::Operator(name.to_owned());
    Some(match mutant {
        OutputPaddingIgnored | OutputPaddingInFront | OutputPaddingDropped | BiasNotOnStrip => {
            Condition::OutputPadding
        }
        OutputShapeSplitSwapped | OutputShapeIgnored => Condition::OutputShape,
        SameSwapped | SameUpperAsLower | SameLowerAsUpper | SameAsValid => Condition::AutoPadSame,
        GroupsInterleaved | GroupsCollapsed | GroupsDealt => Condition::Grouped,
        DilationIgnored => Condition::Dilated,
        StrideShort => Condition::Strided,
        ZeroPointIgnored | ActivationZeroPointKept | WeightZeroPointKept => Condition::NonzeroZeroPoint,
        UnsignedAsSigned | Uint8AsInt8 => Condition::QuantizedAs(DataType::Uint8),
        QuantizedAxesExchanged => Condition::PerAxisActivation,
        FloatWeightsQuantized => Condition::FloatWeights,
        PairsSaturated => Condition::Any(vec![Condition::QuantizedOperands, Condition::FloatWeights]),
        ReluDropped => operator("Relu"),
        BoundsInSevenDigits | LowerBoundLast => operator("Clip"),
        AddendDropped => operator("Add"),
        EpsilonIgnored | NormalizedByInterleavedGroup => operator("BatchNormalization"),
        PoolFromLowest | PoolPaddingLowest | PoolPaddingZero => operator("MaxPool"),
        ConcatWithOneScale => operator("Concat"),
        _ => return None,
    })
}
