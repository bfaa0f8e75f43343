//! Cases as a person reads them: the graph in ONNX's text form, and the inputs of each run.

use std::fmt;

use crate::{Case, Run, TensorSource};

/// The most elements of a tensor that are written.
const MOST_ELEMENTS: usize = 16;

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.graph.text(MOST_ELEMENTS))?;
        for (place, run) in self.runs.iter().enumerate() {
            let number = if self.runs.len() == 1 { String::new() } else { format!("run {}: ", place + 1) };
            write!(f, "\n{number}{}", self.inputs(run))?;
        }
        Ok(())
    }
}

/// As [`Display`](fmt::Display) writes it: failed assertions and proptest print cases this way.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Case {
    fn inputs(&self, run: &Run) -> String {
        let names = self.graph.inputs.iter().map(|input| input.name.as_str());
        let input = |(name, source): (&str, &TensorSource)| format!("{name} = {}", text_of(source));
        let inputs: Vec<_> = names.zip(&run.inputs).map(input).collect();
        inputs.join(", ")
    }
}

fn text_of(source: &TensorSource) -> String {
    match source.tensor() {
        Ok(tensor) => tensor.text(MOST_ELEMENTS),
        Err(oversized) => oversized.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Graph, Tensor, TensorData, ValueInfo};

    use super::*;

    #[test]
    fn case_is_its_graph_and_the_inputs_of_each_run() {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let graph = Graph {
            opset: 22,
            inputs: vec![value("x")],
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: vec![value("x")],
        };
        let tensor = |count: usize| {
            Tensor::new(vec![count], TensorData::Float(vec![0.5; count])).expect("as many elements")
        };
        let case = Case::of_graph(graph).with_runs(vec![vec![tensor(1)], vec![tensor(20)]]);
        let text = "\
<ir_version: 10, opset_import: [\"\" : 22]>
twinfer (float[] x) => (float[] x) {
}
run 1: x = float[1] {0.5}
run 2: x = float[20] {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, … 4 more}";
        assert_eq!(case.to_string(), text);
        assert_eq!(format!("{case:?}"), text);
    }
}
