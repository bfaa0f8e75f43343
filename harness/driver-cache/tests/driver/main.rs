//! The driver cache with a stand-in for the CUDA driver and a library that finds it as a CUDA runtime does, both compiled
//! here; and with the real libraries that are installed.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod stand_in;

use std::{
    ffi::c_int,
    fs,
    path::Path,
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use stand_in::{
    ATTRIBUTE, Driver, FOLDER, LAZY, READ_ONLY_SLOTS, Runtime, ask_with_null_pointer, compile, load,
    load_with_deep_binding, replace_byte,
};
use twinfer_case::MemoryMode;
use twinfer_driver_cache::{AttachError, attach, attach_by_name, attribute_tally};
use twinfer_libraries::Store;

/// An attribute and a device that no other test requests, because all tests share the cache of this process.
fn unused_attribute() -> (c_int, c_int) {
    static NEXT: AtomicI32 = AtomicI32::new(100);
    (NEXT.fetch_add(1, Ordering::Relaxed), 3)
}

#[test]
fn attribute_is_requested_once_through_every_kind_of_lookup() {
    let (runtime, driver) = (Runtime::attached("once", &LAZY), Driver::open());
    for way in runtime.ways() {
        assert_ne!(way, driver.address("cuDeviceGetAttribute"));
        let (attribute, device) = unused_attribute();
        let before = attribute_tally();
        for _ in 0..100 {
            assert_eq!(runtime.ask(way, attribute, device), Ok(1000 * device + attribute));
        }
        // other tests request a few attributes at the same time
        assert!(attribute_tally().asked >= before.asked + 100, "{:?}", attribute_tally());
        assert!(
            attribute_tally().answered_by_driver < before.answered_by_driver + 50,
            "{:?}",
            attribute_tally()
        );
    }
}

#[test]
fn read_only_slots_are_rewritten_and_read_only_again() {
    let runtime = Runtime::load("relro", &READ_ONLY_SLOTS);
    let before = mappings("librelro.so");
    attach(&runtime.path, MemoryMode::Keep).unwrap();
    assert_ne!(runtime.by_name(ATTRIBUTE), Driver::open().address("cuDeviceGetAttribute"));
    assert_eq!(mappings("librelro.so"), before);
}

/// The lines of the process's memory map for a library.
fn mappings(name: &str) -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.ends_with(name)).map(str::to_owned).collect()
}

#[test]
fn error_is_returned_and_requested_again() {
    let (runtime, driver) = (Runtime::attached("error", &LAZY), Driver::open());
    let way = runtime.by_name(ATTRIBUTE);
    let before = driver.asked();
    for _ in 0..10 {
        assert_eq!(runtime.ask(way, 1, 7), Err(101));
    }
    assert!(driver.asked() >= before + 10);
}

#[test]
fn library_that_is_not_attached_finds_the_driver() {
    let (_attached, driver) = (Runtime::attached("other", &LAZY), Driver::open());
    let untouched = Runtime::load("untouched", &LAZY);
    for way in untouched.ways() {
        assert_eq!(way, driver.address("cuDeviceGetAttribute"));
    }
    let (attribute, device) = unused_attribute();
    let before = driver.asked();
    for _ in 0..10 {
        assert_eq!(
            untouched.ask(untouched.by_name(ATTRIBUTE), attribute, device),
            Ok(1000 * device + attribute)
        );
    }
    assert!(driver.asked() >= before + 10);
}

#[test]
fn mode_off_attaches_nothing() {
    let runtime = Runtime::load("off", &LAZY);
    attach(&runtime.path, MemoryMode::Off).unwrap();
    assert_eq!(runtime.by_name(ATTRIBUTE), Driver::open().address("cuDeviceGetAttribute"));
}

