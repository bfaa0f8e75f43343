//! The virtual memory of a simulated device.

mod device;
mod random_calls;

use self::device::{CONTEXT, Device, ILLEGAL_ADDRESS};
use super::VirtualMemory;
use crate::{
    driver::{Access, Address, AddressRange, Context, Handle, MapRequest, OUT_OF_MEMORY, Properties},
    idle_limit::MAX_IDLE_BYTES,
    tally::MemoryTally,
};

const MEBIBYTE: u64 = 1 << 20;

const fn words<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let mut at = 0;
    while at < BYTES {
        bytes[at] = words[at / 4].to_le_bytes()[at % 4];
        at += 1;
    }
    bytes
}

const OF_DEVICE: Properties = Properties(words([1, 0, 1, 0, 0, 0, 0, 0]));
const COMPRESSED: Properties = Properties(words([1, 0, 1, 0, 0, 0, 1, 0]));
const EXPORTED: Properties = Properties(words([1, 1, 1, 0, 0, 0, 0, 0]));
const READ_WRITE: Access = Access(words([1, 0, 3]));
const READ_ONLY: Access = Access(words([1, 0, 1]));
const ON_ANOTHER_DEVICE: Access = Access(words([1, 1, 3]));

const fn whole(range: AddressRange, handle: Handle) -> MapRequest {
    MapRequest { range, offset: 0, handle, flags: 0 }
}

/// Reserves, creates, maps and sets access.
fn take(cache: &VirtualMemory, device: &Device, bytes: u64) -> (AddressRange, Handle) {
    let range = AddressRange { address: cache.reserve(bytes, 0, device).unwrap(), bytes };
    let handle = cache.create(bytes, &OF_DEVICE, device).unwrap();
    cache.map(&whole(range, handle), device).unwrap();
    cache.set_access(range, &[READ_WRITE], device).unwrap();
    (range, handle)
}

/// Unmaps, releases and frees.
fn give_up(cache: &VirtualMemory, device: &Device, (range, handle): (AddressRange, Handle)) {
    cache.unmap(range, device).unwrap();
    cache.release(handle, device).unwrap();
    cache.free(range, device).unwrap();
}

#[test]
fn freed_mapping_is_reused_cleared_without_the_driver() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let first = take(&cache, &device, 2 * MEBIBYTE);
    assert_eq!(device.calls(), ["reserve", "create", "map", "set_access"]);
    device.write(first.0, 7);
    give_up(&cache, &device, first);
    assert_eq!(device.calls(), ["synchronize", "clear"]);
    assert_eq!(take(&cache, &device, 2 * MEBIBYTE), first);
    assert!(device.calls().is_empty());
    assert_eq!(device.byte(first.0), Some(0));
    assert_eq!(cache.tally(), MemoryTally { asked: 2, answered_by_driver: 1 });
    let second = take(&cache, &device, 2 * MEBIBYTE);
    assert_ne!(second, first, "the first is in use");
    assert_ne!(take(&cache, &device, 4 * MEBIBYTE).0.address, first.0.address);
}

#[test]
fn range_and_memory_may_be_requested_in_either_order() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let pair = [take(&cache, &device, MEBIBYTE), take(&cache, &device, MEBIBYTE)];
    for taken in pair {
        give_up(&cache, &device, taken);
    }
    device.calls();
    for _ in 0..2 {
        let handle = cache.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
        let range = AddressRange { address: cache.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
        cache.map(&whole(range, handle), &device).unwrap();
        assert!(pair.contains(&(range, handle)));
    }
    assert!(device.calls().is_empty());
}

#[test]
fn other_sizes_alignments_and_properties_are_the_drivers() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let taken = take(&cache, &device, MEBIBYTE);
    give_up(&cache, &device, taken);
    assert_ne!(cache.reserve(MEBIBYTE, 4096, &device), Ok(taken.0.address));
    assert_ne!(cache.reserve(2 * MEBIBYTE, 0, &device), Ok(taken.0.address));
    assert_ne!(cache.create(MEBIBYTE, &COMPRESSED, &device), Ok(taken.1));
    assert_ne!(cache.create(2 * MEBIBYTE, &OF_DEVICE, &device), Ok(taken.1));
}

