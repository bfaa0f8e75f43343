//! Verdicts and notes on the layers that a backend reports, for one small quantized convolution or pool.

use twinfer_case::{
    Case, ChosenPrecision, Condition, Description, Divergence, Effect, Expectation, Fallback, FallbackReason,
    FallbackValues, FloatPrecision, Kind, LayerInfo, Limitation, LogLine, Note, Observation, Outcome,
    OutputFilling, PrecisionSource, Quantization, QuantizationPromise, QuantizedExecution, Request, Run,
    RunOutput, Severity, Stage, TensorSource, Variant, Verdict,
};
use twinfer_checks::{Evidence, Judgement, judge};
use twinfer_golden::evaluate;
use twinfer_onnx::{
    Conv, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op, QuantizeLinear, Tensor, TensorData,
    ValueInfo,
};

const GROUPED: &str = "channels-of-a-group";

fn scalar(data: TensorData) -> Tensor {
    Tensor { shape: Vec::new(), data }
}

fn floats(shape: &[usize], value: f32) -> Tensor {
    let count = shape.iter().product();
    Tensor { shape: shape.to_vec(), data: TensorData::Float(vec![value; count]) }
}

fn node(name: &str, op: Op, inputs: &[&str], output: &str) -> Node {
    Node {
        name: name.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    }
}

fn value(name: &str, extents: &[usize]) -> ValueInfo {
    ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(extents.iter().copied().map(Dim::Fixed).collect()),
    }
}

/// Quantisers in front of a 1×1 convolution of one channel and, if `requantized`, behind it; 2 becomes 6.
fn case(requantized: bool) -> Case {
    let quantize = || Op::QuantizeLinear(QuantizeLinear::default());
    let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
    let mut nodes = vec![
        node("q_x", quantize(), &["x", "s", "z"], "xq"),
        node("dq_x", dequantize(), &["xq", "s", "z"], "xd"),
        node("dq_w", dequantize(), &["w", "s", "z"], "wd"),
        node("conv", Op::Conv(Conv::default()), &["xd", "wd"], "c"),
    ];
    if requantized {
        nodes.push(node("q_y", quantize(), &["c", "s", "z"], "cq"));
        nodes.push(node("dq_y", dequantize(), &["cq", "s", "z"], "y"));
    }
    let initializer = |name: &str, tensor| Initializer { name: name.to_owned(), tensor };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &[1, 1, 1, 1])],
        initializers: vec![
            initializer("s", scalar(TensorData::Float(vec![1.0]))),
            initializer("z", scalar(TensorData::Int8(vec![0]))),
            initializer("w", Tensor { shape: vec![1, 1, 1, 1], data: TensorData::Int8(vec![3]) }),
        ],
        nodes,
        outputs: vec![value(if requantized { "y" } else { "c" }, &[1, 1, 1, 1])],
    };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(floats(&[1, 1, 1, 1], 2.0))] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

fn layer(nodes: &[&str], inputs: DataType, weights: Option<DataType>) -> LayerInfo {
    LayerInfo {
        name: nodes.join(" + "),
        operator: String::new(),
        inputs: vec![inputs],
        outputs: Vec::new(),
        weights,
        tactic: None,
        placement: None,
        nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
    }
}

fn fused() -> Vec<LayerInfo> {
    vec![
        layer(&["q_x"], DataType::Float, None),
        layer(&["dq_x", "dq_w", "conv"], DataType::Int8, Some(DataType::Int8)),
    ]
}

/// Every node by itself, but the quantisers of the weights, which are folded.
fn apart() -> Vec<LayerInfo> {
    vec![
        layer(&["q_x"], DataType::Float, None),
        layer(&["dq_x"], DataType::Int8, None),
        layer(&["conv"], DataType::Float, Some(DataType::Float)),
    ]
}

/// The convolution on floats, and nothing of its quantisers.
fn elided() -> Vec<LayerInfo> {
    vec![layer(&["dq_x", "dq_w", "conv"], DataType::Float, Some(DataType::Float))]
}

struct Scene {
    case: Case,
    description: Description,
    layers: Option<Vec<LayerInfo>>,
    /// What the backend gives where golden gives 6.
    given: Option<f32>,
    log: Vec<LogLine>,
}

impl Scene {
    fn of(quantization: Quantization, layers: Vec<LayerInfo>) -> Self {
        let description = Description { quantization, ..Description::new("b", "1", Stage::Execute) };
        Self { case: case(true), description, layers: Some(layers), given: Some(6.0), log: Vec::new() }
    }

    fn limited(mut self, rule: &str, concerns: Condition, effect: Effect) -> Self {
        let source = "its manual".to_owned();
        self.description.limitations.push(Limitation {
            rule: rule.to_owned(),
            source,
            concerns,
            effect,
            mutants: Vec::new(),
        });
        self
    }

