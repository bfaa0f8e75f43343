use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use crate::{
    driver::{Address, Context, CudaError, INVALID_VALUE, Space},
    idle_limit::MAX_IDLE_BYTES,
};

/// The smallest block: the driver's own alignment.
const MIN_BLOCK: u64 = 512;
/// The largest block that is kept; larger allocations are the driver's.
pub const MAX_BLOCK: u64 = 64 << 20;

/// Blocks of the same space, context and size, which are interchangeable. The size is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SizeClass {
    space: Space,
    context: Context,
    bytes: u64,
}

impl SizeClass {
    /// The class that serves an allocation; `None` if the allocation is left to the driver.
    pub fn of(space: Space, bytes: u64, context: Context) -> Option<Self> {
        let is_kept = bytes > 0 && bytes <= MAX_BLOCK;
        is_kept.then(|| Self { space, context, bytes: bytes.next_power_of_two().max(MIN_BLOCK) })
    }

    pub const fn space(self) -> Space {
        self.space
    }

    pub const fn context(self) -> Context {
        self.context
    }

    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether the driver frees blocks of this class and of `space` by the same function.
    pub const fn is_freed_as(self, space: Space) -> bool {
        self.space.is_freed_as(space)
    }
}

/// Every block that was allocated for a size class: lent to a library, or idle.
pub struct BlockTable {
    lent: BTreeMap<Address, SizeClass>,
    idle: BTreeMap<SizeClass, Vec<Address>>,
    idle_addresses: BTreeSet<Address>,
    idle_bytes: u64,
}

impl BlockTable {
    pub const fn new() -> Self {
        Self { lent: BTreeMap::new(), idle: BTreeMap::new(), idle_addresses: BTreeSet::new(), idle_bytes: 0 }
    }

    /// Records that a library holds the block.
    pub fn lend(&mut self, address: Address, class: SizeClass) {
        self.lent.insert(address, class);
    }

    /// Records a block that the driver has just allocated, in place of any block that was known at its address: that block
    /// has returned to the driver unseen.
    pub fn replace(&mut self, address: Address, class: Option<SizeClass>) {
        self.lent.remove(&address);
        self.lent.extend(class.map(|class| (address, class)));
    }

    /// Takes a block back from the library that frees it. `None` if the block is not in the table; an error if it is idle, that
    /// is, freed already.
    pub fn reclaim(&mut self, address: Address) -> Result<Option<SizeClass>, CudaError> {
        if self.idle_addresses.contains(&address) {
            Err(INVALID_VALUE)
        } else {
            Ok(self.lent.remove(&address))
        }
    }

    /// Removes an idle block of `class`; `None` if there is none.
    pub fn take(&mut self, class: SizeClass) -> Option<Address> {
        let address = self.idle.get_mut(&class)?.pop()?;
        self.idle_addresses.remove(&address);
        self.idle_bytes -= class.bytes;
        Some(address)
    }

    /// Removes all idle blocks of `context`.
    pub fn take_idle(&mut self, context: Context) -> Vec<(SizeClass, Address)> {
        let (of_context, others): (BTreeMap<_, _>, _) =
            mem::take(&mut self.idle).into_iter().partition(|(class, _)| class.context == context);
        self.idle = others;
        let taken: Vec<_> = of_context
            .into_iter()
            .flat_map(|(class, idle)| idle.into_iter().map(move |address| (class, address)))
            .collect();
        for (class, address) in &taken {
            self.idle_bytes -= class.bytes;
            self.idle_addresses.remove(address);
        }
        taken
    }

    /// Whether a block of `class` fits under the limit on idle memory.
    pub const fn has_room(&self, class: SizeClass) -> bool {
        self.idle_bytes + class.bytes <= MAX_IDLE_BYTES
    }

    /// Records a block as idle if there is room for it, and returns whether there was.
    pub fn keep(&mut self, address: Address, class: SizeClass) -> bool {
        let has_room = self.has_room(class);
        if has_room {
            self.idle_bytes += class.bytes;
            self.idle.entry(class).or_default().push(address);
            self.idle_addresses.insert(address);
        }
        has_room
    }
}
