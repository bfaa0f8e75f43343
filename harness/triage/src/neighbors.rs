//! Cases that may show the same bug as a minimal case.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use twinfer_case::{Case, Run, TensorSource};
use twinfer_triggers::{DescribedNode, describe};

/// The cases in which an operator may be wrong, by their places: the same cases each time.
type Draw = dyn Fn(&str, u64) -> Case + Send + Sync;

/// How many cases experiments choose from.
const COUNT: u64 = 1536;

/// Cases for experiments on an operator, which are drawn and described once for all investigations.
#[derive(Clone)]
pub struct Neighbors {
    draw: Arc<Draw>,
    described: Arc<Mutex<BTreeMap<String, Described>>>,
}

/// What the nodes of cases are like, by the places of the cases.
pub(crate) type Described = Arc<Vec<Vec<DescribedNode>>>;

impl Neighbors {
    /// The cases that `draw` gives for an ONNX operator type and a place.
    pub fn new(draw: impl Fn(&str, u64) -> Case + Send + Sync + 'static) -> Self {
        Self { draw: Arc::new(draw), described: Arc::default() }
    }

    /// What the cases for an operator are like.
    pub(crate) fn described(&self, operator: &str) -> Described {
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = described.entry(operator.to_owned());
        Arc::clone(entry.or_insert_with(|| {
            Arc::new((0..COUNT).map(|place| describe(&self.drawn(operator, place))).collect())
        }))
    }

    /// The case for an operator at `place`.
    pub(crate) fn case(&self, operator: &str, place: usize) -> Case {
        self.drawn(operator, place as u64)
    }

    /// The case without the runs whose shapes differ from those of the first, of which alone facts are known.
    fn drawn(&self, operator: &str, place: u64) -> Case {
        let mut case = (self.draw)(operator, place);
        let mut runs = std::mem::take(&mut case.runs).into_iter();
        let first = runs.next();
        let alike = runs.filter(|run| first.as_ref().is_some_and(|first| is_shaped_like(run, first)));
        case.runs = alike.collect();
        case.runs.splice(0..0, first);
        case
    }
}

fn is_shaped_like(one: &Run, other: &Run) -> bool {
    one.inputs.iter().map(TensorSource::shape).eq(other.inputs.iter().map(TensorSource::shape))
}

impl fmt::Debug for Neighbors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbors").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, Request};
    use twinfer_onnx::{DataType, Graph, Tensor, TensorData};

    use super::*;

    #[test]
    fn neighbor_keeps_the_runs_that_are_shaped_like_its_first() {
        let run = |extent: usize, value: f32| {
            let data = TensorData::Float(vec![value; extent]);
            Run { inputs: vec![TensorSource::Data(Tensor { shape: vec![extent], data })] }
        };
        let graph = Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        let neighbors = Neighbors::new(move |_, _| Case {
            graph: graph.clone(),
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![run(1, 0.0), run(3, 1.0), run(1, 2.0)],
            expectation: Expectation::Valid,
            provenance: None,
        });
        assert_eq!(neighbors.case("Conv", 0).runs, [run(1, 0.0), run(1, 2.0)]);
    }
}