#[test]
fn memory_that_is_only_unmapped_keeps_its_contents() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let (range, handle) = take(&cache, &device, MEBIBYTE);
    device.write(range, 7);
    cache.unmap(range, &device).unwrap();
    cache.map(&whole(range, handle), &device).unwrap();
    assert_eq!(device.byte(range), Some(7));
}

#[test]
fn idle_mapping_is_undone_before_the_range_is_mapped_anew() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let (range, handle) = take(&cache, &device, MEBIBYTE);
    give_up(&cache, &device, (range, handle));
    let other = cache.create(MEBIBYTE, &COMPRESSED, &device).unwrap();
    assert_eq!(cache.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    device.calls();
    cache.map(&whole(range, other), &device).unwrap();
    assert_eq!(device.calls(), ["unmap", "release", "map"]);
    cache.set_access(range, &[READ_WRITE], &device).unwrap();
    give_up(&cache, &device, (range, other));
    assert_eq!(cache.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    assert_eq!(device.holds(), [1, 1, 1]);
}

#[test]
fn memory_reused_at_other_addresses_is_cleared() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let taken = take(&cache, &device, MEBIBYTE);
    device.write(taken.0, 7);
    give_up(&cache, &device, taken);
    let handle = cache.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
    assert_eq!(handle, taken.1);
    let bytes = 2 * MEBIBYTE;
    let large = AddressRange { address: cache.reserve(bytes, 0, &device).unwrap(), bytes };
    let half = AddressRange { bytes: MEBIBYTE, ..large };
    device.calls();
    cache.map(&whole(half, handle), &device).unwrap();
    assert_eq!(device.calls(), ["unmap", "free", "map"]);
    assert_eq!(device.byte(half), Some(0));
    cache.set_access(half, &[READ_WRITE], &device).unwrap();
    give_up_part(&cache, &device, (half, large), handle);
    assert_eq!(device.holds(), [0, 0, 0], "a partial mapping is not kept");
}

fn give_up_part(
    cache: &VirtualMemory,
    device: &Device,
    (part, range): (AddressRange, AddressRange),
    handle: Handle,
) {
    cache.unmap(part, device).unwrap();
    cache.release(handle, device).unwrap();
    cache.free(range, device).unwrap();
}

#[test]
fn memory_with_two_mappings_or_two_handles_is_the_drivers() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let (range, handle) = take(&cache, &device, MEBIBYTE);
    let other = AddressRange { address: cache.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
    cache.map(&whole(other, handle), &device).unwrap();
    cache.set_access(other, &[READ_WRITE], &device).unwrap();
    give_up(&cache, &device, (range, handle));
    assert_ne!(cache.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle), "the memory is still mapped");
    let retained = take(&cache, &device, MEBIBYTE);
    cache.forget(retained.1);
    let before = device.holds();
    give_up(&cache, &device, retained);
    assert_eq!(device.holds(), before.map(|held| held - 1));
}

#[test]
fn other_accesses_and_exportable_memory_are_not_kept() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    for accesses in [&[READ_ONLY][..], &[ON_ANOTHER_DEVICE], &[READ_WRITE, READ_WRITE]] {
        let taken = take(&cache, &device, MEBIBYTE);
        cache.set_access(taken.0, accesses, &device).unwrap();
        give_up(&cache, &device, taken);
        assert_eq!(device.holds(), [0, 0, 0]);
    }
    let taken = take(&cache, &device, 2 * MEBIBYTE);
    let second_half = AddressRange { address: Address(taken.0.address.0 + MEBIBYTE), bytes: MEBIBYTE };
    cache.set_access(second_half, &[READ_ONLY], &device).unwrap();
    give_up(&cache, &device, taken);
    assert_eq!(device.holds(), [0, 0, 0]);
    for (access, properties) in [(READ_ONLY, OF_DEVICE), (READ_WRITE, EXPORTED)] {
        let range = AddressRange { address: cache.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
        let handle = cache.create(MEBIBYTE, &properties, &device).unwrap();
        cache.map(&whole(range, handle), &device).unwrap();
        cache.set_access(range, &[access], &device).unwrap();
        give_up(&cache, &device, (range, handle));
        assert_eq!(device.holds(), [0, 0, 0]);
    }
}

