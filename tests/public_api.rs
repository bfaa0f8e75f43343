//! The public API of the crates that others depend on is the one that was reviewed: `public-api.txt` beside each crate's manifest.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use public_api::{Builder, PublicApi};

/// A crate that others depend on, and the crates some of whose items it exports again.
struct Published {
    package: &'static str,
    folder: &'static str,
    sources: &'static [&'static str],
}

const NVINFER: Published = Published { package: "nvinfer", folder: "harness/nvinfer", sources: &[] };

const TWINFER: Published = Published {
    package: "twinfer",
    folder: "harness/facade",
    sources: &["twinfer-case", "twinfer-generators", "twinfer-onnx"],
};

#[test]
fn nvinfer_has_the_reviewed_api() {
    assert_reviewed(&NVINFER);
}

#[test]
fn twinfer_has_the_reviewed_api() {
    assert_reviewed(&TWINFER);
}

/// Compares the API of a crate with its file; `TWINFER_UPDATE_DOCS=1` writes the file.
fn assert_reviewed(published: &Published) {
    let described = match describe(published) {
        Ok(described) => described,
        // another toolchain than that of the published workflow
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let file = root().join(published.folder).join("public-api.txt");
    if env::var_os("TWINFER_UPDATE_DOCS").is_some() {
        fs::write(&file, &described).unwrap();
    }
    let reviewed = fs::read_to_string(&file).unwrap();
    let (before, now): (BTreeSet<_>, BTreeSet<_>) = (reviewed.lines().collect(), described.lines().collect());
    let removed: Vec<_> = before.difference(&now).map(|item| format!("- {item}")).collect();
    let added: Vec<_> = now.difference(&before).map(|item| format!("+ {item}")).collect();
    assert!(
        reviewed == described,
        "the public API of {} is not the one in {}: set TWINFER_UPDATE_DOCS=1, run this test again, and review the file\n{}",
        published.package,
        file.display(),
        [removed, added].concat().join("\n")
    );
}

/// The API of a crate, an item a line: its own, then that of the items that it exports again.
fn describe(published: &Published) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let own = api(published.package, folder.path())?;
    let mut lines: Vec<String> = own.items().map(ToString::to_string).collect();
    let exported: Vec<String> =
        lines.iter().filter_map(|line| line.strip_prefix("pub use ")).map(last_name).collect();
    for source in published.sources {
        let module = source.replace('-', "_");
        let paths: Vec<_> = exported.iter().map(|name| format!("{module}::{name}")).collect();
        let items = api(source, folder.path())?;
        lines.push(String::new());
        lines.extend(
            items
                .items()
                .map(ToString::to_string)
                .filter(|line| paths.iter().any(|path| concerns(line, path))),
        );
    }
    Ok(lines.join("\n") + "\n")
}

/// `Case` of `twinfer::Case`.
fn last_name(path: &str) -> String {
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// Whether a line declares an item of this path, or something of it: a field, a variant, a method, or an implementation for it.
fn concerns(line: &str, path: &str) -> bool {
    let declared = line
        .rsplit_once(" for ")
        .filter(|_| line.starts_with("impl"))
        .map_or(line, |(_, implementor)| implementor);
    let mentions = declared.match_indices(path).next();
    mentions.is_some_and(|(at, _)| {
        let (before, after) = (&declared[..at], &declared[at + path.len()..]);
        !after.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !before.contains(['(', ':'])
    })
}

/// What rustdoc says of a crate, without what every type implements. The error says why this toolchain cannot tell.
fn api(package: &str, folder: &Path) -> Result<PublicApi, String> {
    let written = rustdoc_json(package, folder);
    Builder::from_rustdoc_json(written)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| format!("public-api cannot read what this rustdoc writes: {error}"))
}

/// Has rustdoc describe the library of a package as JSON; the file.
fn rustdoc_json(package: &str, folder: &Path) -> PathBuf {
    // the flag is unstable; setting the variable for all of cargo would compile every dependency again
    let rustdoc = folder.join("rustdoc");
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755)).unwrap();
    let target = target();
    let made = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--package", package, "--target-dir"])
        .arg(&target)
        .args(["--", "-Zunstable-options", "--output-format=json"])
        .env("RUSTDOC", &rustdoc)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    target.join("doc").join(package.replace('-', "_")).with_extension("json")
}

/// The target folder that this test was built in.
fn target() -> PathBuf {
    env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
