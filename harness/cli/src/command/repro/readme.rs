//! The README of a reproduction.

use std::iter;

use twinfer_case::{Diagnosis, Expectation, FallbackValues, Observation, Outcome, RepeatedOutcome, Stage};
use twinfer_onnx::{Dim, Rule, Tensor, ValueInfo, infer_shapes};
use twinfer_reports::{capitalized, markdown_block, markdown_code, markdown_text, meaning, shell_word};
use twinfer_store::{MODEL, RecordedObservation, tensor_file};

use super::reproduction::{Reproduction, raw_name};

/// The largest output, in elements, whose values are printed.
const SHOWN: usize = 64;

/// What a reader without twinfer has to know about an observation with poisoned memory.
const POISONED: &str = "- with poisoned memory: twinfer filled CUDA memory with a pattern before it was written and after it was freed. \
    `reproduce.py` does not, so the bug may not show there; `twinfer replay` does.";

/// The README in Markdown.
pub fn page(reproduction: &Reproduction) -> String {
    let mut parts = vec![format!("# {}", markdown_text(&title(reproduction)))];
    parts.extend(reproduction.topic.iter().map(|topic| {
        format!("Reported at {}. Expected: {}", markdown_text(&topic.upstream), markdown_text(&topic.expects))
    }));
    parts.push(format!("The model is a single graph of opset {}:", reproduction.case.graph.opset));
    parts.push(markdown_block(&reproduction.case.graph.to_string()));
    parts.push("## Expected".to_owned());
    parts.push(expected(reproduction));
    parts.push("## Observed".to_owned());
    parts.extend(outcomes(reproduction));
    parts.extend(reproduction.observations.iter().map(|observed| seen(reproduction, observed)));
    parts.push("## Steps to reproduce".to_owned());
    parts.push(commands(reproduction));
    parts.join("\n\n") + "\n"
}

fn title(reproduction: &Reproduction) -> String {
    if let Some(topic) = &reproduction.topic {
        return topic.title.clone();
    }
    let mut operators: Vec<_> = Vec::new();
    for node in &reproduction.case.graph.nodes {
        if !operators.contains(&node.op.op_type()) {
            operators.push(node.op.op_type());
        }
    }
    let operators = operators.join(", ");
    match &reproduction.finding {
        Some(finding) => format!("{}: {operators}", capitalized(meaning(finding.kind))),
        None => operators,
    }
}

fn expected(reproduction: &Reproduction) -> String {
    match &reproduction.case.expectation {
        Expectation::Invalid(rule) => return refusal(reproduction, rule),
        Expectation::Valid => {}
    }
    let mut lines = vec![
        format!(
            "The result that the ONNX specification defines, computed in double precision. `{}` contains each output.",
            tensor_file("RUN", "output", "INDEX").display()
        ),
        String::new(),
    ];
    let lead = reproduction.finding.as_ref().and_then(|finding| finding.divergences.first());
    if let Some(fallback) = lead.and_then(|lead| lead.fallback.as_ref())
        && fallback.values == FallbackValues::Kept
    {
        let besides = "The observed values are right. The operator is expected to run in the precision that the model asks for.";
        lines.extend([besides.to_owned(), String::new()]);
    }
    for (run, inputs) in reproduction.task.runs.iter().enumerate() {
        let Ok(evaluation) = twinfer_golden::evaluate(&reproduction.case.graph, inputs) else { continue };
        let outputs = evaluation.outputs.iter().filter_map(|reference| reference.to_tensor().ok());
        lines.extend(outputs.enumerate().map(|(index, output)| tensor(run, index, &output)));
    }
    lines.join("\n")
}

/// Why a backend must refuse the graph: the requirement of ONNX that it breaks, where that is written, and what breaks it here.
fn refusal(reproduction: &Reproduction, rule: &str) -> String {
    let Some(rule) = Rule::named(rule) else {
        return format!("A refusal before the model runs, because the graph breaks {}.", markdown_code(rule));
    };
    let shapes = |inputs: &Vec<Tensor>| inputs.iter().map(|input| input.shape.clone()).collect::<Vec<_>>();
    let broken = reproduction.task.runs.first().map(shapes);
    let broken = broken.and_then(|shapes| infer_shapes(&reproduction.case.graph, &shapes).err());
    let here = broken.filter(|violation| violation.rule == rule).map_or_else(String::new, |violation| {
        format!(" Here: {}.", markdown_text(&format!("{}: {}", violation.place, violation.detail)))
    });
    format!(
        "A refusal before the model runs, because the graph breaks a requirement of ONNX: {} ({}){here}",
        rule.sentence(),
        rule.source()
    )
}

