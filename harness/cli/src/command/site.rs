use std::{
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::Args;
use crossbeam_channel::unbounded;
use twinfer_case::{CaseRecord, RunInfo};
use twinfer_generators::{Family, Feature};
use twinfer_reports::{Row, RunTally, Site};
use twinfer_store::{StoreError, adopt_by_name, findings_of_run, has_run, page_of, read_run};

use crate::{
    Exit, Failure,
    out_folder::is_free,
    output::{line, note},
    page::between,
    regenerated::Regenerated,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Run directories
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Folder to write; must be empty or absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let out = &arguments.out;
    is_free(out)?;
    let runs = without_merged(&runs(&arguments.runs)?)?;
    fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    let mut site = Site::new(rows());
    read_all(&runs, out, &mut |tally| {
        let name = tally.name().to_owned();
        if !site.add(tally) {
            note!("{name} is the same run as another one: it counts once");
        }
    })?;
    let findings = out.join(Site::MINIMAL_CASES);
    for run in &runs {
        for finding in findings_of_run(run)? {
            adopt_by_name(&finding, &findings)?;
        }
    }
    for (file, page) in site.pages() {
        let path = out.join(file);
        fs::write(&path, page).map_err(|error| unwritable(&path, &error))?;
    }
    line!("site: {}", out.join("index.html").display());
    Ok(Exit::Conforms)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot write {}: {error}", path.display()))
}

/// The runs without those that others of them were merged from, whose cases would count twice.
fn without_merged(runs: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let infos = runs.iter().map(|run| read_run(run)).collect::<Result<Vec<_>, _>>()?;
    let merged_into = |info: &RunInfo| infos.iter().position(|whole| whole.merged.contains(&info.id));
    let is_alone = |(run, info): &(PathBuf, &RunInfo)| match merged_into(info) {
        None => true,
        Some(whole) => {
            note!("{} is part of {}: it counts there", run.display(), runs[whole].display());
            false
        }
    };
    Ok(runs.iter().cloned().zip(&infos).filter(is_alone).map(|(run, _)| run).collect())
}

/// The folders that hold a run. Others, such as what `minimize` writes beside runs, are named and left out.
fn runs(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (runs, others): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|folder| has_run(folder));
    if let [first, ..] = others.as_slice()
        && runs.is_empty()
    {
        let folder = first.display();
        return Err(Failure::usage(format!(
            "{folder} holds no run: give directories of runs, such as runs/*"
        )));
    }
    for folder in others {
        note!("{} holds no run: left out", folder.display());
    }
    Ok(runs)
}

/// The rows of the support map: the families, then every feature of a convolution.
fn rows() -> Vec<Row> {
    let families = Family::ALL.map(|family| Row {
        subject: "Family of models".to_owned(),
        attribute: family.name().to_owned(),
        value: family.description().to_owned(),
    });
    let features = Feature::all().map(|feature| Row {
        subject: feature.operator().to_owned(),
        attribute: feature.attribute().to_owned(),
        value: feature.value().to_owned(),
    });
    families.into_iter().chain(features).collect()
}

/// Reads every run, several at once, and gives each to `add`.
fn read_all(runs: &[PathBuf], out: &Path, add: &mut dyn FnMut(RunTally)) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, tallies) = unbounded();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send(read(run, out)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let added = tallies.iter().try_for_each(|tally| tally.map(&mut *add));
        // after an error, no further run is read
        next.store(runs.len(), Ordering::Relaxed);
        added
    })
}

fn read(run: &Path, out: &Path) -> Result<RunTally, StoreError> {
    let mut cases = Regenerated::default();
    let tally = RunTally::read(run, &mut |record| rows_of(&mut cases, record))?;
    Ok(match page_of(run) {
        Some(page) => tally.with_report(&between(out, run).join(page)),
        None => tally,
    })
}

/// The rows of a case; `None` if it cannot be generated again.
fn rows_of(cases: &mut Regenerated, record: &CaseRecord) -> Option<Vec<u16>> {
    let (family, case) = cases.case(record)?;
    let of_family = Family::ALL.iter().position(|one| *one == family)?;
    let of_features = Feature::of(&case.case).into_iter().map(|feature| Family::ALL.len() + feature.index());
    [of_family].into_iter().chain(of_features).map(|row| u16::try_from(row).ok()).collect()
}
