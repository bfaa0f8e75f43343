//! The report on a run as a web page, beside the run or elsewhere.

use std::path::{Component, Path, PathBuf};

use twinfer_reports::{Format, Report, Reporter, RunFolder, Timeline, WebPage};
use twinfer_store::{replay_events, write_page};

use crate::{attribute_coverage::CoverageCounter, resumption::Resumption};

/// Writes the page into the folder of the run, and returns a line that says so. A run whose page cannot be written is reported all the same.
///
/// Whoever prints a report on standard output writes the page before: if nobody reads the output, printing ends the process.
#[must_use]
pub fn write_into(run: &Path, report: &Report) -> String {
    match write_page(run, &render(report, &RunFolder::around_page(run))) {
        Ok(path) => format!("report as a page: {}", path.display()),
        Err(error) => format!("no page was written: {error}"),
    }
}

/// The report on the run in the folder `run` in any format, to be written to the file `output`, or to standard output.
pub fn render_as(format: Format, output: Option<&Path>, run: &Path, report: &Report) -> String {
    match format {
        Format::Html => render_for(output, run, report),
        format => format.render_run(report, &RunFolder::around_page(run)),
    }
}

/// The page on the run in the folder `run`, to be written to the file `output`, or to standard output and from there to a file in the
/// current folder.
fn render_for(output: Option<&Path>, run: &Path, report: &Report) -> String {
    let page_folder = output.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    let from_page = between(page_folder.unwrap_or(Path::new(".")), run);
    render(report, &RunFolder { path: run.to_owned(), from_page })
}

fn render(report: &Report, folder: &RunFolder) -> String {
    let command = report.run.as_ref().and_then(Resumption::command_of);
    let (mut timeline, mut counter) = (Timeline::default(), CoverageCounter::default());
    let read = replay_events(&folder.path, &mut |event| {
        timeline.on_event(event);
        counter.on_event(event);
    });
    let coverage = counter.report();
    WebPage {
        report,
        command: command.as_deref(),
        folder: Some(folder),
        // a journal that cannot be read to its end would give half a picture
        timeline: read.is_ok().then_some(&timeline),
        coverage: read.is_ok().then_some(&coverage),
    }
    .render()
}

/// The relative path from one folder to another one; the other one as it is if one of them cannot be found.
pub fn between(from: &Path, to: &Path) -> PathBuf {
    let (Ok(from), Ok(target)) = (from.canonicalize(), to.canonicalize()) else { return to.to_owned() };
    let shared = from.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(target.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::between;

    #[test]
    fn path_between_folders_is_relative() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().join(name);
        fs::create_dir_all(folder("pages/today")).unwrap();
        fs::create_dir_all(folder("runs/0001")).unwrap();
        assert_eq!(between(&folder("pages/today"), &folder("runs/0001")), Path::new("../../runs/0001"));
        assert_eq!(between(&folder("runs"), &folder("runs/0001")), Path::new("0001"));
        assert_eq!(between(&folder("runs/0001"), &folder("runs/0001")), Path::new(""));
        assert_eq!(between(&folder("absent"), &folder("runs/0001")), folder("runs/0001"));
    }
}
