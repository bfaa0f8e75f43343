//! Verdicts on a model that golden does not support: variants are compared with each other, and none is blamed.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use twinfer_case::{
    Blame, ChosenPrecision, Divergence, Kind, LayerInfo, LogLine, MemoryKind, Note, Observation,
    OutOfBoundsWrite, Outcome, OutputFilling, PrecisionSource, RunOutput, Severity, Stage, Variant, Verdict,
};
use twinfer_checks::{Answer, Judgement, OutputSource, Question, Refusals, judge_together};
use twinfer_golden::RANDOM_VALUES;
use twinfer_onnx::{Tensor, TensorData};

const UNKNOWN: &str = "golden does not support the operator Tanh";

fn ended(stage: Stage, outcome: Outcome) -> Observation {
    Observation {
        stage,
        outcome,
        inferred_shapes: None,
        runs: Vec::new(),
        precision: None,
        algorithms: None,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
    }
}

fn gave(value: f32) -> Observation {
    let output = Tensor { shape: vec![1], data: TensorData::Float(vec![value]) };
    let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
    Observation { runs: vec![run], ..ended(Stage::Execute, Outcome::Ok) }
}

fn refused() -> Observation {
    ended(Stage::Parse, Outcome::rejected("no such operator"))
}

fn crashed() -> Observation {
    ended(Stage::Build, Outcome::Crashed("SIGSEGV".to_owned()))
}

fn variants(count: usize) -> Vec<Variant> {
    ["ort:cpu,opt=off", "ort:cpu,opt=all", "trt"][..count].iter().map(|text| text.parse().unwrap()).collect()
}

fn verdicts(observations: &[Observation]) -> Vec<Verdict> {
    let reaches = vec![Stage::Execute; observations.len()];
    judged(observations, &reaches).into_iter().map(|judgement| judgement.verdict).collect()
}

/// Judges observations of backends that go as far as the stages in `reaches`.
fn judged(observations: &[Observation], reaches: &[Stage]) -> Vec<Judgement> {
    let variants = variants(observations.len());
    let answers: Vec<_> = variants
        .iter()
        .zip(observations)
        .zip(reaches)
        .map(|((variant, observation), reaches)| Answer {
            variant,
            reaches: *reaches,
            observation,
            repeats: Vec::new(),
        })
        .collect();
    judge_together(&answers, question(&[]))
}

const fn question(sources: &[OutputSource]) -> Question<'_> {
    Question { unknown: UNKNOWN, sources, refusals: Refusals::Disagree }
}

fn open() -> Verdict {
    Verdict::NoReference(UNKNOWN.to_owned())
}

fn disagrees(place: usize, stage: Stage, detail: &str) -> Verdict {
    let variant = variants(3).swap_remove(place);
    let (kind, blame) = (Kind::Disagree, Blame::Nobody);
    Verdict::Diverges(vec![Divergence::new(variant, stage, kind, blame, detail.to_owned())])
}

