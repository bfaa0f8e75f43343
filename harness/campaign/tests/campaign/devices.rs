//! Actors on devices, and how campaigns spread over them and lose them.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use twinfer_campaign::Scaling;
use twinfer_case::{CaseHash, DeviceMemory, Event, Verdict, WorkerBound, Workforce};
use twinfer_protocol::{Fault, FromWorker};
use twinfer_worker::MessageSink;

use crate::{
    actor::tell,
    setup::{Outcome, Production, against},
};

/// Where actors of a campaign leave notes for each other and for the test.
const NOTES: &str = "TWINFER_ACTOR_NOTES";
/// The device that fails.
const BAD: &str = "2";

fn device() -> String {
    env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default()
}

fn note(name: &str) -> PathBuf {
    PathBuf::from(env::var(NOTES).unwrap_or_default()).join(name)
}

/// What an actor does when it starts: a device that fell off the bus has no workers any more.
pub fn meet(role: &str, sink: &mut dyn MessageSink) {
    if role.starts_with("notes-its-start") {
        count(&note("starts"));
    }
    if role == "loses-a-device" && device() == BAD && note("off-the-bus").exists()
        || role == "loses-all-devices" && note("off-the-bus").exists()
    {
        let message = format!("cannot use CUDA device {}: no CUDA-capable device is detected", device());
        tell(&FromWorker::Fault(Fault::of_environment(message)), sink);
        process::exit(3);
    }
}

/// Adds to a note that others add to.
fn count(note: &Path) {
    fs::File::options().create(true).append(true).open(note).unwrap().write_all(b".").unwrap();
}

/// What an actor does with a case besides.
pub fn work(role: &str) {
    match role {
        "errs-once" => count(&note("cases")),
        "notes-its-device" => {
            let path = note(&format!("{}-{}", device(), process::id()));
            count(&path);
            thread::sleep(Duration::from_millis(3));
        }
        "loses-a-device" | "loses-all-devices" if role == "loses-all-devices" || device() == BAD => {
            count(&note("cases"));
            let case = fs::metadata(note("cases")).unwrap().len();
            if case >= 5 && !note("mended").exists() {
                fs::write(note("off-the-bus"), "").unwrap();
                process::abort()
            }
        }
        "dies-on-a-device" if device() == BAD => process::abort(),
        // so slow that the campaign goes on until no worker was to be started on the bad device for five seconds
        "loses-a-device" => thread::sleep(Duration::from_millis(60)),
        // so slow that the bad device is given its share of the cases
        "dies-on-a-device" => thread::sleep(Duration::from_millis(10)),
        "notes-its-start-and-has-many-bugs" => thread::sleep(Duration::from_millis(4)),
        "takes-its-time" | "fills-its-device" => thread::sleep(Duration::from_millis(5)),
        _ => {}
    }
}

/// The memory of an actor's device: each worker takes an eighth.
pub fn memory(role: &str) -> Option<DeviceMemory> {
    (role == "fills-its-device").then(|| {
        count(&note("workers"));
        let workers = fs::metadata(note("workers")).unwrap().len();
        DeviceMemory { free: 8_u64.saturating_sub(workers) << 30, total: 8 << 30 }
    })
}

