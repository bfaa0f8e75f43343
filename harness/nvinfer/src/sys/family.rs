use std::fmt;

/// A range of releases with one binary interface, to which later releases only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// TensorRT 8.4 to 9.2: 32-bit extents, `Dims` passed by value.
    Trt8,
    /// TensorRT 10: 64-bit extents, `Dims` passed by address.
    Trt10,
    /// TensorRT 11: the logger is a versioned interface; weakly typed networks are gone.
    Trt11,
    /// TensorRT-RTX 1.3 and 1.4: TensorRT 10's interface without its deprecated methods.
    Rtx13,
    /// TensorRT-RTX 1.5 to 1.7: TensorRT 11's interface with compute capabilities added.
    Rtx15,
}

impl Family {
    /// Every family, in the order of the columns of [`table`](super::table).
    pub const ALL: [Self; 5] = [Self::Trt8, Self::Trt10, Self::Trt11, Self::Rtx13, Self::Rtx15];

    /// Whether extents are 64 bits wide.
    pub const fn is_wide(self) -> bool {
        !matches!(self, Self::Trt8)
    }

    /// The product that the family belongs to.
    pub const fn product(self) -> Product {
        match self {
            Self::Trt8 | Self::Trt10 | Self::Trt11 => Product::TensorRt,
            Self::Rtx13 | Self::Rtx15 => Product::TensorRtRtx,
        }
    }

    /// The first release of the family that the tables were made from.
    pub const fn first(self) -> Version {
        let number = match self {
            Self::Trt8 => 8401,
            Self::Trt10 => 100_000,
            Self::Trt11 => 110_000,
            Self::Rtx13 => 10_300,
            Self::Rtx15 => 10_500,
        };
        Version { number, family: self }
    }

    /// The last minor version of the family that the tables were made from.
    pub const fn last(self) -> &'static str {
        match self {
            Self::Trt8 => "9.2",
            Self::Trt10 => "10.16",
            Self::Trt11 => "11.4",
            Self::Rtx13 => "1.4",
            Self::Rtx15 => "1.7",
        }
    }
}

/// One of the two products that share this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    /// `libnvinfer`.
    TensorRt,
    /// `libtensorrt_rtx`.
    TensorRtRtx,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorRt => "TensorRT",
            Self::TensorRtRtx => "TensorRT-RTX",
        })
    }
}

/// A release whose binary interface the tables describe.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    number: u32,
    family: Family,
}

impl Version {
    /// The releases the tables describe, for error messages.
    pub const SUPPORTED: &str = "TensorRT 8.4 to 9.2, 10.0 to 10.16, 11.0 to 11.4, TensorRT-RTX 1.3 to 1.7";

    /// Reads the number that `getInferLibVersion` returns; `None` for a release the tables do not describe.
    ///
    /// The number has three encodings: 8503 is 8.5.3, 100001 is 10.0.1, and 10701 is TensorRT-RTX 1.7.1. An unknown
    /// minor version is refused, because TensorRT-RTX changed its interface between 1.4 and 1.5.
    pub const fn from_number(number: u32) -> Option<Self> {
        let family = match number {
            8400..=9299 => Family::Trt8,
            100_000..=101_699 => Family::Trt10,
            110_000..=110_499 => Family::Trt11,
            10_300..=10_499 => Family::Rtx13,
            10_500..=10_799 => Family::Rtx15,
            _ => return None,
        };
        Some(Self { number, family })
    }

    /// The number as the library reports it.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The family of this release: its binary interface.
    pub const fn family(self) -> Family {
        self.family
    }

    /// The product of this release.
    pub const fn product(self) -> Product {
        self.family.product()
    }

    /// Major, minor and patch.
    pub const fn parts(self) -> (u32, u32, u32) {
        let major = if self.number < 10_000 { 1_000 } else { 10_000 };
        (self.number / major, self.number % major / 100, self.number % 100)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.parts();
        write!(f, "{} {major}.{minor}.{patch}", self.product())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_encodings_of_the_version_number_are_told_apart() {
        let text = |number| Version::from_number(number).map(|version| version.to_string());
        assert_eq!(text(8503).as_deref(), Some("TensorRT 8.5.3"));
        assert_eq!(text(8600).as_deref(), Some("TensorRT 8.6.0"));
        assert_eq!(text(100_001).as_deref(), Some("TensorRT 10.0.1"));
        assert_eq!(text(110_100).as_deref(), Some("TensorRT 11.1.0"));
        assert_eq!(text(10_701).as_deref(), Some("TensorRT-RTX 1.7.1"));
    }

    #[test]
    fn a_release_nobody_has_looked_at_is_refused() {
        for number in [0, 7_203, 8_300, 9_300, 10_200, 10_800, 20_000, 101_700, 110_500, 120_000, u32::MAX] {
            assert_eq!(Version::from_number(number), None, "{number}");
        }
    }

    #[test]
    fn the_first_release_of_a_family_belongs_to_it() {
        for family in Family::ALL {
            assert_eq!(Version::from_number(family.first().number()), Some(family.first()));
        }
    }
}
