use std::{cell::RefCell, collections::BTreeMap};

use super::{table::GUARD_BYTES, *};
use crate::{
    driver::{BlockDriver, Context, ContextDriver, INVALID_VALUE},
    idle_limit::MAX_IDLE_BYTES,
};

const ILLEGAL_ADDRESS: CudaError = CudaError(700);
const NAN: PoisonPattern = PoisonPattern::Nan;

/// A simulated device whose memory is that of the test.
struct Device(RefCell<State>);

struct State {
    context: Context,
    /// The number of blocks that can still be allocated.
    room: usize,
    next: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
    is_lost: bool,
}

impl Device {
    fn new() -> Self {
        let blocks = BTreeMap::new();
        Self(RefCell::new(State { context: Context(1), room: 1000, next: 4096, blocks, is_lost: false }))
    }

    /// The bytes of the block that contains `address`, from there to its end.
    fn with<T>(&self, address: Address, with: impl FnOnce(&mut [u8]) -> T) -> Result<T, CudaError> {
        let mut state = self.0.borrow_mut();
        let (start, block) = state.blocks.range_mut(..=address.0).next_back().ok_or(INVALID_VALUE)?;
        Ok(with(block.get_mut((address.0 - start) as usize..).ok_or(INVALID_VALUE)?))
    }

    fn byte(&self, Address(address): Address, offset: u64) -> u8 {
        self.with(Address(address + offset), |bytes| bytes[0]).unwrap()
    }

    fn set_byte(&self, Address(address): Address, offset: u64, byte: u8) {
        self.with(Address(address + offset), |bytes| bytes[0] = byte).unwrap();
    }

    fn count(&self) -> usize {
        self.0.borrow().blocks.len()
    }
}

impl ContextDriver for Device {
    fn current_context(&self) -> Result<Context, CudaError> {
        Ok(self.0.borrow().context)
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        if self.0.borrow().is_lost { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
    }
}

impl BlockDriver for Device {
    fn allocate(&self, _: Space, bytes: u64) -> Result<Address, CudaError> {
        let mut state = self.0.borrow_mut();
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        state.room = state.room.checked_sub(1).ok_or(OUT_OF_MEMORY)?;
        let address = state.next;
        state.next += bytes.next_multiple_of(512);
        state.blocks.insert(address, vec![0; bytes as usize]);
        Ok(Address(address))
    }

    fn free(&self, _: Space, Address(address): Address) -> Result<(), CudaError> {
        let mut state = self.0.borrow_mut();
        state.room += 1;
        state.blocks.remove(&address).map(drop).ok_or(INVALID_VALUE)
    }

    fn clear(&self, _: Space, _: Address, _: u64) -> Result<(), CudaError> {
        Err(INVALID_VALUE)
    }
}

impl PoisonDriver for Device {
    fn fill(&self, _: Space, range: AddressRange, pattern: PoisonPattern) -> Result<(), CudaError> {
        let AddressRange { address, bytes } = range;
        let filled = pattern.bytes().repeat(bytes as usize / 2);
        self.with(address, |memory| memory[..filled.len()].copy_from_slice(&filled))
    }

    fn read(&self, _: Space, address: Address, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.with(address, |memory| bytes.copy_from_slice(&memory[..bytes.len()]))
    }

    fn write(&self, _: Space, address: Address, bytes: &[u8]) -> Result<(), CudaError> {
        self.with(address, |memory| memory[..bytes.len()].copy_from_slice(bytes))
    }
}

fn allocate(blocks: &GuardedBlocks, bytes: u64, device: &Device) -> Address {
    blocks.allocate(Space::Device, bytes, NAN, device).unwrap()
}

fn free(blocks: &GuardedBlocks, address: Address, device: &Device) -> Result<(), CudaError> {
    blocks.free(Space::Device, address, NAN, device)
}

/// The sizes and offsets of the writes that were found.
fn writes(blocks: &GuardedBlocks, device: &Device) -> Vec<(u64, u64)> {
    let taken = blocks.take_writes(Stage::Execute, NAN, device);
    taken.iter().map(|write| (write.bytes, write.offset)).collect()
}

#[test]
fn block_holds_the_pattern_when_it_is_handed_out() {
    for pattern in PoisonPattern::ALL {
        let (blocks, device) = (GuardedBlocks::new(), Device::new());
        let block = blocks.allocate(Space::Device, 7, pattern, &device).unwrap();
        let [even, odd] = pattern.bytes();
        assert_eq!([0, 1, 5, 6].map(|offset| device.byte(block, offset)), [even, odd, odd, even]);
        assert_eq!(blocks.size(block), Some(7));
    }
}

#[test]
fn every_guard_byte_is_compared_whatever_the_size() {
    for bytes in [1, 2, 7, 4096] {
        let (blocks, device) = (GuardedBlocks::new(), Device::new());
        let block = allocate(&blocks, bytes, &device);
        device.set_byte(block, bytes - 1, 1);
        assert_eq!(writes(&blocks, &device), []);
        for offset in [bytes + GUARD_BYTES as u64 - 1, bytes + 1, bytes] {
            device.set_byte(block, offset, 1);
            assert_eq!(writes(&blocks, &device), [(bytes, offset)]);
        }
    }
}

#[test]
fn write_is_found_while_the_block_is_held_and_when_it_is_freed() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    let [first, second] = [100, 200].map(|bytes| allocate(&blocks, bytes, &device));
    device.set_byte(second, 203, 1);
    device.set_byte(first, 100, 1);
    assert_eq!(writes(&blocks, &device), [(100, 100), (200, 203)], "in the order of allocation");
    assert_eq!(writes(&blocks, &device), [], "the guard bytes are restored");
    device.set_byte(first, 101, 1);
    free(&blocks, first, &device).unwrap();
    assert_eq!(writes(&blocks, &device), [(100, 101)]);
}

