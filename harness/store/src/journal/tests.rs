use std::path::Path;

use twinfer_case::Provenance;

use super::*;

fn run() -> RunInfo {
    let run = serde_json::json!({
        "format": twinfer_case::JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": [], "budget": {"cases": 1},
        "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
    });
    serde_json::from_value(run).unwrap()
}

fn record(place: u8) -> CaseRecord {
    let case = format!("{place:02x}").repeat(32);
    let findings = vec![format!("a-finding-{place}"); usize::from(place % 3)];
    let record = serde_json::json!({
        "format": twinfer_case::JOURNAL_FORMAT, "case": case, "provenance": null, "variants": [],
        "findings": findings, "macs": place,
    });
    serde_json::from_value(record).unwrap()
}

fn append_all(journal: &mut Journal, records: &[CaseRecord]) {
    for record in records {
        journal.append(record).unwrap();
    }
    journal.flush().unwrap();
}

fn begin(out: &Path) -> Journal {
    Journal::create(&RunDirectory::create(out).unwrap(), &run()).unwrap()
}

fn resume(out: &Path) -> Result<Resumed, StoreError> {
    Journal::resume(&RunDirectory::resume(out)?, &run())
}

#[test]
fn runs_killed_before_they_began_start_anew() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("journal.jsonl"), "").unwrap();
    fs::write(out.path().join(".unfinished-run"), "{").unwrap();
    assert!(matches!(resume(out.path()), Err(StoreError::NothingToResume(_))));
    begin(out.path());
    assert!(!out.path().join(".unfinished-run").exists());
    assert_eq!(resume(out.path()).unwrap().summary.cases, 0);
}

#[test]
fn finished_runs_are_never_begun_again() {
    let out = tempfile::tempdir().unwrap();
    append_all(&mut begin(out.path()), &[record(1)]);
    let journal = fs::read(out.path().join("journal.jsonl")).unwrap();
    assert!(matches!(RunDirectory::create(out.path()), Err(StoreError::Occupied(_))));
    fs::remove_file(out.path().join("run.json")).unwrap();
    assert!(matches!(RunDirectory::create(out.path()), Err(StoreError::Remains(_))));
    assert!(matches!(RunDirectory::resume(out.path()), Err(StoreError::NothingToResume(_))));
    assert_eq!(fs::read(out.path().join("journal.jsonl")).unwrap(), journal);
}

#[test]
fn journals_cut_anywhere_resume_after_the_last_complete_record() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("journal.jsonl");
    let records: Vec<_> = (0..9).map(record).collect();
    let mut journal = begin(out.path());
    append_all(&mut journal, &records);
    drop(journal);
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let Resumed { mut journal, summary, .. } = resume(out.path()).unwrap();
        let kept = summary.cases as usize;
        assert_eq!(kept, whole[..cut].split(|byte| *byte == b'\n').count() - 1);
        assert_eq!(fs::read(&path).unwrap(), whole[..cut.min(fs::metadata(&path).unwrap().len() as usize)]);
        append_all(&mut journal, &records[kept..]);
        assert!(fs::read(&path).unwrap() == whole, "cut off after {cut} bytes");
    }
}

#[test]
fn open_cases_remain_until_they_are_decided() {
    let out = tempfile::tempdir().unwrap();
    let records = [(0, false), (1, true), (2, true), (7, true)].map(|(place, is_open)| CaseRecord {
        provenance: Some(Provenance { family: "conv".to_owned(), seed: 1, index: place }),
        open: is_open.then(|| "ort:cpu".parse().unwrap()).into_iter().collect(),
        ..record(place as u8)
    });
    append_all(&mut begin(out.path()), &records);
    let open = |resumed: &Resumed| resumed.open.keys().copied().collect::<Vec<_>>();
    let resumed = resume(out.path()).unwrap();
    assert_eq!(open(&resumed), [1, 2], "the last record is not at its place in the campaign");
    assert_eq!((resumed.summary.cases, resumed.settled.cases), (4, 2));
    let mut journal = resumed.journal;
    for place in [1, 2] {
        let decided = CaseRecord { open: Vec::new(), ..records[place].clone() };
        journal.append_revisited(&decided).unwrap();
    }
    drop(journal);
    assert!(open(&resume(out.path()).unwrap()).is_empty());
    // killed while it wrote the second
    let revisited = out.path().join(REVISITED);
    let text = fs::read(&revisited).unwrap();
    fs::write(&revisited, &text[..text.len() - 5]).unwrap();
    let mut resumed = resume(out.path()).unwrap();
    assert_eq!(open(&resumed), [2]);
    let decided = CaseRecord { open: Vec::new(), ..records[2].clone() };
    resumed.journal.append_revisited(&decided).unwrap();
    assert_eq!(fs::read(&revisited).unwrap(), text);
}

#[test]
fn journals_being_written_are_busy() {
    let out = tempfile::tempdir().unwrap();
    let journal = begin(out.path());
    let refused = resume(out.path()).err();
    assert!(matches!(refused, Some(StoreError::Busy(_))));
    drop(journal);
    assert!(resume(out.path()).is_ok());
}

#[test]
fn truncated_runs_are_rejected_and_journals_kept() {
    let out = tempfile::tempdir().unwrap();
    begin(out.path()).append(&record(1)).unwrap();
    let (info, path) = (out.path().join("run.json"), out.path().join("journal.jsonl"));
    let (whole, journal) = (fs::read(&info).unwrap(), fs::read(&path).unwrap());
    for cut in 0..whole.len() - 1 {
        fs::write(&info, &whole[..cut]).unwrap();
        let refused = resume(out.path()).err();
        assert!(matches!(refused, Some(StoreError::Format { .. })), "cut off after {cut} bytes");
    }
    assert_eq!(fs::read(&path).unwrap(), journal);
}
