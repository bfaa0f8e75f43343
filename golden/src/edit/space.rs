//! The space of edits: everything that may be changed in an operator.

use super::{
    attribute::AttributeEdit,
    calculation::Calculation,
    change::Change,
    lane::Along,
    layout::Layout,
    numbers::{NumberEdit, Numbers, Shapes},
    operator::Operator,
    region::Region,
    reindexing::Reindexing,
    term::Term,
};
use crate::{
    Mutant, Nature,
    partial_sums::PartialSums,
    quantization::{IntegerConversion, Overflow, Rounding},
    reduction::Reduction,
    semantics::Scales,
    taps::{Between, Fill, Outside},
};

/// Every change of an operator everywhere, and then those that may be made in a part of the output alone, each with that part.
pub fn changes(operator: Operator) -> Vec<(Change, Option<Region>)> {
    let local = local_changes(operator);
    let everywhere = readings(operator)
        .into_iter()
        .chain(numbers(operator))
        .chain(AttributeEdit::all_of(operator).into_iter().map(Change::Attribute))
        .chain(local.iter().copied());
    let mut changes: Vec<_> = everywhere.map(|change| (change, None)).collect();
    let in_parts = |region: Region| {
        let changes = local.iter().filter(|change| !is_of_attributes(**change) && !change.is_rounding());
        changes.map(move |change| (*change, Some(region)))
    };
    if !operator.is_rare() {
        changes.extend(Region::all(operator).into_iter().flat_map(in_parts));
    }
    changes
}

/// Other elements of what an operator reads or gives.
fn readings(operator: Operator) -> Vec<Change> {
    let mut changes = Vec::new();
    for operand in operator.operands().filter(|operand| operand.is_one()) {
        let along = Along::ALL.iter().filter(|along| along.is_of(operator, operand));
        for along in along {
            let reindexings = Reindexing::ALL.iter().filter(|one| one.is_of(operator, *along));
            changes.extend(reindexings.map(|reindexing| Change::Read(operand, *along, *reindexing)));
        }
        if operand.is_tensor() {
            let layouts = Layout::ALL.iter().filter(|layout| layout.is_of(operator, operand));
            changes.extend(layouts.map(|layout| Change::Stored(operand, *layout)));
        }
    }
    changes
}

/// Other numbers of the windows of an operator.
fn numbers(operator: Operator) -> Vec<Change> {
    use Numbers::{Dilations, Kernel, OutputPadding, PadsBegin, PadsEnd, Strides};
    let (kept, following): (&[_], &[_]) = match operator {
        Operator::AveragePool | Operator::MaxPool => {
            (&[Strides, Dilations, PadsBegin, Kernel], &[Strides, Dilations, PadsBegin, PadsEnd, Kernel])
        }
        Operator::ConvTranspose => {
            (&[Strides, Dilations, PadsBegin], &[Strides, Dilations, PadsBegin, PadsEnd, OutputPadding])
        }
        operator if operator.is_convolution() => {
            (&[Strides, Dilations, PadsBegin], &[Strides, Dilations, PadsBegin, PadsEnd])
        }
        _ => (&[], &[]),
    };
    let kept = kept.iter().flat_map(|numbers| NumberEdit::all(*numbers, following, Shapes::Kept));
    let following =
        following.iter().flat_map(|numbers| NumberEdit::all(*numbers, following, Shapes::Following));
    kept.chain(following).map(Change::Numbers).collect()
}

/// What may also happen in a part of the output alone.
fn local_changes(operator: Operator) -> Vec<Change> {
    let mut changes: Vec<_> =
        Calculation::all_of(operator).iter().copied().map(Change::Calculation).collect();
    for operand in operator.operands() {
        let is_integer = operator.is_integer(operand);
        let terms = Term::all_of(operand).iter().filter(|term| !is_integer || term.is_of_integers());
        let terms = terms.filter(|term| !operator.is_kept_by(operand, **term));
        changes.extend(terms.map(|term| Change::Term(operand, *term)));
    }
    let inputs = operator.inputs();
    for (place, (one, _)) in inputs.iter().enumerate() {
        for (other, _) in &inputs[place + 1..] {
            if operator.are_alike(*one, *other) {
                changes.extend([Change::Taken(*one, *other), Change::Taken(*other, *one)]);
                // a sum is the same either way
                changes.extend(Some(Change::Exchanged(*one, *other)).filter(|_| operator != Operator::Add));
            }
        }
    }
    if operator.is_quantizer() {
        changes.extend(Scales::OTHER_AXES.iter().copied().map(Change::Scales));
    }
    if matches!(operator, Operator::QuantizeLinear | Operator::QLinearConv) {
        changes.extend(conversions().into_iter().map(Change::Conversion));
    }
    if matches!(operator, Operator::Conv | Operator::ConvTranspose | Operator::MaxPool) {
        changes.extend([Outside::Edge, Outside::Around, Outside::Mirrored].map(Change::Outside));
        changes.extend(Fill::ALL.iter().copied().map(Change::Fill));
    }
    if operator == Operator::AveragePool {
        changes.extend([Outside::Edge, Outside::Around, Outside::Mirrored].map(Change::Outside));
    }
    if operator == Operator::ConvTranspose {
        changes.extend([Between::Previous, Between::Next].map(Change::Between));
    }
    if matches!(operator, Operator::Conv | Operator::ConvTranspose) {
        changes.extend(PartialSums::all().map(Change::PartialSums));
    }
    if operator == Operator::MaxPool {
        changes.extend(Reduction::others().map(Change::Reduction));
    }
    let mutants = Mutant::ALL.iter().copied().filter(|mutant| concerns(*mutant, operator));
    changes.extend(mutants.map(Change::Mutant));
    changes
}

