use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_campaign::NEIGHBORS;
use twinfer_case::{Case, Comparisons, VariantRecord};
use twinfer_log::LogLevel;
use twinfer_onnx::{MAX_OPSET, MIN_OPSET};
use twinfer_reports::Reporter;
use twinfer_store::{new_run_directory, read_finding};
use twinfer_targets::{Explained, Minimization, read_case};

use crate::{
    Exit, Failure, asked,
    backends::Backends,
    finding_folder::{ensure_case, ensure_single, warn_of_edited_model},
    limits::LimitArguments,
    model_inputs::InputArguments,
    output::{line, print},
    paint,
    run_log::RunLog,
    targets, terminal,
    worker::WorkerSettings,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a case or a finding, a case.json, or an ONNX model
    case: PathBuf,
    /// Backends to compare with golden, separated by commas; minimizes for the first one that diverges [default: those that
    /// showed the finding, what is installed for the GPU, or golden,ort:cpu,trt-rtx]
    #[arg(long, value_name = "A,B")]
    backends: Option<Backends>,
    #[command(flatten)]
    inputs: InputArguments,
    /// Folder to write the finding to [default: next free runs/NNNN]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    /// Write debug.log to --out, or to a new run directory, at this level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    ensure_single(&arguments.case)?;
    ensure_case(&arguments.case)?;
    let cases = cases(&arguments.case, &arguments.inputs)?;
    let known = read_finding(&arguments.case)?;
    let log = RunLog::start_if_requested(arguments.log, arguments.out.as_deref())?;
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.limits };
    let variants = asked::variants(arguments.backends.as_ref(), known.as_ref())?;
    let targets = targets::start(&variants, settings)?;
    let out = arguments.out.as_deref().or(log.as_ref().map(RunLog::directory));
    let out = out.map_or_else(new_run_directory, |out| Ok(out.to_owned()))?;
    let mut progress = terminal::progress();
    let minimized =
        targets.minimize(&cases, known.as_ref(), &NEIGHBORS, &out, &mut |event| progress.on_event(event))?;
    let minimal = match minimized {
        Minimization::Minimal(minimal) => minimal,
        Minimization::NoDivergence(records) => {
            // nothing was written to a new run directory, and one that holds something stays
            _ = arguments.out.is_none().then(|| fs::remove_dir(&out));
            return Ok(conclude(&records));
        }
    };
    let finding = &minimal.finding;
    let nodes = format!("(nodes: {} → {})", finding.before.nodes, finding.after.nodes);
    print(&(paint::bad(&finding.signature) + " " + paint::faint(nodes)));
    line!("{}", finding.graph);
    if finding.only_poisoned {
        line!("seen only with poisoned memory");
    }
    for divergence in &finding.divergences {
        line!("{}: {}", divergence.kind, divergence.readable_detail());
        if let Some(diagnosis) = &divergence.diagnosis {
            line!("because: {diagnosis}");
        }
    }
    if let Some(trigger) = &finding.trigger {
        line!("trigger: {trigger}");
    }
    match &minimal.drifted_from {
        Some(Explained::By(diagnosis)) => {
            line!("note: the divergence had another explanation before: {diagnosis}");
        }
        Some(Explained::ByNothing) => {
            line!("note: the model may have other mistakes: nothing explained the divergence before");
        }
        None => {}
    }
    line!("written to {}", minimal.folder.display());
    Ok(Exit::Findings)
}

/// The case at `path`, or the model at `path` with the inputs that `check` generates. What an operator set means that twinfer does not know is not
/// known either: such a model keeps the inputs it is read with.
fn cases(path: &Path, inputs: &InputArguments) -> Result<Vec<Case>, Failure> {
    let case = read_case(path)?;
    let is_model = !path.is_dir() && path.extension().is_none_or(|extension| extension != "json");
    let is_known = (MIN_OPSET..=MAX_OPSET).contains(&case.graph.opset);
    if is_model && is_known {
        return inputs.cases(&case.graph);
    }
    inputs.refuse_for_case()?;
    warn_of_edited_model(path)?;
    Ok(vec![case])
}

/// Prints why there is nothing to minimize: no backend diverges, only the whole model is wrong, or backends were not compared.
fn conclude(records: &[VariantRecord]) -> Exit {
    if let Some(record) = records.iter().find(|record| !record.verdict.divergences().is_empty()) {
        let variant = &record.variant;
        line!(paint::bad("nothing to minimize") => ": {variant} diverges only inside this model: `twinfer check` says where");
        return Exit::Findings;
    }
    let mut by_variant: BTreeMap<_, Comparisons> = BTreeMap::new();
    for record in records {
        by_variant.entry(&record.variant).or_default().record(record);
    }
    let causes: Vec<_> =
        by_variant.iter().flat_map(|(variant, comparisons)| comparisons.causes(variant)).collect();
    if causes.is_empty() {
        line!(paint::good("no backend diverges") => ": nothing to minimize");
    } else {
        print(&paint::bad("nothing was compared"));
    }
    for cause in &causes {
        line!("{cause}");
    }
    Exit::of([(!causes.is_empty()).then_some(Exit::NothingCompared)])
}
