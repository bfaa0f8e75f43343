//! The verdict that each kind of evidence leads to, on one small deconvolution in the exact regime.

use twinfer_case::{
    Capability, Case, Condition, Description, Expectation, Kind, LogLine, MemoryKind, Note, Observation,
    OutOfBoundsWrite, Outcome, OutputFilling, Refusal, Request, Run, RunOutput, Severity, Stage,
    TensorSource, Variant, Verdict,
};
use twinfer_checks::{Evidence, Judgement, disagreement, judge};
use twinfer_golden::evaluate;
use twinfer_onnx::{
    ConvTranspose, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo,
};

/// Input [1, 2, 3], all-ones kernel of 2, stride 2: [1, 1, 2, 2, 3, 3].
const RIGHT: [f32; 6] = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0];

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(values.to_vec()) }
}

fn value(name: &str, extents: &[usize]) -> ValueInfo {
    ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(extents.iter().copied().map(Dim::Fixed).collect()),
    }
}

/// The deconvolution, run with each of these inputs.
fn case(inputs: &[[f32; 3]]) -> Case {
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &[1, 1, 3])],
        initializers: vec![Initializer { name: "w".to_owned(), tensor: floats(&[1, 1, 2], &[1.0, 1.0]) }],
        nodes: vec![Node {
            name: "deconv".to_owned(),
            op: Op::ConvTranspose(ConvTranspose { strides: Some(vec![2]), ..ConvTranspose::default() }),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y", &[1, 1, 6])],
    };
    let run = |input: &[f32; 3]| Run { inputs: vec![TensorSource::Data(floats(&[1, 1, 3], input))] };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: inputs.iter().map(run).collect(),
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// An observation of a backend that ran and gave these outputs, one a run.
fn gave(outputs: Vec<Tensor>) -> Observation {
    let run = |output| RunOutput { outputs: vec![output], intermediates: Vec::new() };
    Observation {
        stage: Stage::Execute,
        outcome: Outcome::Ok,
        inferred_shapes: Some(vec![vec![1, 1, 6]]),
        runs: outputs.into_iter().map(run).collect(),
        precision: None,
        algorithms: None,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
    }
}

fn gave_values(values: [f32; 6]) -> Observation {
    gave(vec![floats(&[1, 1, 6], &values)])
}

fn ended(stage: Stage, outcome: Outcome) -> Observation {
    Observation { stage, outcome, runs: Vec::new(), inferred_shapes: None, ..gave(Vec::new()) }
}

/// A backend that states that it refuses deconvolutions with a stride.
fn modest() -> Description {
    let capability = Capability {
        rule: "no-strides".to_owned(),
        source: "its manual".to_owned(),
        refuses: Condition::All(vec![Condition::Operator("ConvTranspose".to_owned()), Condition::Strided]),
        shows: Refusal::default(),
    };
    Description { capabilities: vec![capability], ..able() }
}

fn able() -> Description {
    Description::new("b", "1", Stage::Execute)
}

struct Scene {
    case: Case,
    description: Description,
    observation: Observation,
    repeat: Option<Observation>,
    fresh: Option<Observation>,
}

impl Scene {
    fn of(observation: Observation) -> Self {
        Self { case: case(&[[1.0, 2.0, 3.0]]), description: able(), observation, repeat: None, fresh: None }
    }

    fn judge(&self) -> Judgement {
        let variant: Variant = "ort:cpu".parse().expect("a variant");
        let references: Vec<_> = match self.case.expectation {
            Expectation::Valid => self
                .case
                .runs
                .iter()
                .map(|run| evaluate(&self.case.graph, &[run.inputs[0].tensor().expect("small").into_owned()]))
                .collect(),
            Expectation::Invalid(_) => Vec::new(),
        };
        judge(&Evidence {
            case: &self.case,
            variant: &variant,
            description: &self.description,
            references: &references,
            observation: &self.observation,
            repeat: self.repeat.as_ref(),
            fresh: self.fresh.as_ref(),
        })
    }

    /// The kinds and stages of all divergences.
    fn divergences(&self) -> Vec<(Kind, Stage)> {
        match self.judge().verdict {
            Verdict::Diverges(divergences) => {
                divergences.iter().map(|divergence| (divergence.kind, divergence.stage)).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[test]
fn right_values_conform_and_are_compared() {
    let judgement = Scene::of(gave_values(RIGHT)).judge();
    assert_eq!(judgement, Judgement { verdict: Verdict::Conforms, notes: Vec::new(), compared: true });
}

#[test]
fn integers_that_are_off_by_less_than_a_step_are_wrong() {
    let mut values = RIGHT;
    values[2] = 2.25;
    assert_eq!(Scene::of(gave_values(values)).divergences(), [(Kind::WrongValues, Stage::Execute)]);
}

#[test]
fn wrong_values_are_detailed_with_place_and_both_values() {
    let mut values = RIGHT;
    values[4] = 7.0;
    let Verdict::Diverges(divergences) = Scene::of(gave_values(values)).judge().verdict else {
        panic!("7 is not 3")
    };
    assert_eq!(
        divergences[0].detail,
        "output 0: 1 of 6 elements differ; at [0, 0, 4] 7 instead of 3 (grid step 1e0)"
    );
}

#[test]
fn unwritten_elements_differ_from_wrong_ones() {
    let fillings = [OutputFilling::FIRST, OutputFilling::SECOND];
    for (filling, other) in [(0, 1), (1, 0)].map(|(one, other)| (fillings[one], fillings[other])) {
        let buffer = filling.buffer(DataType::Float, vec![1, 1, 6]).expect("small");
        let TensorData::Float(mut elements) = buffer.data else { panic!("asked for floats") };
        elements[..4].copy_from_slice(&RIGHT[..4]);
        let gave = |elements: &[f32], output_filling| Observation {
            output_filling,
            ..gave(vec![floats(&[1, 1, 6], elements)])
        };
        let unwritten = Scene::of(gave(&elements, Some(filling)));
        assert_eq!(unwritten.divergences(), [(Kind::UnwrittenOutput, Stage::Execute)]);
        for held in [Some(other), None] {
            let computed = Scene::of(gave(&elements, held));
            assert_eq!(computed.divergences(), [(Kind::WrongValues, Stage::Execute)], "{held:?}");
        }
        elements[0] = 5.0;
        let wrong_too = Scene::of(gave(&elements, Some(filling)));
        assert_eq!(wrong_too.divergences(), [(Kind::WrongValues, Stage::Execute)]);
    }
}

#[test]
fn outputs_of_wrong_shape_or_type_are_not_compared() {
    let longer = Scene::of(gave(vec![floats(&[1, 1, 7], &[0.0; 7])]));
    assert_eq!(longer.divergences(), [(Kind::WrongShape, Stage::Execute)]);
    let doubles = Tensor { shape: vec![1, 1, 6], data: TensorData::Double(vec![0.0; 6]) };
    assert_eq!(Scene::of(gave(vec![doubles])).divergences(), [(Kind::WrongDtype, Stage::Execute)]);
}

#[test]
fn inferred_extents_may_be_unknown_but_not_wrong() {
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.observation.inferred_shapes = Some(vec![vec![1, -1, -1]]);
    assert_eq!(scene.divergences(), []);
    scene.observation.inferred_shapes = Some(vec![vec![1, 1, 7]]);
    assert_eq!(scene.divergences(), [(Kind::WrongShape, Stage::Parse)]);
}

#[test]
fn builders_without_gpu_conform_by_shapes_alone() {
    let mut scene = Scene::of(gave(Vec::new()));
    scene.observation.stage = Stage::Build;
    scene.description.reaches = Stage::Build;
    let judgement = scene.judge();
    assert_eq!((judgement.verdict, judgement.compared), (Verdict::Conforms, true));
}

#[test]
fn success_before_the_deepest_stage_is_not_compared() {
    let mut scene = Scene::of(gave(Vec::new()));
    for stage in [Stage::Parse, Stage::Build, Stage::Execute] {
        scene.observation.stage = stage;
        assert!(!scene.judge().compared, "{stage} without outputs");
    }
    scene.description.reaches = Stage::Build;
    scene.observation.stage = Stage::Parse;
    assert!(!scene.judge().compared);
}

#[test]
fn refusal_is_compared_only_where_it_is_due() {
    let refused = || Scene::of(ended(Stage::Parse, Outcome::rejected("no")));
    assert!(!refused().judge().compared, "a valid graph");
    let mut due = refused();
    due.case.expectation = Expectation::Invalid("a rule".to_owned());
    assert_eq!((due.judge().verdict, due.judge().compared), (Verdict::Conforms, true));
    due.observation = ended(Stage::Parse, Outcome::Crashed("signal 11".to_owned()));
    assert!(!due.judge().compared, "a crash");
    let mut unsupported = refused();
    unsupported.description = modest();
    assert!(!unsupported.judge().compared, "a refusal that a rule predicts");
    let late = Scene::of(ended(Stage::Execute, Outcome::failed("no"))).judge();
    assert!(late.compared && !late.verdict.divergences().is_empty(), "in the deepest stage");
}

#[test]
fn refusals_of_valid_graphs_diverge_unless_predicted() {
    let refused = || ended(Stage::Parse, Outcome::rejected("no"));
    let mut scene = Scene::of(refused());
    assert_eq!(scene.divergences(), [(Kind::RejectsValid, Stage::Parse)]);
    scene.description = modest();
    assert_eq!(scene.judge().verdict, Verdict::Unsupported("no-strides".to_owned()));
}

#[test]
fn rules_cover_only_the_refusal_they_predict() {
    let verdict = |shows: Refusal, stage, outcome| {
        let mut scene = Scene::of(ended(stage, outcome));
        scene.description = modest();
        scene.description.capabilities[0].shows = shows;
        match scene.judge().verdict {
            Verdict::Unsupported(_) => None,
            Verdict::Diverges(divergences) => Some(divergences[0].kind),
            other => panic!("{other:?}"),
        }
    };
    let rejected = |reason: &str| Outcome::rejected(reason);
    let failed = |reason: &str| Outcome::failed(reason);
    let (parse, build) = (Stage::Parse, Stage::Build);
    assert_eq!(verdict(Refusal::default(), parse, rejected("no")), None);
    assert_eq!(verdict(Refusal::default(), build, failed("assertion")), Some(Kind::BuildFailure));
    assert_eq!(verdict(Refusal::in_stage(parse), build, rejected("no")), Some(Kind::RejectsValid));
    let strides = || Refusal::with_words(build, "strides");
    assert_eq!(verdict(strides(), build, failed("no kernel for strides of 2")), None);
    assert_eq!(verdict(strides(), build, failed("assertion")), Some(Kind::BuildFailure));
    assert_eq!(verdict(strides(), parse, rejected("no strides")), Some(Kind::RejectsValid));
}

#[test]
fn rules_without_their_refusal_are_noted() {
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.description = modest();
    let judgement = scene.judge();
    assert_eq!(judgement.verdict, Verdict::Conforms);
    assert_eq!(judgement.notes, [Note::AcceptedDespite("no-strides".to_owned())]);
}

#[test]
fn rules_that_predict_nothing_are_not_noted() {
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.description = modest();
    scene.description.capabilities[0].refuses = Condition::All(Vec::new());
    assert_eq!(scene.judge().notes, []);
}

#[test]
fn internal_errors_are_build_failures_only_while_building() {
    let failed = |stage| Scene::of(ended(stage, Outcome::failed("oops"))).divergences();
    assert_eq!(failed(Stage::Build), [(Kind::BuildFailure, Stage::Build)]);
    assert_eq!(failed(Stage::Execute), [(Kind::RejectsValid, Stage::Execute)]);
}

#[test]
fn invalid_graphs_must_be_refused() {
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.case.expectation = Expectation::Invalid("some-rule".to_owned());
    assert_eq!(scene.divergences(), [(Kind::AcceptsInvalid, Stage::Execute)]);
    scene.observation = ended(Stage::Parse, Outcome::rejected("no"));
    assert_eq!(scene.judge().verdict, Verdict::Conforms);
    scene.observation = ended(Stage::Parse, Outcome::Crashed("signal 11".to_owned()));
    assert_eq!(scene.divergences(), [(Kind::Crash, Stage::Parse)]);
}

#[test]
fn invalid_graphs_refused_for_another_reason_are_unsupported() {
    let refusing = |shows, stage, outcome| {
        let mut scene = Scene::of(ended(stage, outcome));
        scene.case.expectation = Expectation::Invalid("some-rule".to_owned());
        scene.description = modest();
        scene.description.capabilities[0].shows = shows;
        let judgement = scene.judge();
        (judgement.verdict == Verdict::Unsupported("no-strides".to_owned()), judgement.compared)
    };
    let (load, parse, build) = (Stage::Load, Stage::Parse, Stage::Build);
    let not_tried = || Outcome::rejected("not tried: strides");
    assert_eq!(refusing(Refusal::in_stage(load), load, not_tried()), (true, false));
    let no_kernel = || Refusal::with_words(build, "no kernel");
    assert_eq!(refusing(no_kernel(), build, Outcome::failed("no kernel for strides")), (true, false));
    assert_eq!(refusing(no_kernel(), build, Outcome::failed("some-rule")), (false, true));
    assert_eq!(refusing(Refusal::in_stage(parse), parse, Outcome::rejected("no")), (false, true));
}

#[test]
fn crashes_and_hangs_diverge_in_their_stage() {
    let crash = ended(Stage::Build, Outcome::Crashed("signal 11".to_owned()));
    assert_eq!(Scene::of(crash).divergences(), [(Kind::Crash, Stage::Build)]);
    let hang = ended(Stage::Execute, Outcome::TimedOut);
    assert_eq!(Scene::of(hang).divergences(), [(Kind::Hang, Stage::Execute)]);
}

#[test]
fn logged_errors_diverge_and_warnings_do_not() {
    let line = |severity| LogLine { severity, stage: Stage::Build, text: "hm".to_owned() };
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.observation.log = vec![line(Severity::Warning)];
    assert_eq!(scene.divergences(), []);
    scene.observation.log.push(line(Severity::Error));
    assert_eq!(scene.divergences(), [(Kind::ErrorLogged, Stage::Build)]);
    scene.observation.outcome = Outcome::rejected("no");
    assert_eq!(scene.divergences(), [(Kind::RejectsValid, Stage::Execute)]);
}

#[test]
fn write_out_of_bounds_diverges_whatever_else_the_verdict_is() {
    let write =
        |offset| OutOfBoundsWrite { stage: Stage::Build, memory: MemoryKind::Device, bytes: 24, offset };
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.observation.out_of_bounds = vec![write(25), write(24)];
    assert_eq!(scene.divergences(), [(Kind::OutOfBoundsWrite, Stage::Build)]);
    let Verdict::Diverges(divergences) = scene.judge().verdict else { panic!("it diverges") };
    assert_eq!(
        divergences[0].detail,
        "behind a block of 24 bytes of device memory, the byte at offset 25 was written (and 1 more)"
    );
    let refused = ended(Stage::Parse, Outcome::rejected("strides"));
    scene.observation = Observation { out_of_bounds: vec![write(24)], ..refused };
    scene.description = modest();
    assert!(matches!(scene.judge().verdict, Verdict::Diverges(_)), "a predicted refusal does not explain it");
}

#[test]
fn different_second_runs_are_nondeterministic() {
    let mut scene = Scene::of(gave_values(RIGHT));
    scene.repeat = Some(gave_values(RIGHT));
    assert_eq!(scene.divergences(), []);
    let mut values = RIGHT;
    values[0] = 2.0;
    scene.repeat = Some(gave_values(values));
    assert_eq!(scene.divergences(), [(Kind::Nondeterministic, Stage::Execute)]);
    scene.repeat = Some(ended(Stage::Execute, Outcome::failed("now and then")));
    assert_eq!(scene.divergences(), [(Kind::Nondeterministic, Stage::Execute)]);
}

#[test]
fn warm_workers_unlike_fresh_ones_depend_on_state() {
    let mut scene = Scene::of(gave_values(RIGHT));
    let mut values = RIGHT;
    values[0] = 2.0;
    scene.fresh = Some(gave_values(values));
    assert_eq!(scene.divergences(), [(Kind::StateDependent, Stage::Execute)]);
}

#[test]
fn different_runs_of_the_same_inputs_depend_on_state() {
    let right = |values: [f32; 6]| floats(&[1, 1, 6], &values);
    let (a, b) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.0]);
    let answers = |last| vec![right(RIGHT), right([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), right(last)];
    let mut scene = Scene::of(gave(answers(RIGHT)));
    scene.case = case(&[a, b, a]);
    assert_eq!(scene.divergences(), []);
    scene.observation = gave(answers([0.0; 6]));
    assert_eq!(
        scene.divergences(),
        [(Kind::StateDependent, Stage::Execute)],
        "divergences that follow from it are left out"
    );
}

#[test]
fn variants_are_compared_only_if_golden_is_undecided() {
    let answers = |value| gave_values([value, 1.0, 2.0, 2.0, 3.0, 3.0]);
    let case = case(&[[1.0, 2.0, 3.0]]);
    let input = case.runs[0].inputs[0].tensor().expect("small").into_owned();
    let decided = [evaluate(&case.graph, std::slice::from_ref(&input))];
    assert_eq!(disagreement((&decided, &answers(1.0)), (&decided, &answers(5.0))), None);
    let entry = twinfer_golden::rules()[0];
    let open = [decided[0]
        .clone()
        .map(|evaluation| twinfer_golden::Evaluation { unspecified: vec![entry], ..evaluation })];
    assert_eq!(disagreement((&open, &answers(1.0)), (&open, &answers(1.0))), None);
    let detail = disagreement((&open, &answers(1.0)), (&open, &answers(5.0)));
    assert_eq!(detail.as_deref(), Some("run 0: element 0 is 1 and 5"));
    let longer = gave(vec![floats(&[1, 1, 7], &[0.0; 7])]);
    let detail = disagreement((&open, &longer), (&open, &answers(1.0)));
    assert_eq!(detail.as_deref(), Some("run 0: output 0: [1, 1, 7] and [1, 1, 6]"));
    assert_eq!(disagreement((&open, &answers(1.0)), (&open, &ended(Stage::Parse, Outcome::TimedOut))), None);
}
