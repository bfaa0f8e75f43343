//! Conditions, signatures, hashes and summaries.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use twinfer_case::{
    BackendName, CaseHash, CaseRecord, Cause, Condition, Description, Guise, JOURNAL_FORMAT, Kind, Mask,
    MaskCount, Note, Outcome, Request, Signature, Stage, Summary, Task, Variant, VariantInfo, VariantRecord,
    Verdict,
};
use twinfer_onnx::{
    AutoPad, Conv, ConvTranspose, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo,
};

/// One node with a weight of [1, 1, 2, 2].
fn graph(op: Op) -> Graph {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some([1, 1, 4, 4].map(Dim::Fixed).into()),
    };
    Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: vec![Initializer {
            name: "w".to_owned(),
            tensor: Tensor { shape: vec![1, 1, 2, 2], data: TensorData::Float(vec![1.0; 4]) },
        }],
        nodes: vec![Node {
            name: "node".to_owned(),
            op,
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    }
}

fn conv(conv: Conv) -> Graph {
    graph(Op::Conv(conv))
}

fn deconv(deconv: ConvTranspose) -> Graph {
    graph(Op::ConvTranspose(deconv))
}

#[test]
fn each_condition_holds_only_for_the_graphs_it_names() {
    let two = |values: [i64; 2]| Some(values.to_vec());
    let cases = [
        (Condition::Operator("ConvTranspose".to_owned()), deconv(ConvTranspose::default())),
        (Condition::Dilated, conv(Conv { dilations: two([1, 2]), ..Conv::default() })),
        (Condition::Strided, conv(Conv { strides: two([2, 1]), ..Conv::default() })),
        (
            Condition::StridedAndDilated,
            conv(Conv { strides: two([2, 1]), dilations: two([1, 2]), ..Conv::default() }),
        ),
        (Condition::AutoPadSame, conv(Conv { auto_pad: Some(AutoPad::SameLower), ..Conv::default() })),
        (
            Condition::OutputPaddingAtLeastStride,
            deconv(ConvTranspose { output_padding: two([0, 1]), ..ConvTranspose::default() }),
        ),
        (
            Condition::OutputPadding,
            deconv(ConvTranspose {
                output_padding: two([0, 1]),
                strides: two([2, 2]),
                ..ConvTranspose::default()
            }),
        ),
        (
            Condition::OutputShape,
            deconv(ConvTranspose { output_shape: two([5, 5]), ..ConvTranspose::default() }),
        ),
        (Condition::NegativePads, conv(Conv { pads: Some(vec![0, -1, 0, 0]), ..Conv::default() })),
        (Condition::PadsAtLeastKernel, conv(Conv { pads: Some(vec![0, 0, 2, 0]), ..Conv::default() })),
        (Condition::Grouped, conv(Conv { group: Some(2), ..Conv::default() })),
        (Condition::ComputedWeights, Graph { initializers: Vec::new(), ..conv(Conv::default()) }),
        (Condition::OpsetBelow(10), Graph { opset: 9, ..conv(Conv::default()) }),
        (Condition::OpsetAbove(18), Graph { opset: 19, ..conv(Conv::default()) }),
    ];
    let plain = conv(Conv::default());
    for (condition, graph) in cases {
        assert!(condition.holds(&graph), "{condition:?} does not hold");
        assert!(!condition.holds(&plain), "{condition:?} holds for a plain convolution");
    }
    assert!(Condition::SpatialRank(2).holds(&plain));
    assert!(!Condition::SpatialRank(3).holds(&plain));
    let absent = Condition::AttributeAbsent("strides".to_owned());
    assert!(absent.holds(&plain) && !Condition::Not(Box::new(absent)).holds(&plain));
    assert!(!Condition::Dtype(DataType::Float16).holds(&plain));
}

#[test]
fn an_output_padding_below_its_stride_is_no_refusal() {
    let padded = |strides: [i64; 2]| {
        deconv(ConvTranspose {
            output_padding: Some(vec![0, 1]),
            strides: Some(strides.to_vec()),
            ..ConvTranspose::default()
        })
    };
    assert!(Condition::OutputPaddingAtLeastStride.holds(&padded([2, 1])));
    assert!(!Condition::OutputPaddingAtLeastStride.holds(&padded([1, 2])));
}

#[test]
fn all_conditions_must_hold_for_the_same_node() {
    let both = Condition::All(vec![Condition::Strided, Condition::Dilated]);
    let mut apart = conv(Conv { strides: Some(vec![2, 2]), ..Conv::default() });
    apart.nodes.extend(conv(Conv { dilations: Some(vec![2, 2]), ..Conv::default() }).nodes);
    assert!(!both.holds(&apart));
    assert!(Condition::Any(vec![Condition::Strided, Condition::Dilated]).holds(&apart));
}

#[test]
fn a_condition_is_written_as_the_protocol_says() {
    let text = r#"{"all":[{"operator":"Conv"},"auto-pad-same","dilated"]}"#;
    let condition: Condition = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&condition).unwrap(), text);
}

