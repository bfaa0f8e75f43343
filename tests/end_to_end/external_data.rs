//! `check` on models whose initializers are in other files, as ONNX's own package writes them.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use twinfer_prerequisites::skip;
use twinfer_tests::Outcome;

use crate::twinfer;

/// Writes to the folder, its argument, a convolution as `model.onnx`, with all initializers in `weights.bin`, each at its own place.
const SCRIPT: &str = r#"
import sys
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
weights = numpy.arange(16 * 3 * 3 * 3, dtype=numpy.float32).reshape(16, 3, 3, 3) % 7 - 3
initializers = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(numpy.arange(16, dtype=numpy.float32), "b")]
value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
node = helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv")
graph = helper.make_graph([node], "graph", [value("x", [1, 3, 5, 5])], [value("y", [1, 16, 3, 3])], initializers)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save_model(model, sys.argv[1] + "/model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
"#;

/// Writes the model to `folder`; false if the packages for that are missing.
fn write_model(folder: &Path) -> bool {
    let written = Command::new("python3").args(["-c", SCRIPT, folder.to_str().unwrap()]).output();
    let is_written = written.is_ok_and(|output| output.status.success());
    if !is_written {
        skip("python", "python3 with onnx is needed");
    }
    is_written
}

fn check(folder: &Path) -> Outcome {
    let model = folder.join("model.onnx");
    twinfer(&["check", model.to_str().unwrap(), "--backends", "golden,ort:cpu", "--cases", "2"]).run()
}

#[test]
fn model_with_initializers_in_another_file_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    if !write_model(folder.path()) {
        return;
    }
    let outcome = check(folder.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stdout.contains("compared"), "{}", outcome.stdout);
}

/// As in the cache of Hugging Face: the model and its data are links to files of another folder.
#[test]
fn model_and_data_that_are_links_to_one_folder_are_compared() {
    let cache = tempfile::tempdir().unwrap();
    let [files, links] = ["blobs", "snapshot"].map(|name| cache.path().join(name));
    fs::create_dir(&files).unwrap();
    fs::create_dir(&links).unwrap();
    if !write_model(&files) {
        return;
    }
    for (name, hash) in [("model.onnx", "a1"), ("weights.bin", "b2")] {
        fs::rename(files.join(name), files.join(hash)).unwrap();
        symlink(Path::new("../blobs").join(hash), links.join(name)).unwrap();
    }
    let outcome = check(&links);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn file_that_is_missing_too_short_or_elsewhere_is_named() {
    let folder = tempfile::tempdir().unwrap();
    if !write_model(folder.path()) {
        return;
    }
    let weights = folder.path().join("weights.bin");
    let refused = |reason: &str| {
        let outcome = check(folder.path());
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(
            outcome.stderr.contains("weights.bin") && outcome.stderr.contains(reason),
            "{}",
            outcome.stderr
        );
    };
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() - 1]).unwrap();
    refused("too short");
    fs::remove_file(&weights).unwrap();
    refused("No such file");
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), &bytes).unwrap();
    symlink(elsewhere.path(), &weights).unwrap();
    refused("it leads out of its folder");
}
