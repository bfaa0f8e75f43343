//! Operators that draw random numbers: ONNX gives the distribution of their outputs, not their values.

use twinfer_golden::{Entry, RANDOM_VALUES};
use twinfer_onnx::{Dataflow, FlowNode};

/// The rule by which the values of an output are open because it depends on random numbers; `None` if it does not.
pub fn entry(flow: &Dataflow, output: &str) -> Option<&'static Entry> {
    flow.find_behind(output, |node| draws(flow, node)).map(|_| &RANDOM_VALUES)
}

fn draws(flow: &Dataflow, node: &FlowNode) -> bool {
    match node.op_type.as_str() {
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform"
        | "RandomUniformLike" => true,
        "Dropout" => is_training(flow, node) && !is_constant_zero(flow, node.inputs.get(1)),
        _ => false,
    }
}

/// Whether a Dropout may be in training mode: by an input from operator set 12 on, by an attribute before 7, and never between.
fn is_training(flow: &Dataflow, dropout: &FlowNode) -> bool {
    match flow.opset() {
        ..7 => dropout.ints.get("is_test").is_none_or(|is_test| *is_test == 0),
        7..12 => false,
        12.. => {
            let mode = dropout.inputs.get(2).filter(|mode| !mode.is_empty());
            mode.is_some() && !is_constant_zero(flow, mode)
        }
    }
}

fn is_constant_zero(flow: &Dataflow, value: Option<&String>) -> bool {
    let constant = value.and_then(|value| flow.constant(value));
    constant.is_some_and(|constant| constant.to_f64().iter().all(|x| *x == 0.0))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use twinfer_onnx::{Tensor, TensorData};

    use super::*;

    /// Whether y is random, y being what `node` gives; the constants are `half`, `zero`, `on` and `off`.
    fn is_random(opset: i64, node: FlowNode) -> bool {
        let scalar = |data| Tensor { shape: Vec::new(), data };
        let constants = [
            ("half", TensorData::Float(vec![0.5])),
            ("zero", TensorData::Float(vec![0.0])),
            ("on", TensorData::Bool(vec![true])),
            ("off", TensorData::Bool(vec![false])),
        ];
        let constants = constants.map(|(name, data)| (name.to_owned(), scalar(data)));
        let flow = Dataflow::of_nodes(opset, [(node, vec!["y".to_owned()])], HashMap::from(constants));
        entry(&flow, "y").is_some()
    }

    fn dropout(inputs: &[&str]) -> FlowNode {
        let inputs = inputs.iter().map(|&name| name.to_owned()).collect();
        FlowNode { op_type: "Dropout".to_owned(), inputs, ..FlowNode::default() }
    }

    #[test]
    fn operators_that_draw_numbers_are_random() {
        for op_type in [
            "Bernoulli",
            "Multinomial",
            "RandomNormal",
            "RandomNormalLike",
            "RandomUniform",
            "RandomUniformLike",
        ] {
            let node = FlowNode { op_type: op_type.to_owned(), ..FlowNode::default() };
            assert!(is_random(22, node.clone()), "{op_type}");
            let of_another_domain = FlowNode { op_type: format!("own:{op_type}"), ..node };
            assert!(!is_random(22, of_another_domain), "{op_type}");
        }
    }

    #[test]
    fn dropout_is_random_only_in_training_mode() {
        assert!(is_random(13, dropout(&["x", "half", "on"])));
        assert!(is_random(13, dropout(&["x", "", "mode"])), "the mode is an input");
        for inputs in
            [&["x"][..], &["x", "half"], &["x", "half", ""], &["x", "half", "off"], &["x", "zero", "on"]]
        {
            assert!(!is_random(13, dropout(inputs)), "{inputs:?}");
        }
    }

    #[test]
    fn old_dropout_trains_unless_it_is_told_to_test() {
        let tested =
            |is_test| FlowNode { ints: HashMap::from([("is_test".to_owned(), is_test)]), ..dropout(&["x"]) };
        assert!(is_random(6, dropout(&["x"])) && is_random(6, tested(0)));
        assert!(!is_random(6, tested(1)) && !is_random(10, dropout(&["x"])));
    }
}