#[test]
fn only_a_few_writes_are_reported_at_once() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    for _ in 0..100 {
        let block = allocate(&blocks, 8, &device);
        device.set_byte(block, 8, 1);
    }
    assert_eq!(writes(&blocks, &device).len(), 16);
}

#[test]
fn freed_block_holds_the_pattern_until_the_driver_receives_it() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    let block = allocate(&blocks, 100, &device);
    device.set_byte(block, 50, 1);
    free(&blocks, block, &device).unwrap();
    assert_eq!(device.byte(block, 50), NAN.bytes()[0]);
    assert_ne!(allocate(&blocks, 100, &device), block, "it is not handed out again");
    assert_eq!(free(&blocks, block, &device), Err(INVALID_VALUE), "the second release is refused");
}

#[test]
fn oldest_freed_blocks_return_once_the_limit_is_exceeded() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    let half = MAX_IDLE_BYTES / 2 - GUARD_BYTES as u64;
    for (bytes, left) in [(half, 1), (half, 2), (2, 2), (2 * half + GUARD_BYTES as u64 + 2, 2)] {
        let block = allocate(&blocks, bytes, &device);
        free(&blocks, block, &device).unwrap();
        assert_eq!(device.count(), left, "{bytes} bytes");
    }
}

#[test]
fn freed_blocks_return_if_memory_is_short() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    device.0.borrow_mut().room = 2;
    let [first, _second] = [100, 200].map(|bytes| allocate(&blocks, bytes, &device));
    assert_eq!(blocks.allocate(Space::Device, 8, NAN, &device), Err(OUT_OF_MEMORY));
    free(&blocks, first, &device).unwrap();
    allocate(&blocks, 8, &device);
}

#[test]
fn driver_refuses_what_it_refused_before() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    assert_eq!(blocks.allocate(Space::Device, 0, NAN, &device), Err(INVALID_VALUE));
    assert_eq!(free(&blocks, Address(1), &device), Err(INVALID_VALUE));
    assert_eq!(blocks.release(Address(1)), Ok(()));
}

#[test]
fn block_of_another_or_a_lost_context_returns_to_the_driver() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    let [first, second] = [100, 200].map(|bytes| allocate(&blocks, bytes, &device));
    device.0.borrow_mut().context = Context(2);
    assert_eq!(free(&blocks, first, &device), Ok(()));
    assert_eq!(device.count(), 1);
    device.0.borrow_mut().context = Context(1);
    device.0.borrow_mut().is_lost = true;
    assert_eq!(writes(&blocks, &device), []);
    assert_eq!(free(&blocks, second, &device), Ok(()));
    assert_eq!(device.count(), 0);
}

#[test]
fn host_block_is_freed_as_host_memory_only() {
    let (blocks, device) = (GuardedBlocks::new(), Device::new());
    let block = blocks.allocate(Space::Host(2), 10, NAN, &device).unwrap();
    device.set_byte(block, 10, 1);
    let found = blocks.take_writes(Stage::Build, NAN, &device);
    assert_eq!(
        found[0].to_string(),
        "behind a block of 10 bytes of pinned host memory, the byte at offset 10 was written"
    );
    assert_eq!(blocks.free(Space::Host(0), block, NAN, &device), Ok(()));
    assert_eq!(device.count(), 1, "it is kept for a while");
}