    fn judge(&self) -> Judgement {
        let variant: Variant = "ort:cpu".parse().expect("a variant");
        let input = self.case.runs[0].inputs[0].tensor().expect("small").into_owned();
        let references = [evaluate(&self.case.graph, &[input])];
        let output = self.given.map(|given| floats(&[1, 1, 1, 1], given));
        let run = |output| RunOutput { outputs: vec![output], intermediates: Vec::new() };
        let observation = Observation {
            stage: if output.is_some() { Stage::Execute } else { Stage::Build },
            outcome: Outcome::Ok,
            inferred_shapes: None,
            runs: output.into_iter().map(run).collect(),
            precision: self
                .layers
                .clone()
                .map(|layers| ChosenPrecision { source: PrecisionSource::Unstated, layers }),
            algorithms: None,
            log: self.log.clone(),
            timings: Vec::new(),
            out_of_bounds: Vec::new(),
            output_filling: Some(OutputFilling::default()),
        };
        judge(&Evidence {
            case: &self.case,
            variant: &variant,
            description: &self.description,
            references: &references,
            observation: &observation,
            repeat: None,
            fresh: None,
        })
    }

    fn divergences(&self) -> Vec<Divergence> {
        match self.judge().verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => Vec::new(),
        }
    }

    fn kinds(&self) -> Vec<Kind> {
        self.divergences().iter().map(|divergence| divergence.kind).collect()
    }

    /// The one fallback, with the rule that documents it.
    fn fallback(&self) -> (FallbackReason, FallbackValues, Option<String>) {
        let divergences = self.divergences();
        let [divergence] = &divergences[..] else { panic!("{divergences:?}") };
        assert_eq!((divergence.kind, divergence.stage), (Kind::PrecisionFallback, Stage::Build));
        let Some(Fallback { operator, reason, values }) = divergence.fallback.clone() else {
            panic!("{divergence:?}")
        };
        assert_eq!(operator, "Conv");
        (reason, values, divergence.documented.clone())
    }
}

#[test]
fn fused_convolutions_conform_and_are_noted() {
    for promise in [Quantization::FusesOperands, Quantization::FusesPairs] {
        let judgement = Scene::of(promise, fused()).judge();
        assert_eq!(judgement.verdict, Verdict::Conforms);
        assert_eq!(judgement.notes, [Note::QuantizedExecution(QuantizedExecution::Fused)]);
    }
}

#[test]
fn simulating_backends_conform_and_are_noted() {
    let mut scene = Scene::of(Quantization::Simulates, apart());
    for layers in [Some(apart()), None] {
        scene.layers = layers;
        let judgement = scene.judge();
        assert_eq!(judgement.verdict, Verdict::Conforms);
        assert_eq!(judgement.notes, [Note::QuantizedExecution(QuantizedExecution::Simulated)]);
    }
}

#[test]
fn silent_backends_are_neither_judged_nor_noted() {
    let mut scene = Scene::of(Quantization::Unstated, apart());
    assert_eq!(scene.divergences(), []);
    scene.layers = None;
    assert_eq!(scene.judge().notes, []);
}

#[test]
fn floats_instead_of_int8_are_a_fallback_with_kept_values() {
    let scene = Scene::of(Quantization::FusesOperands, apart());
    assert_eq!(scene.fallback(), (FallbackReason::NotFused, FallbackValues::Kept, None));
    assert_eq!(
        scene.divergences()[0].detail,
        "Conv conv runs on FLOAT, not quantized: a DequantizeLinear in front of it runs by itself; the values are as \
         golden allows"
    );
    let scene = Scene::of(Quantization::FusesOperands, elided());
    assert_eq!(scene.fallback(), (FallbackReason::Unknown, FallbackValues::Kept, None));
}

#[test]
fn float_weights_are_a_fallback_despite_int8_data() {
    let layers = vec![layer(&["dq_x", "conv"], DataType::Int8, Some(DataType::Float))];
    let (reason, ..) = Scene::of(Quantization::FusesOperands, layers).fallback();
    assert_eq!(reason, FallbackReason::Unknown);
}

#[test]
fn layers_that_only_prepare_data_do_not_count() {
    // as TensorRT-RTX pads the channels of a depthwise convolution on the way to int8
    let mut layers = fused();
    layers[0].nodes.push("conv".to_owned());
    assert_eq!(Scene::of(Quantization::FusesOperands, layers).divergences(), []);
    let mut layers = elided();
    layers.push(layer(&["conv"], DataType::Int8, None));
    assert_eq!(Scene::of(Quantization::FusesOperands, layers).divergences().len(), 1);
}

