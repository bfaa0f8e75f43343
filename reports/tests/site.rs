//! A site about a run and a later one, in which a backend is newer.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
mod fixture;

use std::{collections::BTreeMap, fs, path::Path};

use tempfile::TempDir;
use twinfer_case::{CaseRecord, Finding, KnownFindings, RunInfo, Settings, Verdict, WorkerLimits};
use twinfer_reports::{Row, RunTally, Site};
use twinfer_store::{Journal, RunDirectory};

fn stored(run: &RunInfo, records: &[CaseRecord], findings: &[Finding]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let claimed = RunDirectory::create(directory.path()).unwrap();
    let mut journal = Journal::create(&claimed, run).unwrap();
    for record in records {
        journal.append(record).unwrap();
    }
    journal.flush().unwrap();
    for finding in findings {
        let folder = directory.path().join("findings").join(finding.signature.slug());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("finding.json"), serde_json::to_string(finding).unwrap()).unwrap();
    }
    directory
}

/// The finding that TensorRT-RTX refuses a valid graph, which the second of three cases shows.
fn refusal() -> Finding {
    fixture::findings().remove(0)
}

/// The records of three different cases.
fn records() -> Vec<CaseRecord> {
    let mut records = fixture::records();
    for (record, digits) in records.iter_mut().zip(["0a", "1b", "2c"]) {
        record.case = serde_json::from_value(digits.repeat(32).into()).unwrap();
    }
    records
}

fn earlier() -> TempDir {
    let mut records = records();
    records[1].findings = vec![refusal().signature.slug()];
    stored(&fixture::run(), &records, &[refusal()])
}

/// A day later TensorRT-RTX is newer, and accepts the second case.
fn later() -> TempDir {
    let (mut run, mut records) = (fixture::run(), records());
    run.started += 86_400;
    run.id = "a later run".into();
    "1.10.0".clone_into(&mut run.variants[1].description.version);
    let record = &mut records[1];
    record.findings.clear();
    record.variants[1].verdict = Verdict::Conforms;
    record.variants[1].compared = true;
    stored(&run, &records, &[])
}

fn row(value: &str) -> Row {
    Row { subject: "Case".to_owned(), attribute: "number".to_owned(), value: value.to_owned() }
}

/// The pages of a site whose map has a row for each of the three cases, one for all and one for none.
fn pages(runs: &[&Path]) -> [String; 3] {
    let mut site = Site::new(["0", "1", "2", "any", "none <b>"].map(row).to_vec());
    for run in runs {
        let rows = |record: &CaseRecord| u16::try_from(record.index).ok().map(|index| vec![index, 3]);
        assert!(site.add(RunTally::read(run, &mut { rows }).unwrap()));
    }
    site.pages().map(|(_, page)| page)
}

/// The text of a page, a line for each row of a table.
fn text(page: &str) -> String {
    let body = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
    let lines =
        body.replace("</tr>", "\n").replace("</p>", "\n").replace("</td>", " | ").replace("</th>", " | ");
    let mut text = String::new();
    let mut is_tag = false;
    for c in lines.chars() {
        match c {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                if !text.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
            }
            c if !is_tag => text.push(c),
            _ => {}
        }
    }
    text
}

#[test]
fn site_shows_runs_findings_and_the_support_map() {
    let (earlier, later) = (earlier(), later());
    // whatever order they are given in
    let [runs, findings, support] = pages(&[later.path(), earlier.path()]);
    let name = |directory: &TempDir| directory.path().display().to_string();
    let named = |page: &str| text(page).replace(&name(&earlier), "EARLIER").replace(&name(&later), "LATER");
    insta::assert_snapshot!("site_runs", named(&runs));
    insta::assert_snapshot!("site_findings", named(&findings));
    insta::assert_snapshot!("site_support", named(&support));
}

#[test]
fn bug_is_not_fixed_by_a_version_that_ran_none_of_its_cases() {
    let earlier = earlier();
    let (mut run, records) = (fixture::run(), records());
    "1.10.0".clone_into(&mut run.variants[1].description.version);
    run.id = "another run".into();
    let other = stored(&run, &records[..1], &[]);
    let [_, findings, _] = pages(&[earlier.path(), other.path()]);
    assert!(!findings.contains("1.10.0"), "{findings}");
}

#[test]
fn bug_that_was_known_before_a_run_is_seen_there() {
    let (mut run, mut records) = (fixture::run(), records());
    let (slug, known) = (refusal().signature.slug(), "known of no run".to_owned());
    run.started += 86_400;
    run.id = "a later run".into();
    let names = Some(vec![slug.clone(), known.clone()]);
    let before = KnownFindings { folder: "known".into(), findings: 2, checksum: String::new(), names };
    let (deadlines, limits, known_before) = (BTreeMap::new(), WorkerLimits::default(), vec![before]);
    let settings = Settings {
        minimize: true,
        run_hangs: false,
        repeat_every: 0,
        fresh_every: 0,
        deadlines,
        limits,
        known: known_before,
    };
    run.settings = Some(settings);
    records[1].findings = vec![slug, known];
    let (earlier, later) = (earlier(), stored(&run, &records, &[]));
    let [_, findings, support] = pages(&[earlier.path(), later.path()]);
    let last_seen = later.path().display().to_string();
    assert!(text(&findings).contains(&last_seen), "{}", text(&findings));
    assert!(!support.contains("known of no run"), "{support}");
}

#[test]
fn text_of_a_run_cannot_change_a_page() {
    let mut run = fixture::run();
    "<script>alert(1)</script>".clone_into(&mut run.variants[1].description.version);
    let hostile = stored(&run, &records(), &[refusal()]);
    for page in pages(&[hostile.path()]) {
        assert_eq!(page.matches("<script>").count(), 1, "{page}");
    }
}

#[test]
fn run_that_is_given_twice_counts_once() {
    let earlier = earlier();
    let mut site = Site::new(vec![row("any")]);
    let read = || RunTally::read(earlier.path(), &mut |_| Some(vec![0])).unwrap();
    assert!(site.add(read()));
    assert!(!site.add(read()));
}
