//! How a method of the tables is called.

use std::{
    ffi::c_void,
    ptr::NonNull,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    Availability, Dims, Dims32, DimsRef, Family, Ptr, Signature, Str, Unsupported, Version, Weights,
};

/// A method of a C++ class: its vtable slot in each family, and how its arguments are passed.
#[derive(Debug)]
pub struct Method {
    /// The class, without its namespace.
    pub class: &'static str,
    /// The method as C++ spells it; `delete` is the deleting destructor.
    pub name: &'static str,
    /// Class and method, as error messages show it.
    pub path: &'static str,
    /// Offset in the object of the pointer to the one whose vtable is used; 0 is the object itself.
    pub via: usize,
    /// The vtable slot for each family, in the order of [`Family::ALL`]; `None` if the family lacks the method.
    pub slots: [Option<Slot>; Family::ALL.len()],
    /// How arguments and result are passed in a family with 32-bit extents.
    pub narrow: Signature,
    /// How arguments and result are passed in a family with 64-bit extents.
    pub wide: Signature,
    called: AtomicBool,
}

/// A vtable index, and the release of its family that first had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The index in the vtable.
    pub index: u16,
    /// The release's number; 0 if the family always had it.
    pub since: u32,
}

impl Method {
    #[doc(hidden)]
    pub const fn new(
        (class, name, path): (&'static str, &'static str, &'static str),
        via: usize,
        slots: [Option<Slot>; Family::ALL.len()],
        narrow: Signature,
        wide: Signature,
    ) -> Self {
        Self { class, name, path, via, slots, narrow, wide, called: AtomicBool::new(false) }
    }

    /// The vtable index in `version`; `None` if that release lacks the method.
    pub fn slot(&self, version: Version) -> Option<u16> {
        let slot = self.slots[version.family() as usize].filter(|slot| version.number() >= slot.since)?;
        Some(slot.index + self.shift(version))
    }

    /// TensorRT 10.8 inserted `addCumulative` at slot 63 of the network and moved it to the end one release later.
    fn shift(&self, version: Version) -> u16 {
        let is_10_8 = version.family() == Family::Trt10 && version.parts().1 == 8;
        let is_moved = self.class == "INetworkDefinition"
            && self.slots[Family::Trt10 as usize].is_some_and(|slot| slot.index >= 63);
        u16::from(is_10_8 && is_moved)
    }

    /// How arguments and result are passed in `family`.
    pub fn signature(&self, family: Family) -> Signature {
        if family.is_wide() { self.wide } else { self.narrow }
    }

    /// The releases that have the method.
    pub fn availability(&self) -> Availability {
        let mut families = Family::ALL.into_iter();
        Availability(self.slots.map(|slot| {
            let first = families.next().map_or(0, |family| family.first().number());
            slot.map(|slot| slot.since.max(first))
        }))
    }

    /// Whether this process has called the method.
    pub fn was_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }
}

/// A live object of the library, and the release whose tables describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    version: Version,
    pointer: NonNull<c_void>,
}

/// The function that a virtual call resolves to, and the object to pass as its first argument.
#[doc(hidden)]
pub struct Target {
    pub this: Ptr,
    pub function: *const c_void,
    pub is_wide: bool,
}

impl Object {
    /// Wraps what a library function returned; `None` for null.
    pub fn new(version: Version, pointer: Ptr) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { version, pointer })
    }

    /// The address, to pass to the library.
    pub fn as_ptr(self) -> Ptr {
        self.pointer.as_ptr()
    }

    /// The release whose tables describe it.
    pub fn version(self) -> Version {
        self.version
    }

    /// Looks the function of `method` up in the object's vtable.
    ///
    /// # Safety
    /// The object is live, and of `method`'s class in the release that `version` names.
    pub unsafe fn target(self, method: &Method) -> Result<Target, Unsupported> {
        let Some(slot) = method.slot(self.version) else {
            return Err(Unsupported {
                what: method.path,
                version: self.version,
                since: method.availability(),
            });
        };
        method.called.store(true, Ordering::Relaxed);
        // SAFETY: by this function's contract the object is live and of a class that keeps, at `via`, the pointer to
        // its implementation (`via` 0: itself); the first word of either is the address of a vtable with more than
        // `slot` entries. verify-abi checks `via` and `slot` against the headers.
        unsafe {
            let this = match method.via {
                0 => self.as_ptr(),
                via => self.pointer.byte_add(via).cast::<Ptr>().read(),
            };
            let vtable = this.cast::<*const *const c_void>().read();
            let function = vtable.add(usize::from(slot)).read();
            Ok(Target { this, function, is_wide: self.version.family().is_wide() })
        }
    }
}

