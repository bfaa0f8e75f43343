//! The places that may contain `unsafe`.

use std::{fs, path::Path, process::Command};

use proc_macro2::{TokenStream, TokenTree};

/// Files and folders of the workspace that may contain `unsafe`: the bindings of TensorRT, CUDA memory, and the driver cache.
const PERMITTED: &[&str] =
    &["harness/nvinfer/", "harness/backend/src/trt/device.rs", "harness/driver-cache/"];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every Rust file that git knows or could add, tests and fuzz targets included, by its path in the workspace.
fn rust_files() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.rs"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    String::from_utf8(git.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Whether the keyword `unsafe` stands anywhere in the code, also in macros and attributes. Comments and texts do not count.
fn has_unsafe(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_unsafe(group.stream()),
        TokenTree::Ident(ident) => ident == "unsafe",
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn is_permitted(file: &str) -> bool {
    PERMITTED.iter().any(|permitted| file.starts_with(permitted))
}

#[test]
fn only_permitted_places_contain_unsafe() {
    let files = rust_files();
    assert!(files.len() > 300, "git lists {} Rust files only", files.len());
    let contains_unsafe = |file: &&String| {
        let path = workspace().join(file);
        // a file that git still lists may have been removed
        let Ok(text) = fs::read_to_string(&path) else { return false };
        has_unsafe(text.parse().unwrap_or_else(|error| panic!("{file}: {error}")))
    };
    let found: Vec<_> = files.iter().filter(|file| !is_permitted(file)).filter(contains_unsafe).collect();
    assert!(found.is_empty(), "`unsafe` is permitted in {PERMITTED:?} only, and is also in {found:?}");
}

#[test]
fn unsafe_is_found_in_code_macros_and_attributes() {
    let found = |text: &str| has_unsafe(text.parse().unwrap());
    assert!(found("fn f() { unsafe { g() } }"));
    assert!(found("m! { unsafe fn f(); }"));
    assert!(found("#[unsafe(no_mangle)] fn f() {}"));
    assert!(!found("/// unsafe\nfn f() { g(\"unsafe\", unsafe_code) }"));
}
