use std::cell::{Cell, RefCell};

use proptest::prelude::*;

use super::*;
use crate::blocks::OUT_OF_MEMORY;

const MEBIBYTE: u64 = 1 << 20;
const OF_CONTEXT: Context = Context(1);
const ILLEGAL_ADDRESS: CudaError = CudaError(700);

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

/// A driver that refuses what the real one refuses, with a byte in all of a handle's memory.
struct Device {
    context: Cell<Context>,
    next: Cell<u64>,
    /// Bytes by address.
    reserved: RefCell<BTreeMap<u64, u64>>,
    created: RefCell<BTreeMap<u64, Memory>>,
    /// Bytes and handles by address.
    mapped: RefCell<BTreeMap<u64, (u64, u64)>>,
    calls: RefCell<Vec<&'static str>>,
    room: u64,
    is_lost: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Memory {
    bytes: u64,
    byte: u8,
    is_held: bool,
}

impl Default for Device {
    fn default() -> Self {
        Self {
            context: Cell::new(OF_CONTEXT),
            next: Cell::new(0),
            reserved: RefCell::default(),
            created: RefCell::default(),
            mapped: RefCell::default(),
            calls: RefCell::default(),
            room: u64::MAX,
            is_lost: Cell::new(false),
        }
    }
}

impl Device {
    fn new_number(&self) -> u64 {
        self.next.set(self.next.get() + (1 << 32));
        self.next.get()
    }

    fn note(&self, call: &'static str) -> Result<(), CudaError> {
        self.calls.borrow_mut().push(call);
        if self.is_lost.get() { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
    }

    /// What was called since this was asked last.
    fn calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }

    /// Ranges, memories and mappings.
    fn holds(&self) -> [usize; 3] {
        [self.reserved.borrow().len(), self.created.borrow().len(), self.mapped.borrow().len()]
    }

    fn byte(&self, range: Range) -> Option<u8> {
        let (_, handle) = *self.mapped.borrow().get(&range.address.0)?;
        Some(self.created.borrow().get(&handle)?.byte)
    }

    fn write(&self, range: Range, byte: u8) {
        let handle = self.mapped.borrow().get(&range.address.0).map(|(_, handle)| *handle);
        if let Some(memory) = handle.and_then(|handle| {
            self.created.borrow_mut().get_mut(&handle).map(|memory| {
                memory.byte = byte;
                *memory
            })
        }) {
            assert!(memory.bytes >= range.bytes);
        }
    }

    fn is_mapped(&self, range: Range) -> bool {
        self.mapped.borrow().iter().any(|(address, (bytes, _))| range.meets(Address(*address), *bytes))
    }

    /// Memory lasts as long as somebody holds its handle or it is mapped.
    fn drop_unused(&self) {
        let mapped = self.mapped.borrow();
        let is_used = |handle: &u64| mapped.values().any(|(_, of)| of == handle);
        self.created.borrow_mut().retain(|handle, memory| memory.is_held || is_used(handle));
    }
}

impl Driver for Device {
    fn context(&self) -> Result<Context, CudaError> {
        Ok(self.context.get())
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.note("synchronize")
    }

    fn clear(&self, range: Range) -> Result<(), CudaError> {
        self.note("clear")?;
        assert!(self.mapped.borrow().contains_key(&range.address.0), "what is cleared is mapped");
        self.write(range, 0);
        Ok(())
    }

    fn reserve(&self, bytes: u64, _: u64) -> Result<Address, CudaError> {
        self.note("reserve")?;
        let address = self.new_number();
        self.reserved.borrow_mut().insert(address, bytes);
        Ok(Address(address))
    }

    fn create(&self, bytes: u64, _: &Properties) -> Result<Handle, CudaError> {
        self.note("create")?;
        let held: u64 = self.created.borrow().values().map(|memory| memory.bytes).sum();
        if held + bytes > self.room {
            return Err(OUT_OF_MEMORY);
        }
        let handle = self.new_number();
        self.created.borrow_mut().insert(handle, Memory { bytes, byte: 0, is_held: true });
        Ok(Handle(handle))
    }

