//! Graphs that are known to end workers, or to keep them for good, and the option `hazards=run|skip` that leaves them out.

use twinfer_case::{Capability, Condition, Refusal, Stage};
use twinfer_onnx::Graph;

use crate::options::{HAZARDS, Hazards, InvalidOption, VariantOptions};

/// Graphs that do harm to a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The name of the rule under which they are left out.
    pub rule: &'static str,
    /// What the graphs do to the backend, and where that was observed.
    pub source: &'static str,
    /// The graphs that do the harm.
    pub concerned: Condition,
}

/// The words by which the refusal is recognized.
const NOT_TRIED: &str = "not tried";

impl Hazard {
    /// The hazard, if the options say that its graphs are left out.
    pub fn left_out(self, options: &mut VariantOptions) -> Result<Option<Self>, InvalidOption> {
        let hazards = options.take(&HAZARDS)?;
        Ok(Some(self).filter(|_| hazards == Hazards::Skip))
    }

    /// Why a model is left out; `None` if it is not one of these graphs.
    pub fn objection(&self, model: &[u8]) -> Option<String> {
        let is_concerned = Graph::decode(model).is_ok_and(|graph| self.concerned.holds(&graph));
        is_concerned.then(|| format!("{NOT_TRIED}: the option hazards=skip leaves it out"))
    }

    /// The rule under which the graphs are left out.
    pub fn capability(&self) -> Capability {
        Capability {
            rule: self.rule.to_owned(),
            source: self.source.to_owned(),
            refuses: self.concerned.clone(),
            shows: Refusal::with_words(Stage::Load, NOT_TRIED),
        }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Outcome, Task, Variant};
    use twinfer_generators::{Distribution, Family};

    use super::*;
    use crate::{ort, trt};

    #[test]
    fn a_hazard_is_left_out_when_the_options_say_so() {
        let left_out = |variant: &str| {
            let variant: Variant = variant.parse().unwrap();
            trt::hazard().left_out(&mut VariantOptions::of(&variant))
        };
        assert_eq!(left_out("trt").unwrap(), None);
        assert_eq!(left_out("trt,hazards=run").unwrap(), None);
        assert_eq!(left_out("trt,hazards=skip").unwrap(), Some(trt::hazard()));
        assert!(left_out("trt,hazards=some").is_err());
    }

    #[test]
    fn what_is_left_out_is_what_the_rule_says_and_shows_as_it_says() {
        use Family::{Conv, Deconv, QdqConv, QdqDeconv};
        for (hazard, families, cases) in
            [(ort::hazard(), [Conv, Deconv], 400), (trt::hazard(), [QdqConv, QdqDeconv], 2000)]
        {
            let rule = hazard.capability();
            for family in families {
                let stream = family.stream(Distribution::Baseline, 31);
                let mut left_out = 0;
                for case in (0..cases).map(|index| stream.case(index)) {
                    let objection = hazard.objection(&Task::of(&case).unwrap().model);
                    assert_eq!(objection.is_some(), rule.refuses.holds(&case.graph));
                    if let Some(reason) = objection {
                        left_out += 1;
                        assert!(rule.shows.matches(Stage::Load, &Outcome::rejected(reason)));
                    }
                }
                assert!((3..cases / 2).contains(&left_out), "{} of {family}: {left_out}", hazard.rule);
            }
        }
    }

    #[test]
    fn what_is_no_model_is_left_to_the_library() {
        assert_eq!(ort::hazard().objection(b"nothing"), None);
    }
}
