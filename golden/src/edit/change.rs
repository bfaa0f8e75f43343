use twinfer_onnx::Op;

use super::{
    attribute::AttributeEdit,
    calculation::{Calculation, Inputs},
    lane::Along,
    layout::Layout,
    numbers::NumberEdit,
    operand::Operand,
    operator::{Operator, groups},
    reindexing::Reindexing,
    term::Term,
};
use crate::{
    Mutant,
    partial_sums::PartialSums,
    quantization::IntegerConversion,
    reduction::Reduction,
    semantics::Scales,
    taps::{Between, Fill, Outside},
    value::Value,
};

/// What an operator does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Other elements of an operand are read.
    Read(Operand, Along, Reindexing),
    /// The elements of an operand are taken to be stored in another order.
    Stored(Operand, Layout),
    /// Elements of an operand are changed.
    Term(Operand, Term),
    /// The second operand is read in place of the first.
    Taken(Operand, Operand),
    /// Two operands are read in place of each other.
    Exchanged(Operand, Operand),
    /// A step of the calculation differs.
    Calculation(Calculation),
    /// The numbers of a window differ.
    Numbers(NumberEdit),
    /// Scales and zero points are applied along another axis.
    Scales(Scales),
    /// A quantizer rounds or saturates otherwise.
    Conversion(IntegerConversion),
    /// What lies outside of the data differs.
    Outside(Outside),
    /// A number is read where there is no data.
    Fill(Fill),
    /// What lies between strides differs.
    Between(Between),
    /// Partial sums are rounded.
    PartialSums(PartialSums),
    /// Something else than the maximum is given for a window.
    Reduction(Reduction),
    /// An attribute is read otherwise.
    Attribute(AttributeEdit),
    /// What a listed mutant changes, in one operator alone.
    Mutant(Mutant),
}

impl Change {
    /// Whether it changes what the operator reads.
    pub const fn is_of_inputs(self) -> bool {
        match self {
            Self::Read(operand, ..) | Self::Stored(operand, _) | Self::Term(operand, _) => {
                !matches!(operand, Operand::Output)
            }
            Self::Taken(..) | Self::Exchanged(..) | Self::Calculation(_) => true,
            Self::Numbers(_)
            | Self::Scales(_)
            | Self::Conversion(_)
            | Self::Outside(_)
            | Self::Fill(_)
            | Self::Between(_)
            | Self::PartialSums(_)
            | Self::Reduction(_)
            | Self::Attribute(_)
            | Self::Mutant(_) => false,
        }
    }

    /// Whether it reads an operand as it was broadcast.
    pub const fn is_of_broadcast(self) -> bool {
        match self {
            Self::Read(operand, ..) | Self::Stored(operand, _) => operand.is_broadcast(),
            _ => false,
        }
    }

    /// Whether it makes elements coarser, which an operator does everywhere if it does so at all.
    pub const fn is_rounding(self) -> bool {
        match self {
            Self::Term(_, term) => term.is_rounding(),
            Self::PartialSums(_) => true,
            _ => false,
        }
    }

    /// Changes the inputs of a node of `operator`.
    pub fn apply_to_inputs(self, operator: Operator, op: &Op, inputs: &mut Inputs) {
        match self {
            Self::Taken(to, from) | Self::Exchanged(to, from) => {
                let place = |operand| operator.places(operand, inputs).next();
                let (Some(to), Some(from)) = (place(to), place(from)) else { return };
                let (Some(one), Some(other)) = (inputs[to].clone(), inputs[from].clone()) else { return };
                if one.shape == other.shape && one.dtype == other.dtype {
                    inputs[to] = Some(other);
                    if matches!(self, Self::Exchanged(..)) {
                        inputs[from] = Some(one);
                    }
                }
            }
            Self::Calculation(calculation) => calculation.apply_to_inputs(op, inputs),
            Self::Read(operand, ..) | Self::Stored(operand, _) | Self::Term(operand, _) => {
                let places = operator.places(operand, inputs);
                inputs[places].iter_mut().flatten().for_each(|value| self.apply_to(operator, op, value));
            }
            _ => {}
        }
    }

    /// Changes the output of a node of `operator`.
    pub fn apply_to_output(self, operator: Operator, op: &Op, output: &mut Value) {
        match self {
            Self::Read(Operand::Output, ..)
            | Self::Stored(Operand::Output, _)
            | Self::Term(Operand::Output, _) => self.apply_to(operator, op, output),
            Self::Calculation(calculation) => calculation.apply_to_output(output),
            _ => {}
        }
    }

