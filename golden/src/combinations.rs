//! Combinations of mutants that a diagnosis tries.

use crate::{Mutant, Nature};

/// One mutant, or a few that backends are known to combine: what a diagnosis tries to reproduce an output with.
///
/// ```
/// use twinfer_golden::{Combination, Mutant};
///
/// let mirrored = Combination::from_name("mirrored").expect("it is listed");
/// assert_eq!(mirrored.mutants, [Mutant::KernelReversed, Mutant::PadsSwapped]);
/// let reversed = Combination::from_name("kernel-reversed").expect("every mutant is one");
/// assert!(reversed.is_part_of(&mirrored));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Combination {
    /// The name in reports, in kebab-case; a single mutant keeps its own name.
    pub name: &'static str,
    /// The description of the change that reports print, as a sentence.
    pub sentence: &'static str,
    /// The mutants, all applied at once.
    pub mutants: &'static [Mutant],
}

macro_rules! combinations {
    ($($name:literal, $sentence:literal, [$($mutant:ident),*];)*) => {
        const LISTED: &[Combination] = &[$(Combination {
            name: $name,
            sentence: $sentence,
            mutants: &[$(Mutant::$mutant),*],
        }),*];
    };
}

combinations! {
    "unquantized",
        "QuantizeLinear and DequantizeLinear are skipped wherever one follows the other: the graph runs in floats.",
        [WeightsUnquantized, ActivationsUnquantized];
    "weights-and-results-unquantized",
        "Only graph inputs are quantized: constants and results of operators stay floats.",
        [WeightsUnquantized, ResultsUnquantized];
    "zero-points-kept",
        "DequantizeLinear subtracts no zero point.",
        [ActivationZeroPointKept, WeightZeroPointKept];
    "mirrored",
        "Kernel and padding are mirrored along every spatial axis.",
        [KernelReversed, PadsSwapped];
    "output-padding-zero",
        "The positions that `output_padding` adds, and all others that no tap of the kernel reaches, hold zero.",
        [OutputPaddingIgnored, BiasNotInGaps, BiasNotOnStrip];
    "bias-only-where-reached",
        "Positions that no tap of the kernel reaches hold zero instead of the bias.",
        [BiasNotInGaps, BiasNotOnStrip];
    "output-shape-split-swapped-without-bias-on-strip",
        "The odd position that `output_shape` crops without `SAME_UPPER` is cropped at the end instead of the start, and the positions that `output_padding` appends beyond the reach of the kernel hold zero instead of the bias.",
        [OutputShapeSplitSwapped, BiasNotOnStrip];
    "output-shape-and-padding-ignored",
        "`output_shape` and `output_padding` are ignored.",
        [OutputShapeIgnored, OutputPaddingDropped];
    "lower-bound-last-in-seven-digits",
        "Clip rounds its bounds to seven significant decimal digits, and returns its lower bound if that is above its upper bound.",
        [BoundsInSevenDigits, LowerBoundLast];
    "in-half",
        "Operands of a convolution are rounded to 11 bits of significand, and its products are summed in 16-bit floats.",
        [OperandsInTf32, SumsInHalf];
    "weights-unquantized-in-tf32",
        "QuantizeLinear and DequantizeLinear of a constant are skipped, and operands of a convolution are rounded to 11 bits of significand.",
        [WeightsUnquantized, OperandsInTf32];
    "float-weights-and-bias-quantized",
        "Float weights of a convolution between quantizers are quantized to 256 levels over their range and zero, and the bias is rounded to multiples of the product of its operands' scales.",
        [FloatWeightsQuantized, BiasInProductSteps];
    "pairs-of-float-weights-saturated",
        "Float weights of a convolution between quantizers are quantized to 256 levels over their range and zero, and products of uint8 and int8 are summed in pairs in 16-bit integers, which saturate.",
        [FloatWeightsQuantized, PairsSaturated];
    "pairs-saturated-with-bias-in-product-steps",
        "Products of uint8 and int8 are summed in pairs in 16-bit integers, which saturate, and the bias is rounded to multiples of the product of its operands' scales.",
        [PairsSaturated, BiasInProductSteps];
    "pairs-of-float-weights-saturated-with-bias-in-product-steps",
        "Float weights of a convolution between quantizers are quantized to 256 levels over their range and zero, products of uint8 and int8 are summed in pairs in 16-bit integers, which saturate, and the bias is rounded to multiples of the product of its operands' scales.",
        [FloatWeightsQuantized, PairsSaturated, BiasInProductSteps];
    "unquantized-in-tf32",
        "QuantizeLinear and DequantizeLinear are skipped wherever one follows the other, and operands of a convolution are rounded to 11 bits of significand.",
        [WeightsUnquantized, ActivationsUnquantized, OperandsInTf32];
}