#[test]
fn wrong_values_come_after_the_fallback_that_causes_them() {
    let mut scene = Scene::of(Quantization::FusesOperands, elided());
    scene.given = Some(7.0);
    assert_eq!(scene.kinds(), [Kind::PrecisionFallback, Kind::WrongValues]);
    let values = scene.divergences()[0].fallback.as_ref().map(|fallback| fallback.values);
    assert_eq!(values, Some(FallbackValues::Changed));
}

#[test]
fn fallbacks_do_not_hide_logged_errors() {
    let mut scene = Scene::of(Quantization::FusesOperands, apart());
    let text = "tactic failed".to_owned();
    scene.log.push(LogLine { stage: Stage::Build, severity: Severity::Error, text });
    assert_eq!(scene.kinds(), [Kind::ErrorLogged, Kind::PrecisionFallback]);
    scene.given = Some(7.0);
    assert_eq!(scene.kinds(), [Kind::PrecisionFallback, Kind::WrongValues, Kind::ErrorLogged]);
}

#[test]
fn values_of_engines_that_did_not_run_are_not_compared() {
    let mut scene = Scene::of(Quantization::FusesOperands, apart());
    scene.given = None;
    assert_eq!(scene.fallback().1, FallbackValues::NotCompared);
}

#[test]
fn limitations_give_reasons_and_document_fallbacks() {
    let scene = Scene::of(Quantization::FusesOperands, apart()).limited(
        GROUPED,
        Condition::ChannelsPerGroupNotMultipleOf(4),
        Effect::Fallback(FallbackReason::ChannelsPerGroup),
    );
    let documented = Some(GROUPED.to_owned());
    assert_eq!(scene.fallback(), (FallbackReason::ChannelsPerGroup, FallbackValues::Kept, documented));
    let elsewhere = Scene::of(Quantization::FusesOperands, apart()).limited(
        GROUPED,
        Condition::Operator("ConvTranspose".to_owned()),
        Effect::Fallback(FallbackReason::NoKernel),
    );
    assert_eq!(elsewhere.fallback(), (FallbackReason::NotFused, FallbackValues::Kept, None));
}

#[test]
fn placement_on_another_provider_is_the_reason() {
    let mut layers = apart();
    layers[2].placement = Some("CPUExecutionProvider".to_owned());
    assert_eq!(Scene::of(Quantization::FusesPairs, layers).fallback().0, FallbackReason::Placement);
}

#[test]
fn placement_alone_does_not_show_how_an_operator_runs() {
    let mut layers = apart();
    for layer in &mut layers {
        layer.inputs.clear();
        layer.weights = None;
        layer.placement = Some("CPUExecutionProvider".to_owned());
    }
    let placed = Note::Placement("CPUExecutionProvider".to_owned());
    for promise in [Quantization::Simulates, Quantization::FusesOperands] {
        assert_eq!(Scene::of(promise, layers.clone()).judge().notes, std::slice::from_ref(&placed));
    }
}

#[test]
fn pair_fusing_backends_may_run_float_results_in_float() {
    let mut scene = Scene::of(Quantization::FusesPairs, apart());
    scene.case = case(false);
    assert_eq!(scene.divergences(), []);
    scene.description.quantization = Quantization::FusesOperands;
    assert_eq!(scene.divergences().len(), 1);
}

#[test]
fn graphs_without_quantizers_are_not_noted() {
    let mut scene = Scene::of(Quantization::FusesOperands, apart());
    scene.case = case(false);
    let graph = &mut scene.case.graph;
    graph.nodes.drain(..3);
    graph.nodes[0].inputs = vec!["x".to_owned(), "k".to_owned()];
    graph.initializers = vec![Initializer { name: "k".to_owned(), tensor: floats(&[1, 1, 1, 1], 3.0) }];
    assert_eq!(scene.judge(), Judgement { verdict: Verdict::Conforms, notes: Vec::new(), compared: true });
}

const POOLED: &str = "pools-between-quantizers";

/// A pool of single elements between quantizers, in a backend that promises to run it quantized; 2 stays 2.
fn pooled(layers: Vec<LayerInfo>) -> Scene {
    let mut case = case(true);
    let graph = &mut case.graph;
    graph.nodes.retain(|node| node.name != "dq_w");
    let pool = graph.nodes.iter_mut().find(|node| node.name == "conv").expect("a convolution");
    let op = Op::GlobalAveragePool;
    *pool = Node { name: "pool".to_owned(), op, inputs: vec!["xd".to_owned()], ..pool.clone() };
    let operator = Condition::Operator("GlobalAveragePool".to_owned());
    let promise = QuantizationPromise {
        rule: POOLED.to_owned(),
        source: "its manual".to_owned(),
        concerns: Condition::All(vec![operator, Condition::BetweenQuantizers]),
    };
    let description = Description {
        quantization: Quantization::FusesOperands,
        quantizes: vec![promise],
        ..Description::new("b", "1", Stage::Execute)
    };
    Scene { case, description, layers: Some(layers), given: Some(2.0), log: Vec::new() }
}