/// How often repeats of the case came to which outcome, if it varies.
fn outcomes(reproduction: &Reproduction) -> Option<String> {
    let outcomes = &reproduction.finding.as_ref()?.outcomes;
    let runs: u32 = outcomes.iter().map(RepeatedOutcome::total).fold(0, u32::saturating_add);
    let line = |one: &RepeatedOutcome| {
        format!("- {} of {runs}: {}", one.total(), markdown_text(&one.outcome.to_string()))
    };
    let lines: Vec<_> = outcomes.iter().map(line).collect();
    let introduction = "The result varies. Repeated in new and used processes, the model came to these (stage, ending, and what differs):";
    (lines.len() > 1).then(|| format!("{introduction}\n\n{}", lines.join("\n")))
}

/// `- run 0, output 0, [1, 1, 2]: 1, 2`
fn tensor(run: usize, index: usize, tensor: &Tensor) -> String {
    let place = format!("- run {run}, output {index}, {:?}", tensor.shape);
    if tensor.len() > SHOWN {
        return format!("{place}: {} values, too many to list", tensor.len());
    }
    let values: Vec<_> = tensor.to_f64().iter().map(f64::to_string).collect();
    format!("{place}: {}", values.join(", "))
}

fn seen(reproduction: &Reproduction, observed: &RecordedObservation) -> String {
    let version = markdown_text(&observed.version.to_string());
    let title = format!("### {version}, {}", markdown_code(&observed.variant.to_string()));
    let mut lines = vec![title, String::new()];
    lines.extend([ending(&observed.observation), String::new()]);
    if observed.variant.is_poisoned() {
        lines.push(POISONED.to_owned());
    }
    let divergences = reproduction.divergences(observed);
    for divergence in divergences {
        lines.push(format!(
            "- {}: {}",
            meaning(divergence.kind),
            markdown_text(&divergence.readable_detail())
        ));
        lines.extend(divergence.diagnosis.iter().filter_map(because));
        lines.extend(divergence.documented.iter().map(|rule| {
            format!("- documented by design: the backend's documentation says so ({} in twinfer's list of limitations)", markdown_code(rule))
        }));
    }
    lines.extend(mutants(reproduction).filter(|_| !divergences.is_empty()).map(|mutant| {
        format!(
            "- because: applying the mutant {} to the reference reproduces this output",
            markdown_code(mutant)
        )
    }));
    for (run, outputs) in observed.observation.runs.iter().enumerate() {
        lines.extend(outputs.outputs.iter().enumerate().map(|(index, output)| tensor(run, index, output)));
    }
    let log = observed.observation.log.iter().take(LOGGED).map(|line| markdown_block(&line.text));
    lines.extend(log);
    lines.join("\n").trim_end().to_owned()
}

/// The mutants that reproduce the output, in words for readers without twinfer; `None` if the output is unexplained.
fn because(diagnosis: &Diagnosis) -> Option<String> {
    let changes: Vec<_> = diagnosis.mutants.iter().map(|mutant| mutant.clause.as_str()).collect();
    let subject = if diagnosis.residual.is_some() { "output" } else { "shape" };
    (!changes.is_empty()).then(|| {
        format!(
            "- because: the reference gives the same {subject} if {}",
            markdown_text(&changes.join("; or if "))
        )
    })
}

/// The most log lines that are quoted.
const LOGGED: usize = 5;

fn ending(observation: &Observation) -> String {
    let stage = observation.stage;
    match &observation.outcome {
        Outcome::Ok => {
            let did = match stage {
                Stage::Execute => return "The backend runs the model without an error.".to_owned(),
                Stage::Build => "built",
                Stage::Parse => "parsed",
                Stage::Load | Stage::Start => "loaded",
            };
            format!("The backend {did} the model without an error. It was not executed.")
        }
        Outcome::Rejected(reason) => {
            format!("The backend rejects the model in {stage}: {}", markdown_text(reason.message()))
        }
        Outcome::Failed(reason) => {
            format!("The backend fails in {stage}: {}", markdown_text(reason.message()))
        }
        Outcome::Crashed(status) => format!("The process crashes in {stage}: {status}."),
        Outcome::TimedOut => format!("The backend hangs in {stage}."),
    }
}

