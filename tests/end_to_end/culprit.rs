//! `check` names the node whose output is wrong.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use twinfer_case::{Finding, RepeatedOutcome};
use twinfer_onnx::{
    Conv, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op, QuantizeLinear, Tensor, TensorData,
    ValueInfo,
};
use twinfer_prerequisites::has_python_with;
use twinfer_tests::Outcome;

use crate::{
    graphs::{image, initializer, make_relu_unknown, node, stored},
    twinfer,
};

const CHANNELS: usize = 3;

/// A model of eight convolutions, each with the activation `relu`, which is written as the operator `activation`.
fn chain(activation: &str) -> TempDir {
    chain_of(8, activation)
}

/// A model so deep that little is known of its outputs.
fn long_chain() -> TempDir {
    chain_of(14, "Relu")
}

fn chain_of(links: usize, activation: &str) -> TempDir {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some([1, CHANNELS, 5, 5].map(Dim::Fixed).to_vec()),
    };
    let constant = |name: String, shape: Vec<usize>, phase: usize| {
        let values = (0..shape.iter().product())
            .map(|place: usize| ((place * 37 + phase * 11) % 64) as f32 / 64.0 - 0.47);
        Initializer { name, tensor: Tensor { data: TensorData::Float(values.collect()), shape } }
    };
    let mut graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: Vec::new(),
        outputs: vec![value(&format!("relu{}_out", links - 1))],
    };
    let mut last = "x".to_owned();
    for link in 0..links {
        let (weights, bias) = (format!("w{link}"), format!("b{link}"));
        graph.initializers.push(constant(weights.clone(), vec![CHANNELS, CHANNELS, 3, 3], link));
        graph.initializers.push(constant(bias.clone(), vec![CHANNELS], link));
        let mut push = |name: String, op: Op, others: Vec<String>| {
            let output = format!("{name}_out");
            let inputs = std::iter::once(last.clone()).chain(others).collect();
            graph.nodes.push(Node { name, op, inputs, outputs: vec![output.clone()] });
            last = output;
        };
        let conv = Conv { pads: Some(vec![1, 1, 1, 1]), ..Conv::default() };
        push(format!("conv{link}"), Op::Conv(conv), vec![weights, bias]);
        push(format!("relu{link}"), Op::Relu, Vec::new());
    }
    let mut bytes = graph.encode();
    while let Some(place) = bytes.windows(4).position(|word| word == b"Relu") {
        if activation == "Relu" {
            break;
        }
        bytes[place..place + 4].copy_from_slice(activation.as_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), bytes).unwrap();
    folder
}

fn check(model: &TempDir, backend: &str) -> Outcome {
    check_knowing(model, backend, &[])
}

fn check_knowing(model: &TempDir, backend: &str, known: &[&str]) -> Outcome {
    let (path, out) = (model.path().join("model.onnx"), model.path().join("run"));
    let backends = format!("golden,{backend}");
    let arguments = ["--backends", &backends, "--cases", "2", "--out", out.to_str().unwrap()];
    twinfer(&[&["check", path.to_str().unwrap()][..], &arguments, known].concat()).run()
}

