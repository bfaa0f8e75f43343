//! The tables agree with the headers that a package on crates.io carries in its source.

use std::{fs, path::Path};

use twinfer_verify_abi::{Comparison, Coverage, CrateSource, Error, Headers};

/// Headers of TensorRT-RTX 1.3 to 1.7 and of TensorRT 11.4.
const PACKAGE: &str = "trtx-sys@0.9.1";

const REGENERATE: &str = "run `cargo run -p twinfer-verify-abi -- --table docs/generated/nvinfer-calls \
                          --from-crate trtx-sys@0.9.1 > docs/generated/abi-coverage.md`";

fn comparisons() -> Result<Vec<Comparison>, Error> {
    let package: CrateSource = PACKAGE.parse().expect("a name and a version");
    let folders = package.header_folders()?;
    folders.iter().map(|folder| Comparison::new(&Headers::read(folder, Path::new("clang++"))?)).collect()
}

#[test]
fn tables_agree_with_published_headers_and_cover_every_method() {
    let comparisons = match comparisons() {
        Err(error @ (Error::ClangMissing { .. } | Error::Fetch { .. })) => {
            eprintln!("skipped: {error}");
            return;
        }
        other => other.expect("the headers can be read"),
    };
    let mut releases: Vec<_> = comparisons.iter().map(|it| it.version.to_string()).collect();
    releases.sort();
    assert_eq!(
        releases,
        [
            "TensorRT 11.4.0",
            "TensorRT-RTX 1.3.0",
            "TensorRT-RTX 1.4.0",
            "TensorRT-RTX 1.5.0",
            "TensorRT-RTX 1.6.1",
            "TensorRT-RTX 1.7.1",
        ]
    );
    for comparison in &comparisons {
        assert!(comparison.differences.is_empty(), "{comparison}");
        assert!(comparison.verified.len() > 200, "{comparison}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated");
    let coverage =
        Coverage::collect(&docs.join("nvinfer-calls"), &comparisons).expect("the call lists can be read");
    let oversights: Vec<_> = coverage.oversights().iter().map(|method| method.path).collect();
    assert_eq!(oversights, [""; 0], "releases with evidence have these methods, and nothing speaks for them");
    let table = fs::read_to_string(docs.join("abi-coverage.md")).expect("the table is in the docs");
    assert!(table == coverage.markdown(), "docs/generated/abi-coverage.md is stale: {REGENERATE}");
}
