use std::{fmt, str::FromStr};

use twinfer_case::{Case, Distribution, Provenance};

use crate::{CaseSpace, Choices, InvalidSpace, Space};

/// A named generator; its place among the variants decides, with the seed, what it streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Valid graphs led by a Conv.
    Conv,
    /// Valid graphs led by a ConvTranspose.
    Deconv,
    /// Graphs that break exactly one named rule.
    Invalid,
    /// Valid graphs led by a Conv, quantized.
    QdqConv,
    /// Valid graphs led by a ConvTranspose, quantized.
    QdqDeconv,
    /// Valid blocks that networks are made of.
    Block,
}

/// A name that no family has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown family {0:?}: use one of conv, deconv, qdq-conv, qdq-deconv, block, invalid")]
pub struct UnknownFamily(String);

impl Family {
    /// Every family.
    pub const ALL: [Self; 6] =
        [Self::Conv, Self::Deconv, Self::QdqConv, Self::QdqDeconv, Self::Block, Self::Invalid];

    /// The families of valid cases.
    pub const VALID: [Self; 5] = [Self::Conv, Self::Deconv, Self::QdqConv, Self::QdqDeconv, Self::Block];

    /// The families of valid cases that are made for an ONNX operator; all of them for an operator that none is made for.
    pub fn with_operator(op_type: &str) -> &'static [Self] {
        match op_type {
            "Conv" => &[Self::Conv, Self::QdqConv, Self::Block],
            "ConvTranspose" => &[Self::Deconv, Self::QdqDeconv, Self::Block],
            "DequantizeLinear" | "QuantizeLinear" => &[Self::QdqConv, Self::QdqDeconv, Self::Block],
            "Concat" | "MaxPool" => &[Self::Block],
            _ => &Self::VALID,
        }
    }

    /// The name that options, journals and cases use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conv => "conv",
            Self::Deconv => "deconv",
            Self::QdqConv => "qdq-conv",
            Self::QdqDeconv => "qdq-deconv",
            Self::Block => "block",
            Self::Invalid => "invalid",
        }
    }

    /// What its cases are, such as `models that begin with a Conv`.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Conv => "models that begin with a Conv",
            Self::Deconv => "models that begin with a ConvTranspose",
            Self::QdqConv => "a Conv between QuantizeLinear and DequantizeLinear",
            Self::QdqDeconv => "a ConvTranspose between QuantizeLinear and DequantizeLinear",
            Self::Block => "residual blocks, encoders and the like",
            Self::Invalid => "models that break one rule of ONNX",
        }
    }

    /// Its cases in a distribution, by seed and index.
    pub fn stream(self, distribution: Distribution, seed: u64) -> CaseStream {
        let space = match self {
            Self::Conv => drawn(Space::convolutions(), distribution),
            Self::Deconv => drawn(Space::deconvolutions(), distribution),
            Self::QdqConv => drawn(Space::quantized_convolutions(), distribution),
            Self::QdqDeconv => drawn(Space::quantized_deconvolutions(), distribution),
            Self::Block => drawn(Space::blocks(), distribution),
            Self::Invalid => Box::new(match distribution {
                Distribution::Baseline => InvalidSpace::new(),
                Distribution::Full => InvalidSpace::full(),
            }),
        };
        CaseStream { family: self, distribution, seed, space }
    }

    /// The cases of this family for `seed`, from index 0 on, without end: take as many as a test has time for.
    pub fn cases(self, seed: u64) -> impl Iterator<Item = Case> {
        let stream = self.stream(Distribution::Full, seed);
        (0..).map(move |index| stream.case(index))
    }
}

/// The cases of a family whose baseline is `space`.
fn drawn(space: Space, distribution: Distribution) -> Box<dyn CaseSpace> {
    match distribution {
        Distribution::Baseline => Box::new(space),
        Distribution::Full => Box::new(space.full()),
    }
}

/// The cases of a family for one seed: the case at an index is the same on every machine and in any order.
pub struct CaseStream {
    family: Family,
    distribution: Distribution,
    seed: u64,
    space: Box<dyn CaseSpace>,
}

impl CaseStream {
    /// The case at `index`.
    pub fn case(&self, index: u64) -> Case {
        let mut choices = Choices::of_index(self.seed ^ (self.family as u64) << 56, index);
        let provenance = Provenance {
            family: self.family.name().to_owned(),
            distribution: self.distribution,
            seed: self.seed,
            index,
        };
        Case { provenance: Some(provenance), ..self.space.draw(&mut choices) }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(text: &str) -> Result<Self, UnknownFamily> {
        Self::ALL
            .into_iter()
            .find(|family| family.name() == text)
            .ok_or_else(|| UnknownFamily(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use twinfer_case::{Expectation, Run};
    use twinfer_onnx::{Rule, RuleViolation, infer_shapes};

    use super::*;

    #[test]
    fn operators_occur_in_the_families_made_for_them() {
        for op_type in
            ["Conv", "ConvTranspose", "DequantizeLinear", "QuantizeLinear", "Concat", "MaxPool", "Relu"]
        {
            for family in Family::with_operator(op_type) {
                let stream = family.stream(Distribution::Baseline, 1);
                let has = |case: &Case| case.graph.nodes.iter().any(|node| node.op.op_type() == op_type);
                assert!((0..200).any(|index| has(&stream.case(index))), "{op_type} in {family}");
            }
        }
    }

    #[test]
    fn every_case_of_the_valid_families_is_valid_in_every_run() {
        for family in Family::VALID {
            let stream = family.stream(Distribution::Full, 1);
            for index in 0..3000 {
                let case = stream.case(index);
                for run in &case.runs {
                    if let Err(violation) = validate(&case, run) {
                        panic!("{family} {index}: {violation}\n{case:#?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_invalid_case_breaks_the_rule_it_names_in_every_run() {
        let stream = Family::Invalid.stream(Distribution::Full, 1);
        for index in 0..3000 {
            let case = stream.case(index);
            for run in &case.runs {
                let found = validate(&case, run)
                    .map_err(|violation| Expectation::Invalid(violation.rule.name().to_owned()));
                assert_eq!(found, Err(case.expectation.clone()), "invalid {index}: {case:#?}");
            }
        }
    }

    #[test]
    fn only_limits_and_other_operators_rules_are_never_broken() {
        let broken: BTreeSet<_> = InvalidSpace::new().rule.options().copied().collect();
        let left: Vec<_> =
            Rule::ALL.iter().filter(|rule| !broken.contains(rule)).map(|rule| rule.name()).collect();
        let limits = ["opset-known", "unique-names", "declared-input", "size-limit"];
        let other_operators = ["concat-extents", "flag", "bound-shape", "permutation"];
        assert_eq!(left, [&limits[..3], &other_operators, &limits[3..]].concat());
    }

    fn validate(case: &Case, run: &Run) -> Result<(), RuleViolation> {
        let shapes: Vec<_> = run.inputs.iter().map(|input| input.shape().to_vec()).collect();
        infer_shapes(&case.graph, &shapes).map(drop)
    }
}
