use std::{io, path::Path};

use twinfer_case::{Description, Event, RunEnd, RunTotals, Shard, Stage, VariantInfo};

use super::*;
use crate::{RunEnded, check_findings, record_end, replay_events};

fn run() -> RunInfo {
    named("one")
}

/// A run with this id.
fn named(id: &str) -> RunInfo {
    let run = serde_json::json!({
        "format": twinfer_case::JOURNAL_FORMAT, "id": id, "twinfer": "1", "seed": 1, "families": [], "budget": {"cases": 9},
        "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
    });
    serde_json::from_value(run).unwrap()
}

fn record(place: u8) -> CaseRecord {
    let case = format!("{place:02x}").repeat(32);
    let findings = vec![format!("a-finding-{place}"); usize::from(place % 3)];
    let record = serde_json::json!({
        "format": twinfer_case::JOURNAL_FORMAT, "index": place, "case": case, "provenance": null, "variants": [],
        "findings": findings, "macs": place,
    });
    serde_json::from_value(record).unwrap()
}

/// A disk that syncs nothing, which is fast.
#[derive(Debug)]
struct Unsynced;

impl Disk for Unsynced {
    fn sync_file(&self, _file: &File, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
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
    Journal::resume(&RunDirectory::resume(out)?, &run(), &|_| StoredFinding::Whole)
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
fn journal_that_was_removed_is_noticed() {
    let out = tempfile::tempdir().unwrap();
    let mut journal = begin(out.path());
    append_all(&mut journal, &[record(1)]);
    journal.commit().unwrap();
    append_all(&mut journal, &[record(2)]);
    fs::remove_file(out.path().join("journal.jsonl")).unwrap();
    let noticed = journal.finish();
    assert!(matches!(noticed, Err(StoreError::Write { .. })), "{noticed:?}");
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
    let info = fs::read(out.path().join(RUN)).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        fs::write(out.path().join(RUN), &info).unwrap();
        let directory = RunDirectory::resume_on(out.path(), Arc::new(Unsynced)).unwrap();
        let Resumed { mut journal, summary, .. } =
            Journal::resume(&directory, &run(), &|_| StoredFinding::Whole).unwrap();
        drop(directory);
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
    let records = [(0, false), (1, true), (2, true), (3, false)].map(|(place, is_open)| CaseRecord {
        open: is_open.then(|| "ort:cpu".parse().unwrap()).into_iter().collect(),
        ..record(place)
    });
    append_all(&mut begin(out.path()), &records);
    let open = |resumed: &Resumed| resumed.open.keys().copied().collect::<Vec<_>>();
    let resumed = resume(out.path()).unwrap();
    assert_eq!(open(&resumed), [1, 2]);
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

/// The lines of a journal with the cases 0 to 5, after `change`, as a resumed run and a report read them.
fn changed(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Result<u64, String> {
    let out = tempfile::tempdir().unwrap();
    append_all(&mut begin(out.path()), &(0..6).map(record).collect::<Vec<_>>());
    let path = out.path().join(JOURNAL);
    let text = fs::read(&path).unwrap();
    let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    fs::write(&path, lines.concat()).unwrap();
    let mut cases = 0;
    let replayed = replay_events(out.path(), &mut |event| {
        cases += u64::from(matches!(event, Event::CaseFinished { .. }));
    });
    let resumed = resume(out.path()).map(|resumed| resumed.summary.cases);
    assert_eq!(
        replayed.map(|()| cases).map_err(|error| error.to_string()),
        match &resumed {
            Ok(cases) => Ok(*cases),
            Err(error) => Err(error.to_string()),
        }
    );
    resumed.map_err(|error| error.to_string())
}

#[test]
fn changed_journals_are_refused_with_the_line() {
    let line_of_another_run = || {
        let mut chain = Position::start(&named("another"), JOURNAL);
        (0..3).map(|index| chain.append(&record(index)).unwrap()).next_back().unwrap()
    };
    let refused = |change: fn(&mut Vec<Vec<u8>>), place: &str| {
        let error = changed(change).unwrap_err();
        assert!(error.contains("journal.jsonl: ") && error.contains(place), "{error}");
    };
    refused(|lines| drop(lines.remove(2)), "line 3 does not follow line 2");
    refused(|lines| drop(lines.remove(0)), "line 1 does not follow the start of the run");
    refused(|lines| lines.insert(4, lines[3].clone()), "line 5 does not follow line 4");
    refused(|lines| lines.swap(1, 2), "line 2 does not follow line 1");
    refused(|lines| lines.swap(4, 5), "line 5 does not follow line 4");
    refused(
        |lines| {
            let digit = lines[5].iter().position(|byte| *byte == b'5').unwrap();
            lines[5][digit] = b'6';
        },
        "line 6 does not follow line 5",
    );
    refused(|lines| lines.insert(3, b"{}\n".to_vec()), "line 4 was inserted");
    let error = changed(|lines| lines[2] = line_of_another_run()).unwrap_err();
    assert!(error.contains("line 3 does not follow line 2"), "{error}");
}

#[test]
fn torn_ends_are_dropped_and_damage_before_them_is_refused() {
    let torn = |lines: &mut Vec<Vec<u8>>| {
        // the bytes of a line that never reached the disk, and the line behind it that did
        let zeros = lines[4].len() - 1;
        lines[4][..zeros].fill(0);
    };
    assert_eq!(changed(torn), Ok(4));
    assert_eq!(changed(|lines| lines[5].extend([0; 100])), Ok(6));
    let damaged = |lines: &mut Vec<Vec<u8>>| {
        torn(lines);
        let last = lines[5].clone();
        lines.extend((0..MAX_UNSYNCED).map(|_| last.clone()));
    };
    let error = changed(damaged).unwrap_err();
    assert!(error.contains("line 5 is damaged"), "{error}");
}

#[test]
fn lines_lost_after_the_end_of_a_run_are_noticed() {
    let out = tempfile::tempdir().unwrap();
    let mut journal = begin(out.path());
    append_all(&mut journal, &[record(0), record(1)]);
    journal.append_revisited(&record(1)).unwrap();
    journal.finish().unwrap();
    for name in [JOURNAL, REVISITED] {
        let path = out.path().join(name);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        let error = resume(out.path()).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains("when the run ended"), "{error}");
        fs::write(&path, text).unwrap();
    }
    // lines that a resumed run adds come behind, and may be torn
    let Resumed { mut journal, .. } = resume(out.path()).unwrap();
    append_all(&mut journal, &[record(2)]);
    drop(journal);
    let path = out.path().join(JOURNAL);
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 1]).unwrap();
    assert_eq!(resume(out.path()).unwrap().summary.cases, 2);
}

#[test]
fn first_case_of_a_lost_finding_is_open() {
    let out = tempfile::tempdir().unwrap();
    let shows = |index, slug: &str| CaseRecord { findings: vec![slug.to_owned()], ..record(index) };
    append_all(&mut begin(out.path()), &[shows(0, "a"), shows(1, "b"), shows(2, "b"), shows(3, "a")]);
    let directory = RunDirectory::resume(out.path()).unwrap();
    let resumed = Journal::resume(&directory, &run(), &|slug| match slug {
        "a" => StoredFinding::Whole,
        _ => StoredFinding::Lost,
    })
    .unwrap();
    assert_eq!(resumed.open.keys().copied().collect::<Vec<_>>(), [1, 2, 3], "and what was decided after it");
    assert_eq!((resumed.summary.cases, resumed.settled.cases), (4, 1));
    drop(resumed);
    // none of its cases was investigated to the end
    let resumed = Journal::resume(&directory, &run(), &|slug| match slug {
        "a" => StoredFinding::Whole,
        _ => StoredFinding::Unfinished,
    })
    .unwrap();
    assert_eq!(resumed.open.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(resumed.run.resumed.last().unwrap().unfinished, ["b"]);
    assert!(resumed.named.contains("b"));
    // until they are decided again, its cases are open in what the journal says, too
    let Resumed { mut journal, run, .. } = resumed;
    let shown = || -> Vec<_> {
        let records = Records::open(out.path(), &run).unwrap().map(Result::unwrap);
        records.map(|record| record.findings.concat()).collect()
    };
    assert_eq!(shown(), ["a", "", "", "a"]);
    journal.append_revisited(&shows(2, "b")).unwrap();
    assert_eq!(shown(), ["a", "", "b", "a"]);
    drop(journal);
    let checked = RunInfo { checked: Some("model.onnx".to_owned()), ..run.clone() };
    for lost in ["a", "b"] {
        let lost = check_findings((out.path(), &checked), [lost]);
        assert!(matches!(lost, Err(StoreError::LostFindings { .. })));
    }
    // a later part knows whose folders are left of it
    let again = Journal::resume(&directory, &self::run(), &|_| StoredFinding::Whole).unwrap();
    assert!(again.named.contains("b"));
}

#[test]
fn time_of_a_run_is_that_of_all_its_parts() {
    let out = tempfile::tempdir().unwrap();
    let end = |out: &Path, end: RunEnd, totals: Option<RunTotals>| {
        let directory = RunDirectory::resume(out).unwrap();
        let ended = RunEnded { end, totals, workforce: Vec::new(), processor: None };
        record_end(&directory, ended).unwrap();
        read_run(out).unwrap().totals
    };
    let part = RunTotals { seconds: 1.5, workers_lost: 2 };
    let interrupted = || end(out.path(), RunEnd::Interrupted, Some(part));
    let reported = || {
        let mut seconds = None;
        replay_events(out.path(), &mut |event| {
            if let Event::CampaignFinished { summary, .. } | Event::Progress { summary, .. } = event {
                seconds = Some(summary.seconds);
            }
        })
        .unwrap();
        seconds.unwrap()
    };
    drop(begin(out.path()));
    assert_eq!((interrupted(), reported()), (Some(part), 1.5));
    drop(resume(out.path()).unwrap());
    assert_eq!(reported().to_bits(), 0, "it runs");
    assert_eq!((interrupted(), reported()), (Some(RunTotals { seconds: 3.0, workers_lost: 4 }), 3.0));
    // one is killed
    drop(resume(out.path()).unwrap());
    drop(resume(out.path()).unwrap());
    assert_eq!((interrupted(), reported()), (None, 0.0));
    // the only one fails
    let out = tempfile::tempdir().unwrap();
    drop(begin(out.path()));
    assert_eq!(end(out.path(), RunEnd::Failed("no disk".to_owned()), None), None);
}

#[test]
fn cases_decided_without_an_earlier_one_are_open() {
    let shows = |index, slug: &str| CaseRecord { findings: vec![slug.to_owned()], ..record(index) };
    let shows_none = |index| CaseRecord { findings: Vec::new(), ..record(index) };
    let open = CaseRecord { open: vec!["trt".parse().unwrap()], ..shows_none(2) };
    let waits = CaseRecord { waits: true, ..open.clone() };
    let opened = |run: &RunInfo, records: &[CaseRecord]| {
        let out = tempfile::tempdir().unwrap();
        append_all(&mut Journal::create(&RunDirectory::create(out.path()).unwrap(), run).unwrap(), records);
        let directory = RunDirectory::resume(out.path()).unwrap();
        let resumed = Journal::resume(&directory, run, &|_| StoredFinding::Whole).unwrap();
        resumed.open.into_keys().collect::<Vec<_>>()
    };
    let with = |second| [shows(0, "a"), shows_none(1), second, shows(3, "a"), shows_none(4)];
    assert_eq!(opened(&run(), &with(waits)), [2, 3]);
    assert_eq!(opened(&run(), &with(open)), [2], "nothing about it is to be decided");
    let with_gap = [shows(0, "a"), shows_none(2), shows(3, "b"), shows_none(4)];
    assert_eq!(opened(&run(), &with_gap), [3]);
    let in_time = RunInfo { budget: Budget::Seconds(9), ..run() };
    assert_eq!(opened(&in_time, &with_gap), [0; 0], "cases are decided in any order");
}

#[test]
fn what_settled_cases_were_reduced_to_is_resumed() {
    let out = tempfile::tempdir().unwrap();
    let reduced = |index| CaseRecord {
        findings: vec!["a".to_owned()],
        reduced: vec![ReducedCase { finding: "a".to_owned(), minimal: record(index).case }],
        ..record(index)
    };
    append_all(&mut begin(out.path()), &[reduced(0), record(1), reduced(2), reduced(4)]);
    let resumed = resume(out.path()).unwrap().reduced.into_iter().map(|reduced| reduced.minimal);
    assert_eq!(resumed.collect::<Vec<_>>(), [record(0).case, record(2).case], "case 3 is missing");
}

#[test]
fn cases_are_recorded_in_any_order_and_read_in_theirs() {
    let out = tempfile::tempdir().unwrap();
    let mut journal = begin(out.path());
    append_all(&mut journal, &[record(4), record(0), record(7), record(3)]);
    journal.append_revisited(&CaseRecord { macs: 99, ..record(7) }).unwrap();
    drop(journal);
    let records = Records::open(out.path(), &run()).unwrap();
    let read: Vec<_> = records.map(Result::unwrap).map(|record| (record.index, record.macs)).collect();
    assert_eq!(read, [(0, 0), (3, 3), (4, 4), (7, 99)]);
    assert_eq!(resume(out.path()).unwrap().missing, [1, 2, 5, 6]);
}

#[test]
fn runs_that_lack_most_cases_or_differ_in_settings_are_not_resumed() {
    let out = tempfile::tempdir().unwrap();
    append_all(&mut begin(out.path()), &[record(0), CaseRecord { index: u64::MAX, ..record(2) }]);
    assert!(matches!(resume(out.path()), Err(StoreError::Gap(_))));
    let (directory, recorded) = (RunDirectory::resume(out.path()).unwrap(), run());
    let refused = |now: &RunInfo| match Journal::resume(&directory, now, &|_| StoredFinding::Whole) {
        Err(StoreError::OtherRun { differences, .. }) => differences,
        _ => panic!("it is resumed"),
    };
    let mut other = RunInfo { seed: 2, shard: Shard::new(1, 2).unwrap(), ..recorded.clone() };
    assert_eq!(refused(&other), "seed: 1, now 2; shard: 0/1, now 1/2");
    other = recorded;
    other
        .libraries
        .push(serde_json::from_value(serde_json::json!({"name": "a", "version": "1", "files": []})).unwrap());
    assert_eq!(refused(&other), "now with a");
    let description = Description::new("", "", Stage::Execute);
    other.variants.push(VariantInfo { variant: "trt".parse().unwrap(), description, rung_of: None });
    assert_eq!(refused(&other), "now with trt", "which needs a");
}

#[test]
fn run_is_not_resumed_with_fewer_cases_than_it_holds() {
    let out = tempfile::tempdir().unwrap();
    append_all(&mut begin(out.path()), &[record(0), record(1)]);
    let shorter = RunInfo { budget: Budget::Cases(1), ..run() };
    let directory = RunDirectory::resume(out.path()).unwrap();
    let refused = Journal::resume(&directory, &shorter, &|_| StoredFinding::Whole).map(drop);
    assert!(matches!(refused, Err(StoreError::FewerCases { budget: 1, recorded: 2, .. })), "{refused:?}");
    assert_eq!(read_run(out.path()).unwrap().budget, run().budget);
}

#[test]
fn resumed_run_records_its_budget_and_when_it_went_on() {
    let out = tempfile::tempdir().unwrap();
    append_all(&mut begin(out.path()), &[record(0)]);
    let longer = RunInfo { budget: Budget::Cases(12), started: 5, ..run() };
    let directory = RunDirectory::resume(out.path()).unwrap();
    drop(Journal::resume(&directory, &longer, &|_| StoredFinding::Whole).unwrap());
    let recorded = read_run(out.path()).unwrap();
    assert_eq!(recorded.budget, Budget::Cases(12));
    assert_eq!(
        recorded.resumed,
        [Continuation {
            started: 5,
            cases: 1,
            budget: Budget::Cases(12),
            unfinished: Vec::new(),
            journal_lines: 1,
            revisited_lines: 0
        }]
    );
    assert_eq!(recorded.started, 0);
}

#[test]
fn record_that_could_not_be_read_again_is_not_written() {
    let out = tempfile::tempdir().unwrap();
    let mut journal = begin(out.path());
    append_all(&mut journal, &[record(1)]);
    let long = CaseRecord { findings: vec!["f".repeat(16 << 20)], ..record(2) };
    assert!(journal.append(&long).unwrap_err().to_string().contains("longer than"));
    append_all(&mut journal, &[record(2)]);
    drop(journal);
    assert_eq!(resume(out.path()).unwrap().summary.cases, 2);
}