/// A value that can be an argument, in the representation of narrow and wide families.
pub trait Argument {
    /// The C type of the argument in a family with 32-bit extents.
    type Narrow;
    /// The C type of the argument in a family with 64-bit extents.
    type Wide;
    /// The 32-bit form in clang's notation.
    const NARROW: &'static str;
    /// The 64-bit form in clang's notation.
    const WIDE: &'static str;
    /// The value for a family with 32-bit extents.
    fn narrow(&self) -> Self::Narrow;
    /// The value for a family with 64-bit extents. Memory that it points to lives as long as `self`.
    fn wide(&self) -> Self::Wide;
}

/// A value that can be a result.
pub trait Outcome: Sized {
    /// The C type of the result in a family with 32-bit extents.
    type Narrow;
    /// The C type of the result in a family with 64-bit extents.
    type Wide;
    /// The 32-bit form in clang's notation.
    const NARROW: &'static str;
    /// The 64-bit form in clang's notation.
    const WIDE: &'static str;
    /// Converts the result of a family with 32-bit extents.
    fn from_narrow(value: Self::Narrow) -> Self;
    /// Converts the result of a family with 64-bit extents.
    fn from_wide(value: Self::Wide) -> Self;
}

macro_rules! same_in_every_family {
    ($($ty:ty => $word:literal),* $(,)?) => {$(
        impl Argument for $ty {
            type Narrow = Self;
            type Wide = Self;
            const NARROW: &'static str = $word;
            const WIDE: &'static str = $word;
            fn narrow(&self) -> Self {
                *self
            }
            fn wide(&self) -> Self {
                *self
            }
        }
        impl Outcome for $ty {
            type Narrow = Self;
            type Wide = Self;
            const NARROW: &'static str = $word;
            const WIDE: &'static str = $word;
            fn from_narrow(value: Self) -> Self {
                value
            }
            fn from_wide(value: Self) -> Self {
                value
            }
        }
    )*};
}
same_in_every_family! {
    Ptr => "ptr", Str => "ptr", i32 => "i32", u32 => "i32", i64 => "i64", usize => "i64", bool => "bool",
    f32 => "float",
}

/// An element or channel count: `int32_t` with 32-bit extents, `int64_t` with 64-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub i64);

impl Argument for Count {
    type Narrow = i32;
    type Wide = i64;
    const NARROW: &'static str = "i32";
    const WIDE: &'static str = "i64";
    fn narrow(&self) -> i32 {
        i32::try_from(self.0).unwrap_or(i32::MAX)
    }
    fn wide(&self) -> i64 {
        self.0
    }
}

impl Outcome for Count {
    type Narrow = i32;
    type Wide = i64;
    const NARROW: &'static str = "i32";
    const WIDE: &'static str = "i64";
    fn from_narrow(value: i32) -> Self {
        Self(value.into())
    }
    fn from_wide(value: i64) -> Self {
        Self(value)
    }
}

impl Argument for Dims {
    type Narrow = Dims32;
    type Wide = *const Self;
    const NARROW: &'static str = "byval(Dims32)";
    const WIDE: &'static str = "ptr";
    fn narrow(&self) -> Dims32 {
        self.into()
    }
    fn wide(&self) -> *const Self {
        self
    }
}

impl Outcome for Dims {
    type Narrow = Dims32;
    type Wide = Self;
    const NARROW: &'static str = "sret(Dims32)";
    const WIDE: &'static str = "sret(Dims64)";
    fn from_narrow(value: Dims32) -> Self {
        value.into()
    }
    fn from_wide(value: Self) -> Self {
        value
    }
}

impl Argument for DimsRef {
    type Narrow = *const Dims32;
    type Wide = *const Dims;
    const NARROW: &'static str = "ptr";
    const WIDE: &'static str = "ptr";
    fn narrow(&self) -> *const Dims32 {
        &raw const self.narrow
    }
    fn wide(&self) -> *const Dims {
        &raw const self.wide
    }
}

impl Argument for Weights {
    type Narrow = Self;
    type Wide = Self;
    const NARROW: &'static str = "byval(Weights)";
    const WIDE: &'static str = "byval(Weights)";
    fn narrow(&self) -> Self {
        *self
    }
    fn wide(&self) -> Self {
        *self
    }
}