    fn map(&self, mapping: &Mapping) -> Result<(), CudaError> {
        self.note("map")?;
        let Mapping { range, handle, .. } = mapping;
        let is_reserved =
            self.reserved.borrow().get(&range.address.0).is_some_and(|bytes| *bytes >= range.bytes);
        let fits = self
            .created
            .borrow()
            .get(&handle.0)
            .is_some_and(|memory| memory.is_held && memory.bytes == range.bytes);
        if !is_reserved || !fits || self.is_mapped(*range) {
            return Err(INVALID_VALUE);
        }
        self.mapped.borrow_mut().insert(range.address.0, (range.bytes, handle.0));
        Ok(())
    }

    fn set_access(&self, range: Range, _: &[Access]) -> Result<(), CudaError> {
        self.note("set_access")?;
        self.is_mapped(range).then_some(()).ok_or(INVALID_VALUE)
    }

    fn unmap(&self, range: Range) -> Result<(), CudaError> {
        self.note("unmap")?;
        let found = self.mapped.borrow().get(&range.address.0).copied();
        found.filter(|(bytes, _)| *bytes == range.bytes).ok_or(INVALID_VALUE)?;
        self.mapped.borrow_mut().remove(&range.address.0);
        self.drop_unused();
        Ok(())
    }

    fn release(&self, handle: Handle) -> Result<(), CudaError> {
        self.note("release")?;
        match self.created.borrow_mut().get_mut(&handle.0) {
            Some(memory) if memory.is_held => memory.is_held = false,
            _ => return Err(INVALID_VALUE),
        }
        self.drop_unused();
        Ok(())
    }

    fn free(&self, range: Range) -> Result<(), CudaError> {
        self.note("free")?;
        let is_it = self.reserved.borrow().get(&range.address.0) == Some(&range.bytes);
        if !is_it || self.is_mapped(range) {
            return Err(INVALID_VALUE);
        }
        self.reserved.borrow_mut().remove(&range.address.0);
        Ok(())
    }
}

const fn whole(range: Range, handle: Handle) -> Mapping {
    Mapping { range, offset: 0, handle, flags: 0 }
}

/// Reserves, creates, maps and gives access.
fn take(ranges: &Ranges, device: &Device, bytes: u64) -> (Range, Handle) {
    let range = Range { address: ranges.reserve(bytes, 0, device).unwrap(), bytes };
    let handle = ranges.create(bytes, &OF_DEVICE, device).unwrap();
    ranges.map(&whole(range, handle), device).unwrap();
    ranges.set_access(range, &[READ_WRITE], device).unwrap();
    (range, handle)
}

fn leave(ranges: &Ranges, device: &Device, (range, handle): (Range, Handle)) {
    ranges.unmap(range, device).unwrap();
    ranges.release(handle, device).unwrap();
    ranges.free(range, device).unwrap();
}

#[test]
fn what_was_left_is_taken_again_zero_and_without_the_driver() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let first = take(&ranges, &device, 2 * MEBIBYTE);
    assert_eq!(device.calls(), ["reserve", "create", "map", "set_access"]);
    device.write(first.0, 7);
    leave(&ranges, &device, first);
    assert_eq!(device.calls(), ["synchronize", "clear"]);
    assert_eq!(take(&ranges, &device, 2 * MEBIBYTE), first);
    assert!(device.calls().is_empty());
    assert_eq!(device.byte(first.0), Some(0));
    assert_eq!(ranges.tally(), Tally { asked: 2, answered_by_driver: 1 });
    let second = take(&ranges, &device, 2 * MEBIBYTE);
    assert_ne!(second, first, "that is in use");
    assert_ne!(take(&ranges, &device, 4 * MEBIBYTE).0.address, first.0.address);
}

#[test]
fn either_half_may_be_asked_for_first() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let pair = [take(&ranges, &device, MEBIBYTE), take(&ranges, &device, MEBIBYTE)];
    for taken in pair {
        leave(&ranges, &device, taken);
    }
    device.calls();
    for _ in 0..2 {
        let handle = ranges.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
        let range = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
        ranges.map(&whole(range, handle), &device).unwrap();
        assert!(pair.contains(&(range, handle)));
    }
    assert!(device.calls().is_empty());
}

