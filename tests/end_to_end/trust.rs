//! Files that name code: nothing of what they name runs unless the user vouches for it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::twinfer;

/// A stored finding of ONNX Runtime.
const FINDING: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";

/// A folder with a copy of a finding that was seen in other variants, and with the file that their code would write.
struct Received {
    folder: tempfile::TempDir,
}

impl Received {
    /// A received finding that was seen in `variant`, and recorded there; `MARK` in it stands for the path of the mark.
    fn naming(variant: &str) -> Self {
        let received = Self { folder: tempfile::tempdir().unwrap() };
        let stored = twinfer_tests::golden().join("cases").join(FINDING);
        fs::create_dir(received.finding()).unwrap();
        for name in ["case.json", "model.onnx"] {
            fs::copy(stored.join(name), received.finding().join(name)).unwrap();
        }
        let named = format!("\"{}\"", variant.replace("MARK", text(&received.mark())));
        let copy_naming = |from: PathBuf, to: PathBuf| {
            let stored = fs::read_to_string(from).unwrap();
            let naming = stored.replace("\"ort:cpu,opt=all\"", &named).replace("\"ort:cpu\"", &named);
            assert!(naming.contains(&named), "{naming}");
            fs::write(to, naming).unwrap();
        };
        copy_naming(stored.join("finding.json"), received.finding().join("finding.json"));
        copy_naming(
            stored.with_extension("observed.json"),
            received.finding().with_extension("observed.json"),
        );
        received
    }

    fn finding(&self) -> PathBuf {
        self.folder.path().join(FINDING)
    }

    fn mark(&self) -> PathBuf {
        self.folder.path().join("mark")
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn replay_runs_no_command_that_a_recording_names() {
    let received = Received::naming("external:touch MARK");
    let outcome = twinfer(&["replay", text(&received.finding())]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(!received.mark().exists(), "{}", outcome.shown());
    assert!(outcome.stderr.contains("would run the command \"touch "), "{}", outcome.shown());
}

#[test]
fn nothing_runs_a_command_that_a_finding_names() {
    for command in ["check", "minimize"] {
        let received = Received::naming("external:touch MARK");
        let outcome = twinfer(&[command, text(&received.finding())]).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(!received.mark().exists(), "{}", outcome.shown());
        let advice = "if you trust it, name the backend with --backends";
        assert!(outcome.stderr.contains(advice), "{}", outcome.shown());
    }
}

#[test]
fn replay_loads_no_library_that_a_recording_names() {
    for variant in ["ort:cpu,lib=MARK", "trt-rtx,version=1/../../../../..MARK"] {
        let received = Received::naming(variant);
        let outcome = twinfer(&["replay", text(&received.finding())]).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains("would load code from "), "{}", outcome.shown());
    }
}

#[test]
fn replay_runs_a_recorded_command_that_is_vouched_for() {
    for vouch in ["--trust", "--backends"] {
        let received = Received::naming("external:touch MARK");
        let (finding, command) = (received.finding(), format!("external:touch {}", text(&received.mark())));
        let arguments = ["replay", text(&finding), vouch, &command];
        let given = if vouch == "--trust" { 3 } else { 4 };
        let outcome = twinfer(&arguments[..given]).run();
        // `touch` does not speak the protocol
        assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
        assert!(received.mark().exists(), "{}", outcome.shown());
    }
}

#[test]
fn fuzz_runs_no_command_that_a_configuration_names() {
    for named in [&[][..], &["--config", "twinfer.toml"]] {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let configuration = format!("backends = \"golden,external:touch {}\"", text(&mark));
        fs::write(folder.path().join("twinfer.toml"), configuration).unwrap();
        let fuzz = |arguments: &[&str]| {
            let arguments = [&["fuzz", "--cases", "1"], named, arguments].concat();
            twinfer(&arguments).within(folder.path()).run()
        };
        let refused = fuzz(&[]);
        assert_eq!(refused.code, Some(2), "{}", refused.shown());
        assert!(!mark.exists(), "{}", refused.shown());
        let trusted = fuzz(&["--trust"]);
        assert_eq!(trusted.code, Some(3), "{}", trusted.shown());
        assert!(mark.exists(), "{}", trusted.shown());
    }
}
