use std::{fmt, str::FromStr};

use twinfer_case::{Case, Provenance};

use crate::{CaseSpace, Choices, Space};

/// A named generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Valid graphs led by a Conv.
    Conv,
    /// Valid graphs led by a ConvTranspose.
    Deconv,
}

/// A name that no family has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown family {0:?}: it is one of conv, deconv, invalid")]
pub struct UnknownFamily(String);

impl Family {
    /// Every family.
    pub const ALL: [Self; 2] = [Self::Conv, Self::Deconv];

    /// The name that options, journals and cases use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conv => "conv",
            Self::Deconv => "deconv",
        }
    }

    /// Its cases, by seed and index.
    pub fn stream(self, seed: u64) -> CaseStream {
        let space: Box<dyn CaseSpace> = match self {
            Self::Conv => Box::new(Space::convolutions()),
            Self::Deconv => Box::new(Space::deconvolutions()),
        };
        CaseStream { family: self, seed, space }
    }
}

/// The cases of a family for one seed: the case at an index is the same on every machine and in any order.
pub struct CaseStream {
    family: Family,
    seed: u64,
    space: Box<dyn CaseSpace>,
}

impl CaseStream {
    /// The case at `index`.
    pub fn case(&self, index: u64) -> Case {
        let mut choices = Choices::of_index(self.seed ^ (self.family as u64) << 56, index);
        let provenance = Provenance { family: self.family.name().to_owned(), seed: self.seed, index };
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
    use twinfer_onnx::infer_shapes;

    use super::*;

    #[test]
    fn every_case_of_the_valid_families_is_valid_in_every_run() {
        for family in [Family::Conv, Family::Deconv] {
            let stream = family.stream(1);
            for index in 0..3000 {
                let case = stream.case(index);
                for run in &case.runs {
                    let shapes: Vec<_> = run.inputs.iter().map(|input| input.shape().to_vec()).collect();
                    if let Err(violation) = infer_shapes(&case.graph, &shapes) {
                        panic!("{family} {index}: {violation}\n{case:#?}");
                    }
                }
            }
        }
    }
}
