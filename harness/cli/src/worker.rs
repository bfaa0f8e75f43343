//! How this executable starts itself as a worker.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use twinfer_campaign::WorkerCommand;
use twinfer_case::Variant;
use twinfer_libraries::{Installed, Loader};

use crate::{Failure, provision::provision};

/// The command that starts a worker of any of `variants`, their libraries installed first where they are missing.
pub fn worker_for(variants: &[Variant]) -> Result<WorkerCommand, Failure> {
    let libraries = provision(variants)?;
    let program = env::current_exe().map_err(|error| {
        Failure::environment(format!("cannot find this executable to start workers: {error}"))
    })?;
    let mut worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new(program) };
    worker.env.extend(search_path(&libraries)?.map(|path| ("LD_LIBRARY_PATH".to_owned(), path)));
    Ok(worker)
}

/// The loader's search path with the stand-ins that this machine needs behind it; none where it needs none.
fn search_path(libraries: &[Installed]) -> Result<Option<String>, Failure> {
    if libraries.iter().all(|library| library.stand_ins.is_none()) {
        return Ok(None);
    }
    let loader = Loader::of_this_machine();
    let folders: Vec<PathBuf> = libraries.iter().filter_map(|library| loader.stand_ins(library)).collect();
    if folders.is_empty() { Ok(None) } else { joined(env::var_os("LD_LIBRARY_PATH"), &folders).map(Some) }
}

fn joined(inherited: Option<OsString>, folders: &[PathBuf]) -> Result<String, Failure> {
    let inherited = inherited.unwrap_or_default();
    let present = env::split_paths(&inherited).filter(|path| path != Path::new(""));
    let path = env::join_paths(present.chain(folders.iter().cloned())).map_err(Failure::environment)?;
    path.into_string()
        .map_err(|path| Failure::environment(format!("the search path {} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn stand_ins_come_after_everything_that_the_user_set() {
        let path = joined(Some("/cuda/lib::/opt/lib".into()), &["/home/stand-ins".into()]).unwrap();
        assert_eq!(path, "/cuda/lib:/opt/lib:/home/stand-ins");
    }
}