fn signature(backend: &str, cause: &[&str]) -> Signature {
    Signature {
        backend: backend.parse().unwrap(),
        stage: Stage::Execute,
        kind: Kind::WrongValues,
        cause: Cause::Graph(cause.iter().map(|&class| class.to_owned()).collect()),
        error: None,
    }
}

#[test]
fn a_slug_is_a_plain_folder_name_that_tells_signatures_apart() {
    let long = vec!["convtranspose-with-a-very-long-class"; 20];
    let commands = ["external:../../bin/x", "external:/tmp/y z"];
    let mut slugs = vec![signature("trt", &long).slug(), signature("trt", &long[1..]).slug()];
    slugs.extend(commands.map(|command| signature(command, &["Conv"]).slug()));
    for slug in &slugs {
        assert!(slug.len() <= 120, "{slug}");
        assert!(
            slug.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        );
    }
    slugs.sort();
    slugs.dedup();
    assert_eq!(slugs.len(), 4);
    assert!(
        signature("ort:cpu", &["Conv", "pads"]).slug().starts_with("ort-cpu-execute-wrong-values-conv-pads-")
    );
}

#[test]
fn a_hash_covers_every_bit_of_what_a_backend_is_given() {
    let request = Request { precision: DataType::Float, tf32: false };
    let input = |value: f32| vec![vec![Tensor { shape: vec![1], data: TensorData::Float(vec![value]) }]];
    let hash =
        |model: &[u8], tf32, runs| Task::new(model.to_vec(), Request { tf32, ..request.clone() }, runs).hash;
    let plain = hash(b"model", false, input(0.0));
    assert_eq!(plain, hash(b"model", false, input(0.0)));
    let others = [
        hash(b"modem", false, input(0.0)),
        hash(b"model", true, input(0.0)),
        hash(b"model", false, input(-0.0)),
        hash(b"model", false, Vec::new()),
        hash(b"model", false, vec![Vec::new(), input(0.0).remove(0)]),
    ];
    assert!(others.iter().all(|other| *other != plain));
    let text = plain.to_string();
    assert_eq!(text.parse(), Ok(plain), "{text}");
    let json = serde_json::to_string(&plain).unwrap();
    assert_eq!(json, format!("{text:?}"));
    assert_eq!(serde_json::from_str::<CaseHash>(&json).unwrap(), plain);
    let refused = serde_json::from_str::<CaseHash>(r#""5f1c""#).unwrap_err().to_string();
    assert!(refused.starts_with(r#"a case hash is 64 hexadecimal digits, not "5f1c""#), "{refused}");
}

#[test]
fn a_summary_counts_what_its_records_say() {
    let variant: Variant = "ort:cpu,opt=off".parse().unwrap();
    assert_eq!(variant.backend, BackendName::OrtCpu);
    let description = Description::new("ONNX Runtime", "1.31.1", Stage::Execute);
    let info = VariantInfo { variant: variant.clone(), description, rung_of: None };
    let mut summary = Summary::new([&info]);
    let record = |verdict, compared, findings: &[&str]| CaseRecord {
        format: JOURNAL_FORMAT,
        index: 0,
        case: Task::new(Vec::new(), Request { precision: DataType::Float, tf32: false }, Vec::new()).hash,
        provenance: None,
        variants: vec![VariantRecord {
            variant: variant.clone(),
            stage: Stage::Execute,
            verdict,
            notes: vec![Note::BoundUsed(0.5), Note::AlgorithmRounding(0.1)],
            outcome: Some(Outcome::Ok),
            compared,
            timings: Vec::new(),
        }],
        findings: findings.iter().map(|&slug| slug.to_owned()).collect(),
        masks: Vec::new(),
        reduced: Vec::new(),
        waits: false,
        open: Vec::new(),
        macs: 0,
    };
    summary.record(&record(Verdict::Conforms, true, &[]));
    summary.record(&record(Verdict::Unsupported("rule".to_owned()), false, &["a", "b"]));
    summary.record(&record(Verdict::Vacuous, false, &["a"]));
    assert_eq!((summary.cases, summary.compared), (3, 1));
    let variant = &summary.variants[0];
    assert_eq!((variant.conforms, variant.vacuous, variant.unsupported["rule"]), (1, 1, 1));
    assert_eq!((variant.algorithm_rounding, variant.stages[&Stage::Execute]), (3, 3));
    assert!((variant.bound_used - 0.5).abs() < f64::EPSILON);
    let findings: Vec<_> = summary.findings.iter().map(|count| (count.slug.as_str(), count.cases)).collect();
    assert_eq!(findings, [("a", 2), ("b", 1)]);
}

#[test]
fn masks_are_read_by_the_key_of_earlier_journals_too() {
    let guise = Guise { operators: vec!["Conv".to_owned()], ..Guise::default() };
    let mask = Mask { finding: "a".to_owned(), guise };
    let summary = Summary { masks: vec![MaskCount { mask: mask.clone(), cases: 2 }], ..Summary::default() };
    let text = serde_json::to_string(&summary).unwrap();
    assert!(text.contains(r#""masks":[{"finding":"a","operators":["Conv"],"cases":2}]"#), "{text}");
    let earlier = text.replace("masks", "veils");
    assert_eq!(serde_json::from_str::<Summary>(&earlier).unwrap(), summary);
}