impl Outcome for Weights {
    type Narrow = Self;
    type Wide = Self;
    const NARROW: &'static str = "sret(Weights)";
    const WIDE: &'static str = "sret(Weights)";
    fn from_narrow(value: Self) -> Self {
        value
    }
    fn from_wide(value: Self) -> Self {
        value
    }
}

impl Outcome for () {
    type Narrow = Self;
    type Wide = Self;
    const NARROW: &'static str = "void";
    const WIDE: &'static str = "void";
    fn from_narrow((): Self) {}
    fn from_wide((): Self) {}
}

/// Turns the rows of a table into a class: a [`Method`] and an `unsafe fn` for each row.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident in $module:ident {
        $($via:literal $name:ident = $cpp:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?
            [$($slot:tt $(>= $since:literal)?),*];)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $class(pub $crate::sys::method::Object);

            impl $class {
                /// Wraps what a library function returned; `None` for null.
                pub fn new(version: $crate::sys::Version, pointer: $crate::sys::Ptr) -> Option<Self> {
                    $crate::sys::method::Object::new(version, pointer).map(Self)
                }

                $(
                    #[doc = concat!("`", stringify!($class), "::", stringify!($cpp), "`")]
                    ///
                    /// # Safety
                    /// The object is live and of this class; the arguments satisfy what TensorRT documents for this
                    /// method, pointers and their lifetimes included.
                    #[allow(clippy::too_many_arguments, reason = "the arguments are TensorRT's")]
                    pub unsafe fn $name(self $(, $arg: $ty)*)
                        -> Result<classes!(@result $($ret)?), $crate::sys::Unsupported>
                    {
                        use $crate::sys::method::Outcome;
                        type Result = classes!(@result $($ret)?);
                        // SAFETY: the caller upholds that the object is live and of this class.
                        let target = unsafe { self.0.target(&methods::$module::$name)? };
                        // SAFETY: the function at that slot takes the object and then arguments of these
                        // representations (verify-abi compares them with the compiler's lowering); what a wide
                        // argument points to is an argument of this function and outlives the call.
                        Ok(unsafe {
                            if target.is_wide {
                                let function: unsafe extern "C" fn($crate::sys::Ptr $(, <$ty as $crate::sys::method::Argument>::Wide)*)
                                    -> <Result as Outcome>::Wide = std::mem::transmute(target.function);
                                Result::from_wide(function(target.this $(, $crate::sys::method::Argument::wide(&$arg))*))
                            } else {
                                let function: unsafe extern "C" fn($crate::sys::Ptr $(, <$ty as $crate::sys::method::Argument>::Narrow)*)
                                    -> <Result as Outcome>::Narrow = std::mem::transmute(target.function);
                                Result::from_narrow(function(target.this $(, $crate::sys::method::Argument::narrow(&$arg))*))
                            }
                        })
                    }
                )*
            }
        )*

        mod methods {
            $(
                pub mod $module {
                    #[allow(unused_imports, reason = "not every class uses every representation")]
                    use crate::sys::{method::{Argument, Count, Method, Outcome, Slot, classes}, *};
                    $(
                        #[expect(non_upper_case_globals, reason = "named like the function it describes")]
                        pub static $name: Method = Method::new(
                            (stringify!($class), stringify!($cpp),
                             concat!(stringify!($class), "::", stringify!($cpp))),
                            $via,
                            [$(classes!(@slot $slot $(>= $since)?)),*],
                            Signature {
                                arguments: &[$(<$ty as Argument>::NARROW),*],
                                result: <classes!(@result $($ret)?) as Outcome>::NARROW,
                            },
                            Signature {
                                arguments: &[$(<$ty as Argument>::WIDE),*],
                                result: <classes!(@result $($ret)?) as Outcome>::WIDE,
                            },
                        );
                    )*
                }
            )*
        }

        /// The rows of this table.
        pub(super) static METHODS: &[&$crate::sys::method::Method] = &[$($(&methods::$module::$name),*),*];
    };
    (@result) => { () };
    (@result $ret:ty) => { $ret };
    (@slot -) => { None };
    (@slot $index:literal) => { Some(Slot { index: $index, since: 0 }) };
    (@slot $index:literal >= $since:literal) => { Some(Slot { index: $index, since: $since }) };
}
pub(super) use classes;