/// One test for all kinds of memory, because the stand-in counts the calls of the whole process.
#[test]
fn freed_memory_is_reused_through_every_kind_of_lookup() {
    let driver = Driver::open();
    // another test may have set the mode of this process already
    let untouched = Runtime::load("memory-off", &LAZY);
    attach(&untouched.path, MemoryMode::Off).unwrap();
    assert_eq!(untouched.by_name(c"cuMemAlloc_v2"), driver.address("cuMemAlloc_v2"));

    let runtime = Runtime::attached("memory", &LAZY);
    let ways = [
        (runtime.by_name(c"cuMemAlloc_v2"), runtime.by_name(c"cuMemFree_v2")),
        (
            runtime.by_version("by_first", c"cuMemAlloc", 11_080),
            runtime.by_version("by_first", c"cuMemFree", 11_080),
        ),
        (
            runtime.by_version("by_second", c"cuMemAlloc", 12_000),
            runtime.by_version("by_second", c"cuMemFree", 12_000),
        ),
    ];
    let before = driver.memory_calls();
    let first = runtime.allocate(ways[0].0, 1000).unwrap();
    for (allocate, free) in ways {
        assert_ne!(allocate, driver.address("cuMemAlloc_v2"));
        assert_eq!(runtime.free(free, first), 0);
        assert_eq!(runtime.allocate(allocate, 1000), Ok(first));
    }
    let [allocations, releases, _, waits, cleared, ..] = since(before, &driver);
    assert_eq!([allocations, releases, waits, cleared], [1, 0, 6, 3 * 1024]);

    let (allocate, free) = ways[0];
    assert_eq!(runtime.allocate(allocate, 0), Err(1), "the driver's refusal is returned");
    assert_eq!(runtime.free(free, 0), 1);
    let free_async = runtime.by_version("by_second", c"cuMemFreeAsync", 12_000);
    assert_eq!(runtime.free_async(free_async, first, 0), 0);
    let before = driver.memory_calls();
    assert_eq!(runtime.free(free, first), 0);
    assert_eq!(driver.memory_calls()[1], before[1] + 1, "the block is the driver's again");
    assert_eq!(runtime.free_async(free_async, first, 1), 400);
    let second = runtime.allocate(allocate, 1000).unwrap();
    assert_eq!(
        (runtime.free(free, second), runtime.free(free, second)),
        (0, 1),
        "the second release is refused"
    );
    assert_eq!(runtime.free_async(free_async, second, 0), 1);

    host_memory_is_reused(&runtime, &driver);
    pool_keeps_freed_memory_and_returns_zeros(&runtime, &driver);
    virtual_memory_is_reused_with_its_mapping(&runtime, &driver);
    free_memory_is_requested_rarely(&runtime, &driver);
}

/// The calls that have reached the driver since `before`.
fn since(before: [c_int; 7], driver: &Driver) -> [c_int; 7] {
    let after = driver.memory_calls();
    std::array::from_fn(|which| after[which] - before[which])
}

/// The address of a variable, as a word.
fn address_of(word: &mut u64) -> u64 {
    ptr::from_mut(word).expose_provenance() as u64
}

fn host_memory_is_reused(runtime: &Runtime, driver: &Driver) {
    let (allocate, free) = (runtime.by_name(c"cuMemHostAlloc"), runtime.by_name(c"cuMemFreeHost"));
    let before = driver.memory_calls();
    let mut addresses = [0; 3];
    for address in &mut addresses {
        assert_eq!(runtime.call(allocate, [address_of(address), 1000, 2, 0, 0]), 0);
        assert_eq!(replace_byte(*address, 7), 0);
        assert_eq!(runtime.call(free, [*address, 0, 0, 0, 0]), 0);
    }
    assert_eq!(addresses, [addresses[0]; 3]);
    let [allocations, releases, ..] = since(before, driver);
    assert_eq!([allocations, releases], [1, 0]);
    assert_eq!(runtime.call(allocate, [0, 1000, 2, 0, 0]), 1);
    assert_eq!(runtime.call(free, [0; 5]), 1, "the driver's refusal is returned");
}

