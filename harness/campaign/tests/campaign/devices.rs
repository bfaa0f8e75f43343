//! Campaigns that spread over devices, lose them and scale their workers.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    num::NonZeroUsize,
};

use twinfer_campaign::{CampaignError, Scaling};
use twinfer_case::{CaseHash, Event, Kind, RunEnd, Verdict, WorkerBound, Workforce};
use twinfer_store::Start;

use crate::{
    actor::{
        role::{FAILING_DEVICE, PLACES, Role},
        shared_folder::{self, CASES_BY_DEVICE, LOST, REFUSED, REPAIRED, STARTS},
    },
    setup::{Outcome, TestCampaign, against},
};

fn on_devices(role: Role, devices: &[&str], cases: u64) -> TestCampaign {
    let mut campaign = against(role, cases);
    campaign.options.experiments = false;
    campaign.options.devices = devices.iter().map(|device| (*device).to_owned()).collect();
    campaign.options.jobs = NonZeroUsize::new(4).unwrap();
    campaign
}

/// The value of a counter of the campaign's actors.
fn counted(campaign: &TestCampaign, counter: &str) -> u64 {
    fs::metadata(campaign.shared(counter)).unwrap().len()
}

fn given_up(outcome: &Outcome) -> Vec<(&str, &str)> {
    outcome
        .events
        .iter()
        .filter_map(|event| match event {
            Event::DeviceGivenUp { device, reason, .. } => Some((device.as_str(), reason.as_str())),
            _ => None,
        })
        .collect()
}

/// A worker that is needed takes the place of an idle one, or waits for one.
#[test]
fn device_serves_no_more_processes_than_it_can() {
    let mut campaign = on_devices(Role::HasManyBugsOnCrowdedDevice, &["0"], 60);
    campaign.options.device_workers = NonZeroUsize::new(PLACES);
    campaign.options.jobs = NonZeroUsize::new(2).unwrap();
    campaign.options.investigations = NonZeroUsize::new(4).unwrap();
    let crowded = campaign.run();
    assert!(!campaign.shared(REFUSED).exists(), "{} starts were refused", counted(&campaign, REFUSED));
    let elsewhere = on_devices(Role::HasManyBugs, &["0"], 60).run();
    assert_eq!(kinds_by_case(&crowded), kinds_by_case(&elsewhere));
}

fn kinds_by_case(outcome: &Outcome) -> Vec<(CaseHash, Vec<Kind>)> {
    let kinds = |(case, verdict): (CaseHash, Verdict)| (case, kinds_of(&verdict));
    verdicts(outcome).into_iter().map(kinds).collect()
}

/// Other programs take places, too, which only shows when a worker is refused: the campaign goes on with those that it has.
#[test]
fn device_that_other_programs_use_too_costs_workers_and_no_verdict() {
    const OTHERS: usize = 2;
    let mut campaign = on_devices(Role::HasManyBugsOnCrowdedDevice, &["0"], 60);
    campaign.options.jobs = NonZeroUsize::new(2).unwrap();
    campaign.options.investigations = NonZeroUsize::new(4).unwrap();
    let places: Vec<_> = (0..OTHERS)
        .map(|place| File::create(campaign.shared(&shared_folder::place(place))).unwrap())
        .collect();
    for place in &places {
        place.lock().unwrap();
    }
    let crowded = campaign.run();
    assert!(campaign.shared(REFUSED).exists(), "the device was never full");
    assert!(given_up(&crowded).is_empty());
    let elsewhere = on_devices(Role::HasManyBugs, &["0"], 60).run();
    assert_eq!(kinds_by_case(&crowded), kinds_by_case(&elsewhere));
}

/// Triage waits for busy workers. If starting a worker takes seconds, none is started only to be dropped.
#[test]
fn triage_starts_no_more_workers_than_its_limit() {
    const LIMIT: usize = 4;
    let mut campaign = on_devices(Role::HasManyBugsAndCountsStarts, &[], 600);
    campaign.options.investigations = NonZeroUsize::new(LIMIT).unwrap();
    (campaign.options.repeat_every, campaign.options.fresh_every) = (0, 0);
    let first = campaign.run();
    // a known finding needs no fresh worker to be confirmed
    campaign.options.known = vec![first.out.join("findings")];
    campaign.out = campaign.shared("again");
    fs::remove_file(campaign.shared(STARTS)).unwrap();
    let second = campaign.run();
    let investigated =
        second.events.iter().filter(|event| matches!(event, Event::Investigated { .. })).count();
    let started = counted(&campaign, STARTS) as usize;
    assert!(investigated > 30 && second.findings().is_empty(), "{investigated} investigations");
    let (executors, spares) = (campaign.options.jobs.get(), 1);
    assert!(
        started <= executors + spares + LIMIT,
        "{started} workers were started for {investigated} investigations"
    );
}

/// A divergence that does not recur is not searched for in every smaller case.
#[test]
fn divergence_that_does_not_recur_ends_triage_early() {
    const CASES: u64 = 40;
    let mut campaign = on_devices(Role::ErrsOnce, &[], CASES);
    campaign.options.jobs = NonZeroUsize::MIN;
    campaign.options.investigations = NonZeroUsize::MIN;
    (campaign.options.repeat_every, campaign.options.fresh_every) = (0, 0);
    let outcome = campaign.run();
    assert_eq!(outcome.findings().len(), 1, "{:?}", outcome.kinds());
    let ran = counted(&campaign, shared_folder::CASES);
    // it runs ten times at least, and no hundreds of candidates run
    assert!((CASES + 10..CASES + 40).contains(&ran), "{ran} cases ran");
}

