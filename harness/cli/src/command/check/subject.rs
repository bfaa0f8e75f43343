//! The model or case that `twinfer check` runs.

use std::path::Path;

use twinfer_case::{Case, EncodedCase, Finding, Request, Run};
use twinfer_golden::{Unknown, evaluate};
use twinfer_onnx::{DecodeError, Graph, Interface, PartialGraph};
use twinfer_store::{StoreError, read_finding, read_model, read_preceding};
use twinfer_targets::{OpaqueModel, read_case};

use super::{advice::Advice, arguments::Arguments};
use crate::{Failure, finding_folder::warn_of_edited_model, model_inputs::InputArguments};

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
            arguments.inputs.refuse_for_case()?;
            return Self::of_folder(path);
        }
        if path.extension().is_some_and(|extension| extension == "json") {
            arguments.inputs.refuse_for_case()?;
            return Ok(Self::Cases(vec![read_case(path)?]));
        }
        let unreadable = |error| match error {
            StoreError::File { .. } => Failure::usage(format!("{error}: give an ONNX model")),
            error => error.into(),
        };
        let undecodable = |error| Failure::usage(format!("cannot check {}: {error}", path.display()));
        let model = read_model(path).map_err(unreadable)?;
        if model.is_empty() {
            return Err(Failure::usage(format!("{} is empty: give an ONNX model", path.display())));
        }
        let generated = &arguments.inputs;
        match Graph::decode_known(&model) {
            Ok(graph) if graph.outputs.is_empty() => Err(Failure::usage(format!(
                "{} has no outputs, so there is nothing to compare: declare one in the model",
                path.display()
            ))),
            Ok(graph) => {
                let cases = generated.cases(&graph)?;
                let Some(unknown) = too_large_for_golden(&cases)? else { return Ok(Self::Cases(cases)) };
                let interface = Interface::decode(&model).map_err(undecodable)?;
                let runs = cases.into_iter().flat_map(|case| case.runs).collect();
                Ok(Self::opaque((path, model), interface, unknown, runs, generated.seed))
            }
            Err(DecodeError::Unsupported(reason)) => {
                let interface = Interface::decode(&model).map_err(undecodable)?;
                let graph = PartialGraph::decode(&model).ok();
                let runs = generated.runs(&interface.inputs, graph.as_ref())?;
                Ok(Self::opaque((path, model), interface, reason.to_string(), runs, generated.seed))
            }
            Err(error @ DecodeError::InvalidAttribute { .. }) => {
                Err(Failure::usage(format!("the model is invalid: {error}")))
            }
            Err(error) => Err(undecodable(error)),
        }
    }

    /// A model with these runs, for which golden has no reference because of `unknown`.
    fn opaque(
        (path, model): (&Path, Vec<u8>),
        interface: Interface,
        unknown: String,
        cases: Vec<Run>,
        seed: u64,
    ) -> Self {
        let request = Request::for_inputs(&interface.inputs);
        let path = path.display().to_string();
        Self::Opaque(Box::new(OpaqueModel { path, model, interface, unknown, request, cases, seed }))
    }

    /// Reads the folder of a case or of a finding. A finding that is about another case than that of its folder is ignored.
    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        let case = read_case(folder)?;
        warn_of_edited_model(folder)?;
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

    /// What to do if it is not compared with the inputs that the user asked for.
    pub fn advice(&self, asked: &InputArguments) -> Advice {
        let generated = |run| Option::filter(run, |_| asked.given.is_empty());
        match self {
            Self::Cases(cases) => {
                let [case, ..] = cases.as_slice() else { return Advice::default() };
                Advice::new(&case.graph.inputs, generated(case.runs.first()), &asked.dims, false)
            }
            // a stored case has its own inputs
            Self::Finding(..) => Advice::default(),
            Self::Opaque(model) => {
                Advice::new(&model.interface.inputs, generated(model.cases.first()), &asked.dims, true)
            }
        }
    }
}

/// Why golden does not compute the first of `cases`, if it is too large for that; `None` if it is not.
fn too_large_for_golden(cases: &[Case]) -> Result<Option<String>, Failure> {
    let Some(case) = cases.first() else { return Ok(None) };
    let encoded = EncodedCase::encode(case.clone())?;
    let evaluated = encoded.task.runs.first().map(|inputs| evaluate(&case.graph, inputs));
    Ok(match evaluated {
        Some(Err(unknown @ Unknown::TooLarge { .. })) => Some(unknown.to_string()),
        _ => None,
    })
}