#[test]
fn other_sizes_alignments_and_properties_are_the_drivers() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let taken = take(&ranges, &device, MEBIBYTE);
    leave(&ranges, &device, taken);
    assert_ne!(ranges.reserve(MEBIBYTE, 4096, &device), Ok(taken.0.address));
    assert_ne!(ranges.reserve(2 * MEBIBYTE, 0, &device), Ok(taken.0.address));
    assert_ne!(ranges.create(MEBIBYTE, &COMPRESSED, &device), Ok(taken.1));
    assert_ne!(ranges.create(2 * MEBIBYTE, &OF_DEVICE, &device), Ok(taken.1));
}

#[test]
fn memory_that_is_held_holds_what_it_held() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let (range, handle) = take(&ranges, &device, MEBIBYTE);
    device.write(range, 7);
    ranges.unmap(range, &device).unwrap();
    ranges.map(&whole(range, handle), &device).unwrap();
    assert_eq!(device.byte(range), Some(7));
}

#[test]
fn halves_that_are_joined_otherwise_are_parted_first() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let (range, handle) = take(&ranges, &device, MEBIBYTE);
    leave(&ranges, &device, (range, handle));
    let other = ranges.create(MEBIBYTE, &COMPRESSED, &device).unwrap();
    assert_eq!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    device.calls();
    ranges.map(&whole(range, other), &device).unwrap();
    assert_eq!(device.calls(), ["unmap", "release", "map"]);
    ranges.set_access(range, &[READ_WRITE], &device).unwrap();
    leave(&ranges, &device, (range, other));
    assert_eq!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    assert_eq!(device.holds(), [1, 1, 1]);
}

#[test]
fn memory_that_is_taken_to_other_addresses_is_zero() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let taken = take(&ranges, &device, MEBIBYTE);
    device.write(taken.0, 7);
    leave(&ranges, &device, taken);
    let handle = ranges.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
    assert_eq!(handle, taken.1);
    let bytes = 2 * MEBIBYTE;
    let large = Range { address: ranges.reserve(bytes, 0, &device).unwrap(), bytes };
    let half = Range { bytes: MEBIBYTE, ..large };
    device.calls();
    ranges.map(&whole(half, handle), &device).unwrap();
    assert_eq!(device.calls(), ["unmap", "free", "map"]);
    assert_eq!(device.byte(half), Some(0));
    ranges.set_access(half, &[READ_WRITE], &device).unwrap();
    leave_part(&ranges, &device, (half, large), handle);
    assert_eq!(device.holds(), [0, 0, 0], "a part of a range is not kept");
}

fn leave_part(ranges: &Ranges, device: &Device, (part, range): (Range, Range), handle: Handle) {
    ranges.unmap(part, device).unwrap();
    ranges.release(handle, device).unwrap();
    ranges.free(range, device).unwrap();
}

#[test]
fn memory_with_two_mappings_or_two_handles_is_the_drivers() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let (range, handle) = take(&ranges, &device, MEBIBYTE);
    let other = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
    ranges.map(&whole(other, handle), &device).unwrap();
    ranges.set_access(other, &[READ_WRITE], &device).unwrap();
    leave(&ranges, &device, (range, handle));
    assert_ne!(ranges.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle), "it is mapped still");
    let retained = take(&ranges, &device, MEBIBYTE);
    ranges.leave(retained.1);
    let before = device.holds();
    leave(&ranges, &device, retained);
    assert_eq!(device.holds(), before.map(|held| held - 1));
}

#[test]
fn what_has_other_accesses_or_is_exported_is_not_kept() {
    let (ranges, device) = (Ranges::new(), Device::default());
    for accesses in [&[READ_ONLY][..], &[ON_ANOTHER_DEVICE], &[READ_WRITE, READ_WRITE]] {
        let taken = take(&ranges, &device, MEBIBYTE);
        ranges.set_access(taken.0, accesses, &device).unwrap();
        leave(&ranges, &device, taken);
        assert_eq!(device.holds(), [0, 0, 0]);
    }
    let taken = take(&ranges, &device, 2 * MEBIBYTE);
    let second_half = Range { address: Address(taken.0.address.0 + MEBIBYTE), bytes: MEBIBYTE };
    ranges.set_access(second_half, &[READ_ONLY], &device).unwrap();
    leave(&ranges, &device, taken);
    assert_eq!(device.holds(), [0, 0, 0]);
    for (access, properties) in [(READ_ONLY, OF_DEVICE), (READ_WRITE, EXPORTED)] {
        let range = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
        let handle = ranges.create(MEBIBYTE, &properties, &device).unwrap();
        ranges.map(&whole(range, handle), &device).unwrap();
        ranges.set_access(range, &[access], &device).unwrap();
        leave(&ranges, &device, (range, handle));
        assert_eq!(device.holds(), [0, 0, 0]);
    }
}

