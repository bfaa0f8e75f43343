//! The tests of one release, in one process and on one thread: making a TensorRT builder takes seconds.

use std::{cell::OnceCell, env, fs, path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use nvinfer::{Builder, Error, Library, Product, Runtime, sys::table};

use crate::{config, device, engine, logger, memory, network, parser};

/// The arguments of a test.
#[derive(Clone, Copy)]
pub struct Subject {
    pub library: Library,
    pub builder: &'static Builder,
}

/// A test body.
pub type Body = fn(Subject) -> Outcome;

/// The result of a test.
pub type Outcome = Result<(), Failed>;

/// The resource that a test needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// A builder, which TensorRT cannot create without a GPU.
    Builder,
    /// A GPU that runs this release's engines.
    Gpu,
}

thread_local! {
    static BUILDER: OnceCell<&'static Builder> = const { OnceCell::new() };
    static RUNTIME: OnceCell<&'static Runtime> = const { OnceCell::new() };
}

/// The release's runtime, made once.
pub fn runtime(library: Library) -> Result<&'static Runtime, Error> {
    RUNTIME.with(|cell| once(cell, || library.create_runtime()))
}

fn once<T>(
    cell: &OnceCell<&'static T>,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<&'static T, Error> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = Box::leak(Box::new(make()?));
    Ok(cell.get_or_init(|| made))
}

/// Runs the suite against the release in `folder`.
pub fn run(folder: &Path, arguments: &[String]) -> ExitCode {
    let library = match Library::load(folder) {
        Ok(library) => library,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{library:?}");
    let mut options =
        Arguments::from_iter(std::iter::once("live".to_owned()).chain(arguments.iter().cloned()));
    options.test_threads = Some(1);
    let conclusion = libtest_mimic::run(&options, trials(library));
    if let Some(path) = env::var_os("NVINFER_CALLS")
        && let Err(error) = fs::write(&path, calls(library))
    {
        println!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

fn trials(library: Library) -> Vec<Trial> {
    let without_builder = (library.version().product() == Product::TensorRt).then(device::absent).flatten();
    let without_gpu = device::cannot_run(library.version());
    for reason in [&without_builder, &without_gpu].into_iter().flatten() {
        println!("skipped: {reason}");
    }
    let bodies = [
        network::tests(),
        config::tests(),
        parser::tests(),
        logger::tests(),
        engine::tests(),
        memory::tests(),
    ];
    let mut trials: Vec<Trial> = bodies
        .into_iter()
        .flatten()
        .map(|(name, needs, body)| {
            let skip = without_builder.is_some() || needs == Needs::Gpu && without_gpu.is_some();
            Trial::test(name, move || body(subject(library)?)).with_ignored_flag(skip)
        })
        .collect();
    trials.push(
        Trial::test("without a GPU a builder and a runtime are typed errors", move || {
            device::refuses_without_gpu(library)
        })
        .with_ignored_flag(without_builder.is_none()),
    );
    trials
}

fn subject(library: Library) -> Result<Subject, Error> {
    let builder = BUILDER.with(|cell| once(cell, || library.create_builder()))?;
    Ok(Subject { library, builder })
}

/// The called methods, one per line, after a line that names the release.
fn calls(library: Library) -> String {
    let mut paths: Vec<&str> =
        table::methods().filter(|method| method.was_called()).map(|method| method.path).collect();
    paths.sort_unstable();
    paths.dedup();
    format!("# {}: methods called by the live suite\n{}\n", library.version(), paths.join("\n"))
}
