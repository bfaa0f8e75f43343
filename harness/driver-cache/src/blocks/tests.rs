use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{table::MAX_BLOCK, *};
use crate::{
    driver::{ContextDriver, INVALID_VALUE},
    idle_limit::MAX_IDLE_BYTES,
};

const ILLEGAL_ADDRESS: CudaError = CudaError(700);
const CONTEXT: Context = Context(1);

/// A simulated device with a limited number of bytes.
struct Device {
    state: RefCell<State>,
}

struct State {
    context: Context,
    left: u64,
    next: u64,
    taken: BTreeMap<Address, u64>,
    cleared: Vec<(Address, u64)>,
    synchronized: usize,
    clears: bool,
    is_lost: bool,
}

impl Device {
    fn with_bytes(bytes: u64) -> Self {
        let state = State {
            context: CONTEXT,
            left: bytes,
            next: 4096,
            taken: BTreeMap::new(),
            cleared: Vec::new(),
            synchronized: 0,
            clears: true,
            is_lost: false,
        };
        Self { state: RefCell::new(state) }
    }

    fn taken(&self) -> Vec<u64> {
        self.state.borrow().taken.values().copied().collect()
    }
}

impl ContextDriver for Device {
    fn current_context(&self) -> Result<Context, CudaError> {
        Ok(self.state.borrow().context)
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        let mut state = self.state.borrow_mut();
        state.synchronized += 1;
        if state.is_lost { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
    }
}

impl BlockDriver for Device {
    fn allocate(&self, _: Space, bytes: u64) -> Result<Address, CudaError> {
        let mut state = self.state.borrow_mut();
        state.left = state.left.checked_sub(bytes).ok_or(OUT_OF_MEMORY)?;
        let address = Address(state.next);
        state.next += bytes;
        state.taken.insert(address, bytes);
        Ok(address)
    }

    fn free(&self, _: Space, address: Address) -> Result<(), CudaError> {
        let mut state = self.state.borrow_mut();
        if state.is_lost {
            return Err(ILLEGAL_ADDRESS);
        }
        let bytes = state.taken.remove(&address).ok_or(INVALID_VALUE)?;
        state.left += bytes;
        Ok(())
    }

    fn clear(&self, _: Space, address: Address, bytes: u64) -> Result<(), CudaError> {
        let mut state = self.state.borrow_mut();
        state.cleared.push((address, bytes));
        if state.clears { Ok(()) } else { Err(ILLEGAL_ADDRESS) }
    }
}

#[test]
fn freed_block_is_reused_after_a_wait_and_cleared() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let first = cache.allocate(Space::Device, 1000, &device).unwrap();
    assert!(device.state.borrow().cleared.is_empty(), "new memory is not cleared");
    cache.free(Space::Device, first, &device).unwrap();
    assert_eq!(device.state.borrow().synchronized, 1);
    assert_eq!(cache.allocate(Space::Device, 600, &device), Ok(first));
    assert_eq!(device.state.borrow().cleared, [(first, 1024)]);
    assert_eq!(cache.tally(), MemoryTally { asked: 2, answered_by_driver: 1 });
}

#[test]
fn blocks_in_use_are_distinct() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let mut held = BTreeSet::new();
    for round in 0..5_u64 {
        for bytes in [1, 512, 513, 4096, 1 << 20] {
            assert!(held.insert(cache.allocate(Space::Device, bytes + round, &device).unwrap()), "{bytes}");
        }
        let released: Vec<_> = held.iter().copied().take(3).collect();
        for address in released {
            held.remove(&address);
            cache.free(Space::Device, address, &device).unwrap();
        }
    }
}

#[test]
fn large_and_empty_allocations_are_the_drivers() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 40));
    let large = cache.allocate(Space::Device, MAX_BLOCK + 1, &device).unwrap();
    let nothing = cache.allocate(Space::Device, 0, &device).unwrap();
    assert_eq!(device.taken().iter().sum::<u64>(), MAX_BLOCK + 1);
    cache.free(Space::Device, large, &device).unwrap();
    cache.free(Space::Device, nothing, &device).unwrap();
    assert!(device.taken().is_empty());
    assert_eq!(
        cache.free(Space::Device, Address(77), &device),
        Err(INVALID_VALUE),
        "the block was never allocated"
    );
}

#[test]
fn idle_blocks_stay_under_their_limit() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 40));
    let held: Vec<_> = (0..8).map(|_| cache.allocate(Space::Device, MAX_BLOCK, &device).unwrap()).collect();
    for address in held {
        cache.free(Space::Device, address, &device).unwrap();
    }
    assert_eq!(device.taken().iter().sum::<u64>(), MAX_IDLE_BYTES);
    let other = cache.allocate(Space::Device, 512, &device).unwrap();
    cache.free(Space::Device, other, &device).unwrap();
    assert_eq!(device.taken(), [512], "the new idle block replaces the others");
}

