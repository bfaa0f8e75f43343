use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::Failure;

/// Where a run is written: `out`, which holds no other run unless that one is to be resumed; without it, a new folder.
pub fn run_directory(out: Option<&Path>, resumes: bool) -> Result<PathBuf, Failure> {
    let Some(out) = out else { return fresh_run_directory() };
    if !resumes && out.join("run.json").exists() {
        let out = out.display();
        return Err(Failure::usage(format!(
            "{out} holds a run: go on with it by --resume, or give another --out"
        )));
    }
    Ok(out.to_owned())
}

/// Makes the first of `runs/0001`, `runs/0002`, … that does not exist.
pub fn fresh_run_directory() -> Result<PathBuf, Failure> {
    fresh_in(Path::new("runs"))
}

fn fresh_in(parent: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!(
            "cannot create a run directory in {}: {error}: use --out DIR",
            parent.display()
        ))
    };
    fs::create_dir_all(parent).map_err(failed)?;
    for number in 1..=LAST {
        let directory = parent.join(format!("{number:04}"));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

const LAST: u32 = 9999;

#[cfg(test)]
mod tests {
    use super::fresh_in;

    #[test]
    fn each_run_gets_a_directory_of_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        assert!(fresh_in(&runs).unwrap().ends_with("0001"));
        assert!(fresh_in(&runs).unwrap().ends_with("0002"));
    }
}
