//! The model or case that `twinfer check` runs.

use std::path::Path;

use twinfer_case::{Case, Finding};
use twinfer_onnx::{DecodeError, Graph, Interface};
use twinfer_store::{StoreError, read_finding, read_model, read_preceding};
use twinfer_targets::{OpaqueModel, read_case};

use super::{advice::Advice, arguments::Arguments, inputs};
use crate::Failure;

/// A model or case to check.
pub enum Subject {
    /// Cases that golden supports.
    Cases(Vec<Case>),
    /// A finding and its case, behind the cases that a worker must run before it.
    Finding(Box<Finding>, Vec<Case>),
    /// A model that golden does not support: backends are compared with each other.
    Opaque(Box<OpaqueModel>),
}

impl Subject {
    /// Reads the case at `path`, or the model at `path` with generated inputs.
    pub fn read(path: &Path, arguments: &Arguments) -> Result<Self, Failure> {
        if path.is_dir() {
            return Self::of_folder(path);
        }
        if path.extension().is_some_and(|extension| extension == "json") {
            return Ok(Self::Cases(vec![read_case(path)?]));
        }
        let unreadable = |error| match error {
            StoreError::File { .. } => Failure::usage(format!("{error}: give an ONNX model")),
            error => error.into(),
        };
        let undecodable = |error| Failure::usage(format!("cannot check {}: {error}", path.display()));
        let model = read_model(path).map_err(unreadable)?;
        let Arguments { dims, seed, cases, .. } = arguments;
        match Graph::decode_known(&model) {
            Ok(graph) => inputs::cases(&graph, dims, *seed, *cases).map(Self::Cases),
            Err(DecodeError::Unsupported(reason)) => {
                let interface = Interface::decode(&model).map_err(undecodable)?;
                Ok(Self::Opaque(Box::new(OpaqueModel {
                    request: inputs::request(&interface.inputs),
                    cases: inputs::runs(&interface.inputs, dims, *seed, *cases)?,
                    model,
                    interface,
                    unknown: reason.to_string(),
                    seed: *seed,
                })))
            }
            Err(error) => Err(undecodable(error)),
        }
    }

    /// Reads the folder of a case or of a finding. A finding that is about another case than that of its folder is ignored.
    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        let case = read_case(folder)?;
        let finding = read_finding(folder)?;
        let hash = case.hash().map_err(Failure::usage)?;
        let Some(finding) = finding.filter(|finding| finding.case == hash) else {
            return Ok(Self::Cases(vec![case]));
        };
        let mut cases = read_preceding(folder)?;
        cases.push(case);
        Ok(Self::Finding(Box::new(finding), cases))
    }

    /// The finding that it is.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Finding(finding, _) => Some(finding),
            Self::Cases(_) | Self::Opaque(_) => None,
        }
    }

    /// What to do if it is not compared; `given` are the extents of symbolic dimensions that the user set.
    pub fn advice(&self, given: &[(String, usize)]) -> Advice {
        match self {
            Self::Cases(cases) => {
                let [case, ..] = cases.as_slice() else { return Advice::default() };
                Advice::new(&case.graph.inputs, case.runs.first(), given, false)
            }
            // a stored case has its own inputs
            Self::Finding(..) => Advice::default(),
            Self::Opaque(model) => Advice::new(&model.interface.inputs, model.cases.first(), given, true),
        }
    }
}
