//! Campaigns on a disk that loses power: whatever was reported is there afterwards, and a resumed campaign ends as an undisturbed one.
//!
//! A hundred cuts, of which four are resumed by default and all with `TWINFER_FULL=1 cargo test -p twinfer-campaign --test campaign power_cuts`.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use twinfer_campaign::Campaign;
use twinfer_case::{CaseRecord, Event, Finding, Summary};
use twinfer_store::{FindingsFolder, RunDirectory, Start, has_run, replay_events};

use crate::{
    actor::role::Role,
    lossy_disk::{LossyDisk, Random},
    setup::{Outcome, TestCampaign, against, is_full_tier},
};

const CUTS: usize = 100;

/// A campaign that ended, and what it wrote and reported on the way.
struct Recorded {
    campaign: TestCampaign,
    disk: Arc<LossyDisk>,
    events: Vec<Event>,
}

/// A campaign with findings. What experiments add to them is in the same files.
fn campaign() -> TestCampaign {
    let mut campaign = against(Role::IgnoresBias, 120);
    campaign.options.experiments = false;
    campaign
}

impl Recorded {
    fn run() -> Self {
        let mut campaign = campaign();
        let root = campaign.shared("disk");
        fs::create_dir(&root).unwrap();
        campaign.out = root.join("run");
        let disk = Arc::new(LossyDisk::new(&root));
        let directory = RunDirectory::create_on(&campaign.out, disk.clone()).unwrap();
        let mut events = Vec::new();
        let started = Campaign::new(campaign.options.clone()).unwrap();
        started
            .run(&directory, &mut |event| {
                events.push(event.clone());
                disk.report();
            })
            .unwrap();
        Self { campaign, disk, events }
    }

    /// Cuts the power at a moment of a campaign on a disk whose syncs are done if `is_done`, and says what is missing then.
    fn cut(
        &self,
        is_done: fn(&Path) -> bool,
        random: &mut Random,
    ) -> (tempfile::TempDir, Result<(), String>) {
        let left = tempfile::tempdir().unwrap();
        let moment = random.below(self.disk.moments());
        let reported = self.disk.cut(moment, is_done, random, left.path());
        let missing = check(&left.path().join("run"), &self.events[..reported]);
        (left, missing.map_err(|missing| format!("moment {moment}: {missing}")))
    }
}

