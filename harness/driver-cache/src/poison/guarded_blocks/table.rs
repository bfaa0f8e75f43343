use std::{
    array,
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
};

use twinfer_case::PoisonPattern;

use crate::{
    driver::{Address, Context, CudaError, INVALID_VALUE, Space},
    idle_limit::MAX_IDLE_BYTES,
};

/// The number of guard bytes behind a block: more than a row of a small tensor.
pub const GUARD_BYTES: usize = 4096;
/// The most writes that are reported at once.
const MAX_WRITES: usize = 16;

/// A block as a library requested it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub space: Space,
    pub context: Context,
    /// The requested size.
    pub bytes: u64,
}

impl Block {
    /// The block that serves a request; `None` for no bytes, or more than any device has.
    pub fn of(space: Space, bytes: u64, context: Context) -> Option<Self> {
        let is_possible = bytes > 0 && bytes < u64::MAX - 2 * GUARD_BYTES as u64;
        is_possible.then_some(Self { space, context, bytes })
    }

    /// The size with the guard bytes, which is even.
    pub const fn whole_bytes(self) -> u64 {
        (self.bytes + GUARD_BYTES as u64).next_multiple_of(2)
    }

    /// Where its guard bytes begin.
    pub const fn end(self, address: Address) -> Address {
        Address(address.0 + self.bytes)
    }

    /// Its guard bytes. The pattern repeats from the start of the block.
    pub fn guard(self, pattern: PoisonPattern) -> [u8; GUARD_BYTES] {
        let [even, odd] = pattern.bytes();
        let first_is_odd = !self.bytes.is_multiple_of(2);
        array::from_fn(|place| if (place % 2 == 1) == first_is_odd { even } else { odd })
    }

    /// Whether it may be kept once it is freed.
    pub const fn can_stay(self) -> bool {
        self.whole_bytes() <= MAX_IDLE_BYTES
    }
}

/// The blocks that libraries hold, those that they have freed and the driver has not received yet, and the writes behind both.
pub struct BlockTable {
    held: BTreeMap<Address, (u64, Block)>,
    /// The number of the next block.
    next: u64,
    /// The oldest first.
    freed: VecDeque<(Address, Block)>,
    freed_addresses: BTreeSet<Address>,
    freed_bytes: u64,
    /// Blocks with the offset of their first changed guard byte.
    writes: Vec<(Block, u64)>,
}

impl BlockTable {
    pub const fn new() -> Self {
        Self {
            held: BTreeMap::new(),
            next: 0,
            freed: VecDeque::new(),
            freed_addresses: BTreeSet::new(),
            freed_bytes: 0,
            writes: Vec::new(),
        }
    }

    /// Records that a library holds the block.
    pub fn hold(&mut self, address: Address, block: Block) {
        self.held.insert(address, (self.next, block));
        self.next += 1;
    }

    /// Forgets whatever was known at an address, because it has returned to the driver unseen.
    pub fn forget(&mut self, address: Address) {
        self.held.remove(&address);
        if self.freed_addresses.remove(&address)
            && let Some(place) = self.freed.iter().position(|(at, _)| *at == address)
            && let Some((_, stale)) = self.freed.remove(place)
        {
            self.freed_bytes -= stale.whole_bytes();
        }
    }

    /// The block that a library holds at `address`.
    pub fn held(&self, address: Address) -> Option<Block> {
        self.held.get(&address).map(|(_, block)| *block)
    }

    /// The blocks that libraries hold in `context`, in the order of their allocation.
    pub fn held_in(&self, context: Option<Context>) -> Vec<(Address, Block)> {
        let of_context = self.held.iter().filter(|(_, (_, block))| Some(block.context) == context);
        let mut blocks: Vec<_> =
            of_context.map(|(address, (number, block))| (*number, *address, *block)).collect();
        blocks.sort_unstable_by_key(|(number, ..)| *number);
        blocks.into_iter().map(|(_, address, block)| (address, block)).collect()
    }

    /// Takes a block back from the library that frees it. `None` if no block of this kind of memory is held there; an error if it is
    /// freed already.
    pub fn reclaim(&mut self, space: Space, address: Address) -> Result<Option<Block>, CudaError> {
        if self.freed_addresses.contains(&address) {
            return Err(INVALID_VALUE);
        }
        let block = self.held(address).filter(|block| block.space.is_freed_as(space));
        if block.is_some() {
            self.held.remove(&address);
        }
        Ok(block)
    }

    /// Keeps a freed block, and returns the oldest ones that exceed the limit.
    pub fn keep(&mut self, address: Address, block: Block) -> Vec<(Address, Block)> {
        self.freed.push_back((address, block));
        self.freed_addresses.insert(address);
        self.freed_bytes += block.whole_bytes();
        let mut oldest = Vec::new();
        while self.freed_bytes > MAX_IDLE_BYTES
            && let Some((address, block)) = self.freed.pop_front()
        {
            self.freed_addresses.remove(&address);
            self.freed_bytes -= block.whole_bytes();
            oldest.push((address, block));
        }
        oldest
    }

    /// Removes all freed blocks.
    pub fn take_freed(&mut self) -> Vec<(Address, Block)> {
        self.freed_addresses.clear();
        self.freed_bytes = 0;
        mem::take(&mut self.freed).into()
    }

    /// Records the first changed guard byte of a block.
    pub fn record_write(&mut self, block: Block, offset: u64) {
        if self.writes.len() < MAX_WRITES {
            self.writes.push((block, offset));
        }
    }

    /// Removes the recorded writes.
    pub fn take_writes(&mut self) -> Vec<(Block, u64)> {
        mem::take(&mut self.writes)
    }
}
