//! A deviation that only a transforming algorithm explains conforms if, and only if, the backend states that it may use one.

use std::sync::Arc;

use twinfer_case::{
    Algorithms, Case, Description, EncodedCase, Expectation, Kind, Note, Observation, Outcome, OutputFilling,
    Request, Run, RunOutput, Stage, TensorSource, VariantInfo, Verdict,
};
use twinfer_checks::{Evaluated, Judgement, golden, references};
use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

fn floats(shape: &[usize], values: Vec<f32>) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(values) }
}

/// Conv of a ramp of eight elements with a kernel of three.
fn case(strides: Option<Vec<i64>>) -> Case {
    let value = |name: &str, extents: &[usize]| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(extents.iter().copied().map(Dim::Fixed).collect()),
    };
    let outputs = if strides.is_some() { 3 } else { 6 };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &[1, 1, 8])],
        initializers: vec![Initializer {
            name: "w".to_owned(),
            tensor: floats(&[1, 1, 3], vec![1.0, -3.0, 5.0]),
        }],
        nodes: vec![Node {
            name: "conv".to_owned(),
            op: Op::Conv(Conv { strides, ..Conv::default() }),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y", &[1, 1, outputs])],
    };
    let ramp = floats(&[1, 1, 8], (1..=8u8).map(f32::from).collect());
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(ramp)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// The judgement on a backend of these algorithms whose first element is off by `deviation`.
fn judged(case: Case, algorithms: Algorithms, deviation: f32) -> Judgement {
    judged_engine(case, algorithms, None, deviation)
}

/// The same of an engine that has algorithms of its own.
fn judged_engine(
    case: Case,
    algorithms: Algorithms,
    of_engine: Option<Algorithms>,
    deviation: f32,
) -> Judgement {
    let mut description = Description::new("b", "1", Stage::Execute);
    description.arithmetic = description.arithmetic.with(algorithms);
    let info = VariantInfo { variant: "external:b".parse().expect("a variant"), description, rung_of: None };
    let encoded = EncodedCase::encode(case).expect("a small case");
    let references = references(&encoded, &golden(), info.description.arithmetic);
    let reference = references[0].as_ref().expect("golden knows it").outputs[0].clone();
    let mut values: Vec<f32> = reference.values.iter().map(|value| *value as f32).collect();
    values[0] += deviation;
    let observation = Observation {
        stage: Stage::Execute,
        outcome: Outcome::Ok,
        inferred_shapes: None,
        runs: vec![RunOutput { outputs: vec![floats(&reference.shape, values)], intermediates: Vec::new() }],
        precision: None,
        algorithms: of_engine,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
    };
    Evaluated::new(&info, Arc::clone(&encoded), references, observation).judgement
}

fn kinds(judgement: &Judgement) -> Vec<Kind> {
    judgement.verdict.divergences().iter().map(|divergence| divergence.kind).collect()
}

#[test]
fn rounding_of_transforms_conforms_only_where_it_is_stated() {
    let rounding = 1e-5;
    assert_eq!(kinds(&judged(case(None), Algorithms::Direct, rounding)), [Kind::WrongValues]);
    let any = judged(case(None), Algorithms::Any, rounding);
    assert_eq!(any.verdict, Verdict::Conforms);
    assert!(
        matches!(any.notes[..], [Note::BoundUsed(share), Note::Transforms] if 0.0 < share && share <= 1.0),
        "{any:?}"
    );
}

#[test]
fn engine_may_be_direct_where_its_backend_need_not_be() {
    let rounding = 1e-5;
    let (direct, any) = (Algorithms::Direct, Algorithms::Any);
    for engine in [direct, Algorithms::DirectConvolutions] {
        assert_eq!(kinds(&judged_engine(case(None), any, Some(engine), rounding)), [Kind::WrongValues]);
    }
    let no_excuse = judged_engine(case(None), direct, Some(any), rounding);
    assert_eq!(kinds(&no_excuse), [Kind::WrongValues], "what the backend states is the most");
}

#[test]
fn wrong_integers_are_wrong_whatever_the_algorithm() {
    assert_eq!(kinds(&judged(case(None), Algorithms::Any, 1.0)), [Kind::WrongValues]);
}

#[test]
fn strided_kernels_are_never_transformed() {
    assert_eq!(kinds(&judged(case(Some(vec![2])), Algorithms::Any, 1e-5)), [Kind::WrongValues]);
}

#[test]
fn exact_outputs_use_none_of_the_bound() {
    let judgement = judged(case(None), Algorithms::Any, 0.0);
    assert_eq!((judgement.verdict, judgement.notes), (Verdict::Conforms, Vec::new()));
}
