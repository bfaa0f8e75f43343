//! Devices that are lost, filled or exclusive, as actors play them.

use std::{
    env,
    fs::{self, File},
    io::Write,
    mem,
    path::PathBuf,
    process, thread,
    time::Duration,
};

use twinfer_case::DeviceMemory;
use twinfer_protocol::{Fault, FaultCause};

use crate::{
    role::{FAILING_DEVICE, HANGING_CASE, PLACES, Role},
    shared_folder,
};

/// Cases after which a device is lost.
const CASES_BEFORE_LOSS: u64 = 5;
/// Workers that fill a device.
const WORKERS_PER_DEVICE: u64 = 8;

fn device() -> String {
    env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default()
}

fn shared(name: &str) -> PathBuf {
    PathBuf::from(env::var_os(shared_folder::VARIABLE).unwrap()).join(name)
}

/// Adds one to a counter that other actors add to, and returns its value.
fn count(counter: &str) -> u64 {
    let mut file = File::options().create(true).append(true).open(shared(counter)).unwrap();
    file.write_all(b".").unwrap();
    file.metadata().unwrap().len()
}

/// Whether a process that plays the role is slow now.
pub fn is_slow(role: Role) -> bool {
    role == Role::HasManyBugsSlowly && !shared(shared_folder::QUICK).exists()
}

/// Counts a start of this process, if the role does.
pub fn count_start(role: Role) {
    if role == Role::HasManyBugsAndCountsStarts {
        count(shared_folder::STARTS);
    }
}

/// Why an actor does not start on its device; `None` if the device works.
pub fn loss(role: Role) -> Option<Fault> {
    if role == Role::HasManyBugsOnCrowdedDevice && !take_place() {
        count(shared_folder::REFUSED);
        let message = "the device serves no further process".to_owned();
        return Some(Fault { message, cause: FaultCause::FullDevice });
    }
    let is_lost = loses_its_device(role) && shared(shared_folder::LOST).exists();
    let reason = || format!("cannot use CUDA device {}: no CUDA-capable device is detected", device());
    is_lost.then(|| Fault::of_environment(reason()))
}

/// Takes a place on the device until this process ends; false if there is none.
fn take_place() -> bool {
    let places = (0..PLACES).map(|place| File::create(shared(&shared_folder::place(place))).unwrap());
    let taken = places.into_iter().find(|place| place.try_lock().is_ok());
    taken.map(mem::forget).is_some()
}

fn loses_its_device(role: Role) -> bool {
    role == Role::LosesAllDevices || role == Role::LosesOneDevice && device() == FAILING_DEVICE
}

/// Does to the device, and takes the time, that the role does with each case.
pub fn work(role: Role) {
    match role {
        Role::ErrsOnce => {
            count(shared_folder::CASES);
        }
        Role::HangsOnce => {
            let is_due = count(shared_folder::CASES) >= HANGING_CASE;
            if is_due && File::create_new(shared(shared_folder::HUNG)).is_ok() {
                crate::hang();
            }
        }
        Role::CountsCasesByDevice => {
            fs::create_dir_all(shared(shared_folder::CASES_BY_DEVICE)).unwrap();
            count(&format!("{}/{}-{}", shared_folder::CASES_BY_DEVICE, device(), process::id()));
            thread::sleep(Duration::from_millis(3));
        }
        Role::LosesOneDevice | Role::LosesAllDevices if loses_its_device(role) => {
            let is_due = count(shared_folder::CASES) >= CASES_BEFORE_LOSS;
            if is_due && !shared(shared_folder::REPAIRED).exists() {
                fs::write(shared(shared_folder::LOST), "").unwrap();
                process::abort()
            }
        }
        Role::DiesOnOneDevice if device() == FAILING_DEVICE => process::abort(),
        // slow enough that the campaign continues until no worker was to be started on the lost device for five seconds
        Role::LosesOneDevice => thread::sleep(Duration::from_millis(60)),
        // slow enough that the failing device receives its share of the cases
        Role::DiesOnOneDevice => thread::sleep(Duration::from_millis(10)),
        Role::HasManyBugsAndCountsStarts => thread::sleep(Duration::from_millis(4)),
        Role::IsSlow | Role::FillsDevice => thread::sleep(Duration::from_millis(5)),
        _ => {}
    }
}

/// The memory of the device: each worker takes an equal part of one that is filled, and nothing of a crowded one. `None` if the role uses no memory.
pub fn memory(role: Role) -> Option<DeviceMemory> {
    if role == Role::HasManyBugsOnCrowdedDevice {
        return Some(DeviceMemory { free: 1 << 40, total: 1 << 40 });
    }
    (role == Role::FillsDevice).then(|| {
        let workers = count("workers");
        DeviceMemory {
            free: WORKERS_PER_DEVICE.saturating_sub(workers) << 30,
            total: WORKERS_PER_DEVICE << 30,
        }
    })
}

/// The only use of the device that the actors of a campaign share; dropping it releases the device.
pub struct ExclusiveUse(PathBuf);

impl ExclusiveUse {
    /// Acquires the device for long enough that a second user would be seen. Panics if another actor uses it.
    pub fn acquire() -> Self {
        let path = shared("device-in-use");
        File::create_new(&path).expect("another worker uses the device");
        let acquired = Self(path);
        thread::sleep(Duration::from_millis(10));
        acquired
    }
}

impl Drop for ExclusiveUse {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
