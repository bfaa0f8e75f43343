//! Random sequences of calls, with the cache and without it.

use proptest::prelude::*;

use super::{MEBIBYTE, OF_DEVICE, READ_ONLY, READ_WRITE, device::Device, whole};
use crate::{
    driver::{Access, Address, AddressRange, Context, CudaError, Handle, MapRequest, VirtualMemoryDriver},
    virtual_memory::VirtualMemory,
};

/// A call of a library that holds up to three ranges and three handles, each by its index.
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
    SwitchContext(usize),
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
        1 => (1..3_usize).prop_map(Call::SwitchContext),
    ]
}

/// What a library holds, as far as it knows.
#[derive(Default)]
struct Library {
    ranges: [Option<AddressRange>; 3],
    handles: [Option<Handle>; 3],
    /// The mapped part of each range.
    mapped: [Option<AddressRange>; 3],
}

impl Library {
    /// Makes the call and returns whether it succeeded; `None` if the library lacks what the call needs.
    fn call(&mut self, call: Call, device: &Device, path: &impl Path) -> Option<bool> {
        let part = |range: AddressRange, is_half: bool| AddressRange {
            bytes: range.bytes >> u32::from(is_half),
            ..range
        };
        Some(match call {
            Call::Reserve(place, bytes) => {
                if self.ranges[place].is_some() {
                    return None;
                }
                let address = path.reserve(bytes, device).ok()?;
                self.ranges[place] = Some(AddressRange { address, bytes });
                true
            }
            Call::Create(place, bytes) => {
                if self.handles[place].is_some() {
                    return None;
                }
                self.handles[place] = Some(path.create(bytes, device).ok()?);
                true
            }
            Call::Map { range: place, handle, is_half } => {
                let range = part(self.ranges[place]?, is_half);
                let succeeded = path.map(&whole(range, self.handles[handle]?), device).is_ok();
                if succeeded {
                    self.mapped[place] = Some(range);
                }
                succeeded
            }
            Call::SetAccess(place, access) => path.set_access(self.ranges[place]?, access, device).is_ok(),
            Call::Write(place, byte) => {
                device.write(self.mapped[place]?, byte);
                true
            }
            Call::Unmap { range: place, is_half } => {
                let succeeded = path.unmap(part(self.ranges[place]?, is_half), device).is_ok();
                if succeeded {
                    self.mapped[place] = None;
                }
                succeeded
            }
            Call::Release(place) => {
                let succeeded = path.release(self.handles[place]?, device).is_ok();
                self.handles[place] = None;
                succeeded
            }
            Call::Free(place) => {
                let succeeded = path.free(self.ranges[place]?, device).is_ok();
                if succeeded {
                    self.ranges[place] = None;
                }
                succeeded
            }
            Call::SwitchContext(context) => {
                device.context.set(Context(context));
                true
            }
        })
    }

    /// What the library reads in each of its mappings.
    fn reads(&self, device: &Device) -> [Option<u8>; 3] {
        self.mapped.map(|range| range.and_then(|range| device.byte(range)))
    }
}

/// The way from a library to the driver: with or without the cache.
trait Path {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError>;
    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError>;
    fn map(&self, mapping: &MapRequest, device: &Device) -> Result<(), CudaError>;
    fn set_access(&self, range: AddressRange, access: Access, device: &Device) -> Result<(), CudaError>;
    fn unmap(&self, range: AddressRange, device: &Device) -> Result<(), CudaError>;
    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError>;
    fn free(&self, range: AddressRange, device: &Device) -> Result<(), CudaError>;
}

struct Uncached;

impl Path for Uncached {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
        VirtualMemoryDriver::reserve(device, bytes, 0)
    }

    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
        VirtualMemoryDriver::create(device, bytes, &OF_DEVICE)
    }

    fn map(&self, mapping: &MapRequest, device: &Device) -> Result<(), CudaError> {
        VirtualMemoryDriver::map(device, mapping)
    }

    fn set_access(&self, range: AddressRange, access: Access, device: &Device) -> Result<(), CudaError> {
        VirtualMemoryDriver::set_access(device, range, &[access])
    }

    fn unmap(&self, range: AddressRange, device: &Device) -> Result<(), CudaError> {
        VirtualMemoryDriver::unmap(device, range)
    }

    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
        VirtualMemoryDriver::release(device, handle)
    }

    fn free(&self, range: AddressRange, device: &Device) -> Result<(), CudaError> {
        VirtualMemoryDriver::free(device, range)
    }
}

impl Path for VirtualMemory {
    fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
        self.reserve(bytes, 0, device)
    }

    fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
        self.create(bytes, &OF_DEVICE, device)
    }

    fn map(&self, mapping: &MapRequest, device: &Device) -> Result<(), CudaError> {
        self.map(mapping, device)
    }

    fn set_access(&self, range: AddressRange, access: Access, device: &Device) -> Result<(), CudaError> {
        self.set_access(range, &[access], device)
    }

    fn unmap(&self, range: AddressRange, device: &Device) -> Result<(), CudaError> {
        self.unmap(range, device)
    }

    fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
        self.release(handle, device)
    }

    fn free(&self, range: AddressRange, device: &Device) -> Result<(), CudaError> {
        self.free(range, device)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// With and without the cache, the same calls succeed and the same bytes are read.
    #[test]
    fn library_observes_the_same_with_and_without_the_cache(calls in prop::collection::vec(call(), 0..60)) {
        let (cache, with, without) = (VirtualMemory::new(), Device::default(), Device::default());
        let (mut cached, mut uncached) = (Library::default(), Library::default());
        for call in calls {
            let succeeded = cached.call(call, &with, &cache);
            prop_assert_eq!(succeeded, uncached.call(call, &without, &Uncached), "{:?}", call);
            prop_assert_eq!(cached.reads(&with), uncached.reads(&without), "{:?}", call);
        }
    }
}
