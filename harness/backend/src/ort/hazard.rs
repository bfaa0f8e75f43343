//! Graphs that ONNX Runtime CUDA computes with sizes nobody set: it dies, asks for buffers of random sizes, or writes where it
//! should not, which shows in a later case if at all.

use twinfer_case::{Capability, Condition, Refusal, Stage};
use twinfer_onnx::Graph;

use crate::options::Choice;

/// What becomes of such graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hazards {
    /// They are run, and cost a worker each now and then.
    #[default]
    Run,
    /// They are left out, under a rule that says so.
    Skip,
}

/// Words of the refusal.
const NOT_TRIED: &str = "not tried";

impl Hazards {
    /// Why a model is left out, if it is.
    pub fn objection(self, model: &[u8]) -> Option<String> {
        let is_left_out =
            self == Self::Skip && Graph::decode(model).is_ok_and(|graph| concerned().holds(&graph));
        is_left_out.then(|| format!("{NOT_TRIED}: the option hazards=skip leaves it out"))
    }

    /// The rule that says so.
    pub fn capability(self) -> Option<Capability> {
        (self == Self::Skip).then(|| Capability {
            rule: "ort-cuda-hazardous-dilation".to_owned(),
            source: "measured on ONNX Runtime CUDA 1.31.1: Conv with dilations and auto_pad SAME, and ConvTranspose with \
                     dilations and output_padding or auto_pad SAME, end workers with signal 11 or ask for buffers of random \
                     sizes (docs/results/h200-campaigns.md)"
                .to_owned(),
            refuses: concerned(),
            shows: Refusal::saying(Stage::Load, NOT_TRIED),
        })
    }
}

fn concerned() -> Condition {
    let dilated = |operator: &str, beside: Condition| {
        Condition::All(vec![Condition::Operator(operator.to_owned()), Condition::Dilated, beside])
    };
    let deconvolution = vec![Condition::OutputPadding, Condition::AutoPadSame];
    Condition::Any(vec![
        dilated("Conv", Condition::AutoPadSame),
        dilated("ConvTranspose", Condition::Any(deconvolution)),
    ])
}

impl Choice for Hazards {
    const WORDS: &'static [(&'static str, Self)] = &[("run", Self::Run), ("skip", Self::Skip)];
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Outcome, Task};
    use twinfer_generators::Family;

    use super::*;

    #[test]
    fn what_is_left_out_is_what_the_rule_says_and_shows_as_it_says() {
        let rule = Hazards::Skip.capability().unwrap();
        for family in [Family::Conv, Family::Deconv] {
            let stream = family.stream(5);
            let cases: Vec<_> = (0..400).map(|index| stream.case(index)).collect();
            let mut left_out = 0;
            for case in &cases {
                let model = Task::of(case).unwrap().model;
                assert_eq!(Hazards::Run.objection(&model), None);
                let objection = Hazards::Skip.objection(&model);
                assert_eq!(objection.is_some(), rule.refuses.holds(&case.graph));
                if let Some(reason) = objection {
                    left_out += 1;
                    assert!(rule.shows.is(Stage::Load, &Outcome::Rejected(reason)));
                }
            }
            assert!((4..cases.len() / 2).contains(&left_out), "{family}: {left_out}");
        }
    }

    #[test]
    fn what_is_no_model_is_left_to_the_library() {
        assert_eq!(Hazards::Skip.objection(b"nothing"), None);
    }
}
