//! What may explain an output: a mutant, or a listed combination of them.

use crate::{Mutant, Nature};

/// One mutant, or a few that backends are known to combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Its name, in kebab-case: the mutant's where it is one.
    pub name: &'static str,
    /// What is done wrong, in a sentence.
    pub sentence: &'static str,
    /// The mistakes that are made together.
    pub mutants: &'static [Mutant],
}

macro_rules! combinations {
    ($($name:literal, $sentence:literal, [$($mutant:ident),*];)*) => {
        const COMBINATIONS: &[Explanation] = &[$(Explanation {
            name: $name,
            sentence: $sentence,
            mutants: &[$(Mutant::$mutant),*],
        }),*];
    };
}

combinations! {
    "unquantized",
        "Every quantization followed by its inverse is left out: the graph runs in floats.",
        [WeightsUnquantized, ActivationsUnquantized];
    "weights-and-results-unquantized",
        "Only what is fed is quantized: constants and what operators gave stay floats.",
        [WeightsUnquantized, ResultsUnquantized];
    "zero-points-kept",
        "DequantizeLinear subtracts no zero point.",
        [ActivationZeroPointKept, WeightZeroPointKept];
    "mirrored",
        "Kernel and padding are applied mirrored along every spatial axis.",
        [KernelReversed, PadsSwapped];
    "output-padding-zero",
        "The positions that `output_padding` adds, and any other that no tap of the kernel reaches, hold zero.",
        [OutputPaddingIgnored, BiasNotInGaps, BiasNotOnStrip];
    "bias-only-where-reached",
        "Positions that no tap of the kernel reaches hold zero instead of the bias.",
        [BiasNotInGaps, BiasNotOnStrip];
    "output-shape-split-swapped-without-bias-on-strip",
        "The odd position that `output_shape` crops without `SAME_UPPER` goes to the end instead of the start, and the strip that `output_padding` appends behind the reach of the kernel holds zero instead of the bias.",
        [OutputShapeSplitSwapped, BiasNotOnStrip];
    "output-shape-and-padding-ignored",
        "`output_shape` and `output_padding` are ignored.",
        [OutputShapeIgnored, OutputPaddingDropped];
    "in-half",
        "The operands of a convolution are rounded to 11 bits of significand and its products summed in 16-bit floats.",
        [OperandsInTf32, SumsInHalf];
    "weights-unquantized-in-tf32",
        "Quantizing a constant and dequantizing it again is left out, and convolutions round operands to 11 bits of significand.",
        [WeightsUnquantized, OperandsInTf32];
    "float-weights-and-bias-quantized",
        "The float weights of a convolution between quantizers are rounded to 256 steps over their range, its bias to whole products of the scales of its operands.",
        [FloatWeightsQuantized, BiasInProductSteps];
    "pairs-of-float-weights-saturated",
        "The float weights of a convolution between quantizers are rounded to 256 steps over their range, and the products of uint8 and int8 summed in pairs of 16 bits, which saturate.",
        [FloatWeightsQuantized, PairsSaturated];
    "pairs-saturated-with-bias-in-product-steps",
        "The products of uint8 and int8 are summed in pairs of 16 bits, which saturate, and the bias is rounded to whole products of the scales of its operands.",
        [PairsSaturated, BiasInProductSteps];
    "pairs-of-float-weights-saturated-with-bias-in-product-steps",
        "The float weights of a convolution between quantizers are rounded to 256 steps over their range, its bias to whole products of the scales of its operands, and the products of uint8 and int8 are summed in pairs of 16 bits, which saturate.",
        [FloatWeightsQuantized, PairsSaturated, BiasInProductSteps];
    "unquantized-in-tf32",
        "Every quantization followed by its inverse is left out, and convolutions round operands to 11 bits of significand.",
        [WeightsUnquantized, ActivationsUnquantized, OperandsInTf32];
}

impl Explanation {
    /// Every mutant.
    pub fn singles() -> impl Iterator<Item = Self> {
        Mutant::ALL.chunks(1).map(|mutants| Self {
            name: mutants[0].name(),
            sentence: mutants[0].sentence(),
            mutants,
        })
    }

    /// Every listed combination: to be asked where no mutant alone explains an output.
    pub fn combinations() -> impl Iterator<Item = Self> {
        COMBINATIONS.iter().copied()
    }

    /// The mutant or combination of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::singles().chain(Self::combinations()).find(|explanation| explanation.name == name)
    }

    /// Whether it makes some of the mistakes of another, and not all: where both explain an output, the rest changes nothing.
    pub fn is_part_of(&self, other: &Self) -> bool {
        self.mutants.len() < other.mutants.len()
            && self.mutants.iter().all(|mutant| other.mutants.contains(mutant))
    }

    /// Whether all of it is a matter of precision.
    pub fn is_precision(&self) -> bool {
        self.mutants.iter().all(|mutant| mutant.nature() == Nature::Precision)
    }
}