#[test]
fn a_context_that_is_lost_says_so_and_nothing_of_it_is_kept() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let (range, handle) = take(&ranges, &device, MEBIBYTE);
    device.is_lost.set(true);
    assert_eq!(ranges.unmap(range, &device), Err(ILLEGAL_ADDRESS));
    assert_eq!(ranges.release(handle, &device), Err(ILLEGAL_ADDRESS));
    assert_eq!(ranges.free(range, &device), Err(ILLEGAL_ADDRESS));
    device.is_lost.set(false);
    assert_ne!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
    assert_ne!(ranges.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle));
}

#[test]
fn no_more_is_kept_than_so_much_and_the_driver_gets_it_when_asked() {
    let (ranges, device) = (Ranges::new(), Device { room: 2 * MOST_IDLE, ..Device::default() });
    let taken: Vec<_> = (0..3).map(|_| take(&ranges, &device, MOST_IDLE / 2)).collect();
    for taken in taken {
        leave(&ranges, &device, taken);
    }
    assert_eq!(device.holds(), [1, 1, 1], "the last takes the place of the others");
    let held = Range { address: ranges.reserve(MOST_IDLE / 2, 0, &device).unwrap(), bytes: MOST_IDLE / 2 };
    assert_eq!(ranges.create(2 * MOST_IDLE, &OF_DEVICE, &device), Err(OUT_OF_MEMORY));
    ranges.give_back(&device);
    assert_eq!(device.holds(), [1, 0, 0], "the addresses are the library's");
    assert!(ranges.create(2 * MOST_IDLE, &OF_DEVICE, &device).is_ok());
    ranges.free(held, &device).unwrap();
}

#[test]
fn contexts_have_their_own() {
    let (ranges, device) = (Ranges::new(), Device::default());
    let taken = take(&ranges, &device, MEBIBYTE);
    device.context.set(Context(2));
    leave(&ranges, &device, taken);
    assert_eq!(device.holds(), [0, 0, 0], "another context's work says nothing of it");
    let taken = take(&ranges, &device, MEBIBYTE);
    leave(&ranges, &device, taken);
    device.context.set(OF_CONTEXT);
    device.calls();
    take(&ranges, &device, MEBIBYTE);
    assert_eq!(device.calls(), ["unmap", "map", "set_access"]);
}

/// A call of a library that has up to three ranges and three handles.
#[derive(Clone, Copy, Debug)]
enum Call {
    Reserve(usize, u64),
    Create(usize, u64),
    Map { range: usize, handle: usize, is_half: bool },
    SetAccess(usize, Access),
    Write(usize, u8),
    Unmap { range: usize, is_half: bool },
    Release(usize),
    Free(usize),
    Switch(usize),
}

fn call() -> impl Strategy<Value = Call> {
    let place = || 0..3_usize;
    let size = || prop_oneof![4 => Just(2 * MEBIBYTE), 1 => Just(MEBIBYTE)];
    let is_half = || prop::bool::weighted(0.15);
    prop_oneof![
        3 => (place(), size()).prop_map(|(range, bytes)| Call::Reserve(range, bytes)),
        3 => (place(), size()).prop_map(|(handle, bytes)| Call::Create(handle, bytes)),
        6 => (place(), place(), is_half())
            .prop_map(|(range, handle, is_half)| Call::Map { range, handle, is_half }),
        4 => (place(), prop_oneof![5 => Just(READ_WRITE), 1 => Just(READ_ONLY)])
            .prop_map(|(range, access)| Call::SetAccess(range, access)),
        3 => (place(), 1..9_u8).prop_map(|(range, byte)| Call::Write(range, byte)),
        4 => (place(), is_half()).prop_map(|(range, is_half)| Call::Unmap { range, is_half }),
        3 => place().prop_map(Call::Release),
        3 => place().prop_map(Call::Free),
        1 => (1..3_usize).prop_map(Call::Switch),
    ]
}