fn pool_keeps_freed_memory_and_returns_zeros(runtime: &Runtime, driver: &Driver) {
    let allocate = runtime.by_name(c"cuMemAllocAsync");
    let (before, mut address) = (driver.memory_calls(), 0);
    assert_eq!(runtime.call(allocate, [address_of(&mut address), 1000, 0, 0, 0]), 0);
    let [allocations, _, _, waits, cleared, ..] = since(before, driver);
    assert_eq!((driver.pool_threshold(), allocations, waits, cleared), (256 << 20, 1, 0, 1000));
    assert_eq!(runtime.call(allocate, [address_of(&mut address), 1000, 1, 0, 0]), 400);
    assert_eq!(runtime.call(allocate, [0, 1000, 0, 0, 0]), 1);
}

fn virtual_memory_is_reused_with_its_mapping(runtime: &Runtime, driver: &Driver) {
    let find = |name| {
        let found = runtime.by_name(name);
        assert_ne!(found, driver.address(name.to_str().unwrap()));
        found
    };
    let (reserve, free) = (find(c"cuMemAddressReserve"), find(c"cuMemAddressFree"));
    let (create, release) = (runtime.by_version("by_second", c"cuMemCreate", 12_000), find(c"cuMemRelease"));
    let (map, unmap, set_access) = (find(c"cuMemMap"), find(c"cuMemUnmap"), find(c"cuMemSetAccess"));
    // pinned memory of device 0, with read and write access for that device
    let (properties, access) = ([1_u32, 0, 1, 0, 0, 0, 0, 0], [1_u32, 0, 3]);
    let properties = properties.as_ptr().expose_provenance() as u64;
    let access = access.as_ptr().expose_provenance() as u64;
    let call = |function, words| assert_eq!(runtime.call(function, words), 0);
    let mut taken = Vec::new();
    for calls in [4, 0, 0] {
        let (before, mut range, mut handle) = (driver.memory_calls(), 0, 0);
        call(reserve, [address_of(&mut range), 4096, 0, 0, 0]);
        call(create, [address_of(&mut handle), 4096, properties, 0, 0]);
        call(map, [range, 4096, 0, handle, 0]);
        call(set_access, [range, 4096, access, 1, 0]);
        call(unmap, [range, 4096, 0, 0, 0]);
        call(release, [handle, 0, 0, 0, 0]);
        call(free, [range, 4096, 0, 0, 0]);
        assert_eq!(since(before, driver)[6], calls);
        taken.push((range, handle));
    }
    assert_eq!(taken, [taken[0]; 3]);

    // idle blocks and idle ranges make room for each other
    let (allocate, free_block) = (runtime.by_name(c"cuMemAlloc_v2"), runtime.by_name(c"cuMemFree_v2"));
    let allocate_async = runtime.by_name(c"cuMemAllocAsync");
    driver.set_room(0);
    let block = runtime.allocate(allocate, 3 << 20).unwrap();
    driver.set_room(0);
    let mut handle = 0;
    assert_eq!(runtime.call(create, [address_of(&mut handle), 8192, properties, 0, 0]), 2);
    assert_eq!(runtime.free(free_block, block), 0);
    call(create, [address_of(&mut handle), 8192, properties, 0, 0]);
    assert_eq!(runtime.call(allocate_async, [address_of(&mut handle), 1000, 0, 0, 0]), 2);
    driver.set_room(1 << 40);

    let retain = find(c"cuMemRetainAllocationHandle");
    call(retain, [address_of(&mut handle), 0, 0, 0, 0]);
    assert_eq!(runtime.call(retain, [0; 5]), 1);
    let mut wished = 0;
    call(reserve, [address_of(&mut wished), 4096, 0, 1 << 40, 0]);
    assert_eq!(wished, 1 << 40);
    for (function, words) in [
        (reserve, [0, 4096, 0, 0, 0]),
        (create, [0, 4096, properties, 0, 0]),
        (create, [address_of(&mut wished), 4096, 0, 0, 0]),
        (create, [address_of(&mut wished), 4096, properties, 1, 0]),
        (set_access, [1 << 40, 4096, 0, 1, 0]),
        (map, [1 << 40, 4096, 1, 7, 0]),
        (release, [0; 5]),
    ] {
        assert_eq!(runtime.call(function, words), 1, "the driver's refusal is returned");
    }
}

