//! Libraries that cannot be loaded.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nvinfer::Library;
use tempfile::TempDir;

use crate::process::in_own_process;

/// A library that reports TensorRT-RTX 1.7.1 and can do nothing else.
const WITHOUT_BUILDER: &str = "int getInferLibVersion(void) { return 10701; }";

#[test]
fn folder_without_tensorrt_is_not_found_with_an_install_hint() {
    in_own_process(|| {
        let folder = TempDir::new()?;
        let error = failure(folder.path());
        assert!(matches!(error, nvinfer::Error::NotFound { .. }), "{error:?}");
        assert_names(&error, folder.path(), "pip download");
        Ok(())
    });
}

#[test]
fn file_that_is_no_library_cannot_be_loaded() {
    in_own_process(|| {
        let folder = TempDir::new()?;
        let path = folder.path().join("libnvinfer.so.8");
        fs::write(&path, "no library")?;
        let error = failure(&path);
        assert!(matches!(error, nvinfer::Error::Load { .. }), "{error:?}");
        assert_names(&error, &path, "LD_LIBRARY_PATH");
        Ok(())
    });
}

#[test]
fn library_of_another_kind_is_refused() {
    in_own_process(|| {
        let (_folder, path) = compile("libnvinfer.so.10", "int something_else(void) { return 1; }")?;
        let error = failure(&path);
        assert!(matches!(error, nvinfer::Error::WrongKind { .. }), "{error:?}");
        assert_names(&error, &path, "is not a TensorRT library");
        Ok(())
    });
}

#[test]
fn unknown_major_version_is_refused_before_any_call() {
    in_own_process(|| {
        let source = "int getInferLibVersion(void) { return 120000; }";
        let (_folder, path) = compile("libnvinfer.so.10", source)?;
        let error = failure(&path);
        assert!(matches!(error, nvinfer::Error::UnknownVersion { .. }), "{error:?}");
        assert_names(&error, &path, "supported: TensorRT 8.4 to 9.2");
        Ok(())
    });
}

#[test]
fn library_without_a_builder_is_a_missing_symbol() {
    in_own_process(|| {
        let (_folder, path) = compile("libtensorrt_rtx.so.1", WITHOUT_BUILDER)?;
        let error = failure(&path);
        assert!(matches!(error, nvinfer::Error::MissingSymbol { .. }), "{error:?}");
        assert_names(&error, &path, "createInferBuilder_INTERNAL");
        Ok(())
    });
}

#[test]
fn second_release_in_one_process_is_refused() {
    in_own_process(|| {
        let (_first, first) = compile("libtensorrt_rtx.so.1", WITHOUT_BUILDER)?;
        let (_second, second) = compile("libtensorrt_rtx.so.1", WITHOUT_BUILDER)?;
        Library::load(&first)?;
        // the same release again
        Library::load(&first)?;
        let error = failure(&second);
        assert!(matches!(error, nvinfer::Error::AlreadyLoaded { .. }), "{error:?}");
        assert_names(&error, &second, "a process can hold one release");
        Ok(())
    });
}

/// The error of a library that cannot be loaded, or cannot create a builder.
fn failure(path: &Path) -> nvinfer::Error {
    let builder = Library::load(path).and_then(Library::create_builder);
    builder.expect_err("the library is a fake")
}

fn assert_names(error: &nvinfer::Error, path: &Path, text: &str) {
    let message = error.to_string();
    assert!(message.contains(text), "{message}");
    assert!(message.contains(&path.display().to_string()), "{message} does not name {}", path.display());
}

/// A shared object with the C functions of `source`.
fn compile(name: &str, source: &str) -> Result<(TempDir, PathBuf), Box<dyn Error>> {
    let folder = TempDir::new()?;
    let (code, path) = (folder.path().join("fake.c"), folder.path().join(name));
    fs::write(&code, source)?;
    let status = Command::new("cc").arg("-shared").arg("-fPIC").arg("-o").arg(&path).arg(&code).status()?;
    if status.success() { Ok((folder, path)) } else { Err(format!("cc: {status}").into()) }
}