/// That all reported cases and findings are in the run directory `out`.
fn check(out: &Path, events: &[Event]) -> Result<(), String> {
    if events.is_empty() {
        // there may be no run yet
        let claimed = if has_run(out) { RunDirectory::resume(out) } else { RunDirectory::create(out) };
        return claimed.map(drop).map_err(|error| error.to_string());
    }
    let mut recorded: BTreeMap<u64, CaseRecord> = BTreeMap::new();
    RunDirectory::resume(out).map_err(|error| error.to_string())?;
    replay_events(out, &mut |event| {
        if let Event::CaseFinished { record } = event {
            recorded.insert(record.index, record.clone());
        }
    })
    .map_err(|error| error.to_string())?;
    let findings = FindingsFolder::at(&out.join("findings"));
    for event in events {
        match event {
            Event::CaseFinished { record } if recorded.get(&record.index) != Some(record) => {
                return Err(format!("case {} is missing", record.index));
            }
            Event::FindingRecorded { slug, finding, .. } if !has(&findings, slug, finding) => {
                return Err(format!("finding {slug} is missing"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the folder has a finding with everything that was reported of it.
fn has(findings: &FindingsFolder, slug: &str, reported: &Finding) -> bool {
    let stored = twinfer_store::read_finding(&findings.finding(slug)).ok().flatten();
    let is_same = |stored: Finding| {
        stored.case == reported.case && reported.seen_in.iter().all(|seen| stored.seen_in.contains(seen))
    };
    findings.is_whole(slug) && stored.is_some_and(is_same)
}

#[test]
fn what_was_reported_survives_power_cuts() {
    let recorded = Recorded::run();
    let whole = recorded.campaign.outcome(Summary::default(), recorded.events.clone());
    let (journal, files) = (whole.journal(), whole.finding_files());
    assert!(!files.is_empty());
    let (mut random, mut resumed) = (Random(11), 0);
    for cut in 0..CUTS {
        let (left, checked) = recorded.cut(|_| true, &mut random);
        checked.unwrap();
        if is_full_tier() || cut % 25 == 0 {
            let mut campaign = campaign();
            campaign.out = left.path().join("run");
            campaign.start = if has_run(&campaign.out) { Start::Resumed } else { Start::New };
            let after = campaign.run();
            assert_eq!(after.journal(), journal, "cut {cut}");
            assert!(after.finding_files() == files, "the findings differ after cut {cut}");
            resumed += 1;
        }
    }
    println!("{CUTS} cuts at {} moments, {resumed} resumed", recorded.disk.moments());
}

/// The syncs of one kind, which a disk may leave out.
struct Kind {
    name: &'static str,
    is_done: fn(&Path) -> bool,
}

/// What is synced, each with the disk that does not.
const KINDS: [Kind; 7] = [
    Kind { name: "the run directory's name", is_done: |path| !path.ends_with("disk") },
    Kind { name: "the names in the run directory", is_done: |path| !path.ends_with("disk/run") },
    Kind { name: "run.json", is_done: |path| !is_run_being_written(path) },
    Kind { name: "the journal", is_done: |path| !path.ends_with("journal.jsonl") },
    Kind { name: "the names of findings", is_done: |path| !path.ends_with("run/findings") },
    Kind {
        name: "the names in findings",
        is_done: |path| !is_in_findings(path) || path.extension().is_some(),
    },
    Kind {
        name: "the files of findings",
        is_done: |path| !is_in_findings(path) || path.extension().is_none(),
    },
];

fn is_run_being_written(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("disk/run"))
        && path.to_string_lossy().contains(".unfinished-")
}

fn is_in_findings(path: &Path) -> bool {
    path.parent().is_some_and(|parent| parent.components().any(|part| part.as_os_str() == "findings"))
}

#[test]
fn disk_that_leaves_out_a_sync_is_noticed() {
    let (recorded, mut random) = (Recorded::run(), Random(13));
    for Kind { name, is_done } in KINDS {
        let missing = (0..4 * CUTS).find_map(|_| recorded.cut(is_done, &mut random).1.err());
        println!("without syncing {name}: {}", missing.expect(name));
    }
}

#[test]
fn lost_and_torn_findings_are_made_again_by_resume() {
    let mut campaign = campaign();
    let whole = campaign.run();
    let (journal, files) = (whole.journal(), whole.finding_files());
    let slug = whole.findings()[0].signature.slug();
    let folder = campaign.out.join("findings").join(&slug);
    campaign.start = Start::Resumed;
    let damages: [fn(&Path); 4] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::write(folder.join("finding.json"), "{").unwrap(),
        |folder| fs::write(folder.join("model.onnx"), []).unwrap(),
        |folder| fs::remove_file(folder.with_extension("observed.json")).unwrap(),
    ];
    for damage in damages {
        damage(&folder);
        let resumed = campaign.run();
        assert!(resumed.finding_files() == files, "the findings differ");
        assert_eq!(counts(&resumed), counts(&whole));
        assert_eq!(resumed.journal(), journal);
        let mut decided_again = resumed.events.iter();
        assert!(decided_again.any(
            |event| matches!(event, Event::CaseFinished { record } if record.findings == [slug.clone()])
        ));
    }
}

/// How many cases show each finding, by name.
fn counts(outcome: &Outcome) -> BTreeMap<String, u64> {
    let counts = outcome.summary.findings.iter();
    counts.map(|count| (count.slug.clone(), count.cases)).collect()
}