fn free_memory_is_requested_rarely(runtime: &Runtime, driver: &Driver) {
    let before = driver.memory_calls();
    let ways =
        [runtime.by_name(c"cuMemGetInfo_v2"), runtime.by_version("by_second", c"cuMemGetInfo", 12_000)];
    for _ in 0..50 {
        for way in ways {
            let (mut left, mut total) = (0, 0);
            assert_eq!(runtime.call(way, [address_of(&mut left), address_of(&mut total), 0, 0, 0]), 0);
            assert_eq!((left < total, total), (true, 1000));
        }
    }
    let looks = since(before, driver)[5];
    assert!((1..50).contains(&looks), "{looks} of a hundred requests reached the driver");
    assert_eq!(runtime.call(ways[0], [0; 5]), 1);
}

#[test]
fn events_are_created_without_blocking_sync_and_polled() {
    let (runtime, driver) = (Runtime::attached("events", &LAZY), Driver::open());
    let wait = runtime.by_name(c"cuEventSynchronize");
    for create in
        [runtime.by_name(c"cuEventCreate"), runtime.by_version("by_second", c"cuEventCreate", 12_000)]
    {
        assert_ne!(create, driver.address("cuEventCreate"));
        let mut event = 0;
        // CU_EVENT_BLOCKING_SYNC and CU_EVENT_DISABLE_TIMING
        assert_eq!(runtime.call(create, [address_of(&mut event), 3, 0, 0, 0]), 0);
        assert_eq!(driver.number("created_with"), 2);
        assert_eq!(runtime.call(wait, [event, 0, 0, 0, 0]), 0);
        assert_eq!(runtime.call(create, [0, 3, 0, 0, 0]), 1);
    }
    assert_eq!(runtime.call(wait, [0; 5]), 400, "the driver's refusal is returned");
    assert_eq!(driver.number("waited_by_driver"), 0);

    let untouched = Runtime::load("eventless", &LAZY);
    attach(&untouched.path, MemoryMode::Off).unwrap();
    assert_eq!(untouched.by_name(c"cuEventCreate"), driver.address("cuEventCreate"));
}

#[test]
fn functions_without_a_hook_are_the_drivers() {
    let (runtime, driver) = (Runtime::attached("others", &LAZY), Driver::open());
    assert_eq!(runtime.by_name(c"cuInit"), driver.address("cuInit"));
    assert_eq!(runtime.by_version("by_first", c"cuInit", 11_080), driver.address("cuInit"));
    assert_eq!(runtime.by_version("by_second", c"cuInit", 12_000), driver.address("cuInit"));
    assert!(runtime.by_version("by_second", c"cuNothing", 12_000).is_null());
}

#[test]
fn get_proc_address_finds_itself_in_the_requested_version() {
    let runtime = Runtime::attached("itself", &LAZY);
    let (first, second) = (runtime.by_name(c"cuGetProcAddress"), runtime.by_name(c"cuGetProcAddress_v2"));
    assert_ne!(first, second);
    for way in ["by_first", "by_second"] {
        assert_eq!(runtime.by_version(way, c"cuGetProcAddress", 11_080), first);
        assert_eq!(runtime.by_version(way, c"cuGetProcAddress", 12_000), second);
    }
}

#[test]
fn search_orders_and_messages_of_dlerror_are_unchanged() {
    let (attached, untouched) = (Runtime::attached("one", &LAZY), Runtime::load("two", &["-DWHO=2"]));
    assert_eq!((attached.who_by_default(), untouched.who_by_default()), (1, 2));
    assert!(!attached.next(c"malloc").is_null());
    assert_eq!(attached.next(c"malloc"), untouched.next(c"malloc"));
    for name in [c"cuNothing", c"cuGetProcAddress_v9"] {
        assert!(attached.failure(name).contains("undefined symbol"));
        assert_eq!(attached.failure(name), untouched.failure(name));
    }
}

