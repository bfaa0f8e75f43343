//! The programs of backends that are programs of their own.

use std::{
    env, fmt,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use twinfer_case::{OptionKey, Variant};

/// The program called `name` that serves `variant`: the file that its option `lib` names, or the first one beside `supervisor` and in
/// the folders of `PATH`.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] with a message that says where it was looked for and how it is installed.
pub fn find(name: &str, variant: &Variant, supervisor: &Path) -> io::Result<PathBuf> {
    if let Some(path) = variant.options.get(OptionKey::Library.key()).map(PathBuf::from) {
        return if path.is_file() {
            Ok(path)
        } else {
            Err(missing(variant, format_args!("{} is not a file", path.display())))
        };
    }
    let beside = supervisor.parent().unwrap_or(Path::new(""));
    let listed = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&listed).filter(|folder| folder.is_absolute());
    let mut candidates = [beside.to_owned()].into_iter().chain(on_path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.is_file()).ok_or_else(|| {
        let places = format!("the program {name} is neither in {} nor in a folder of PATH", beside.display());
        missing(variant, format_args!("{places}, and no option `lib` names it"))
    })
}

fn missing(variant: &Variant, reason: fmt::Arguments<'_>) -> io::Error {
    let label = variant.backend.label();
    let install = format!("run `cargo install --locked --path adapters/{label}` in twinfer's repository");
    io::Error::new(ErrorKind::NotFound, format!("{reason}: {install}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NAME: &str = "twinfer-rten";

    fn found(variant: &str, supervisor: &Path) -> io::Result<PathBuf> {
        find(NAME, &variant.parse().unwrap(), supervisor)
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