/// The layers of the pool with an input of this type, and of its quantizers by themselves.
fn pool_apart(dtype: DataType) -> Vec<LayerInfo> {
    vec![layer(&["q_x"], DataType::Float, None), layer(&["dq_x", "pool"], dtype, None)]
}

#[test]
fn promised_operators_without_weights_are_judged_by_their_data() {
    let judgement = pooled(pool_apart(DataType::Int8)).judge();
    assert_eq!(judgement.verdict, Verdict::Conforms);
    assert_eq!(judgement.notes, [Note::QuantizedExecution(QuantizedExecution::Fused)]);
    let scene = pooled(pool_apart(DataType::Float));
    assert_eq!(
        scene.divergences()[0].detail,
        "GlobalAveragePool pool runs on FLOAT, not quantized as pools-between-quantizers promises: the backend does not say why; the \
         values are as golden allows"
    );
    let layers = vec![layer(&["q_x"], DataType::Float, None), layer(&["dq_x"], DataType::Int8, None)];
    let scene = pooled([layers, vec![layer(&["pool"], DataType::Float, None)]].concat());
    let reason = scene.divergences()[0].fallback.as_ref().map(|fallback| fallback.reason);
    assert_eq!(reason, Some(FallbackReason::NotFused));
}

#[test]
fn layers_that_quantize_their_data_do_not_show_how_they_compute() {
    let whole = vec![layer(&["q_x", "dq_x", "pool", "q_y", "dq_y"], DataType::Float, None)];
    let judgement = pooled(whole).judge();
    assert_eq!((judgement.verdict, &judgement.notes[..]), (Verdict::Conforms, &[][..]));
}

#[test]
fn what_is_documented_to_run_on_floats_is_not_accused() {
    let operator = Condition::Operator("GlobalAveragePool".to_owned());
    let scene = pooled(pool_apart(DataType::Float)).limited("on-floats", operator, Effect::OnFloats);
    assert_eq!(scene.judge().verdict, Verdict::Conforms);
}

#[test]
fn nothing_is_promised_for_a_result_that_stays_a_float() {
    let mut scene = pooled(pool_apart(DataType::Float));
    let graph = &mut scene.case.graph;
    graph.nodes.truncate(3);
    graph.outputs = vec![value("c", &[1, 1, 1, 1])];
    assert_eq!(scene.judge().verdict, Verdict::Conforms);
}

/// A convolution of 32-bit floats without quantizers, which runs on `given`, where the variant allows and requires these.
fn on_floats(given: DataType, allowed: &[DataType], required: Option<DataType>) -> Scene {
    let mut case = case(false);
    case.graph.nodes.drain(..3);
    case.graph.nodes[0].inputs = ["x", "w"].map(str::to_owned).to_vec();
    case.graph.initializers = vec![Initializer { name: "w".to_owned(), tensor: floats(&[1, 1, 1, 1], 3.0) }];
    let float_precision = Some(FloatPrecision { allowed: allowed.to_vec(), required });
    let description = Description { float_precision, ..Description::new("b", "1", Stage::Execute) };
    let layers = vec![layer(&["conv"], given, Some(given))];
    Scene { case, description, layers: Some(layers), given: Some(6.0), log: Vec::new() }
}

#[test]
fn floats_of_an_allowed_type_conform() {
    use DataType::{Float, Float16};
    for (given, allowed, required) in [
        (Float, &[][..], None),
        (Float, &[Float16], None),
        (Float16, &[Float16], None),
        (Float16, &[Float16], Some(Float16)),
        (Float, &[Float16], Some(Float)),
    ] {
        assert_eq!(on_floats(given, allowed, required).judge().verdict, Verdict::Conforms, "{given}");
    }
}

#[test]
fn floats_of_another_type_than_the_variant_allows_are_a_fallback() {
    let scene = on_floats(DataType::Float16, &[], None);
    assert_eq!(scene.fallback(), (FallbackReason::NotAllowed, FallbackValues::Kept, None));
    assert_eq!(
        scene.divergences()[0].detail,
        "Conv conv runs on FLOAT16: the variant does not allow that type; the values are as golden allows"
    );
}

#[test]
fn floats_of_another_type_than_the_variant_requires_are_a_fallback() {
    for (given, required) in [(DataType::Float, DataType::Float16), (DataType::Float16, DataType::Float)] {
        let scene = on_floats(given, &[DataType::Float16], Some(required));
        assert_eq!(scene.fallback().0, FallbackReason::NotObeyed, "{given}");
    }
}

#[test]
fn what_runs_on_floats_is_not_judged_where_the_backend_states_nothing() {
    let mut scene = on_floats(DataType::Float16, &[], None);
    scene.description.float_precision = None;
    assert_eq!(scene.judge().verdict, Verdict::Conforms);
}