#[test]
fn null_pointer_for_the_answer_is_left_to_the_driver() {
    let runtime = Runtime::attached("null", &LAZY);
    for way in runtime.ways() {
        assert_eq!(ask_with_null_pointer(way), 1);
    }
}

#[test]
fn library_is_attached_by_its_name() {
    let flags = [&LAZY[..], &["-Wl,-soname,libnamed.so"]].concat();
    let (runtime, driver) = (Runtime::load("named", &flags), Driver::open());
    attach_by_name("libnamed.so", MemoryMode::Off).unwrap();
    assert_eq!(runtime.by_name(ATTRIBUTE), driver.address("cuDeviceGetAttribute"));
    attach_by_name("libnamed.so", MemoryMode::Keep).unwrap();
    assert_ne!(runtime.by_name(ATTRIBUTE), driver.address("cuDeviceGetAttribute"));
    let missing = attach_by_name("libnowhere.so.13", MemoryMode::Keep);
    assert!(matches!(missing, Err(AttachError::NotFound)), "{missing:?}");
}

#[test]
fn library_that_cannot_be_attached_is_an_error_with_a_reason() {
    let absent = attach(Path::new("/nowhere/libnvinfer.so.8"), MemoryMode::Keep);
    assert!(matches!(absent, Err(AttachError::Io(_))), "{absent:?}");
    let path = FOLDER.path().join("libnotloaded.so");
    compile("runtime.c", &path, &LAZY);
    let not_loaded = attach(&path, MemoryMode::Keep);
    assert!(matches!(not_loaded, Err(AttachError::NotLoaded)), "{not_loaded:?}");
    let driver = attach(&FOLDER.path().join("libcuda.so.1"), MemoryMode::Keep);
    assert!(matches!(driver, Err(AttachError::NotLoaded | AttachError::NotImported("dlsym"))), "{driver:?}");
    let text = attach(Path::new(file!()), MemoryMode::Keep);
    assert!(text.is_err());
}

#[test]
fn library_with_a_replaced_dlsym_is_left_untouched() {
    let interposer = FOLDER.path().join("libinterposer.so");
    compile("interposer.c", &interposer, &[]);
    let path = FOLDER.path().join("libreplaced.so");
    let flags = [&READ_ONLY_SLOTS[..], &["-Wl,--no-as-needed", interposer.to_str().unwrap()]].concat();
    compile("runtime.c", &path, &flags);
    let _library = load_with_deep_binding(&path);
    let replaced = attach(&path, MemoryMode::Keep);
    assert!(matches!(replaced, Err(AttachError::Replaced("dlsym"))), "{replaced:?}");
}

#[test]
fn attaching_a_library_again_changes_nothing() {
    let runtime = Runtime::attached("twice", &LAZY);
    let found = runtime.by_name(ATTRIBUTE);
    attach(&runtime.path, MemoryMode::Keep).unwrap();
    assert_eq!(runtime.by_name(ATTRIBUTE), found);
}

/// Loads the core library of every installed release of TensorRT and TensorRT-RTX. No function of them is called, which would
/// need a GPU.
#[test]
fn every_installed_tensorrt_can_be_attached() {
    let store = Store::open().unwrap();
    let tensorrt =
        ["tensorrt-8.5", "tensorrt-8.6", "tensorrt-rtx-1.4", "tensorrt-rtx-1.5", "tensorrt-rtx-1.7"];
    let lean = ["tensorrt-lean-8.6", "tensorrt-lean-10.15", "tensorrt-lean-10.16"];
    for name in tensorrt.into_iter().chain(lean) {
        let Ok(installed) = store.find(name) else { continue };
        let library = load(installed.library());
        attach(installed.library(), MemoryMode::Keep).unwrap_or_else(|error| panic!("{name}: {error}"));
        // an attached library stays loaded after its handle is closed
        drop(library);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains(installed.library().canonicalize().unwrap().to_str().unwrap()), "{name}");
    }
}
