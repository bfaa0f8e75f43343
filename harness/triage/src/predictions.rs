use std::{cell::RefCell, hash::Hash};

use foldhash::HashMap;
use twinfer_checks::Prediction;
use twinfer_golden::{Edit, Hypothesis, Mutant};

/// What hypotheses say of one case, which does not change while more is learned of other cases: each trigger that is considered has all
/// hypotheses tried once more.
#[derive(Default)]
pub struct Predictions {
    anywhere: RefCell<HashMap<Hypothesis, Prediction>>,
    left: RefCell<HashMap<Edit, Option<f64>>>,
    with_others: RefCell<HashMap<Mutant, Prediction>>,
}

impl Predictions {
    /// What a hypothesis says wherever it applies in the case: what `predict` says the first time.
    pub fn anywhere(&self, hypothesis: Hypothesis, predict: impl FnOnce() -> Prediction) -> Prediction {
        known_or(&self.anywhere, hypothesis, predict)
    }

    /// What a mutant says together with another one: what `predict` says the first time.
    pub fn with_others(&self, mutant: Mutant, predict: impl FnOnce() -> Prediction) -> Prediction {
        known_or(&self.with_others, mutant, predict)
    }

    /// The share of what is wrong that an edit leaves: what `compare` says the first time.
    pub fn error_left(&self, edit: Edit, compare: impl FnOnce() -> Option<f64>) -> Option<f64> {
        known_or(&self.left, edit, compare)
    }
}

fn known_or<K: Eq + Hash, V: Copy>(known: &RefCell<HashMap<K, V>>, key: K, find: impl FnOnce() -> V) -> V {
    let value = known.borrow().get(&key).copied();
    value.unwrap_or_else(|| {
        let value = find();
        known.borrow_mut().insert(key, value);
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hypothesis_says_is_asked_for_once() {
        let named = |name: &str| Hypothesis::from_name(name).expect("it is listed, or an edit");
        let predictions = Predictions::default();
        let asked = RefCell::new(Vec::new());
        let ask = |name: &str, prediction: Prediction| {
            predictions.anywhere(named(name), || {
                asked.borrow_mut().push(name.to_owned());
                prediction
            })
        };
        assert_eq!(ask("bias-dropped", Prediction::Refuted), Prediction::Refuted);
        assert_eq!(ask("conv-bias-negated", Prediction::Unknown), Prediction::Unknown);
        assert_eq!(ask("bias-dropped", Prediction::Unknown), Prediction::Refuted);
        assert_eq!(*asked.borrow(), ["bias-dropped", "conv-bias-negated"]);
    }
}