fn kinds(verdict: &Verdict) -> Vec<(Kind, Blame)> {
    match verdict {
        Verdict::Diverges(all) => all.iter().map(|one| (one.kind, one.blame)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn answers_that_agree_conform() {
    assert_eq!(verdicts(&[gave(1.0), gave(1.0 + 1e-6)]), [Verdict::Conforms, Verdict::Conforms]);
}

#[test]
fn different_answers_disagree_without_blame() {
    let detail = "between ort:cpu,opt=all and ort:cpu,opt=off: run 0: output 0: element 0 is 2 and 1";
    let mut verdicts = verdicts(&[gave(1.0), gave(2.0)]);
    assert_eq!(disagreement(&mut verdicts[1]), [(0, Some(1.0))]);
    assert_eq!(verdicts, [Verdict::Conforms, disagrees(1, Stage::Execute, detail)]);
}

/// Takes the outputs that differ, each with the largest difference, from a verdict.
fn disagreement(verdict: &mut Verdict) -> Vec<(usize, Option<f64>)> {
    let Verdict::Diverges(divergences) = verdict else { return Vec::new() };
    let taken = divergences.iter_mut().find_map(|one| one.disagreement.take());
    let outputs = taken.map(|one| one.outputs).unwrap_or_default();
    outputs.into_iter().map(|one| (one.output, one.difference)).collect()
}

#[test]
fn largest_difference_of_all_runs_is_that_of_an_output() {
    let answer = |runs: [[f32; 2]; 2]| {
        let output = |value: f32| Tensor { shape: vec![1], data: TensorData::Float(vec![value]) };
        let run =
            |values: [f32; 2]| RunOutput { outputs: values.map(output).to_vec(), intermediates: Vec::new() };
        Observation { runs: runs.map(run).to_vec(), ..ended(Stage::Execute, Outcome::Ok) }
    };
    let between = |one, other| disagreement(&mut verdicts(&[answer(one), answer(other)])[1]);
    assert_eq!(between([[1.0, 5.0], [1.0, 5.0]], [[1.5, 5.0], [4.0, 5.0]]), [(0, Some(3.0))]);
    assert_eq!(between([[1.0, 5.0], [1.0, 5.0]], [[1.5, 5.0], [f32::NAN, 6.0]]), [(0, None), (1, Some(1.0))]);
}

#[test]
fn refusals_beside_answers_disagree_in_any_order() {
    let detail =
        |accepts, refuses| format!("{accepts} accepts the model, and {refuses} refuses it: no such operator");
    assert_eq!(
        verdicts(&[refused(), gave(1.0)]),
        [disagrees(0, Stage::Parse, &detail("ort:cpu,opt=all", "ort:cpu,opt=off")), open()]
    );
    assert_eq!(
        verdicts(&[gave(1.0), refused(), gave(1.0)]),
        [
            Verdict::Conforms,
            disagrees(1, Stage::Parse, &detail("ort:cpu,opt=off", "ort:cpu,opt=all")),
            Verdict::Conforms
        ]
    );
}

#[test]
fn refusals_of_unknown_operator_sets_are_open() {
    let variants = variants(2);
    let observations = [gave(1.0), refused()];
    let answers = variants.iter().zip(&observations).map(|(variant, observation)| Answer {
        variant,
        reaches: Stage::Execute,
        observation,
        repeats: Vec::new(),
    });
    let judged =
        judge_together(&answers.collect::<Vec<_>>(), Question { refusals: Refusals::Open, ..question(&[]) });
    assert_eq!(judged.into_iter().map(|one| one.verdict).collect::<Vec<_>>(), [open(), open()]);
}

#[test]
fn uncompared_answers_are_unspecified() {
    assert_eq!(verdicts(&[refused(), refused()]), [open(), open()]);
    assert_eq!(verdicts(&[gave(1.0)]), [open()]);
    assert_eq!(verdicts(&[gave(1.0), ended(Stage::Build, Outcome::Ok)]), [open(), open()]);
}

#[test]
fn builder_is_compared_with_a_variant_that_went_as_far() {
    let built = || ended(Stage::Build, Outcome::Ok);
    let compared = |observations: &[Observation]| -> Vec<bool> {
        let judged = judged(observations, &[Stage::Execute, Stage::Build]);
        let is_sound = |one: &Judgement| {
            one.compared == matches!(one.verdict, Verdict::Conforms) || !kinds(&one.verdict).is_empty()
        };
        assert!(judged.iter().all(is_sound), "{judged:?}");
        judged.iter().map(|one| one.compared).collect()
    };
    assert_eq!(compared(&[gave(1.0), built()]), [false, true], "no other variant executes");
    assert_eq!(compared(&[refused(), built()]), [false, false]);
    assert_eq!(compared(&[gave(1.0), refused()]), [false, false]);
    let values = judged(&[gave(1.0), gave(2.0)], &[Stage::Execute, Stage::Execute]);
    assert!(values.iter().all(|one| one.compared), "a difference is a comparison");
}

#[test]
fn refusals_in_unreached_stages_do_not_disagree() {
    let late = ended(Stage::Execute, Outcome::rejected("no such extent"));
    assert_eq!(verdicts(&[ended(Stage::Build, Outcome::Ok), late]), [open(), open()]);
}

#[test]
fn crashes_diverge_and_other_variants_are_compared() {
    let verdicts = verdicts(&[crashed(), gave(1.0), gave(1.0)]);
    assert_eq!(kinds(&verdicts[0]), [(Kind::Crash, Blame::Variant)]);
    assert_eq!(verdicts[1..], [Verdict::Conforms, Verdict::Conforms]);
}

#[test]
fn writes_out_of_bounds_diverge_without_reference() {
    let write = OutOfBoundsWrite { stage: Stage::Execute, memory: MemoryKind::Host, bytes: 4, offset: 4 };
    let wrote = Observation { out_of_bounds: vec![write], ..gave(1.0) };
    assert_eq!(kinds(&verdicts(&[gave(1.0), wrote])[1]), [(Kind::OutOfBoundsWrite, Blame::Variant)]);
}

#[test]
fn logged_errors_diverge_without_reference() {
    let line = LogLine { severity: Severity::Error, stage: Stage::Build, text: "no".to_owned() };
    let logged = Observation { log: vec![line], ..gave(1.0) };
    assert_eq!(kinds(&verdicts(&[gave(1.0), logged])[1]), [(Kind::ErrorLogged, Blame::Variant)]);
}

#[test]
fn nodes_elsewhere_are_noted_without_reference() {
    let layer = LayerInfo {
        name: "pool".to_owned(),
        operator: "LpPool".to_owned(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        weights: None,
        tactic: None,
        placement: Some("CPUExecutionProvider".to_owned()),
        nodes: vec!["pool".to_owned()],
    };
    let precision = ChosenPrecision { source: PrecisionSource::NodePlacement, layers: vec![layer] };
    let placed = Observation { precision: Some(precision), ..gave(1.0) };
    let judgements = judged(&[gave(1.0), placed], &[Stage::Execute; 2]);
    assert_eq!(judgements[1].verdict, Verdict::Conforms);
    assert_eq!(judgements[1].notes, [Note::Placement("CPUExecutionProvider".to_owned())]);
}

/// Judges variants that were asked several times, the first answer of each being the observation.
fn judged_with_repeats(answers: &[Vec<Observation>], sources: &[OutputSource]) -> Vec<Verdict> {
    let variants = variants(answers.len());
    let answers: Vec<_> = variants
        .iter()
        .zip(answers)
        .map(|(variant, given)| Answer {
            variant,
            reaches: Stage::Execute,
            observation: &given[0],
            repeats: given[1..].iter().collect(),
        })
        .collect();
    judge_together(&answers, question(sources)).into_iter().map(|judgement| judgement.verdict).collect()
}

#[test]
fn variant_that_contradicts_itself_disagrees_with_nobody() {
    let (steady, fickle) = (vec![gave(1.0), gave(1.0)], vec![gave(2.0), gave(1.0)]);
    let nondeterministic = [(Kind::Nondeterministic, Blame::Variant)];
    for (order, fickle_at) in [([fickle.clone(), steady.clone()], 0), ([steady, fickle], 1)] {
        let verdicts = judged_with_repeats(&order, &[]);
        assert_eq!(kinds(&verdicts[fickle_at]), nondeterministic);
        assert_eq!(verdicts[1 - fickle_at], open(), "it was compared with nothing that is steady");
    }
}

#[test]
fn variant_that_differs_by_one_bit_is_nondeterministic_first() {
    let next = f32::from_bits(2f32.to_bits() + 1);
    let verdicts = judged_with_repeats(&[vec![gave(1.0); 2], vec![gave(2.0), gave(next)]], &[]);
    let both = [(Kind::Nondeterministic, Blame::Variant), (Kind::Disagree, Blame::Nobody)];
    assert_eq!(kinds(&verdicts[1]), both);
    let agreeing = judged_with_repeats(&[vec![gave(2.0); 2], vec![gave(2.0), gave(next)]], &[]);
    assert_eq!(agreeing, [Verdict::Conforms, Verdict::Conforms], "two builds may round in another order");
}

#[test]
fn random_values_are_open_by_their_rule() {
    let random = [OutputSource::Random(&RANDOM_VALUES)];
    let answers = [vec![gave(1.0), gave(3.0)], vec![gave(2.0), gave(4.0)]];
    let open = Verdict::Unspecified("random-values".to_owned());
    assert_eq!(judged_with_repeats(&answers, &random), [open.clone(), open]);
    let wide = RunOutput {
        outputs: vec![Tensor { shape: vec![2], data: TensorData::Float(vec![1.0, 2.0]) }],
        intermediates: Vec::new(),
    };
    let longer = Observation { runs: vec![wide], ..ended(Stage::Execute, Outcome::Ok) };
    let verdicts = judged_with_repeats(&[vec![gave(1.0)], vec![longer]], &random);
    assert_eq!(kinds(&verdicts[1]), [(Kind::Disagree, Blame::Nobody)], "shapes are not random");
}

#[test]
fn inferred_shape_differs_from_that_of_an_output() {
    let inferred = |shape: Vec<i64>| Observation {
        inferred_shapes: Some(vec![shape]),
        ..ended(Stage::Build, Outcome::Ok)
    };
    let verdict = |one: Observation, other: Observation| {
        judged(&[one, other], &[Stage::Execute, Stage::Build]).swap_remove(1).verdict
    };
    let detail =
        "between ort:cpu,opt=all and ort:cpu,opt=off: the shape of output 0 is inferred as [2] and is [1]";
    assert_eq!(verdict(gave(1.0), inferred(vec![2])), disagrees(1, Stage::Parse, detail));
    assert_eq!(verdict(gave(1.0), inferred(vec![-1])), Verdict::Conforms);
    assert_eq!(
        kinds(&verdict(inferred(vec![1]), inferred(vec![2]))),
        [(Kind::Disagree, Blame::Nobody)],
        "no variant executes"
    );
}
