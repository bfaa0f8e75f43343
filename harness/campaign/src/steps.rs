//! One step of a campaign, for one case.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_case::{
    Case, Divergence, Event, Expectation, Finding, MAX_FILE_BYTES, Provenance, Recipe, Regime, Request, Run,
    TensorSource, Variant, VariantRecord, read_file,
};
use twinfer_onnx::{DataType, Dim, Graph};

use crate::{
    CampaignError, Subjects,
    case_folder::{CASE, read_case_file, read_case_in},
    crew::{Crew, Tried},
    findings::write_finding,
    history::read_history,
    investigation::{Course, finding},
    journal::read_json_in,
    prepared::Prepared,
    recording::{RecordedObservation, Recording, timeless, version},
    reduction::{Reduction, Specimen, confirm_smaller},
    symptom::Symptom,
};

/// How a recorded observation compares with what happens now.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Which variant.
    pub variant: Variant,
    /// The version that it was recorded with, and the one that ran now.
    pub versions: (String, String),
    /// Whether stage, ending and every output recur, byte for byte.
    pub recurs: bool,
    /// What the checks say now.
    pub record: VariantRecord,
}

/// What a minimisation came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimal {
    /// The finding that the minimal case shows.
    pub finding: Finding,
    /// Where it was written.
    pub folder: PathBuf,
}

/// The extent that a symbolic axis of a user's model is given.
const SYMBOLIC_EXTENT: usize = 2;

/// The case that a path names: a finding's folder, a `case.json`, or an ONNX model, which gets one run of Gaussian
/// inputs.
pub fn read_case(path: &Path) -> Result<Case, CampaignError> {
    if path.is_dir() {
        return read_case_in(path, CASE);
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return read_case_file(path);
    }
    let bytes = read_file(path, MAX_FILE_BYTES).map_err(CampaignError::file(path))?;
    let graph = Graph::decode(&bytes).map_err(CampaignError::format(path))?;
    Ok(case_of(graph))
}

/// The finding whose folder a path names; none where it names something else.
pub fn read_finding(path: &Path) -> Result<Option<Finding>, CampaignError> {
    let is_there = path.join("finding.json").is_file();
    is_there.then(|| read_json_in(path, "finding.json")).transpose()
}

fn case_of(graph: Graph) -> Case {
    let input = |(index, info): (usize, &twinfer_onnx::ValueInfo)| {
        let extent = |dim: &Dim| match dim {
            Dim::Fixed(extent) => *extent,
            Dim::Symbolic(_) => SYMBOLIC_EXTENT,
        };
        TensorSource::Recipe(Recipe {
            dtype: info.dtype,
            shape: info.shape.iter().flatten().map(extent).collect(),
            regime: Regime::Gaussian,
            seed: index as u64,
        })
    };
    let inputs = graph.inputs.iter().enumerate().map(input).collect();
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs }],
        expectation: Expectation::Valid,
        provenance: None::<Provenance>,
    }
}

impl Subjects {
    /// What each variant does with `case`, in a worker that has run nothing else, and what the checks say of it.
    pub fn check(&self, case: &Case) -> Result<Vec<VariantRecord>, CampaignError> {
        self.crews.iter().map(|crew| Ok(self.try_fresh(crew, case)?.record(crew.info()))).collect()
    }

    /// Runs the case of the finding in `folder` again on every subject that something was recorded of, after the cases that
    /// it needs before it.
    pub fn replay(&self, folder: &Path) -> Result<Vec<Replay>, CampaignError> {
        let case = read_case(folder)?;
        let history = read_history(folder)?.into_iter().map(Prepared::of);
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let recording = Recording::read_beside(folder)?;
        let mut replays = Vec::new();
        for crew in &self.crews {
            let recorded = recording.observed.iter().filter(|one| one.variant == crew.info().variant);
            for recorded in recorded {
                let tried = self.try_after(crew, &history, &case)?;
                replays.push(Replay {
                    variant: recorded.variant.clone(),
                    versions: (recorded.version.clone(), version(crew.info())),
                    recurs: recurs(recorded, &tried),
                    record: tried.record(crew.info()),
                });
            }
        }
        Ok(replays)
    }

    /// Makes `case` smaller for the first subject that diverges on it, and writes the finding under `out`; `None`
    /// where nothing diverges. Of what it shows, what the `known` finding is about is followed, if that is there.
    pub fn minimize(
        &self,
        case: &Case,
        known: Option<&Finding>,
        out: &Path,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Minimal>, CampaignError> {
        for crew in &self.crews {
            let tried = self.try_fresh(crew, case)?;
            let Some(symptom) = symptom(&tried, known) else { continue };
            let specimen = Specimen { tried: tried.clone(), symptom };
            let reduction = Reduction { crew, oracle: &self.oracle, course: &Course::default() };
            let smaller = reduction.reduce(&specimen, sink)?;
            let minimal = confirm_smaller(&smaller, crew)?.unwrap_or(specimen);
            let finding = finding(crew.info(), &tried, &minimal, Vec::new());
            let folder = out.join(finding.signature.slug());
            write_finding(&folder, &finding, crew.info(), &minimal.tried)?;
            return Ok(Some(Minimal { finding, folder }));
        }
        Ok(None)
    }

    /// What a subject does with `case` in a worker that has run `history` and nothing else; by itself where that ends it.
    fn try_after(&self, crew: &Crew, history: &[Arc<Prepared>], case: &Case) -> Result<Tried, CampaignError> {
        let prepared = Prepared::of(case.clone())?;
        if history.is_empty() {
            return self.try_fresh(crew, case);
        }
        let Some(observation) = crew.observe_after(history, &prepared)? else {
            return self.try_fresh(crew, case);
        };
        let references = prepared.references(&self.oracle);
        Ok(crew.judge(prepared, references, observation.into()))
    }

    fn try_fresh(&self, crew: &Crew, case: &Case) -> Result<Tried, CampaignError> {
        let prepared = Prepared::of(case.clone())?;
        let references = prepared.references(&self.oracle);
        let observation = crew.observe_fresh(&prepared.task)?;
        Ok(crew.judge(prepared, references, observation.into()))
    }
}

/// What a case shows: what the `known` finding is about where it is there, and otherwise what comes first.
fn symptom(tried: &Tried, known: Option<&Finding>) -> Option<Symptom> {
    let is_known = |divergence: &&Divergence| {
        known.is_some_and(|known| (known.stage, known.kind) == (divergence.stage, divergence.kind))
    };
    let divergences = tried.divergences();
    let lead = divergences.iter().find(is_known).or(divergences.first())?;
    let diagnosis = known.map_or(&[][..], |known| &known.diagnosis);
    Some(Symptom::of(lead, tried).explained_by(diagnosis))
}

/// Whether what was recorded is what happened, byte for byte; log lines may differ.
fn recurs(recorded: &RecordedObservation, tried: &Tried) -> bool {
    let now = timeless(&tried.observation);
    let then = &recorded.observation;
    let bytes = |observation: &twinfer_case::Observation| {
        let outputs = observation.runs.iter().flat_map(|run| &run.outputs);
        outputs.map(|tensor| (tensor.dtype(), tensor.shape.clone(), tensor.to_le_bytes())).collect::<Vec<_>>()
    };
    then.stage == now.stage && then.outcome == now.outcome && bytes(then) == bytes(&now)
}
