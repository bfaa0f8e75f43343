use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::Args;
use crossbeam_channel::unbounded;
use twinfer_case::{CaseRecord, EncodedCase, Provenance};
use twinfer_generators::{CaseStream, Family, Feature};
use twinfer_reports::{Row, RunTally, Site};
use twinfer_store::{StoreError, adopt, findings_of_run, has_run};

use crate::{
    Exit, Failure,
    output::{line, note},
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
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("--out {} is not empty: give another folder", out.display())));
    }
    let runs = runs(&arguments.runs)?;
    let mut site = Site::new(rows());
    read_all(&runs, &mut |tally| {
        let name = tally.name().to_owned();
        if !site.add(tally) {
            note!("{name} is the same run as another one: it counts once");
        }
    })
    .map_err(Failure::usage)?;
    let findings = out.join(Site::MINIMAL_CASES);
    for run in &runs {
        for finding in findings_of_run(run).map_err(Failure::usage)? {
            adopt(&finding, &findings)?;
        }
    }
    for (file, page) in site.pages() {
        let path = out.join(file);
        let written = fs::create_dir_all(out).and_then(|()| fs::write(&path, page));
        written.map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))?;
    }
    line!("site: {}", out.join("index.html").display());
    Ok(Exit::Conforms)
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
        subject: "Case".to_owned(),
        attribute: "family".to_owned(),
        value: family.name().to_owned(),
    });
    let features = Feature::all().map(|feature| Row {
        subject: feature.operator().to_owned(),
        attribute: feature.attribute().to_owned(),
        value: feature.value().to_owned(),
    });
    families.into_iter().chain(features).collect()
}

/// Reads every run, several at once, and gives each to `add`.
fn read_all(runs: &[PathBuf], add: &mut dyn FnMut(RunTally)) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, tallies) = unbounded();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send(read(run)).is_err() {
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

fn read(run: &Path) -> Result<RunTally, StoreError> {
    let mut streams = Streams::default();
    RunTally::read(run, &mut |record| streams.rows_of(record))
}

/// The streams of cases that a run has drawn from.
#[derive(Default)]
struct Streams(Vec<(Provenance, CaseStream)>);

impl Streams {
    /// The rows of a case, which is generated again; `None` if that gives another case.
    fn rows_of(&mut self, record: &CaseRecord) -> Option<Vec<u16>> {
        let provenance = record.provenance.as_ref()?;
        let family: Family = provenance.family.parse().ok()?;
        let case = self.stream(family, provenance).case(provenance.index);
        let features = Feature::of(&case);
        if EncodedCase::encode(case).ok()?.task.hash != record.case {
            return None;
        }
        let of_family = Family::ALL.iter().position(|one| *one == family)?;
        let of_features = features.iter().map(|feature| Family::ALL.len() + feature.index());
        [of_family].into_iter().chain(of_features).map(|row| u16::try_from(row).ok()).collect()
    }

    fn stream(&mut self, family: Family, provenance: &Provenance) -> &CaseStream {
        let of_stream = Provenance { index: 0, ..provenance.clone() };
        let place = self.0.iter().position(|(known, _)| *known == of_stream).unwrap_or_else(|| {
            let stream = family.stream(provenance.distribution, provenance.seed);
            self.0.push((of_stream, stream));
            self.0.len() - 1
        });
        &self.0[place].1
    }
}