#[test]
fn cases_are_spread_evenly_over_devices() {
    let mut campaign = on_devices(Role::CountsCasesByDevice, &["0", "1", "2", "3"], 400);
    for scaling in [Scaling::Fixed, Scaling::AsNeeded] {
        campaign.options.scaling = scaling;
        campaign.out = campaign.shared(&format!("run-{scaling:?}"));
        campaign.run();
    }
    let mut by_device: BTreeMap<String, u64> = BTreeMap::new();
    for counter in fs::read_dir(campaign.shared(CASES_BY_DEVICE)).unwrap().map(Result::unwrap) {
        let name = counter.file_name();
        let (device, _process) = name.to_str().unwrap().split_once('-').unwrap();
        *by_device.entry(device.to_owned()).or_default() += counter.metadata().unwrap().len();
    }
    let devices: Vec<_> = by_device.keys().map(String::as_str).collect();
    assert_eq!(devices, ["0", "1", "2", "3"], "{by_device:?}");
    let (least, most) = (by_device.values().min().unwrap(), by_device.values().max().unwrap());
    assert!(most < &(2 * least), "{by_device:?}");
}

#[test]
fn failing_device_is_given_up_without_changing_verdicts() {
    const CASES: u64 = 400;
    let healthy = on_devices(Role::Honest, &["0"], CASES).run();
    for role in [Role::LosesOneDevice, Role::DiesOnOneDevice] {
        let campaign = on_devices(role, &["0", "1", FAILING_DEVICE], CASES);
        let outcome = campaign.run();
        let given_up = given_up(&outcome);
        assert!(matches!(given_up.as_slice(), [(FAILING_DEVICE, _)]), "{role}: {given_up:?}");
        assert!(verdicts(&outcome) == verdicts(&healthy), "{role}: the verdicts differ");
        assert!(outcome.findings().is_empty(), "{role}");
    }
}

#[test]
fn campaign_without_devices_fails_and_can_be_resumed() {
    for devices in [&["0"][..], &["0", "1"]] {
        let healthy = verdicts(&against(Role::Honest, 200).run());
        let mut campaign = on_devices(Role::LosesAllDevices, devices, 200);
        let error = campaign.try_run().err().expect("every device is lost");
        assert!(matches!(error, CampaignError::NoDeviceLeft { .. }), "{error:?}");
        assert!(error.to_string().contains("no CUDA-capable device is detected"), "{error}");
        let end = || {
            let run = fs::read(campaign.out.join("run.json")).unwrap();
            serde_json::from_slice::<twinfer_case::RunInfo>(&run).unwrap().end
        };
        assert_eq!(end(), Some(RunEnd::Failed(error.to_string())));
        // as after a reboot
        fs::remove_file(campaign.shared(LOST)).unwrap();
        fs::write(campaign.shared(REPAIRED), "").unwrap();
        campaign.start = Start::Resumed;
        assert!(verdicts(&campaign.run()) == healthy, "the verdicts differ");
    }
}

/// The verdict of each case.
fn verdicts(outcome: &Outcome) -> Vec<(CaseHash, Verdict)> {
    outcome.journal().into_iter().map(|mut record| (record.case, record.variants.remove(0).verdict)).collect()
}

fn kinds_of(verdict: &Verdict) -> Vec<Kind> {
    verdict.divergences().iter().map(|divergence| divergence.kind).collect()
}

fn workforce(outcome: &Outcome) -> Workforce {
    let mut changes = outcome.events.iter().rev().filter_map(|event| match event {
        Event::WorkforceChanged { workforce } => workforce.first(),
        _ => None,
    });
    changes.next().cloned().expect("the campaign reports its workers")
}

#[test]
fn workers_scale_up_while_cases_wait_and_memory_lasts() {
    let scaled = |role: Role, most: usize| {
        let mut campaign = on_devices(role, &["0"], 300);
        campaign.options.scaling = Scaling::AsNeeded;
        campaign.options.jobs = NonZeroUsize::new(most).unwrap();
        let outcome = campaign.run();
        let run: twinfer_case::RunInfo =
            serde_json::from_slice(&fs::read(outcome.out.join("run.json")).unwrap()).unwrap();
        assert_eq!(run.workforce, [workforce(&outcome)]);
        (workforce(&outcome), verdicts(&outcome))
    };
    let (slow, verdicts) = scaled(Role::IsSlow, 5);
    assert_eq!((slow.workers, slow.bound), (5, WorkerBound::Cores));
    assert!(slow.footprint.is_some_and(|bytes| bytes > 1 << 18), "{slow:?}");
    let (full, same) = scaled(Role::FillsDevice, 12);
    assert!((2..=6).contains(&full.workers) && full.bound == WorkerBound::DeviceMemory, "{full:?}");
    assert!(same == verdicts, "the verdicts depend on the number of workers");
    let (alone, _) = scaled(Role::NeedsExclusiveDevice, 5);
    assert_eq!((alone.workers, alone.bound), (1, WorkerBound::Device));
}
