use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Add,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::CudaError;

/// Blocks have a power of two of bytes, from as many as the driver aligns to; larger ones than the largest are left to it.
const SMALLEST: u64 = 512;
const LARGEST: u64 = 64 << 20;
/// How many bytes a process keeps that nobody uses.
pub const MOST_IDLE: u64 = 256 << 20;

pub const INVALID_VALUE: CudaError = CudaError(1);
pub const OUT_OF_MEMORY: CudaError = CudaError(2);

/// A `CUdeviceptr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u64);

/// A `CUcontext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Context(pub usize);

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// On the device: `cuMemAlloc`.
    Device,
    /// On the host, pinned, with the flags of `cuMemHostAlloc`.
    Host(u32),
}

/// What is asked of the CUDA driver.
pub trait Driver {
    /// The context that is current.
    fn context(&self) -> Result<Context, CudaError>;
    fn allocate(&self, space: Space, bytes: u64) -> Result<Address, CudaError>;
    /// Waits for all that the context was given to do, and takes memory back.
    fn free(&self, space: Space, address: Address) -> Result<(), CudaError>;
    /// Waits for all that the context was given to do.
    fn synchronize(&self) -> Result<(), CudaError>;
    /// Has zeros written, and waits until they are.
    fn clear(&self, space: Space, address: Address, bytes: u64) -> Result<(), CudaError>;
}

/// Memory that a process keeps when its libraries free it, for when they allocate again.
///
/// Freeing waits for the context, memory that is handed out again is zero, as the driver's is that another process had, and what is
/// freed twice is refused. What a library can still tell: there is less free memory, blocks are larger than they have to be, and a kernel that reads what was freed does not fail.
pub struct Memory {
    blocks: Mutex<Blocks>,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
}

/// The memory of this process.
pub static MEMORY: Memory = Memory::new();

struct Blocks {
    lent: BTreeMap<Address, Kind>,
    idle: BTreeMap<Kind, Vec<Address>>,
    idle_addresses: BTreeSet<Address>,
    idle_bytes: u64,
}

/// Blocks of a kind stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    space: Space,
    context: Context,
    bytes: u64,
}

/// How often the driver was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Allocations.
    pub asked: u64,
    /// Those that the driver made.
    pub answered_by_driver: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            answered_by_driver: self.answered_by_driver + other.answered_by_driver,
        }
    }
}

impl Memory {
    pub const fn new() -> Self {
        let blocks = Blocks {
            lent: BTreeMap::new(),
            idle: BTreeMap::new(),
            idle_addresses: BTreeSet::new(),
            idle_bytes: 0,
        };
        Self { blocks: Mutex::new(blocks), asked: AtomicU64::new(0), answered_by_driver: AtomicU64::new(0) }
    }

    pub fn tally(&self) -> Tally {
        Tally { asked: self.asked.load(Relaxed), answered_by_driver: self.answered_by_driver.load(Relaxed) }
    }

    /// Memory that was idle, or else the driver's.
    pub fn allocate(&self, space: Space, bytes: u64, driver: &impl Driver) -> Result<Address, CudaError> {
        let context = driver.context().ok().filter(|context| context.0 != 0);
        let kind = context.and_then(|context| Kind::of(space, bytes, context));
        let found = match kind.and_then(|kind| self.reuse(kind, driver)) {
            Some(address) => address,
            None => match self.ask(space, bytes, kind, driver) {
                // a power of two may be more than there is
                Err(OUT_OF_MEMORY) if kind.is_some() => self.ask(space, bytes, None, driver)?,
                asked => asked?,
            },
        };
        self.asked.fetch_add(1, Relaxed);
        Ok(found)
    }

    /// Keeps memory, or else gives it back to the driver. Where there is no room for it, it takes the place of all that is idle:
    /// of what is not allocated again nothing else would ever go.
    pub fn free(&self, space: Space, address: Address, driver: &impl Driver) -> Result<(), CudaError> {
        let kind = self.blocks().recall(address)?;
        let is_kept = kind.is_some_and(|kind| {
            let is_idle = kind.space.is_freed_as(space)
                && driver.context() == Ok(kind.context)
                && driver.synchronize().is_ok();
            if is_idle && !self.blocks().has_room(kind) {
                self.give_back(kind.context, driver);
            }
            is_idle && self.blocks().keep(address, kind)
        });
        if is_kept { Ok(()) } else { driver.free(space, address) }
    }

