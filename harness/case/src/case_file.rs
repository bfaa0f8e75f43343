//! `case.json`: a case in a file, with the version of its format.

use serde::{Deserialize, Serialize};

use crate::{Case, Expectation, LaterFormat, OversizedRecipe, Run, check_format, recipe::check_size};

/// The version of the case format that this crate writes. A file without a version has version 1.
pub const CASE_FORMAT: u32 = 1;

/// The content of a case file.
#[derive(Serialize)]
pub struct CaseFile<'a> {
    format: u32,
    #[serde(flatten)]
    case: &'a Case,
}

/// The error of a file that holds no case, or a case whose parts do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum MalformedCase {
    /// The file is not the JSON of a case.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A later version of twinfer wrote the file.
    #[error(transparent)]
    Later(#[from] LaterFormat),
    /// The case has no runs.
    #[error("it has no runs")]
    NoRuns,
    /// The graph has no outputs.
    #[error("its graph has no outputs")]
    NoOutputs,
    /// A run has more or fewer inputs than the graph.
    #[error("run {run} has {given} inputs, the graph takes {taken}")]
    InputCount {
        /// The index of the run, from 0.
        run: usize,
        /// How many inputs the run has.
        given: usize,
        /// How many inputs the graph has.
        taken: usize,
    },
    /// A run of a valid case has an input of another type or shape than the graph declares.
    #[error("run {run} gives input {input:?} another type or shape than the graph declares")]
    Input {
        /// The index of the run, from 0.
        run: usize,
        /// The name of the graph's input.
        input: String,
    },
    /// The case's recipes make too many elements.
    #[error(transparent)]
    Oversized(#[from] OversizedRecipe),
}

impl<'a> From<&'a Case> for CaseFile<'a> {
    fn from(case: &'a Case) -> Self {
        Self { format: CASE_FORMAT, case }
    }
}

/// The part that files of all format versions share.
#[derive(Deserialize)]
struct Head {
    #[serde(default = "first")]
    format: u32,
}

const fn first() -> u32 {
    1
}

impl Case {
    /// Reads the case of a file with these bytes.
    pub fn from_file(bytes: &[u8]) -> Result<Self, MalformedCase> {
        let Head { format } = serde_json::from_slice(bytes)?;
        check_format(format, CASE_FORMAT)?;
        let case: Self = serde_json::from_slice(bytes)?;
        case.check()?;
        Ok(case)
    }

    /// Checks that there are runs and outputs and that every run fits the graph. The inputs of an invalid graph may contradict
    /// its declarations.
    fn check(&self) -> Result<(), MalformedCase> {
        if self.runs.is_empty() {
            return Err(MalformedCase::NoRuns);
        }
        if self.graph.outputs.is_empty() {
            return Err(MalformedCase::NoOutputs);
        }
        for (run, fed) in self.runs.iter().enumerate() {
            let (given, taken) = (fed.inputs.len(), self.graph.inputs.len());
            if given != taken {
                return Err(MalformedCase::InputCount { run, given, taken });
            }
            if self.expectation == Expectation::Valid {
                self.check_run(run, fed)?;
            }
        }
        Ok(check_size(&self.runs)?)
    }

    fn check_run(&self, run: usize, fed: &Run) -> Result<(), MalformedCase> {
        let mut inputs = self.graph.inputs.iter().zip(&fed.inputs);
        match inputs.find(|(input, fed)| !input.admits(fed.dtype(), fed.shape())) {
            Some((input, _)) => Err(MalformedCase::Input { run, input: input.name.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Dim, Graph, Tensor, TensorData, ValueInfo};

    use super::*;
    use crate::{Request, TensorSource};

    /// A case of an input of three elements and one symbolic extent, with one run.
    fn case() -> Case {
        let x = ValueInfo {
            name: "x".to_owned(),
            dtype: DataType::Float,
            shape: Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(3)]),
        };
        let graph = Graph {
            opset: 17,
            inputs: vec![x.clone()],
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: vec![x],
        };
        let request = Request { precision: DataType::Float, tf32: false };
        Case { graph, request, runs: vec![run(&[1, 3])], expectation: Expectation::Valid, provenance: None }
    }

    fn run(shape: &[usize]) -> Run {
        let data = TensorData::Float(vec![1.0; shape.iter().product()]);
        Run { inputs: vec![TensorSource::Data(Tensor { shape: shape.to_vec(), data })] }
    }

    fn file(case: &Case) -> serde_json::Value {
        serde_json::to_value(CaseFile::from(case)).unwrap()
    }

    fn read(file: &serde_json::Value) -> Result<Case, String> {
        Case::from_file(file.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_without_a_format_has_the_first() {
        let mut file = file(&case());
        assert_eq!((&file["format"], read(&file)), (&1.into(), Ok(case())));
        file.as_object_mut().unwrap().remove("format");
        assert_eq!(read(&file), Ok(case()));
    }

    #[test]
    fn a_later_format_is_told_before_anything_of_it_is_understood() {
        let later = serde_json::json!({"format": CASE_FORMAT + 1, "graphs": []});
        assert_eq!(read(&later), Err("its format is 2, this version of twinfer reads up to 1".to_owned()));
    }

    #[test]
    fn a_case_with_nothing_to_run_or_to_compute_is_malformed() {
        let mut aimless = case();
        aimless.graph.outputs.clear();
        assert_eq!(read(&file(&aimless)), Err("its graph has no outputs".to_owned()));
        assert_eq!(read(&file(&Case { runs: Vec::new(), ..case() })), Err("it has no runs".to_owned()));
    }

    #[test]
    fn a_run_that_is_not_made_for_the_graph_is_malformed() {
        let of = |runs: Vec<Run>, expectation| read(&file(&Case { runs, expectation, ..case() }));
        let fits = vec![run(&[1, 3]), run(&[5, 3])];
        assert!(of(fits, Expectation::Valid).is_ok());
        let error = of(vec![run(&[1, 3]), run(&[1, 4])], Expectation::Valid).unwrap_err();
        assert_eq!(error, "run 1 gives input \"x\" another type or shape than the graph declares");
        // that may be the rule that it breaks
        let broken = Expectation::Invalid("declared-input".to_owned());
        assert!(of(vec![run(&[1, 4])], broken.clone()).is_ok());
        let error = of(vec![Run { inputs: Vec::new() }], broken).unwrap_err();
        assert_eq!(error, "run 0 has 0 inputs, the graph takes 1");
    }
}
