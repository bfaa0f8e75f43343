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

#[test]
fn runs_killed_before_their_journal_resume_with_an_empty_one() {
    let out = tempfile::tempdir().unwrap();
    for is_there in [false, true] {
        if is_there {
            write_json(&out.path().join("run.json"), &run()).unwrap();
            fs::remove_file(out.path().join("journal.jsonl")).unwrap();
        }
        assert_eq!(Journal::resume(out.path(), &run()).unwrap().summary.cases, 0);
    }
    assert!(Journal::resume(&out.path().join("misspelt"), &run()).is_err());
}

#[test]
fn journals_cut_anywhere_resume_after_the_last_complete_record() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("journal.jsonl");
    let records: Vec<_> = (0..9).map(record).collect();
    let mut journal = Journal::create(out.path(), &run()).unwrap();
    append_all(&mut journal, &records);
    drop(journal);
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let Resumed { mut journal, summary, .. } = Journal::resume(out.path(), &run()).unwrap();
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
    append_all(&mut Journal::create(out.path(), &run()).unwrap(), &records);
    let open = |resumed: &Resumed| resumed.open.keys().copied().collect::<Vec<_>>();
    let resumed = Journal::resume(out.path(), &run()).unwrap();
    assert_eq!(open(&resumed), [1, 2], "the last record is not at its place in the campaign");
    assert_eq!((resumed.summary.cases, resumed.settled.cases), (4, 2));
    let mut journal = resumed.journal;
    for place in [1, 2] {
        let decided = CaseRecord { open: Vec::new(), ..records[place].clone() };
        journal.append_revisited(&decided).unwrap();
    }
    drop(journal);
    assert!(open(&Journal::resume(out.path(), &run()).unwrap()).is_empty());
    // killed while it wrote the second
    let revisited = out.path().join(REVISITED);
    let text = fs::read(&revisited).unwrap();
    fs::write(&revisited, &text[..text.len() - 5]).unwrap();
    let mut resumed = Journal::resume(out.path(), &run()).unwrap();
    assert_eq!(open(&resumed), [2]);
    let decided = CaseRecord { open: Vec::new(), ..records[2].clone() };
    resumed.journal.append_revisited(&decided).unwrap();
    assert_eq!(fs::read(&revisited).unwrap(), text);
    drop(resumed);
    Journal::create(out.path(), &run()).unwrap();
    assert!(!revisited.exists(), "another run has begun");
}

#[test]
fn journals_being_written_are_busy() {
    let out = tempfile::tempdir().unwrap();
    let journal = Journal::create(out.path(), &run()).unwrap();
    let refused = Journal::resume(out.path(), &run()).err();
    assert!(matches!(refused, Some(StoreError::Busy(_))));
    drop(journal);
    assert!(Journal::resume(out.path(), &run()).is_ok());
}

#[test]
fn truncated_runs_are_rejected_and_journals_kept() {
    let out = tempfile::tempdir().unwrap();
    Journal::create(out.path(), &run()).unwrap().append(&record(1)).unwrap();
    let (info, path) = (out.path().join("run.json"), out.path().join("journal.jsonl"));
    let (whole, journal) = (fs::read(&info).unwrap(), fs::read(&path).unwrap());
    for cut in 0..whole.len() - 1 {
        fs::write(&info, &whole[..cut]).unwrap();
        let refused = Journal::resume(out.path(), &run()).err();
        assert!(matches!(refused, Some(StoreError::Format { .. })), "cut off after {cut} bytes");
    }
    assert_eq!(fs::read(&path).unwrap(), journal);
}