    /// Gives the driver all that is idle in `context`.
    pub fn give_back(&self, context: Context, driver: &impl Driver) {
        let idle = self.blocks().take_all(context);
        for (kind, address) in idle {
            if driver.free(kind.space, address).is_err() {
                self.blocks().keep(address, kind);
            }
        }
    }

    /// Takes note that memory goes back to the driver in another way.
    pub fn release(&self, address: Address) -> Result<(), CudaError> {
        self.blocks().recall(address).map(drop)
    }

    /// An idle block that is as good as a new one.
    fn reuse(&self, kind: Kind, driver: &impl Driver) -> Option<Address> {
        let address = self.blocks().take(kind)?;
        if driver.clear(kind.space, address, kind.bytes).is_err() {
            let _ = driver.free(kind.space, address);
            return None;
        }
        self.blocks().lent.insert(address, kind);
        Some(address)
    }

    /// A block of the driver's, or else so many bytes of it that are not to be kept.
    fn ask(
        &self,
        space: Space,
        bytes: u64,
        kind: Option<Kind>,
        driver: &impl Driver,
    ) -> Result<Address, CudaError> {
        let address = driver.allocate(space, kind.map_or(bytes, |kind| kind.bytes))?;
        self.answered_by_driver.fetch_add(1, Relaxed);
        let mut blocks = self.blocks();
        // what was there before went back to the driver behind our back
        blocks.lent.remove(&address);
        blocks.lent.extend(kind.map(|kind| (address, kind)));
        drop(blocks);
        Ok(address)
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kind {
    /// Of which blocks an allocation takes one; none where that is left to the driver.
    fn of(space: Space, bytes: u64, context: Context) -> Option<Self> {
        let is_kept = bytes > 0 && bytes <= LARGEST;
        is_kept.then(|| Self { space, context, bytes: bytes.next_power_of_two().max(SMALLEST) })
    }
}

impl Space {
    /// Whether one function frees both.
    const fn is_freed_as(self, other: Self) -> bool {
        matches!((self, other), (Self::Device, Self::Device) | (Self::Host(_), Self::Host(_)))
    }
}

impl Blocks {
    /// Takes a block back that was lent; none where the memory is none of these. What is idle already is nobody's to free.
    fn recall(&mut self, address: Address) -> Result<Option<Kind>, CudaError> {
        if self.idle_addresses.contains(&address) {
            Err(INVALID_VALUE)
        } else {
            Ok(self.lent.remove(&address))
        }
    }

    fn take(&mut self, kind: Kind) -> Option<Address> {
        let address = self.idle.get_mut(&kind)?.pop()?;
        self.idle_addresses.remove(&address);
        self.idle_bytes -= kind.bytes;
        Some(address)
    }

    fn take_all(&mut self, context: Context) -> Vec<(Kind, Address)> {
        let (of_context, others) =
            std::mem::take(&mut self.idle).into_iter().partition(|(kind, _)| kind.context == context);
        self.idle = others;
        let of_context: BTreeMap<Kind, Vec<Address>> = of_context;
        let taken: Vec<_> = of_context
            .into_iter()
            .flat_map(|(kind, idle)| idle.into_iter().map(move |address| (kind, address)))
            .collect();
        for (kind, address) in &taken {
            self.idle_bytes -= kind.bytes;
            self.idle_addresses.remove(address);
        }
        taken
    }

    const fn has_room(&self, kind: Kind) -> bool {
        self.idle_bytes + kind.bytes <= MOST_IDLE
    }

    /// Whether there was room to keep it.
    fn keep(&mut self, address: Address, kind: Kind) -> bool {
        let has_room = self.has_room(kind);
        if has_room {
            self.idle_bytes += kind.bytes;
            self.idle.entry(kind).or_default().push(address);
            self.idle_addresses.insert(address);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const ILLEGAL_ADDRESS: CudaError = CudaError(700);
    const OF_CONTEXT: Context = Context(1);

    /// A driver that has so many bytes.
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
        fn of(bytes: u64) -> Self {
            let state = State {
                context: OF_CONTEXT,
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

    impl Driver for Device {
        fn context(&self) -> Result<Context, CudaError> {
            Ok(self.state.borrow().context)
        }

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
            let bytes = state.taken.remove(&address).ok_or(CudaError(1))?;
            state.left += bytes;
            Ok(())
        }

        fn synchronize(&self) -> Result<(), CudaError> {
            let mut state = self.state.borrow_mut();
            state.synchronized += 1;
            if state.is_lost { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
        }

        fn clear(&self, _: Space, address: Address, bytes: u64) -> Result<(), CudaError> {
            let mut state = self.state.borrow_mut();
            state.cleared.push((address, bytes));
            if state.clears { Ok(()) } else { Err(ILLEGAL_ADDRESS) }
        }
    }

    #[test]
    fn what_is_freed_is_handed_out_again_once_the_context_has_done_with_it_and_it_is_zero() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let first = memory.allocate(Space::Device, 1000, &device).unwrap();
        assert!(device.state.borrow().cleared.is_empty(), "the driver's memory is left as it is");
        memory.free(Space::Device, first, &device).unwrap();
        assert_eq!(device.state.borrow().synchronized, 1);
        assert_eq!(memory.allocate(Space::Device, 600, &device), Ok(first));
        assert_eq!(device.state.borrow().cleared, [(first, 1024)]);
        assert_eq!(memory.tally(), Tally { asked: 2, answered_by_driver: 1 });
    }

    #[test]
    fn nobody_shares_memory() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let mut held = BTreeSet::new();
        for round in 0..5_u64 {
            for bytes in [1, 512, 513, 4096, 1 << 20] {
                assert!(
                    held.insert(memory.allocate(Space::Device, bytes + round, &device).unwrap()),
                    "{bytes}"
                );
            }
            let released: Vec<_> = held.iter().copied().take(3).collect();
            for address in released {
                held.remove(&address);
                memory.free(Space::Device, address, &device).unwrap();
            }
        }
    }

    #[test]
    fn what_is_too_large_or_nothing_is_the_drivers() {
        let (memory, device) = (Memory::new(), Device::of(1 << 40));
        let large = memory.allocate(Space::Device, LARGEST + 1, &device).unwrap();
        let nothing = memory.allocate(Space::Device, 0, &device).unwrap();
        assert_eq!(device.taken().iter().sum::<u64>(), LARGEST + 1);
        memory.free(Space::Device, large, &device).unwrap();
        memory.free(Space::Device, nothing, &device).unwrap();
        assert!(device.taken().is_empty());
        assert_eq!(
            memory.free(Space::Device, Address(77), &device),
            Err(CudaError(1)),
            "nobody allocated it"
        );
    }

    #[test]
    fn no_more_is_kept_than_so_much() {
        let (memory, device) = (Memory::new(), Device::of(1 << 40));
        let held: Vec<_> =
            (0..8).map(|_| memory.allocate(Space::Device, LARGEST, &device).unwrap()).collect();
        for address in held {
            memory.free(Space::Device, address, &device).unwrap();
        }
        assert_eq!(device.taken().iter().sum::<u64>(), MOST_IDLE);
        let other = memory.allocate(Space::Device, 512, &device).unwrap();
        memory.free(Space::Device, other, &device).unwrap();
        assert_eq!(device.taken(), [512], "it takes the place of what is not allocated again");
    }

    #[test]
    fn what_is_idle_goes_back_to_the_driver() {
        let (memory, device) = (Memory::new(), Device::of(3 << 20));
        let first = memory.allocate(Space::Device, 2 << 20, &device).unwrap();
        memory.free(Space::Device, first, &device).unwrap();
        assert_eq!(memory.allocate(Space::Device, 3 << 20, &device), Err(OUT_OF_MEMORY));
        memory.give_back(Context(2), &device);
        assert_eq!(device.taken(), [2 << 20], "that is of another context");
        memory.give_back(OF_CONTEXT, &device);
        // as many bytes as there are, of which a power of two would be too many
        let second = memory.allocate(Space::Device, 3 << 20, &device).unwrap();
        assert_eq!(device.taken(), [3 << 20]);
        memory.free(Space::Device, second, &device).unwrap();
        assert!(device.taken().is_empty());
        assert_eq!(memory.tally(), Tally { asked: 2, answered_by_driver: 2 });
    }

    #[test]
    fn what_the_driver_does_not_take_back_stays_idle() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1, &device).unwrap();
        memory.free(Space::Device, address, &device).unwrap();
        device.state.borrow_mut().is_lost = true;
        memory.give_back(OF_CONTEXT, &device);
        device.state.borrow_mut().is_lost = false;
        assert_eq!(memory.allocate(Space::Device, 1, &device), Ok(address));
    }

    #[test]
    fn what_is_freed_twice_is_refused_and_stays_idle() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1000, &device).unwrap();
        memory.free(Space::Device, address, &device).unwrap();
        assert_eq!(memory.free(Space::Device, address, &device), Err(INVALID_VALUE));
        assert_eq!(memory.release(address), Err(INVALID_VALUE));
        assert_eq!(device.taken(), [1024]);
        assert_eq!(memory.allocate(Space::Device, 1000, &device), Ok(address));
        memory.free(Space::Device, address, &device).unwrap();
    }