/// What a library has of a driver, as it knows it.
#[derive(Default)]
struct Library {
    ranges: [Option<Range>; 3],
    handles: [Option<Handle>; 3],
    /// What it has mapped, by the place of the range.
    mapped: [Option<Range>; 3],
}

impl Library {
    /// Makes the call where the library has what it takes; whether that succeeded.
    fn call(&mut self, call: Call, device: &Device, through: &impl Through) -> Option<bool> {
        let part = |range: Range, is_half: bool| Range { bytes: range.bytes >> u32::from(is_half), ..range };
        Some(match call {
            Call::Reserve(place, bytes) => {
                if self.ranges[place].is_some() {
                    return None;
                }
                let address = through.reserve(bytes, device).ok()?;
                self.ranges[place] = Some(Range { address, bytes });
                true
            }
            Call::Create(place, bytes) => {
                if self.handles[place].is_some() {
                    return None;
                }
                self.handles[place] = Some(through.create(bytes, device).ok()?);
                true
            }
            Call::Map { range: place, handle, is_half } => {
                let range = part(self.ranges[place]?, is_half);
                let is_done = through.map(&whole(range, self.handles[handle]?), device).is_ok();
                if is_done {
                    self.mapped[place] = Some(range);
                }
                is_done
            }
            Call::SetAccess(place, access) => through.set_access(self.ranges[place]?, access, device).is_ok(),
            Call::Write(place, byte) => {
                device.write(self.mapped[place]?, byte);
                true
            }
            Call::Unmap { range: place, is_half } => {
                let is_done = through.unmap(part(self.ranges[place]?, is_half), device).is_ok();
                if is_done {
                    self.mapped[place] = None;
                }
                is_done
            }
            Call::Release(place) => {
                let is_done = through.release(self.handles[place]?, device).is_ok();
                self.handles[place] = None;
                is_done
            }
            Call::Free(place) => {
                let is_done = through.free(self.ranges[place]?, device).is_ok();
                if is_done {
                    self.ranges[place] = None;
                }
                is_done
            }
            Call::Switch(context) => {
                device.context.set(Context(context));
                true
            }
        })
    }

    /// What it reads where it has something mapped.
    fn reads(&self, device: &Device) -> [Option<u8>; 3] {
        self.mapped.map(|range| range.and_then(|range| device.byte(range)))
    }
}

/// How a library reaches the driver.
trait Through {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError>;
    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError>;
    fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError>;
    fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError>;
    fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError>;
    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError>;
    fn free(&self, range: Range, device: &Device) -> Result<(), CudaError>;
}

struct Directly;

impl Through for Directly {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
        Driver::reserve(device, bytes, 0)
    }

    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
        Driver::create(device, bytes, &OF_DEVICE)
    }

    fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError> {
        Driver::map(device, mapping)
    }

    fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError> {
        Driver::set_access(device, range, &[access])
    }

    fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError> {
        Driver::unmap(device, range)
    }

    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
        Driver::release(device, handle)
    }

    fn free(&self, range: Range, device: &Device) -> Result<(), CudaError> {
        Driver::free(device, range)
    }
}

impl Through for Ranges {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
        self.reserve(bytes, 0, device)
    }

    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
        self.create(bytes, &OF_DEVICE, device)
    }

    fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError> {
        self.map(mapping, device)
    }

    fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError> {
        self.set_access(range, &[access], device)
    }

    fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError> {
        self.unmap(range, device)
    }

    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
        self.release(handle, device)
    }

    fn free(&self, range: Range, device: &Device) -> Result<(), CudaError> {
        self.free(range, device)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A library sees the same with it and without it: what succeeds, and what it reads.
    #[test]
    fn a_library_sees_the_same(calls in prop::collection::vec(call(), 0..60)) {
        let (ranges, with, without) = (Ranges::new(), Device::default(), Device::default());
        let (mut one, mut other) = (Library::default(), Library::default());
        for call in calls {
            let done = one.call(call, &with, &ranges);
            prop_assert_eq!(done, other.call(call, &without, &Directly), "{:?}", call);
            prop_assert_eq!(one.reads(&with), other.reads(&without), "{:?}", call);
        }
    }
}