    /// Changes the operand that it names.
    fn apply_to(self, operator: Operator, op: &Op, value: &mut Value) {
        match self {
            Self::Read(operand, along, reindexing) => {
                let groups = groups(op);
                for lane in along.lanes(operator, operand, &value.shape, groups) {
                    let source = |place: usize| {
                        let index = lane.index(place);
                        let read = reindexing.source(index, lane.extent, groups)?;
                        Some(place - index * lane.inner + read * lane.inner)
                    };
                    let places: Vec<_> = (0..value.elements.len()).map(source).collect();
                    *value = value.gathered(&value.shape, &places);
                }
            }
            Self::Stored(_, layout) => {
                if let Some(places) = layout.places(&value.shape) {
                    let places: Vec<_> = places.into_iter().map(Some).collect();
                    *value = value.gathered(&value.shape, &places);
                }
            }
            Self::Term(operand, term) if term.concerns(value.dtype) => {
                let dtype = value.dtype;
                *value = value.changed(|x| term.applied(operand, dtype, x));
            }
            _ => {}
        }
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        match self {
            Self::Read(operand, along, reindexing) => {
                format!("{}-{}-{}", operand.slug(), along.slug(), reindexing.slug())
            }
            Self::Stored(operand, layout) => format!("{}-{}", operand.slug(), layout.slug()),
            Self::Term(operand, term) => format!("{}-{}", operand.slug(), term.slug()),
            Self::Taken(to, from) => format!("{}-taken-from-{}", to.slug(), from.slug()),
            Self::Exchanged(one, other) => format!("{}-exchanged-with-{}", one.slug(), other.slug()),
            Self::Calculation(calculation) => calculation.slug(),
            Self::Numbers(numbers) => numbers.slug(),
            Self::Scales(scales) => scales.slug().to_owned(),
            Self::Conversion(conversion) => conversion.slug(),
            Self::Outside(outside) => outside.slug().to_owned(),
            Self::Fill(fill) => fill.slug().to_owned(),
            Self::Between(between) => between.slug().to_owned(),
            Self::PartialSums(partial) => partial.slug(),
            Self::Reduction(reduction) => reduction.slug(),
            Self::Attribute(attribute) => attribute.slug().to_owned(),
            Self::Mutant(mutant) => mutant.name().to_owned(),
        }
    }

    /// What it is, as a clause about the operator.
    pub fn clause(self, operator: Operator) -> String {
        let name = operator.name();
        match self {
            Self::Read(operand, along, reindexing) => {
                let (noun, place) = along.noun();
                let verb = if operand == Operand::Output { "gives" } else { "reads" };
                format!(
                    "{name} {verb} the {} of {}{place}",
                    words(operand, operator),
                    reindexing.clause(noun)
                )
            }
            Self::Stored(Operand::Output, layout) => format!("{name} stores the output {}", layout.clause()),
            Self::Stored(operand, layout) => {
                format!("{name} reads the {} {}", words(operand, operator), layout.clause())
            }
            Self::Term(operand, term) => {
                format!("{} {}", subject(operand, operator), term.predicate(operand))
            }
            Self::Taken(to, from) => {
                format!("{name} reads the {} as the {}", words(from, operator), words(to, operator))
            }
            Self::Exchanged(one, other) => {
                format!("{name} exchanges the {} and the {}", words(one, operator), words(other, operator))
            }
            Self::Calculation(calculation) => format!("{name} {}", calculation.clause()),
            Self::Numbers(numbers) => format!("{name} {}", numbers.clause()),
            Self::Scales(scales) => format!("{name} applies scales and zero points {}", scales.clause()),
            Self::Conversion(conversion) => format!("{name} {}", conversion.clause()),
            Self::Outside(outside) => format!("{name} reads {}", outside.clause()),
            Self::Fill(fill) => format!("{name} reads {}", fill.clause()),
            Self::Between(between) => format!("{name} reads {}", between.clause()),
            Self::PartialSums(partial) => format!("{name} {}", partial.clause()),
            Self::Reduction(reduction) => format!("{name} {}", reduction.clause()),
            Self::Attribute(attribute) => format!("{name} {}", attribute.clause()),
            Self::Mutant(mutant) => {
                let clause = of_sentence(mutant.sentence());
                let names_operator = clause.split(' ').next() == Some(name);
                if names_operator { clause } else { format!("{clause} in {name}") }
            }
        }
    }
}

/// An operand as the subject of a sentence.
fn subject(operand: Operand, operator: Operator) -> String {
    let name = operator.name();
    match operand {
        Operand::Each if operator.is_convolution() => format!("each factor in the products of {name}"),
        Operand::Each => format!("each input of {name}"),
        Operand::SecondOrBroadcast => {
            format!("the second input of {name}, or the first one if that is broadcast,")
        }
        operand => format!("the {} of {name}", words(operand, operator)),
    }
}

/// What sentences about an operator call an operand.
fn words(operand: Operand, operator: Operator) -> String {
    match (operand, operator) {
        (Operand::Data, Operator::Add | Operator::Concat) => "first input".to_owned(),
        (Operand::Addend, _) => "second input".to_owned(),
        (Operand::BroadcastData, _) => "broadcast first input".to_owned(),
        (Operand::BroadcastAddend, _) => "broadcast second input".to_owned(),
        (Operand::Scale | Operand::ZeroPoint, Operator::QLinearConv) => format!("output {}", operand.words()),
        _ => operand.words(),
    }
}

/// A sentence as a clause within another one.
fn of_sentence(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let first = sentence.split(' ').next().unwrap_or_default();
    let is_name = Operator::ALL.iter().any(|operator| operator.name() == first);
    match sentence.chars().next() {
        Some(letter) if !is_name => {
            letter.to_lowercase().chain(sentence[letter.len_utf8()..].chars()).collect()
        }
        _ => sentence.to_owned(),
    }
}
