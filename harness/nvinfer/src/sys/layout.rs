use std::{
    ffi::{c_char, c_void},
    fmt,
    mem::offset_of,
};

use super::{Family, LoggerMethod};

/// A shape of at most eight extents; an extent that is not known yet is −1.
///
/// The layout is that of `nvinfer1::Dims64`. A call narrows the value for a family that takes `Dims32`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    rank: i32,
    extents: [i64; Self::MAX_RANK],
}

impl Dims {
    /// The largest rank that TensorRT represents.
    pub const MAX_RANK: usize = 8;

    /// Makes a shape; `None` if it has more than [`Dims::MAX_RANK`] extents.
    pub fn new(shape: &[i64]) -> Option<Self> {
        let mut extents = [0; Self::MAX_RANK];
        extents.get_mut(..shape.len())?.copy_from_slice(shape);
        Some(Self { rank: i32::try_from(shape.len()).ok()?, extents })
    }

    /// The extents; `None` if the library does not know the rank.
    pub fn extents(&self) -> Option<&[i64]> {
        usize::try_from(self.rank).ok().and_then(|rank| self.extents.get(..rank))
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.extents())
    }
}

/// `nvinfer1::Dims32`, the shape of TensorRT 8 and 9.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims32 {
    rank: i32,
    extents: [i32; Dims::MAX_RANK],
}

impl From<&Dims> for Dims32 {
    /// An extent beyond 32 bits becomes the largest one, which TensorRT refuses.
    fn from(dims: &Dims) -> Self {
        Self {
            rank: dims.rank,
            extents: dims.extents.map(|extent| i32::try_from(extent).unwrap_or(i32::MAX)),
        }
    }
}

impl From<Dims32> for Dims {
    fn from(dims: Dims32) -> Self {
        Self { rank: dims.rank, extents: dims.extents.map(i64::from) }
    }
}

/// A shape that every family takes by address, in the layout of the family.
#[derive(Clone, Copy)]
pub struct DimsRef {
    pub(super) narrow: Dims32,
    pub(super) wide: Dims,
}

impl From<Dims> for DimsRef {
    fn from(wide: Dims) -> Self {
        Self { narrow: Dims32::from(&wide), wide }
    }
}

/// `nvinfer1::Weights`: elements in memory that the struct does not own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// A `DataType` value of the family.
    pub data_type: i32,
    /// The elements, or null.
    pub values: *const c_void,
    /// The number of elements.
    pub count: i64,
}

/// `nvinfer1::InterfaceInfo`: the name and version of a versioned interface.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InterfaceInfo {
    /// The interface's C++ name.
    pub kind: *const c_char,
    /// Its major version.
    pub major: i32,
    /// Its minor version.
    pub minor: i32,
}

/// `nvinfer1::Permutation`: for each axis of the result, the axis it comes from.
pub type Permutation = [i32; Dims::MAX_RANK];

/// The size of a C++ struct and the offsets of its fields, for `verify-abi`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The struct, without its namespace.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// The fields that are compared with the headers.
    pub fields: &'static [Field],
}

/// A field of a C++ struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field as C++ spells it.
    pub name: &'static str,
    /// The offset in the struct, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
}

macro_rules! layout {
    ($ty:ty = $name:literal { $($field:ident: $field_ty:ty = $cpp:literal),* }) => {
        Layout {
            name: $name,
            size: size_of::<$ty>(),
            fields: &[$(
                Field { name: $cpp, offset: offset_of!($ty, $field), size: size_of::<$field_ty>() }
            ),*],
        }
    };
}

/// The structs that `family` exchanges by value or by address.
pub fn layouts(family: Family) -> impl Iterator<Item = Layout> {
    const EXTENTS: usize = Dims::MAX_RANK;
    let dims = if family.is_wide() {
        layout!(Dims = "Dims64" { rank: i32 = "nbDims", extents: [i64; EXTENTS] = "d" })
    } else {
        layout!(Dims32 = "Dims32" { rank: i32 = "nbDims", extents: [i32; EXTENTS] = "d" })
    };
    let weights = layout!(Weights = "Weights" {
        data_type: i32 = "type", values: *const c_void = "values", count: i64 = "count"
    });
    let permutation = Layout {
        name: "Permutation",
        size: size_of::<Permutation>(),
        fields: &[Field { name: "order", offset: 0, size: size_of::<Permutation>() }],
    };
    let info = layout!(InterfaceInfo = "InterfaceInfo" {
        kind: *const c_char = "kind", major: i32 = "major", minor: i32 = "minor"
    });
    let has_info = LoggerMethod::vtable(family).contains(&LoggerMethod::InterfaceInfo);
    [dims, weights, permutation].into_iter().chain(has_info.then_some(info))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layouts_have_the_sizes_of_the_headers() {
        assert_eq!((size_of::<Dims>(), align_of::<Dims>()), (72, 8));
        assert_eq!((size_of::<Dims32>(), align_of::<Dims32>()), (36, 4));
        assert_eq!((size_of::<Weights>(), align_of::<Weights>()), (24, 8));
        assert_eq!((size_of::<InterfaceInfo>(), align_of::<InterfaceInfo>()), (16, 8));
    }

    #[test]
    fn narrowing_and_widening_keep_extents_and_rank() {
        let dims = Dims::new(&[2, -1, 640, 480]).expect("four extents fit");
        assert_eq!(Dims::from(Dims32::from(&dims)), dims);
        assert_eq!(Dims::new(&[1; 9]), None);
    }
}
