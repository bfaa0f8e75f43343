//! The programs of backends that are programs of their own.

use std::{
    env, fmt,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use twinfer_case::{OptionKey, Program, Variant};

/// The file of the `program` that serves `variant`: the one that its option `lib` names, if that does not name a library, or the first
/// one beside `supervisor` and in the folders of `PATH`.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] with a message that says where it was looked for and how it is installed.
pub fn find(program: Program, variant: &Variant, supervisor: &Path) -> io::Result<PathBuf> {
    let loads_library = variant.backend.library().is_some();
    let option = variant.options.get(OptionKey::Library.key()).filter(|_| !loads_library);
    if let Some(path) = option.map(PathBuf::from) {
        return if path.is_file() {
            Ok(path)
        } else {
            Err(missing(program, format_args!("{} is not a file", path.display())))
        };
    }
    let name = program.name;
    let beside = supervisor.parent().unwrap_or(Path::new(""));
    let listed = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&listed).filter(|folder| folder.is_absolute());
    let mut candidates = [beside.to_owned()].into_iter().chain(on_path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.is_file()).ok_or_else(|| {
        let places = format!("the program {name} is neither in {} nor in a folder of PATH", beside.display());
        let option = if loads_library { "" } else { ", and no option `lib` names it" };
        missing(program, format_args!("{places}{option}"))
    })
}

fn missing(program: Program, reason: fmt::Arguments<'_>) -> io::Error {
    let install = program.install;
    io::Error::new(ErrorKind::NotFound, format!("{reason}: run `{install}` in twinfer's repository"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NAME: &str = "twinfer-rten";

    fn found(variant: &str, supervisor: &Path) -> io::Result<PathBuf> {
        let variant: Variant = variant.parse().unwrap();
        find(variant.backend.program().unwrap(), &variant, supervisor)
    }

    #[test]
    fn option_that_names_a_library_names_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("twinfer-ort-plugins");
        fs::write(&program, "").unwrap();
        let variant = format!("ort:ep=openvino,lib={}", folder.path().display());
        assert_eq!(found(&variant, &folder.path().join("twinfer")).unwrap(), program);
    }

    #[test]
    fn missing_worker_of_plugins_is_told_with_its_own_command() {
        let error = found("ort:ep=openvino", Path::new("/nowhere/twinfer")).unwrap_err();
        assert!(
            error.to_string().ends_with(
                "run `cargo install --locked --path harness/worker --features ort-plugins` in twinfer's repository"
            ),
            "{error}"
        );
    }

    #[test]
    fn program_beside_the_supervisor_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(NAME);
        fs::write(&program, "").unwrap();
        assert_eq!(found("rten", &folder.path().join("twinfer")).unwrap(), program);
    }

    #[test]
    fn option_names_the_program() {
        let program = tempfile::NamedTempFile::new().unwrap();
        let path = program.path();
        let variant = format!("rten,lib={}", path.display());
        assert_eq!(found(&variant, Path::new("/nowhere/twinfer")).unwrap(), path);
    }

    #[test]
    fn missing_program_is_told_with_places_and_command() {
        let folder = tempfile::tempdir().unwrap();
        let variant = format!("rten,lib={}", folder.path().display());
        let error = found(&variant, Path::new("/nowhere/twinfer")).unwrap_err();
        let expected = format!(
            "{} is not a file: run `cargo install --locked --path adapters/rten` in twinfer's repository",
            folder.path().display()
        );
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::NotFound, expected));
    }
}
