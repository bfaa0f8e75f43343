//! `check --inputs` runs a model on inputs of the user's own.

use std::{fs, path::Path};

use tempfile::TempDir;
use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, ValueInfo};
use twinfer_tests::Outcome;

use crate::{culprit::adapter, twinfer};

const NUMBERS: [f64; 3] = [0.5, -2.0, 3.25];

fn tensor(shape: &[usize], numbers: &[f64]) -> Tensor {
    Tensor::from_f64(DataType::Float, shape.to_vec(), numbers).unwrap()
}

/// A convolution that copies its input, of symbolic width.
fn model() -> TempDir {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(1), Dim::Fixed(1), Dim::Symbolic("W".to_owned())]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: vec![Initializer { name: "w".to_owned(), tensor: tensor(&[1, 1, 1], &[1.0]) }],
        nodes: vec![Node {
            name: "conv".to_owned(),
            op: Op::Conv(Conv::default()),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), graph.encode()).unwrap();
    folder
}

/// An array as `NumPy` saves it.
fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let elements = numbers.iter().flat_map(|number| (*number as f32).to_le_bytes());
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes()].concat().into_iter().chain(elements).collect()
}

fn check(model: &TempDir, backends: &str, inputs: &[&Path], more: &[&str]) -> Outcome {
    let path = model.path().join("model.onnx");
    let mut arguments = vec!["check", path.to_str().unwrap(), "--backends", backends];
    for input in inputs {
        arguments.extend(["--inputs", input.to_str().unwrap()]);
    }
    arguments.extend(more);
    twinfer(&arguments).run()
}

#[test]
fn finding_has_the_inputs_of_the_user() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug negated") else { return };
    let model = model();
    let (file, set) = (model.path().join("x.npy"), model.path().join("test_data_set_0"));
    fs::write(&file, npy("(1, 1, 3)", &NUMBERS)).unwrap();
    fs::create_dir(&set).unwrap();
    fs::write(set.join("input_0.pb"), tensor(&[1, 1, 3], &NUMBERS).encode_proto("x")).unwrap();
    for (number, inputs) in [file.as_path(), &set, model.path()].into_iter().enumerate() {
        let out = model.path().join(format!("run{number}"));
        let outcome =
            check(&model, &format!("golden,{backend}"), &[inputs], &["--out", out.to_str().unwrap()]);
        assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
        assert!(outcome.stdout.contains("\n1 case in "), "{}", outcome.shown());
        let mut entries = fs::read_dir(out.join("findings")).unwrap().map(|entry| entry.unwrap().path());
        let finding = entries.find(|entry| entry.is_dir()).unwrap();
        let stored = fs::read(finding.join("test_data_set_0/input_0.pb")).unwrap();
        assert_eq!(Tensor::decode_proto(&stored).unwrap(), tensor(&[1, 1, 3], &NUMBERS));
    }
}

#[test]
fn every_path_is_a_case() {
    let model = model();
    let [one, other] = ["one.npy", "other.npy"].map(|name| model.path().join(name));
    fs::write(&one, npy("(1, 1, 3)", &NUMBERS)).unwrap();
    fs::write(&other, npy("(1, 1, 2)", &NUMBERS[..2])).unwrap();
    let outcome = check(&model, "golden,ort:cpu", &[&one, &other], &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stdout.contains("\n2 cases in "), "{}", outcome.shown());
    assert!(!outcome.stderr.contains("symbolic dimensions"), "{}", outcome.shown());
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let model = model();
    let file = model.path().join("x.npy");
    fs::write(&file, npy("(1, 2, 3)", &[0.0; 6])).unwrap();
    let refused = |inputs: &Path, more: &[&str], reason: &str| {
        let outcome = check(&model, "golden,ort:cpu", &[inputs], more);
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains(reason), "{reason}: {}", outcome.shown());
    };
    refused(&file, &[], r#""x" has the shape [1, 2, 3], but the model declares [1, 1, W]"#);
    refused(Path::new("absent.npz"), &[], "the inputs in absent.npz: there is no such file or folder");
    refused(&file, &["--cases", "3"], "cannot be used with");
}

/// What runs is the case; somebody may take the model beside it for the case, and edit it.
#[test]
fn edited_model_of_a_case_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let cases = folder.path().join("cases");
    let drawn = ["generate", "--family", "conv", "--cases", "1", "--seed", "3", "--out"];
    twinfer(&[&drawn[..], &[cases.to_str().unwrap()]].concat()).run();
    let case = cases.join("conv-3-0");
    let check = || twinfer(&["check", case.to_str().unwrap(), "--backends", "golden,ort:cpu"]).run();
    let warning = "model.onnx is not the model of the case in its folder, which is what runs";
    let unchanged = check();
    assert!(!unchanged.stderr.contains(warning), "{}", unchanged.shown());
    fs::copy(model().path().join("model.onnx"), case.join("model.onnx")).unwrap();
    let edited = check();
    assert!(edited.stderr.contains(warning) && edited.code == Some(0), "{}", edited.shown());
}
