//! Cases that may show the same bug as a minimal case.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use twinfer_case::Case;
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
            Arc::new((0..COUNT).map(|place| describe(&(self.draw)(operator, place))).collect())
        }))
    }

    /// The case for an operator at `place`.
    pub(crate) fn case(&self, operator: &str, place: usize) -> Case {
        (self.draw)(operator, place as u64)
    }
}

impl fmt::Debug for Neighbors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbors").finish_non_exhaustive()
    }
}