/// The mutants of a finding that was stored without a diagnosis per divergence.
fn mutants(reproduction: &Reproduction) -> impl Iterator<Item = &String> {
    let names_alone = reproduction.finding.iter().filter(|finding| finding.detailed_diagnosis().is_none());
    names_alone.flat_map(|finding| &finding.diagnosis)
}

/// How to run the script with each runtime, and TensorRT's own tools.
fn commands(reproduction: &Reproduction) -> String {
    let runtimes = reproduction.runtimes();
    if runtimes.is_empty() {
        return without_package(reproduction);
    }
    let mut parts = vec![
        "`reproduce.py` runs the model in a process of its own and compares the result with what ONNX defines. It exits with 1 if the \
         bug shows, 0 if it does not, and 2 if this machine cannot tell. `python reproduce.py --help` lists the commands below."
            .to_owned(),
    ];
    for runtime in runtimes {
        parts.push(format!("With {}:", runtime.title));
        parts.extend(runtime.caveat.map(str::to_owned));
        parts.push(markdown_block(&format!(
            "pip install {}\npython reproduce.py {}",
            ["numpy"]
                .into_iter()
                .chain(runtime.packages.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" "),
            runtime.arguments.join(" ")
        )));
        if runtime.title == "TensorRT" {
            parts.push("The same with TensorRT's own tool, which prints the outputs:".to_owned());
            parts.push(markdown_block(&trtexec(reproduction)));
        }
    }
    parts.join("\n\n")
}

/// How to run the model with a program of the user, which the script cannot run.
fn without_package(reproduction: &Reproduction) -> String {
    let variants = reproduction.observations.iter().map(|observed| observed.variant.to_string());
    let backends = iter::once("golden".to_owned()).chain(variants).collect::<Vec<_>>().join(",");
    let check = format!("twinfer check . --backends {}", shell_word(&backends));
    let by_hand = match reproduction.case.expectation {
        Expectation::Valid => {
            let outputs = tensor_file("RUN", "output", "INDEX");
            format!(
                "run the model on the inputs in `raw/`, and compare its outputs with `{}`",
                outputs.display()
            )
        }
        Expectation::Invalid(_) => "load the model, which has to be refused".to_owned(),
    };
    let mut parts = vec![
        "With twinfer, in this folder; the path of a program must be absolute or relative to it:".to_owned(),
        markdown_block(&check),
        format!("Without twinfer, {by_hand}. `reproduce.py` runs Python packages only."),
    ];
    if !reproduction.preceding.is_empty() {
        parts.push(
            "The bug shows only in a process that has run other cases before, which this command does not run: `twinfer replay` of the finding does."
                .to_owned(),
        );
    }
    parts.join("\n\n")
}

fn trtexec(reproduction: &Reproduction) -> String {
    format!(
        "trtexec --onnx={MODEL}{} --noTF32{}{} --dumpOutput",
        if reproduction.is_quantized() { " --int8" } else { "" },
        shapes(reproduction),
        load_inputs(reproduction)
    )
}

/// The `--shapes` option with the shapes of the first run, if the model has symbolic dimensions.
fn shapes(reproduction: &Reproduction) -> String {
    let inputs =
        reproduction.case.graph.inputs.iter().zip(reproduction.task.runs.first().into_iter().flatten());
    let is_open = |info: &ValueInfo| info.shape.iter().flatten().any(|dim| matches!(dim, Dim::Symbolic(_)));
    let open = inputs.filter(|(info, _)| is_open(info) && is_plain(&info.name));
    let shapes: Vec<_> = open
        .map(|(info, tensor)| {
            let extents: Vec<_> = tensor.shape.iter().map(usize::to_string).collect();
            format!("{}:{}", info.name, extents.join("x"))
        })
        .collect();
    if shapes.is_empty() { String::new() } else { format!(" --shapes={}", shapes.join(",")) }
}

/// Whether a name needs no quotes in a shell.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The `--loadInputs` option of `trtexec` with the inputs of the first run; empty if a name would need quotes.
fn load_inputs(reproduction: &Reproduction) -> String {
    let inputs = &reproduction.case.graph.inputs;
    if inputs.is_empty() || !inputs.iter().all(|input| is_plain(&input.name)) {
        return String::new();
    }
    let file = |(index, input): (usize, &ValueInfo)| format!("{}:raw/{}", input.name, raw_name(0, index));
    let files: Vec<_> = inputs.iter().enumerate().map(file).collect();
    format!(" --loadInputs={}", files.join(","))
}
