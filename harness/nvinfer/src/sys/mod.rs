//! The raw layer: TensorRT's C++ interfaces as calls through their vtables.
//!
//! An *ABI family* is a range of releases over which a vtable slot, once assigned, keeps its meaning: within a
//! family methods are only appended. [`table`] is data: the slot of every method that the safe layer uses in each
//! family, and how its arguments are passed; [`enums`] holds the enum values that moved. Everything a family does
//! differently is in those two modules, in [`Dims`]' two layouts, and in [`method::Method::slot`].
//!
//! Calls follow the Itanium C++ ABI as clang and gcc implement it on x86-64 Linux: a virtual call is a C call whose
//! first argument is the object. TensorRT's own classes forward every public method to an implementation object, so
//! most calls go through the pointer stored at offset 8 (16 for the part of a layer that its concrete class adds).

#[expect(clippy::unreadable_literal, reason = "release numbers as the library reports them")]
pub mod enums;
pub mod export;
mod family;
mod layout;
mod logger;
pub mod method;
mod signature;
#[expect(clippy::unreadable_literal, reason = "release numbers as the library reports them")]
pub mod table;
mod unknown_value;
mod unsupported;

pub use family::{Family, Product, Version};
pub use layout::{Dims, Dims32, DimsRef, Field, InterfaceInfo, Layout, Permutation, Weights, layouts};
pub use logger::LoggerMethod;
pub use signature::Signature;
pub use unknown_value::UnknownValue;
pub use unsupported::{Availability, Unsupported};

/// An object of the library, or null.
pub type Ptr = *mut std::ffi::c_void;

/// A NUL-terminated string, or null.
pub type Str = *const std::ffi::c_char;