fn on_devices(role: &str, devices: &[&str], cases: u64) -> (Production, tempfile::TempDir) {
    let (mut production, notes) = (against(role, cases), tempfile::tempdir().unwrap());
    production.options.devices = devices.iter().map(|device| (*device).to_owned()).collect();
    production.options.jobs = NonZeroUsize::new(4).unwrap();
    let place = notes.path().to_str().unwrap().to_owned();
    production.options.worker.env.push((NOTES.to_owned(), place));
    (production, notes)
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

/// Workers that investigations find busy are waited for: where starting one takes seconds, none is started to be dropped.
pub fn no_more_than_hands() {
    const HANDS: usize = 4;
    let (mut production, notes) = on_devices("notes-its-start-and-has-many-bugs", &[], 600);
    production.options.investigations = NonZeroUsize::new(HANDS).unwrap();
    (production.options.repeat_every, production.options.fresh_every) = (0, 0);
    let first = production.run();
    // what is known already needs no fresh worker to be confirmed
    production.options.known = vec![first.out.join("findings")];
    production.options.out = notes.path().join("again");
    fs::remove_file(notes.path().join("starts")).unwrap();
    let second = production.run();
    let investigated =
        second.events.iter().filter(|event| matches!(event, Event::Investigated { .. })).count();
    let started = fs::metadata(notes.path().join("starts")).unwrap().len() as usize;
    assert!(investigated > 30 && second.findings().is_empty(), "{investigated} investigations");
    let (lanes, spares) = (production.options.jobs.get(), 1);
    assert!(
        started <= lanes + spares + HANDS,
        "{started} workers were started for {investigated} investigations"
    );
}

/// A symptom that does not recur is not looked for in all the smaller cases that there are.
pub fn comes_and_goes() {
    const CASES: u64 = 40;
    let (mut production, notes) = on_devices("errs-once", &[], CASES);
    production.options.jobs = NonZeroUsize::MIN;
    production.options.investigations = NonZeroUsize::MIN;
    (production.options.repeat_every, production.options.fresh_every) = (0, 0);
    let outcome = production.run();
    assert_eq!(outcome.findings().len(), 1, "{:?}", outcome.kinds());
    let ran = fs::metadata(notes.path().join("cases")).unwrap().len();
    assert!((CASES + 24..CASES + 40).contains(&ran), "{ran} cases ran");
}

pub fn spread() {
    let (mut production, notes) = on_devices("notes-its-device", &["0", "1", "2", "3"], 400);
    for scaling in [Scaling::Fixed, Scaling::AsNeeded] {
        production.options.scaling = scaling;
        production.options.out = notes.path().join(format!("run-{scaling:?}"));
        production.run();
    }
    let mut by_device: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(notes.path()).unwrap().map(|entry| entry.unwrap()) {
        if let Some((device, _)) =
            entry.file_name().to_str().unwrap().split_once('-').filter(|_| entry.path().is_file())
        {
            *by_device.entry(device.to_owned()).or_default() += fs::read(entry.path()).unwrap().len();
        }
    }
    let devices: Vec<_> = by_device.keys().map(String::as_str).collect();
    assert_eq!(devices, ["0", "1", "2", "3"], "{by_device:?}");
    let (least, most) = (by_device.values().min().unwrap(), by_device.values().max().unwrap());
    assert!(most < &(2 * least), "{by_device:?}");
}

pub fn one_off_the_bus() {
    const CASES: u64 = 400;
    let healthy = on_devices("honest", &["0"], CASES).0.run();
    for role in ["loses-a-device", "dies-on-a-device"] {
        let (production, _notes) = on_devices(role, &["0", "1", BAD], CASES);
        let outcome = production.run();
        let told = given_up(&outcome);
        assert!(matches!(told.as_slice(), [(BAD, _)]), "{role}: {told:?}");
        assert!(verdicts(&outcome) == verdicts(&healthy), "{role}: the verdicts differ");
        assert!(outcome.findings().is_empty(), "{role}");
    }
}

pub fn all_off_the_bus() {
    for devices in [&["0"][..], &["0", "1"]] {
        let healthy = verdicts(&against("honest", 200).run());
        let (mut production, notes) = on_devices("loses-all-devices", devices, 200);
        let error = production.try_run().err().expect("no device is left");
        assert!(error.to_string().contains("no CUDA-capable device is detected"), "{error}");
        // the machine is started again
        fs::remove_file(notes.path().join("off-the-bus")).unwrap();
        fs::write(notes.path().join("mended"), "").unwrap();
        production.options.resume = true;
        assert!(verdicts(&production.run()) == healthy, "the verdicts differ");
    }
}

/// Which case had which verdict.
fn verdicts(outcome: &Outcome) -> Vec<(CaseHash, Verdict)> {
    outcome.journal().into_iter().map(|mut record| (record.case, record.variants.remove(0).verdict)).collect()
}

fn workforce(outcome: &Outcome) -> Workforce {
    let mut told = outcome.events.iter().rev().filter_map(|event| match event {
        Event::WorkforceChanged { workforce } => workforce.first(),
        _ => None,
    });
    told.next().cloned().expect("it is told")
}

pub fn hired_as_needed() {
    let hired = |role: &str, most: usize| {
        let (mut production, _notes) = on_devices(role, &["0"], 300);
        production.options.scaling = Scaling::AsNeeded;
        production.options.jobs = NonZeroUsize::new(most).unwrap();
        let outcome = production.run();
        let run: twinfer_case::RunInfo =
            serde_json::from_slice(&fs::read(outcome.out.join("run.json")).unwrap()).unwrap();
        assert_eq!(run.workforce, [workforce(&outcome)]);
        (workforce(&outcome), verdicts(&outcome))
    };
    let (slow, verdicts) = hired("takes-its-time", 5);
    assert_eq!((slow.workers, slow.bound), (5, WorkerBound::Cores));
    assert!(slow.footprint.is_some_and(|bytes| bytes > 1 << 18), "{slow:?}");
    let (full, same) = hired("fills-its-device", 12);
    assert!((2..=6).contains(&full.workers) && full.bound == WorkerBound::DeviceMemory, "{full:?}");
    assert!(same == verdicts, "the number of workers shows in the verdicts");
    let (alone, _) = hired("wants-its-device-alone", 5);
    assert_eq!((alone.workers, alone.bound), (1, WorkerBound::Device));
}