/// Every other rounding and saturation.
fn conversions() -> Vec<IntegerConversion> {
    let onnx = IntegerConversion::ONNX;
    let rounded = Rounding::ALL.iter().flat_map(|rounding| {
        [false, true].map(|shifted_first| IntegerConversion { rounding: *rounding, shifted_first, ..onnx })
    });
    let saturated = Overflow::ALL.iter().map(|overflow| IntegerConversion { overflow: *overflow, ..onnx });
    rounded.chain(saturated).filter(|conversion| *conversion != onnx).collect()
}

/// Whether an operator does what a listed mutant changes.
fn concerns(mutant: Mutant, operator: Operator) -> bool {
    use Mutant as M;
    let is_window =
        operator.is_convolution() || matches!(operator, Operator::AveragePool | Operator::MaxPool);
    match mutant {
        // composed changes do the same
        M::AddendDropped
        | M::BiasDropped
        | M::DilationIgnored
        | M::GroupsCollapsed
        | M::KernelReversed
        | M::PadShifted
        | M::ZeroPointIgnored
        // quantizers have every conversion
        | M::RoundedHalfAway
        | M::Truncated
        | M::ZeroPointBeforeRounding
        | M::Wrapped
        | M::NarrowRange
        | M::QuantizedThroughInt32
        | M::QuantizedThroughSaturatingInt32
        // quantizers have every axis
        | M::ScaleAlongAxis0
        | M::ScaleAlongAxis1 => false,
        M::OutputPaddingIgnored
        | M::OutputPaddingInFront
        | M::OutputPaddingDropped
        | M::OutputShapeSplitSwapped
        | M::OutputShapeIgnored
        | M::BiasNotOnStrip => operator == Operator::ConvTranspose,
        M::SameAsValid
        | M::PadsAlike
        | M::SameSwapped
        | M::SameUpperAsLower
        | M::SameLowerAsUpper => is_window,
        M::BiasInProductSteps | M::BiasAfterRequantization | M::FloatWeightsQuantized | M::PairsSaturated => {
            matches!(operator, Operator::Conv | Operator::ConvTranspose)
        }
        M::WeightsUnquantized
        | M::ActivationsUnquantized
        | M::ResultsUnquantized
        | M::QuantizerPairsMerged
        | M::DequantizedOnOtherAxis
        | M::DequantizedAlongAxis0
        | M::DequantizedAlongAxis1
        | M::ActivationZeroPointKept
        | M::WeightZeroPointKept
        | M::UnsignedAsSigned => operator == Operator::DequantizeLinear,
        M::QuantizedAxesExchanged | M::Uint8AsInt8 => operator == Operator::QuantizeLinear,
        M::ScaleOnOtherAxis | M::FirstScaleForAll => operator.is_quantizer(),
        M::ReluDropped => operator == Operator::Relu,
        M::EpsilonIgnored | M::NormalizedByInterleavedGroup => operator == Operator::BatchNormalization,
        M::PoolPaddingZero | M::PoolPaddingLowest | M::PoolFromLowest => operator == Operator::MaxPool,
        M::BoundsInSevenDigits | M::LowerBoundLast => operator == Operator::Clip,
        M::ConcatWithOneScale => operator == Operator::Concat,
        M::BiasNotInGaps => operator.is_convolution() && !operator.is_rare(),
        mutant => match mutant.nature() {
            Nature::Convolution => operator.is_convolution(),
            Nature::Precision => matches!(operator, Operator::Conv | Operator::ConvTranspose),
            _ => false,
        },
    }
}

/// Whether the change is made before shapes are known, so that it cannot be made in a part of the output.
const fn is_of_attributes(change: Change) -> bool {
    match change {
        Change::Mutant(mutant) => {
            matches!(mutant.nature(), Nature::Attribute)
                || matches!(
                    mutant,
                    Mutant::PadsSwapped
                        | Mutant::SameSwapped
                        | Mutant::SameUpperAsLower
                        | Mutant::SameLowerAsUpper
                        | Mutant::OutputShapeSplitSwapped
                )
        }
        _ => false,
    }
}