#[test]
fn lost_context_reports_its_error_and_keeps_nothing() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let (range, handle) = take(&cache, &device, MEBIBYTE);
    device.is_lost.set(true);
    assert_eq!(cache.unmap(range, &device), Err(ILLEGAL_ADDRESS));
    assert_eq!(cache.release(handle, &device), Err(ILLEGAL_ADDRESS));
    assert_eq!(cache.free(range, &device), Err(ILLEGAL_ADDRESS));
    device.is_lost.set(false);
    assert_ne!(cache.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    assert_ne!(cache.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle));
}

#[test]
fn idle_memory_stays_under_its_limit_and_returns_on_request() {
    let (cache, device) = (VirtualMemory::new(), Device::with_room(2 * MAX_IDLE_BYTES));
    let taken: Vec<_> = (0..3).map(|_| take(&cache, &device, MAX_IDLE_BYTES / 2)).collect();
    for taken in taken {
        give_up(&cache, &device, taken);
    }
    assert_eq!(device.holds(), [1, 1, 1], "the last mapping replaces the others");
    let held = AddressRange {
        address: cache.reserve(MAX_IDLE_BYTES / 2, 0, &device).unwrap(),
        bytes: MAX_IDLE_BYTES / 2,
    };
    assert_eq!(cache.create(2 * MAX_IDLE_BYTES, &OF_DEVICE, &device), Err(OUT_OF_MEMORY));
    cache.release_idle(&device);
    assert_eq!(device.holds(), [1, 0, 0], "the library holds the addresses");
    assert!(cache.create(2 * MAX_IDLE_BYTES, &OF_DEVICE, &device).is_ok());
    cache.free(held, &device).unwrap();
}

#[test]
fn mappings_belong_to_their_context() {
    let (cache, device) = (VirtualMemory::new(), Device::default());
    let taken = take(&cache, &device, MEBIBYTE);
    device.context.set(Context(2));
    give_up(&cache, &device, taken);
    assert_eq!(device.holds(), [0, 0, 0], "a wait for another context proves nothing about the mapping");
    let taken = take(&cache, &device, MEBIBYTE);
    give_up(&cache, &device, taken);
    device.context.set(CONTEXT);
    device.calls();
    take(&cache, &device, MEBIBYTE);
    assert_eq!(device.calls(), ["unmap", "map", "set_access"]);
}

#[test]
fn memory_that_stays_mapped_after_a_refused_call_is_not_kept() {
    let refused = |cache: &VirtualMemory, device: &Device, range: AddressRange| {
        let half = AddressRange { bytes: range.bytes / 2, ..range };
        assert!(cache.unmap(half, device).is_err());
    };
    let read_only = |cache: &VirtualMemory, device: &Device, range: AddressRange| {
        cache.set_access(range, &[READ_ONLY], device).unwrap();
    };
    for leave_to_driver in [refused, read_only] {
        let (cache, device) = (VirtualMemory::new(), Device::default());
        let (first, handle) = take(&cache, &device, 2 * MEBIBYTE);
        leave_to_driver(&cache, &device, first);
        let bytes = 2 * MEBIBYTE;
        let second = AddressRange { address: cache.reserve(bytes, 0, &device).unwrap(), bytes };
        cache.map(&whole(second, handle), &device).unwrap();
        cache.set_access(second, &[READ_WRITE], &device).unwrap();
        device.write(second, 7);
        cache.unmap(second, &device).unwrap();
        cache.release(handle, &device).unwrap();
        assert_eq!(device.byte(first), Some(7), "the first mapping still has the memory");
    }
}
