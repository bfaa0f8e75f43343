//! A model whose segments are right and whose outputs are not: returning values may have kept the variant from fusing operators.

use twinfer_case::{Observation, Shown};
use twinfer_onnx::Tensor;

use super::{Examiner, Found};

/// The most sets of observed values that are searched for nodes that are wrong only together, each with a logarithmic number of runs.
const MAX_SEARCHES: usize = 8;

impl<'a, E> Examiner<'a, '_, E> {
    /// Looks for nodes that are right if the value between them is observed, and wrong otherwise. `observation` is what the variant
    /// does if `active` are observed: every segment conforms.
    ///
    /// Each search finds one value that makes a difference, and judges the segment in whose middle it lies. If that conforms, the
    /// difference is one of rounding.
    pub(super) fn search_fused(
        &mut self,
        mut active: Vec<&'a str>,
        observation: Observation,
    ) -> Result<Option<Found>, E> {
        let mut observed = observation;
        for _ in 0..MAX_SEARCHES {
            if active.is_empty() || self.has_same_outputs(&observed) {
                break;
            }
            let different = active.remove(self.last_needed(&active, &observed)?);
            observed = self.observe_with(&active)?;
            let Some(mut values) = self.values(&observed, &active) else { break };
            let known = values.known();
            let mut ends = self.ends(&active);
            ends.retain(|end| {
                let segment = self.structure.segment(end, &known);
                segment.is_ok_and(|segment| segment.inner_values().any(|name| name == different))
            });
            if let Some(wrong) = self.first_wrong(&ends, &mut values) {
                return self.confirm(wrong, &values, Shown::Fused).map(Some);
            }
        }
        Ok(None)
    }

    /// The place of a value in `active` without which, and without those behind it, the outputs are not those of `observed`.
    fn last_needed(&mut self, active: &[&'a str], observed: &Observation) -> Result<usize, E> {
        let (mut differing, mut same) = (0, active.len());
        while same - differing > 1 {
            let middle = differing.midpoint(same);
            if has_outputs_of(&self.observe_with(&active[..middle])?, observed) {
                same = middle;
            } else {
                differing = middle;
            }
        }
        Ok(differing)
    }

    /// Whether the outputs are those of the model of which only they were observed.
    pub(super) fn has_same_outputs(&self, observation: &Observation) -> bool {
        has_outputs_of(observation, self.subject.observation)
    }
}

/// Whether the outputs of every run are the same, bit by bit.
fn has_outputs_of(one: &Observation, other: &Observation) -> bool {
    let bits = |tensor: &Tensor| (tensor.shape.clone(), tensor.to_le_bytes());
    let outputs = |observation: &Observation| -> Vec<_> {
        observation.runs.iter().flat_map(|run| &run.outputs).map(bits).collect()
    };
    outputs(one) == outputs(other)
}