#[test]
fn idle_blocks_return_to_the_driver_on_request() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(3 << 20));
    let first = cache.allocate(Space::Device, 2 << 20, &device).unwrap();
    cache.free(Space::Device, first, &device).unwrap();
    assert_eq!(cache.allocate(Space::Device, 3 << 20, &device), Err(OUT_OF_MEMORY));
    cache.release_idle(Context(2), &device);
    assert_eq!(device.taken(), [2 << 20], "blocks of other contexts stay");
    cache.release_idle(CONTEXT, &device);
    // all bytes of the device; the next power of two would be too many
    let second = cache.allocate(Space::Device, 3 << 20, &device).unwrap();
    assert_eq!(device.taken(), [3 << 20]);
    cache.free(Space::Device, second, &device).unwrap();
    assert!(device.taken().is_empty());
    assert_eq!(cache.tally(), MemoryTally { asked: 2, answered_by_driver: 2 });
}

#[test]
fn blocks_that_the_driver_refuses_to_free_stay_idle() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1, &device).unwrap();
    cache.free(Space::Device, address, &device).unwrap();
    device.state.borrow_mut().is_lost = true;
    cache.release_idle(CONTEXT, &device);
    device.state.borrow_mut().is_lost = false;
    assert_eq!(cache.allocate(Space::Device, 1, &device), Ok(address));
}

#[test]
fn second_release_is_refused_and_the_block_stays_idle() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1000, &device).unwrap();
    cache.free(Space::Device, address, &device).unwrap();
    assert_eq!(cache.free(Space::Device, address, &device), Err(INVALID_VALUE));
    assert_eq!(cache.forget(address), Err(INVALID_VALUE));
    assert_eq!(device.taken(), [1024]);
    assert_eq!(cache.allocate(Space::Device, 1000, &device), Ok(address));
    cache.free(Space::Device, address, &device).unwrap();
}

#[test]
fn address_reused_by_the_driver_has_its_new_size() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1 << 20, &device).unwrap();
    // unseen by the cache, and then as part of a larger block
    device.free(Space::Device, address).unwrap();
    device.state.borrow_mut().next = address.0;
    assert_eq!(cache.allocate(Space::Device, MAX_BLOCK + 1, &device), Ok(address));
    cache.free(Space::Device, address, &device).unwrap();
    assert!(device.taken().is_empty(), "the block has not the size of the first");
}

#[test]
fn block_that_cannot_be_cleared_is_not_reused() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1, &device).unwrap();
    cache.free(Space::Device, address, &device).unwrap();
    device.state.borrow_mut().clears = false;
    assert_ne!(cache.allocate(Space::Device, 1, &device).unwrap(), address);
    assert_eq!(device.taken().len(), 1);
}

#[test]
fn lost_context_reports_its_error_and_keeps_nothing() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1, &device).unwrap();
    device.state.borrow_mut().is_lost = true;
    assert_eq!(cache.free(Space::Device, address, &device), Err(ILLEGAL_ADDRESS));
    device.state.borrow_mut().is_lost = false;
    assert_ne!(cache.allocate(Space::Device, 1, &device), Ok(address));
}

#[test]
fn blocks_belong_to_their_context() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let first = cache.allocate(Space::Device, 1, &device).unwrap();
    cache.free(Space::Device, first, &device).unwrap();
    device.state.borrow_mut().context = Context(2);
    let second = cache.allocate(Space::Device, 1, &device).unwrap();
    assert_ne!(first, second);
    device.state.borrow_mut().context = CONTEXT;
    cache.free(Space::Device, second, &device).unwrap();
    assert_eq!(device.taken().len(), 1, "a wait for another context proves nothing about the block");
    device.state.borrow_mut().context = Context(0);
    cache.allocate(Space::Device, 1, &device).unwrap();
    assert_eq!(device.taken()[1], 1, "without a context the allocation is the driver's");
}

#[test]
fn forgotten_block_is_not_kept() {
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let address = cache.allocate(Space::Device, 1, &device).unwrap();
    cache.forget(address).unwrap();
    device.free(Space::Device, address).unwrap();
    assert_eq!(cache.free(Space::Device, address, &device), Err(INVALID_VALUE));
}

#[test]
fn host_blocks_are_kept_by_flags_and_freed_as_host_blocks() {
    const MAPPED: Space = Space::Host(2);
    let (cache, device) = (BlockCache::new(), Device::with_bytes(1 << 30));
    let first = cache.allocate(MAPPED, 1000, &device).unwrap();
    cache.free(Space::Host(0), first, &device).unwrap();
    assert_ne!(cache.allocate(Space::Device, 1000, &device), Ok(first));
    assert_ne!(cache.allocate(Space::Host(0), 1000, &device), Ok(first));
    assert_eq!(cache.allocate(MAPPED, 1000, &device), Ok(first));
    cache.free(Space::Device, first, &device).unwrap();
    assert_eq!(device.taken().len(), 2, "the mismatched release reaches the driver, which refuses it");
}
