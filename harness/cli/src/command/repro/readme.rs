//! The page that explains a reproduction.

use twinfer_case::{Backend, Divergence, Expectation, Observation, Outcome, Verdict};
use twinfer_onnx::{Dim, Tensor, ValueInfo};
use twinfer_store::RecordedObservation;

use super::{Report, files::raw_name};

/// Outputs of more elements than this are not written out.
const SHOWN: usize = 64;

/// The page in Markdown.
pub fn page(report: &Report) -> String {
    let mut parts = vec![format!("# {}", title(report))];
    parts.extend(
        report.topic.iter().map(|topic| format!("Reported at {}. {}", topic.upstream, topic.expects)),
    );
    parts.push(format!("The model is one graph of operator set {}:", report.case.graph.opset));
    parts.push(code(&report.case.graph.to_string()));
    parts.push("## What is expected".to_owned());
    parts.push(expected(report));
    parts.push("## What is seen".to_owned());
    parts.extend(report.answers.iter().map(|answer| seen(report, answer)));
    parts.push("## How to see it".to_owned());
    parts.push(commands(report));
    parts.join("\n\n") + "\n"
}

fn title(report: &Report) -> String {
    if let Some(topic) = &report.topic {
        return topic.title.clone();
    }
    let operators: Vec<_> = report.case.graph.nodes.iter().map(|node| node.op.op_type()).collect();
    let kind = report.finding.as_ref().map(|finding| format!("{} of ", finding.kind)).unwrap_or_default();
    format!("{kind}{}", operators.join(", "))
}

fn expected(report: &Report) -> String {
    match &report.case.expectation {
        Expectation::Invalid(rule) => {
            return format!(
                "The graph breaks a rule of ONNX, `{rule}`: it is to be refused before anything runs."
            );
        }
        Expectation::Valid => {}
    }
    let mut lines = vec![
        "By the definition of ONNX, computed in double precision; `test_data_set_K/output_I.pb` holds it."
            .to_owned(),
    ];
    for (run, inputs) in report.task.runs.iter().enumerate() {
        let Ok(evaluation) = twinfer_golden::evaluate(&report.case.graph, inputs) else { continue };
        let outputs = evaluation.outputs.iter().filter_map(|reference| reference.to_tensor().ok());
        lines.extend(outputs.enumerate().map(|(index, output)| tensor(run, index, &output)));
    }
    lines.join("\n")
}

/// `- run 0, output 0, [1, 1, 2]: 1, 2`
fn tensor(run: usize, index: usize, tensor: &Tensor) -> String {
    let place = format!("- run {run}, output {index}, {:?}", tensor.shape);
    if tensor.len() > SHOWN {
        return place;
    }
    let values: Vec<_> = tensor.to_f64().iter().map(f64::to_string).collect();
    format!("{place}: {}", values.join(", "))
}

fn seen(report: &Report, answer: &RecordedObservation) -> String {
    let mut lines = vec![format!("### {}, `{}`", answer.version, answer.variant), String::new()];
    lines.push(ending(&answer.observation));
    for divergence in divergences(report, answer) {
        lines.push(format!("- {}: {}", divergence.kind, divergence.detail.replace('\n', " ")));
        lines.extend(divergence.diagnosis.iter().map(|why| format!("- {why}")));
    }
    lines.extend(
        mutants(report).map(|mutant| format!("- the same output has a reference with this defect: {mutant}")),
    );
    for (run, outputs) in answer.observation.runs.iter().enumerate() {
        lines.extend(outputs.outputs.iter().enumerate().map(|(index, output)| tensor(run, index, output)));
    }
    let log = answer.observation.log.iter().take(LOGGED).map(|line| code(&line.text));
    lines.extend(log);
    lines.join("\n")
}

/// Lines of a log that are worth quoting.
const LOGGED: usize = 5;

fn ending(observation: &Observation) -> String {
    let stage = observation.stage;
    match &observation.outcome {
        Outcome::Ok => format!("It goes as far as {stage} without an error."),
        Outcome::Rejected(reason) => {
            format!("It refuses the model in {stage}: {}", reason.message().replace('\n', " "))
        }
        Outcome::Failed(reason) => format!("It fails in {stage}: {}", reason.message().replace('\n', " ")),
        Outcome::Crashed(status) => format!("The process dies in {stage}: {status}."),
        Outcome::TimedOut => format!("It does not come back from {stage}."),
    }
}

/// What the checks said of an answer; of a finding that was recorded without them, what they said of the finding.
fn divergences<'a>(report: &'a Report, answer: &'a RecordedObservation) -> &'a [Divergence] {
    match (&answer.verdict, &report.finding) {
        (Some(Verdict::Diverges(divergences)), _) => divergences,
        (None, Some(finding)) => &finding.divergences,
        _ => &[],
    }
}

/// What explains a finding that was stored without its diagnosis.
fn mutants(report: &Report) -> impl Iterator<Item = &String> {
    let names_alone = report.finding.iter().filter(|finding| finding.explanation().is_none());
    names_alone.flat_map(|finding| &finding.diagnosis)
}

fn commands(report: &Report) -> String {
    let mut lines = vec!["With ONNX Runtime:".to_owned(), String::new()];
    lines.push(code(&format!("pip install numpy onnx onnxruntime\npython reproduce.py{}", provider(report))));
    if report.answers.iter().any(|answer| is_tensorrt(&answer.variant.backend)) {
        lines.extend([String::new(), "With TensorRT:".to_owned(), String::new()]);
        lines.push(code(&format!(
            "trtexec --onnx=model.onnx{} --noTF32{}{} --dumpOutput\n\
             polygraphy run model.onnx --trt --onnxrt --data-loader-script data.py:load_data",
            quantized(report),
            shapes(report),
            load_inputs(report)
        )));
    }
    lines.join("\n")
}

/// The provider and the level of optimisation that diverged, if it is one of ONNX Runtime's.
fn provider(report: &Report) -> &'static str {
    let of = |backend| report.answers.iter().find(|answer| answer.variant.backend == backend);
    match (of(Backend::OrtCuda), of(Backend::OrtCpu)) {
        (Some(_), _) => " CUDAExecutionProvider",
        (None, Some(cpu)) if cpu.variant.options.get("opt").is_some_and(|level| level == "off") => {
            " --no-optimisations"
        }
        _ => "",
    }
}

const fn is_tensorrt(backend: &Backend) -> bool {
    matches!(backend, Backend::Trt | Backend::TrtApi | Backend::TrtRtx)
}

fn quantized(report: &Report) -> &'static str {
    let quantizes = |node: &twinfer_onnx::Node| node.op.op_type() == "QuantizeLinear";
    if report.case.graph.nodes.iter().any(quantizes) { " --int8" } else { "" }
}

/// The first run's extents, where the model leaves some open.
fn shapes(report: &Report) -> String {
    let inputs = report.case.graph.inputs.iter().zip(report.task.runs.first().into_iter().flatten());
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

/// Whether a name needs no quoting.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The first run's inputs, as `trtexec` takes them; names that would need quoting are left to `polygraphy`.
fn load_inputs(report: &Report) -> String {
    let inputs = &report.case.graph.inputs;
    if inputs.is_empty() || !inputs.iter().all(|input| is_plain(&input.name)) {
        return String::new();
    }
    let file = |(index, input): (usize, &ValueInfo)| format!("{}:{}", input.name, raw_name(0, index));
    let files: Vec<_> = inputs.iter().enumerate().map(file).collect();
    format!(" --loadInputs={}", files.join(","))
}

fn code(text: &str) -> String {
    format!("```\n{}\n```", text.replace("```", "'''"))
}