impl Combination {
    /// One mutant alone.
    pub fn of(mutant: Mutant) -> Self {
        let place = Mutant::ALL.iter().position(|listed| *listed == mutant);
        let mutants = place.map_or(&[][..], |place| &Mutant::ALL[place..=place]);
        Self { name: mutant.name(), sentence: mutant.sentence(), mutants }
    }

    /// Each mutant alone.
    pub fn singles() -> impl Iterator<Item = Self> {
        Mutant::ALL.iter().copied().map(Self::of)
    }

    /// Every listed combination of several mutants, to try if no single mutant reproduces an output.
    pub fn several() -> impl Iterator<Item = Self> {
        LISTED.iter().copied()
    }

    /// The mutant or listed combination called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::singles().chain(Self::several()).find(|combination| combination.name == name)
    }

    /// Whether its mutants are a proper subset of those of `other`, or one of the two directions of its mistake. If both reproduce an output,
    /// the rest of `other` has no effect on it.
    pub fn is_part_of(&self, other: &Self) -> bool {
        let is_subset = self.mutants.len() < other.mutants.len()
            && self.mutants.iter().all(|mutant| other.mutants.contains(mutant));
        is_subset || self.is_one_way_of(other)
    }

    /// Whether it makes the mistake of `other` in one of two directions.
    pub fn is_one_way_of(&self, other: &Self) -> bool {
        let (&[mutant], &[both]) = (self.mutants, other.mutants) else { return false };
        mutant.both_ways() == Some(both)
    }

    /// The names of the two combinations that make its mistake in one direction each; `None` if it has no directions.
    pub fn directions(&self) -> Option<[&'static str; 2]> {
        let &[both] = self.mutants else { return None };
        let mut one_way = Mutant::ALL.iter().filter(|mutant| mutant.both_ways() == Some(both));
        Some([one_way.next()?.name(), one_way.next()?.name()])
    }

    /// Whether both make one mistake, one of them in DequantizeLinear alone, so that a graph without QuantizeLinear does not tell them apart.
    pub fn differs_in_quantizers_from(&self, other: &Self) -> bool {
        let (&[one], &[two]) = (self.mutants, other.mutants) else { return false };
        one.in_both_quantizers() == Some(two) || two.in_both_quantizers() == Some(one)
    }

    /// The sentence as a clause after "if".
    pub fn clause(&self) -> String {
        const OPERATORS: [&str; 7] =
            ["Add", "BatchNormalization", "Clip", "Concat", "DequantizeLinear", "QuantizeLinear", "Relu"];
        let sentence = self.sentence.trim_end_matches('.');
        let begins_with_name = OPERATORS.iter().any(|name| sentence.split(' ').next() == Some(name));
        match sentence.chars().next() {
            Some(first) if !begins_with_name => {
                first.to_lowercase().chain(sentence[first.len_utf8()..].chars()).collect()
            }
            _ => sentence.to_owned(),
        }
    }

    /// Whether one of its mutants changes the precision, so that its bounds hold much that has another cause.
    pub fn is_coarse(&self) -> bool {
        self.mutants.iter().any(|mutant| mutant.nature() == Nature::Precision)
    }

    /// Whether all its mutants change only the precision.
    pub fn is_precision(&self) -> bool {
        self.mutants.iter().all(|mutant| mutant.nature() == Nature::Precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_become_clauses_and_operators_keep_their_names() {
        let clause = |name: &str| Combination::from_name(name).expect("it is listed").clause();
        assert_eq!(clause("bias-dropped"), "the bias is not added");
        assert_eq!(clause("truncated"), "QuantizeLinear rounds toward zero");
        assert!(clause("output-shape-ignored").starts_with("`output_shape` is ignored"));
    }

    #[test]
    fn one_direction_of_a_mistake_is_a_part_of_both() {
        let listed = |name: &str| Combination::from_name(name).expect("it is listed");
        let (upper, both) = (listed("same-upper-as-lower"), listed("same-swapped"));
        assert!(upper.is_part_of(&both) && upper.is_one_way_of(&both));
        assert_eq!(both.directions(), Some(["same-upper-as-lower", "same-lower-as-upper"]));
        assert_eq!(upper.directions(), None);
        assert!(!both.is_part_of(&upper) && !upper.is_part_of(&listed("scale-on-other-axis")));
        assert!(!listed("weights-unquantized").is_one_way_of(&listed("unquantized")), "two mistakes");
        let (alone, both) = (listed("dequantized-along-axis-0"), listed("scale-along-axis-0"));
        assert!(alone.differs_in_quantizers_from(&both) && both.differs_in_quantizers_from(&alone));
        assert!(!alone.differs_in_quantizers_from(&listed("scale-along-axis-1")), "two axes");
    }
}