    #[test]
    fn an_address_that_the_driver_gives_again_has_the_size_that_it_has_now() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1 << 20, &device).unwrap();
        // past us, and then as part of something larger
        device.free(Space::Device, address).unwrap();
        device.state.borrow_mut().next = address.0;
        assert_eq!(memory.allocate(Space::Device, LARGEST + 1, &device), Ok(address));
        memory.free(Space::Device, address, &device).unwrap();
        assert!(device.taken().is_empty(), "it is no block of a mebibyte");
    }

    #[test]
    fn a_block_that_cannot_be_cleared_is_none() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1, &device).unwrap();
        memory.free(Space::Device, address, &device).unwrap();
        device.state.borrow_mut().clears = false;
        assert_ne!(memory.allocate(Space::Device, 1, &device).unwrap(), address);
        assert_eq!(device.taken().len(), 1);
    }

    #[test]
    fn a_context_that_is_lost_says_so_and_nothing_of_it_is_kept() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1, &device).unwrap();
        device.state.borrow_mut().is_lost = true;
        assert_eq!(memory.free(Space::Device, address, &device), Err(ILLEGAL_ADDRESS));
        device.state.borrow_mut().is_lost = false;
        assert_ne!(memory.allocate(Space::Device, 1, &device), Ok(address));
    }

    #[test]
    fn contexts_have_their_own() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let first = memory.allocate(Space::Device, 1, &device).unwrap();
        memory.free(Space::Device, first, &device).unwrap();
        device.state.borrow_mut().context = Context(2);
        let second = memory.allocate(Space::Device, 1, &device).unwrap();
        assert_ne!(first, second);
        device.state.borrow_mut().context = OF_CONTEXT;
        memory.free(Space::Device, second, &device).unwrap();
        assert_eq!(
            device.taken().len(),
            1,
            "it was freed from another context, whose work says nothing of it"
        );
        device.state.borrow_mut().context = Context(0);
        memory.allocate(Space::Device, 1, &device).unwrap();
        assert_eq!(device.taken()[1], 1, "without a context it is the driver's");
    }

    #[test]
    fn what_went_back_in_another_way_is_not_kept() {
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let address = memory.allocate(Space::Device, 1, &device).unwrap();
        memory.release(address).unwrap();
        device.free(Space::Device, address).unwrap();
        assert_eq!(memory.free(Space::Device, address, &device), Err(CudaError(1)));
    }

    #[test]
    fn memory_of_the_host_is_kept_by_its_flags_and_freed_as_such() {
        const MAPPED: Space = Space::Host(2);
        let (memory, device) = (Memory::new(), Device::of(1 << 30));
        let first = memory.allocate(MAPPED, 1000, &device).unwrap();
        memory.free(Space::Host(0), first, &device).unwrap();
        assert_ne!(memory.allocate(Space::Device, 1000, &device), Ok(first));
        assert_ne!(memory.allocate(Space::Host(0), 1000, &device), Ok(first));
        assert_eq!(memory.allocate(MAPPED, 1000, &device), Ok(first));
        memory.free(Space::Device, first, &device).unwrap();
        assert_eq!(device.taken().len(), 2, "the driver is asked, which refuses what it does not free so");
    }
}
