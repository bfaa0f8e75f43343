//! The test that every backend must pass: a small deconvolution with a known answer, twice in one warm backend.
//!
//! A backend whose library is not installed is skipped, and the test says so.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod installed;

use installed::opened;
use twinfer_backend::{Backend, open};
use twinfer_case::{Case, Expectation, Outcome, Request, Run, Stage, Task, TensorSource, Variant};
use twinfer_libraries::Store;
use twinfer_onnx::{
    ConvTranspose, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo,
};
use twinfer_prerequisites::skip;

/// Input [1, 2, 3], all-ones kernel of 2, stride 2, `output_padding` 1: [1, 1, 2, 2, 3, 3, 0].
fn deconvolution() -> Case {
    let value = |name: &str, extents: &[usize]| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(extents.iter().copied().map(Dim::Fixed).collect()),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &[1, 1, 3])],
        initializers: vec![Initializer {
            name: "w".to_owned(),
            tensor: Tensor { shape: vec![1, 1, 2], data: TensorData::Float(vec![1.0, 1.0]) },
        }],
        nodes: vec![Node {
            name: "deconv".to_owned(),
            op: Op::ConvTranspose(ConvTranspose {
                strides: Some(vec![2]),
                output_padding: Some(vec![1]),
                ..ConvTranspose::default()
            }),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y", &[1, 1, 7])],
    };
    let input = Tensor { shape: vec![1, 1, 3], data: TensorData::Float(vec![1.0, 2.0, 3.0]) };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }; 2],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

fn ends_where_it_may(backend: &mut dyn Backend) {
    let task = Task::of(&deconvolution()).unwrap().until(Stage::Parse);
    let observation = backend.run(&task, &mut |stage| assert_eq!(stage, Stage::Parse));
    assert_eq!((observation.stage, observation.outcome), (Stage::Parse, Outcome::Ok));
    assert_eq!(observation.inferred_shapes, Some(vec![vec![1, 1, 7]]));
}

fn passes_the_smoke_test(backend: &mut dyn Backend) {
    let task = Task::of(&deconvolution()).unwrap();
    for _ in 0..2 {
        let mut stages = Vec::new();
        let observation = backend.run(&task, &mut |stage| stages.push(stage));
        assert_eq!(observation.outcome, Outcome::Ok);
        assert_eq!(observation.stage, *stages.last().unwrap());
        assert_eq!(observation.inferred_shapes.unwrap_or_else(|| vec![vec![1, 1, 7]]), [[1, 1, 7]]);
        if backend.describe().reaches == Stage::Execute {
            let expected = Tensor {
                shape: vec![1, 1, 7],
                data: TensorData::Float(vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0]),
            };
            assert_eq!(observation.runs.len(), 2);
            assert!(observation.runs.iter().all(|run| run.outputs == [expected.clone()]));
        }
    }
}

#[test]
fn golden_passes_the_smoke_test() {
    passes_the_smoke_test(opened("golden").unwrap().as_mut());
}

#[test]
fn trt_rtx_passes_the_smoke_test() {
    if let Some(mut backend) = opened("trt-rtx") {
        passes_the_smoke_test(backend.as_mut());
        ends_where_it_may(backend.as_mut());
    }
}

#[test]
fn trt_rtx_passes_the_smoke_test_on_every_rung_of_its_ladder() {
    let variant: Variant = "trt-rtx,level=0".parse().unwrap();
    let Some(backend) = opened(&variant.to_string()) else { return };
    let ladder = backend.describe().ladder;
    assert_eq!(ladder.len(), 3, "{ladder:?}");
    for options in &ladder {
        let rung = variant.with(options);
        passes_the_smoke_test(opened(&rung.to_string()).unwrap().as_mut());
    }
}

/// A campaign starts the workers of a rung only once it needs them, and says before what they are.
#[test]
fn backends_say_on_a_rung_what_was_foreseen() {
    // a process has one environment of ONNX Runtime
    for base in ["trt-rtx,level=0", "trt,level=0"] {
        let variant: Variant = base.parse().unwrap();
        let Some(below) = opened(base).map(|backend| backend.describe()) else { continue };
        for (set, options) in below.ladder.iter().enumerate() {
            let rung = variant.with(options).to_string();
            assert_eq!(below.on_rung(set), opened(&rung).map(|backend| backend.describe()), "{rung}");
        }
        assert_eq!(below.on_rung(below.ladder.len()), None);
    }
}

/// TensorRT-RTX stands in for TensorRT, which wants a GPU: the layers are the same.
fn layer_by_layer() -> Option<Box<dyn Backend>> {
    let installed = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let folder = installed.map_err(|error| skip("tensorrt-rtx", error)).ok()?.directory;
    opened(&format!("trt-api,lib={}", folder.display()))
}

