//! What to do if a model was not compared.

use std::collections::BTreeMap;

use twinfer_case::{Outcome, Run, Summary, TensorSource, Uncompared, UncomparedReason};
use twinfer_onnx::{Dim, ValueInfo};

/// The facts about a model that can keep backends from being compared on it.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// The extents that twinfer chose for symbolic dimensions, by name.
    chosen: BTreeMap<String, usize>,
    /// Whether golden does not support the model.
    is_opaque: bool,
}

/// The extent that the advice suggests.
const LARGER: usize = 32;

impl Advice {
    /// The advice on a model with these `inputs`, of which `run` is one run, where the extents of some dimensions were `given`.
    pub fn new(inputs: &[ValueInfo], run: Option<&Run>, given: &[(String, usize)], is_opaque: bool) -> Self {
        let sources = run.into_iter().flat_map(|run| &run.inputs);
        let dims = inputs.iter().zip(sources).flat_map(|(input, source)| {
            let extents = match source {
                TensorSource::Recipe(recipe) => &recipe.shape,
                TensorSource::Data(tensor) => &tensor.shape,
            };
            input.shape.iter().flatten().zip(extents)
        });
        let chosen = dims.filter_map(|(dim, extent)| match dim {
            Dim::Symbolic(name) if given.iter().all(|(given, _)| given != name) => {
                Some((name.clone(), *extent))
            }
            _ => None,
        });
        Self { chosen: chosen.collect(), is_opaque }
    }

    /// The extents that twinfer chose for symbolic dimensions, for a user who wants others; `None` if there are none.
    pub fn dimensions(&self) -> Option<String> {
        (!self.chosen.is_empty()).then(|| {
            let only_unnamed = self.chosen.keys().all(String::is_empty);
            let option = if only_unnamed { "--dim =N" } else { "--dim NAME=N" };
            format!("symbolic dimensions: {}; {option} sets another extent", self.chosen_extents())
        })
    }

    /// What to do about the variants that were not compared, one sentence each.
    pub fn on(&self, summary: &Summary) -> Vec<String> {
        let causes: Vec<_> =
            summary.uncompared().flat_map(|variant| &variant.comparisons.uncompared).collect();
        let mut advice = Vec::new();
        if causes.iter().any(|cause| cause.outcome != Some(Outcome::Ok)) && !self.chosen.is_empty() {
            advice.push(self.other_dimensions());
        }
        if self.is_opaque && causes.iter().any(|cause| is_alone(cause)) {
            advice.push(
                "golden does not support the model, so backends are compared with each other: name two that execute it here, \
                 such as --backends ort:cpu,opt=off,ort:cpu,opt=all"
                    .to_owned(),
            );
        }
        advice
    }

    fn other_dimensions(&self) -> String {
        let larger: Vec<_> = self.chosen.keys().map(|name| format!("--dim {name}={LARGER}")).collect();
        format!(
            "twinfer chose the symbolic dimensions {}: if they do not fit the model, set them, such as {}",
            self.chosen_extents(),
            larger.join(" ")
        )
    }

    fn chosen_extents(&self) -> String {
        let chosen = self.chosen.iter().map(|(name, extent)| match name.as_str() {
            "" => format!("unnamed = {extent}"),
            name => format!("{name}={extent}"),
        });
        chosen.collect::<Vec<_>>().join(", ")
    }
}

/// Whether the backend did what it could, and no other one went as far.
fn is_alone(cause: &Uncompared) -> bool {
    cause.outcome == Some(Outcome::Ok) && matches!(cause.reason, UncomparedReason::NoReference(_))
}