/// The adapter `script` with these arguments; `None` if there is no Python that has what it needs.
pub fn adapter(script: &str, arguments: &str) -> Option<String> {
    if !has_python_with("numpy, onnx, onnxruntime") {
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters").join(script);
    Some(format!("external:python3 {} {arguments}", script.display()))
}

/// ONNX Runtime with a bug in the node `conv3`.
fn buggy() -> Option<String> {
    adapter("mutated_adapter.py", "--bug bias-dropped --node conv3")
}

fn names_the_culprit(model: &TempDir) {
    let Some(backend) = buggy() else { return };
    let outcome = check(model, &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let named = r#"culprit: node "conv3" (Conv); from "relu2_out" to "conv3_out""#;
    assert!(outcome.stdout.contains(named), "{}", outcome.stdout);
    let findings = fs::read_dir(model.path().join("run/findings")).unwrap();
    let mut files = findings.map(|entry| entry.unwrap().path().join("finding.json"));
    let text = fs::read_to_string(files.find(|file| file.is_file()).unwrap()).unwrap();
    assert!(text.contains(r#""name": "conv3""#), "{text}");
    let finding: Finding = serde_json::from_str(&text).unwrap();
    assert_eq!(finding.outcomes.iter().map(RepeatedOutcome::total).sum::<u32>(), 10, "{text}");
}

#[test]
fn wrong_node_of_a_chain_is_named() {
    names_the_culprit(&chain("Relu"));
}

#[test]
fn wrong_node_among_unknown_operators_is_named() {
    names_the_culprit(&chain("Tanh"));
}

/// A backend that is wrong at every convolution.
#[test]
fn wrong_nodes_behind_the_culprit_are_listed() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug bias-dropped") else { return };
    for activation in ["Relu", "Tanh"] {
        let model = chain(activation);
        let outcome = check(&model, &backend);
        assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
        let path = model.path().join("model.onnx").display().to_string();
        let behind = match activation {
            "Relu" => r#"also wrong: "conv1" (Conv) + "relu1" (Relu); "conv2" (Conv) + "relu2" (Relu); "#,
            _ => r#"also wrong: "conv1" (Conv); "conv2" (Conv); "#,
        };
        for words in [r#"culprit: node "conv0" (Conv)"#, behind, "; and 2 more", &format!("{path} · ")] {
            assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
        }
    }
}

/// Mistakes of different kinds in one model are findings of their own.
#[test]
fn each_mistake_of_a_model_is_a_finding() {
    let bugs = "--bug bias-dropped@conv1+kernel-reversed@conv4+bias-dropped@conv6";
    let Some(backend) = adapter("mutated_adapter.py", bugs) else { return };
    let outcome = check(&chain("Relu"), &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in [
        "2 bugs worth a look",
        r#"culprit: node "conv1" (Conv)"#,
        r#"also wrong: "conv4" (Conv) + "relu4" (Relu); "conv6" (Conv) + "relu6" (Relu)"#,
        "the bias is not added",
        r#"culprit: nodes "conv4" (Conv), "relu4" (Relu)"#,
        "the kernel is applied in reverse",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    assert_eq!(outcome.stdout.matches("\nnew   ").count(), 2, "{}", outcome.stdout);
}

/// In one of the cases, the first wrong node is wrong only inside the model. What is wrong behind it for another reason is found in both.
#[test]
fn mistake_behind_one_inside_the_model_is_a_finding() {
    let bugs = "--fewest-nodes 8 --bug one-element-doubled@conv1+bias-dropped@conv5";
    let Some(backend) = adapter("mutated_adapter.py", bugs) else { return };
    let outcome = check(&chain("Relu"), &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("only inside this model"), "{}", outcome.stdout);
    let mut found = outcome.stdout.lines().filter(|line| line.starts_with("new   "));
    let dropped = found.find(|line| line.contains("-bias-dropped-")).unwrap_or_default();
    assert!(dropped.ends_with(" 2 cases"), "{}", outcome.stdout);
}

/// Two mistakes may both be wrong only inside the model. That one of them is known hides the other neither in the model nor in its case.
#[test]
fn known_mistake_inside_the_model_hides_no_other_there() {
    let model = long_chain();
    let known = model.path().join("known").display().to_string();
    let inside = |bugs: &str| with_bugs(&model, &format!("{bugs} --all --fewest-nodes 8"));
    let Some(backend) = inside("bias-dropped@conv1") else { return };
    assert_eq!(check(&model, &backend).code, Some(1));
    for folder in findings_in(&model.path().join("run/findings")) {
        let adopted = twinfer(&["adopt", folder.to_str().unwrap(), "--to", &known]).run();
        assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
    }
    for (bugs, code) in [
        ("bias-dropped@conv1", 0),
        ("bias-dropped@conv1+negated@conv4", 1),
        ("bias-dropped@conv1+kernel-reversed@conv8", 1),
    ] {
        let backend = inside(bugs).unwrap();
        fs::remove_dir_all(model.path().join("run")).unwrap();
        let outcome = check_knowing(&model, &backend, &["--known", &known]);
        assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
    }
    let folder = findings_in(Path::new(&known)).remove(0);
    for (bugs, code) in [("bias-dropped@conv1", 0), ("kernel-reversed@conv8", 1), ("negated@conv8", 1)] {
        let backends = format!("golden,{}", inside(bugs).unwrap());
        let outcome = twinfer(&["check", folder.to_str().unwrap(), "--backends", &backends]).run();
        assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
    }
}

/// With the inputs of `minimize`, those of `check`, the first wrong convolution explains the outputs of a model of which several are wrong.
#[test]
fn model_with_several_wrong_nodes_is_minimized_to_one() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug bias-dropped") else { return };
    let model = chain("Relu");
    let (path, out) = (model.path().join("model.onnx"), model.path().join("minimal"));
    let backends = format!("golden,{backend}");
    let arguments = ["--backends", &backends, "--out", out.to_str().unwrap()];
    let outcome = twinfer(&[&["minimize", path.to_str().unwrap()][..], &arguments].concat()).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in ["(nodes: 16 → 1)", "because: output equals golden if the bias is not added"] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains("note: "), "{}", outcome.stdout);
}

/// What no mutant explains is shown by the wrong node alone, and experiments do not evaluate the rest of the model.
#[test]
fn unexplained_error_is_a_case_of_the_wrong_node() {
    let Some(backend) = adapter("planted_adapter.py", "--error changed-weight --output conv3_out") else {
        return;
    };
    let outcome = check(&chain("Relu"), &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in [
        r#"culprit: node "conv3" (Conv)"#,
        "because: unexplained",
        "      Conv(pads=[1,1,1,1]) relu2_out",
        "1 node,",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
}

/// A backend with a name that does not say which bugs it has.
pub fn with_bugs(model: &TempDir, bugs: &str) -> Option<String> {
    let worker = adapter("mutated_adapter.py", &format!("--bug {bugs}"))?;
    let script = model.path().join("worker.sh");
    fs::write(&script, format!("exec {}\n", worker.trim_start_matches("external:"))).unwrap();
    Some(format!("external:sh {}", script.display()))
}

/// A finding that nothing explains is known at its nodes, with errors of the size known there. At another node it is new, until it is adopted too.
#[test]
fn unexplained_error_is_known_at_its_node_only() {
    for activation in ["Relu", "Tanh"] {
        let model = chain(activation);
        let known = model.path().join("known").display().to_string();
        let checked = |bugs: &str| {
            let backend = with_bugs(&model, bugs)?;
            _ = fs::remove_dir_all(model.path().join("run"));
            Some(check_knowing(&model, &backend, &["--known", &known]))
        };
        let adopt = || {
            let findings = fs::read_dir(model.path().join("run/findings")).unwrap();
            let folders = findings.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
            for folder in folders {
                let outcome = twinfer(&["adopt", folder.to_str().unwrap(), "--to", &known]).run();
                assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
            }
        };
        fs::create_dir(&known).unwrap();
        let (one, both) = ("negated@conv1", "negated@conv1+one-percent-more@conv5");
        let Some(first) = checked(one) else { return };
        assert_eq!(first.code, Some(1), "{}", first.shown());
        adopt();
        let again = checked(one).unwrap();
        assert_eq!(again.code, Some(0), "{}", again.shown());
        assert!(again.stdout.contains("\nknown external"), "{}", again.shown());
        let other = checked(both).unwrap();
        assert_eq!(other.code, Some(1), "{}", other.shown());
        assert!(
            other.stderr.contains(r#"resembles a known finding, but shows at other nodes: "conv5""#),
            "{}",
            other.shown()
        );
        adopt();
        let all = checked(both).unwrap();
        assert_eq!(all.code, Some(0), "{}", all.shown());
        let larger = checked("negated@conv1+last-position-zero@conv5").unwrap();
        assert_eq!(larger.code, Some(1), "{}", larger.shown());
        let words = r#"resembles a known finding, but its error is much larger at these nodes: "conv5""#;
        assert!(larger.stderr.contains(words), "{}", larger.shown());
    }
}

#[test]
fn both_wrong_nodes_of_a_segment_are_named() {
    let bugs = "--bug negated@conv3+relu-dropped@relu3";
    let Some(backend) = adapter("mutated_adapter.py", bugs) else { return };
    let outcome = check(&chain("Relu"), &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in [r#"culprit: node "conv3" (Conv)"#, "also wrong: \"relu3\" (Relu)\n"] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.shown());
    }
}

/// A known bug of all convolutions explains neither the errors of another one nor those of both together.
#[test]
fn explained_bug_hides_no_other() {
    for (activation, inside) in [("Relu", ""), ("Tanh", ""), ("Tanh", " --all --fewest-nodes 8")] {
        let model = chain(activation);
        let known = model.path().join("known").display().to_string();
        let with_bugs = |bugs: &str| with_bugs(&model, &format!("{bugs}{inside}"));
        let Some(backend) = with_bugs("bias-dropped") else { return };
        assert_eq!(check(&model, &backend).code, Some(1));
        fs::rename(model.path().join("run/findings"), &known).unwrap();
        // in a model with other operators, only the first wrong node is found if no node is wrong by itself
        let second =
            if inside.is_empty() { "bias-dropped+negated@conv4" } else { "bias-dropped+negated@conv0" };
        for (bugs, code) in [("bias-dropped", 0), ("bias-doubled", 1), (second, 1)] {
            let backend = with_bugs(bugs).unwrap();
            fs::remove_dir_all(model.path().join("run")).unwrap();
            let outcome = check_knowing(&model, &backend, &["--known", &known]);
            assert_eq!(outcome.code, Some(code), "{activation}{inside} {bugs}: {}", outcome.shown());
        }
    }
}

/// Every node that is wrong has a known bug, which is not all that is wrong at one of them inside the model.
#[test]
fn known_bug_hides_no_other_at_the_same_node() {
    // in a model with other operators, the first wrong node tells
    for (activation, node) in [("Relu", "conv4"), ("Tanh", "conv0")] {
        let model = chain(activation);
        let known = model.path().join("known").display().to_string();
        let Some(backend) = with_bugs(&model, "bias-dropped") else { return };
        assert_eq!(check(&model, &backend).code, Some(1));
        fs::rename(model.path().join("run/findings"), &known).unwrap();
        let second = format!("negated@{node}+bias-dropped --fewest-nodes 8");
        for (bugs, code) in [("bias-dropped", 0), (second.as_str(), 1)] {
            let backend = with_bugs(&model, bugs).unwrap();
            _ = fs::remove_dir_all(model.path().join("run"));
            let outcome = check_knowing(&model, &backend, &["--known", &known]);
            assert_eq!(outcome.code, Some(code), "{activation} {bugs}: {}", outcome.shown());
        }
    }
}

/// Both bugs are in the first wrong segment, a convolution with its activation, whether or not the backend returns the values between segments.
#[test]
fn known_bug_hides_no_other_in_its_segment() {
    for inside in ["", " --outputs-only"] {
        let model = chain("Relu");
        let known = model.path().join("known").display().to_string();
        let Some(backend) = with_bugs(&model, &format!("bias-dropped{inside}")) else { return };
        assert_eq!(check(&model, &backend).code, Some(1));
        fs::rename(model.path().join("run/findings"), &known).unwrap();
        for (bugs, code) in [("bias-dropped@conv1", 0), ("bias-dropped@conv1+relu-dropped@relu1", 1)] {
            let backend = with_bugs(&model, &format!("{bugs}{inside}")).unwrap();
            _ = fs::remove_dir_all(model.path().join("run"));
            let outcome = check_knowing(&model, &backend, &["--known", &known]);
            assert_eq!(outcome.code, Some(code), "{inside} {bugs}: {}", outcome.shown());
        }
    }
}

/// Another variant differs from the one with the wrong node. That is no finding, and does not
/// compare the nodes that golden does not support.
#[test]
fn variant_that_differs_from_a_wrong_one_is_no_finding() {
    let model = chain("Tanh");
    let Some(backend) = with_bugs(&model, "negated@conv3") else { return };
    let outcome = check(&model, &format!("{backend},ort:cpu"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert_eq!(outcome.stdout.matches("\nnew   ").count(), 1, "{}", outcome.shown());
    let row = outcome.stdout.lines().find(|line| line.trim_start().starts_with("ort:cpu  "));
    let cells: Vec<_> = row.unwrap_or_default().split_whitespace().collect();
    let (executed, conforms, diverges) = ("2", "2", "-");
    assert_eq!(cells[..4], ["ort:cpu", executed, conforms, diverges], "{}", outcome.shown());
}

/// Outputs of which little is known do not show an error that only the whole model has. The model with the wrong value as an output does, and is a
/// finding as any other.
#[test]
fn error_inside_the_whole_model_only_is_a_finding() {
    let model = chain("Relu");
    let known = model.path().join("known").display().to_string();
    let inside = |bug: &str| with_bugs(&model, &format!("{bug} --fewest-nodes 8"));
    let Some(backend) = inside("one-element-doubled@conv1") else { return };
    let outcome = check(&model, &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in [
        "1 new finding\n",
        "wrong-values: output 1: 1 of 75 elements differ",
        r#"culprit: node "conv1" (Conv); from "relu0_out" to "conv1_out"; only inside this model"#,
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.shown());
    }
    let [folder, finding] = only_finding(&model);
    assert!(!finding.contains("only_inside"), "{finding}");
    let adopted = twinfer(&["adopt", &folder, "--to", &known]).run();
    assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
    for (bug, code) in [("one-element-doubled@conv1", 0), ("one-element-doubled@conv2", 1)] {
        let backend = inside(bug).unwrap();
        fs::remove_dir_all(model.path().join("run")).unwrap();
        let outcome = check_knowing(&model, &backend, &["--known", &known]);
        assert_eq!(outcome.code, Some(code), "{bug}: {}", outcome.shown());
    }
    let backends = format!("golden,{}", inside("one-element-doubled@conv1").unwrap());
    let adopted = findings_in(Path::new(&known)).remove(0);
    let out = |name: &str| model.path().join(name).display().to_string();
    run_all(
        adopted.to_str().unwrap(),
        [
            (vec!["check", "--backends", &backends], 0, "1 known finding"),
            (vec!["minimize", "--backends", &backends, "--out", &out("minimal")], 1, "(nodes: 16 → 8)"),
            (vec!["repro", "--out", &out("repro")], 0, "written to"),
        ],
    );
}

/// If no output shows an error inside the model, whose bounds are wider there, the finding keeps the model.
#[test]
fn error_that_no_output_shows_is_a_finding() {
    let model = chain("Relu");
    let Some(backend) = with_bugs(&model, "sums-in-half@conv6 --fewest-nodes 8") else { return };
    let outcome = check(&model, &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for words in ["1 new finding\n", r#"value "conv6_out": "#, "only inside this model"] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.shown());
    }
    let [folder, text] = only_finding(&model);
    let finding: Finding = serde_json::from_str(&text).unwrap();
    assert!(finding.only_inside, "{text}");
    assert_eq!(finding.outcomes.iter().map(RepeatedOutcome::total).sum::<u32>(), 10, "{text}");
    let (backends, out) = (format!("golden,{backend}"), model.path().join("out").display().to_string());
    run_all(
        &folder,
        [
            (vec!["check", "--backends", &backends], 0, "1 known finding"),
            (vec!["explain", "--backends", &backends], 0, "it shows only inside the whole model"),
            (vec!["minimize", "--backends", &backends, "--out", &out], 1, "diverges only inside this model"),
            (vec!["repro", "--out", &out], 2, "the outputs of its model do not show"),
        ],
    );
    listed_issue_is_looked_for_inside(&model, Path::new(&folder));
}

/// A campaign that does not show a listed issue runs the model of its finding, and judges the values inside.
fn listed_issue_is_looked_for_inside(model: &TempDir, finding: &Path) {
    let path = |name: &str| model.path().join(name).display().to_string();
    let name = finding.file_name().unwrap().display();
    let issue = format!("[[known]]\nfinding = \"{name}\"\nreason = \"on purpose\"\n");
    fs::write(path("twinfer.toml"), issue).unwrap();
    let known = finding.parent().unwrap().to_str().unwrap();
    for (bug, state) in [("sums-in-half@conv6", "known"), ("sums-in-half@conv99", "fixed")] {
        let backends = format!("golden,{}", with_bugs(model, &format!("{bug} --fewest-nodes 8")).unwrap());
        let (config, out) = (path("twinfer.toml"), path(bug));
        let campaign = ["fuzz", "--family", "conv", "--cases", "4", "--config", &config, "--out", &out];
        let outcome = twinfer(&[&campaign[..], &["--backends", &backends, "--known", known]].concat()).run();
        assert_eq!(outcome.code, Some(0), "{bug}: {}", outcome.shown());
        assert!(outcome.stdout.contains(&format!("{state:<9} {name}")), "{bug}: {}", outcome.shown());
    }
}

/// Runs commands on the finding in `folder`, which must end with these exit codes and print these words.
fn run_all<'a>(folder: &str, commands: impl IntoIterator<Item = (Vec<&'a str>, i32, &'a str)>) {
    for (command, code, words) in commands {
        let outcome = twinfer(&[&command[..1], &[folder], &command[1..]].concat()).run();
        assert_eq!(outcome.code, Some(code), "{command:?}: {}", outcome.shown());
        assert!(outcome.shown().contains(words), "{command:?}: {}", outcome.shown());
    }
}

/// The folder and the text of the only finding of the last check.
fn only_finding(model: &TempDir) -> [String; 2] {
    let found = findings_in(&model.path().join("run/findings"));
    let [folder] = found.as_slice() else { panic!("{found:?}") };
    [folder.display().to_string(), fs::read_to_string(folder.join("finding.json")).unwrap()]
}

/// A generated model may be wrong only inside, too. Later runs know its finding.
#[test]
fn error_inside_a_generated_model_only_is_a_finding() {
    let Some(backend) = adapter("mutated_adapter.py", "--fewest-nodes 4 --bug one-element-doubled") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (backends, known) = (format!("golden,{backend}"), path("first/findings"));
    let fuzz = |out: &str, more: &[&str]| {
        let cases = ["--family", "block", "--seed", "2", "--cases", "8", "--no-minimize"];
        twinfer(&[&["fuzz", "--backends", &backends, "--out", &path(out)][..], &cases, more].concat()).run()
    };
    let first = fuzz("first", &[]);
    assert_eq!(first.code, Some(1), "{}", first.shown());
    assert!(!first.stdout.contains("not investigated"), "{}", first.shown());
    let texts = findings_in(Path::new(&known)).into_iter();
    let mut texts = texts.map(|folder| fs::read_to_string(folder.join("finding.json")).unwrap());
    assert!(texts.any(|text| text.contains(r#""shown": "in-place""#)), "{}", first.shown());
    let again = fuzz("again", &["--known", &known]);
    assert_eq!(again.code, Some(0), "{}", again.shown());
    assert!(again.stdout.contains("known findings\n"), "{}", again.shown());
}

/// The folders of the findings in a folder of them.
fn findings_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("finding.json").is_file()).collect()
}

#[test]
fn chain_conforms_segment_by_segment() {
    let outcome = check(&chain("Relu"), "ort:cpu");
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stdout.contains("segments: 16 in 2 cases, each judged by itself"), "{}", outcome.stdout);
}

#[test]
fn unknown_operators_are_listed_as_not_judged() {
    let outcome = check(&chain("Tanh"), "ort:cpu");
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    for line in [
        "segments: 16 in 2 cases, each judged by itself",
        "nodes not compared with the reference: golden does not support Tanh: 16",
    ] {
        assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    }
}

/// No value lies between nodes that golden supports.
#[test]
fn output_that_an_unknown_operator_reads_is_judged() {
    let constant = |name, shape: &[usize], number| initializer(name, shape, TensorData::Float(vec![number]));
    let model = stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![constant("w", &[1, 1, 1, 1], 1.5), constant("b", &[1], 0.25)],
        nodes: vec![
            node("conv", Op::Conv(Conv::default()), &["x", "w", "b"]),
            node("tanh", Op::Relu, &["conv_out"]),
        ],
        outputs: vec![image("conv_out"), image("tanh_out")],
    });
    make_relu_unknown(&model);
    let Some(buggy) = adapter("mutated_adapter.py", "--bug bias-dropped") else { return };
    for (backend, code) in [("ort:cpu", 0), (buggy.as_str(), 1)] {
        let outcome = check(&model, backend);
        assert_eq!(outcome.code, Some(code), "{backend}: {}", outcome.shown());
        _ = fs::remove_dir_all(model.path().join("run"));
    }
}

#[test]
fn incomplete_comparison_fails_where_a_complete_one_is_required() {
    for (activation, backends, code) in
        [("Relu", "ort:cpu", 0), ("Tanh", "ort:cpu", 4), ("Tanh", "ort:cpu,opt=off,ort:cpu,opt=all", 0)]
    {
        let outcome =
            check_knowing(&chain(activation), backends, &["--require-complete", "--format", "junit"]);
        assert_eq!(outcome.code, Some(code), "{activation} {backends}: {}", outcome.shown());
        let fails = outcome.stdout.contains("<failure");
        assert_eq!(fails, code == 4, "{activation} {backends}: {}", outcome.shown());
    }
    let outcome = check_knowing(&with_scale_of_0(), "ort:cpu", &["--require-complete"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    assert!(
        outcome.stderr.contains("some output elements were not checked on ort:cpu"),
        "{}",
        outcome.shown()
    );
    let outcome = check_knowing(&chain("Relu"), "ort:cpu,trt-rtx", &["--require-complete"]);
    let code = if outcome.stdout.contains("built, not executed") { 4 } else { 0 };
    assert_eq!(outcome.code, Some(code), "{}", outcome.shown());
}

#[test]
fn one_configuration_named_twice_is_no_comparison() {
    for (activation, backends) in [("Relu", "ort:cpu,ort:cpu,opt=all"), ("Tanh", "ort:cpu,ort:cpu,opt=all")] {
        let outcome = check_knowing(&chain(activation), backends, &[]);
        assert_eq!(outcome.code, Some(2), "{activation}: {}", outcome.shown());
        let same = "ort:cpu and ort:cpu,opt=all are the same configuration";
        assert!(outcome.stderr.contains(same), "{activation}: {}", outcome.shown());
    }
}

#[test]
fn what_onnx_leaves_open_is_said_first_in_every_format() {
    let open = "some output elements were not checked";
    let outcome = check_knowing(&with_scale_of_0(), "ort:cpu", &[]);
    assert!(outcome.code == Some(0) && outcome.stdout.starts_with(open), "{}", outcome.shown());
    let outcome = check_knowing(&with_scale_of_0(), "ort:cpu", &["--format", "junit"]);
    assert!(outcome.stdout.contains(&format!("<skipped message=\"{open}")), "{}", outcome.shown());
    let outcome = check_knowing(&with_scale_of_0(), "ort:cpu", &["--require-complete", "--quiet"]);
    assert!(outcome.code == Some(4) && outcome.stderr.contains(open), "{}", outcome.shown());
}

/// A quantizer with two channels, of which one has a scale of 0, so that ONNX leaves its values open.
fn with_scale_of_0() -> TempDir {
    let of_two_channels = |name: &str, dtype| ValueInfo::over_runs(name, dtype, &[&[1, 2, 4, 4]]).unwrap();
    stored(&Graph {
        opset: 17,
        inputs: vec![of_two_channels("x", DataType::Float)],
        initializers: vec![
            initializer("scale", &[2], TensorData::Float(vec![0.5, 0.0])),
            initializer("zero", &[2], TensorData::Int8(vec![0, 0])),
        ],
        nodes: vec![node("quantize", Op::QuantizeLinear(QuantizeLinear::default()), &["x", "scale", "zero"])],
        outputs: vec![of_two_channels("quantize_out", DataType::Int8)],
    })
}

/// A convolution of the input with weights that are dequantized.
fn with_dequantized_weights() -> TempDir {
    let conv = Conv { pads: Some(vec![1, 1, 1, 1]), ..Conv::default() };
    stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![
            initializer("w", &[1, 1, 3, 3], TensorData::Int8((1..=9).collect())),
            initializer("scale", &[], TensorData::Float(vec![0.5])),
        ],
        nodes: vec![
            node("dequantize", Op::DequantizeLinear(DequantizeLinear::default()), &["w", "scale"]),
            node("conv", Op::Conv(conv), &["x", "dequantize_out"]),
        ],
        outputs: vec![image("conv_out")],
    })
}

#[test]
fn error_planted_behind_a_quantizer_is_named() {
    let arguments = "--error flipped-kernel --output conv_out";
    let Some(backend) = adapter("planted_adapter.py", arguments) else { return };
    let outcome = check(&with_dequantized_weights(), &backend);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("divergences: wrong-values 2"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("the kernel is applied in reverse"), "{}", outcome.stdout);
}