#[test]
fn trt_api_passes_the_smoke_test() {
    if let Some(mut backend) = layer_by_layer() {
        passes_the_smoke_test(backend.as_mut());
        ends_where_it_may(backend.as_mut());
    }
}

#[test]
fn trt_api_appends_output_padding_over_one_to_three_axes() {
    let Some(mut backend) = layer_by_layer() else { return };
    for axes in 1..=3 {
        let shape = |extent| [vec![1, 1], vec![extent; axes]].concat();
        let mut case = deconvolution();
        let graph = &mut case.graph;
        graph.inputs[0].shape = Some(
            shape(3).into_iter().enumerate().map(|(axis, _)| Dim::Symbolic(format!("d{axis}"))).collect(),
        );
        graph.inputs[0].shape.as_mut().unwrap()[1] = Dim::Fixed(1);
        graph.outputs[0].shape = None;
        graph.initializers[0].tensor =
            Tensor { shape: shape(2), data: TensorData::Float(vec![1.0; 2_usize.pow(axes as u32)]) };
        let Op::ConvTranspose(op) = &mut graph.nodes[0].op else { unreachable!("the case has one node") };
        op.strides = Some(vec![2; axes]);
        op.output_padding = Some(vec![1; axes]);
        let tensor = Tensor { shape: shape(3), data: TensorData::Float(vec![1.0; 3_usize.pow(axes as u32)]) };
        case.runs = vec![Run { inputs: vec![TensorSource::Data(tensor)] }];
        let observation = backend.run(&Task::of(&case).unwrap(), &mut |_| {});
        assert_eq!(observation.outcome, Outcome::Ok, "{axes} axes");
        let unknown = [vec![-1, 1], vec![-1; axes]].concat();
        assert_eq!(observation.inferred_shapes, Some(vec![unknown]), "{axes} axes");

        let fixed = case.graph.inputs[0].shape.as_mut().unwrap();
        *fixed = shape(3).into_iter().map(Dim::Fixed).collect();
        let observation = backend.run(&Task::of(&case).unwrap(), &mut |_| {});
        let expected = shape(7).into_iter().map(|extent| extent as i64).collect();
        assert_eq!(observation.inferred_shapes, Some(vec![expected]), "{axes} axes");
    }
}

/// One test, since ONNX Runtime allows one environment a process.
#[test]
fn ort_cpu_passes_the_smoke_test_and_says_why_it_refuses() {
    let Some(mut backend) = opened("ort:cpu,opt=off") else { return };
    passes_the_smoke_test(backend.as_mut());
    let mut observe = |task: &Task| backend.run(task, &mut |_| {});

    let mut empty = deconvolution();
    empty.graph.inputs[0].shape.as_mut().unwrap()[0] = Dim::Symbolic("N".to_owned());
    empty.graph.outputs[0].shape.as_mut().unwrap()[0] = Dim::Symbolic("N".to_owned());
    let nothing = Tensor { shape: vec![0, 1, 3], data: TensorData::Float(Vec::new()) };
    empty.runs[0] = Run { inputs: vec![TensorSource::Data(nothing)] };
    let observation = observe(&Task::of(&empty).unwrap());
    assert_eq!(observation.outcome, Outcome::Ok);
    assert_eq!(observation.runs[0].outputs[0].shape, [0, 1, 7]);
    assert_eq!(observation.runs[1].outputs[0].shape, [1, 1, 7]);

    let garbage = Task::new(b"no model".to_vec(), empty.request.clone(), Vec::new());
    let observation = observe(&garbage);
    assert_eq!(observation.stage, Stage::Parse);
    assert!(
        matches!(observation.outcome, Outcome::Rejected(error) if error.code() == Some("InvalidProtobuf"))
    );

    let mut mismatched = deconvolution();
    let wrong = Tensor { shape: vec![1, 2, 3], data: TensorData::Float(vec![0.0; 6]) };
    mismatched.runs[1] = Run { inputs: vec![TensorSource::Data(wrong)] };
    let observation = observe(&Task::of(&mismatched).unwrap());
    assert_eq!(observation.stage, Stage::Execute);
    assert_eq!(observation.runs.len(), 1, "the run before the refused one is kept");
    assert!(
        matches!(observation.outcome, Outcome::Rejected(error) if error.code() == Some("InvalidArgument"))
    );
}

#[test]
fn an_option_that_a_backend_does_not_have_is_refused_by_name() {
    let refused = open(&"golden,opt=off".parse().unwrap()).err().unwrap();
    assert_eq!(refused.to_string(), r#"golden has no option "opt": it has none"#);
    let refused = open(&"ort:cpu,opt=fast".parse().unwrap()).err().unwrap();
    assert_eq!(refused.to_string(), "option opt=fast: use one of off, basic, all");
}
