use std::str::FromStr;

use serde::{Deserialize, de};

/// A number of bytes, written with a unit: `512MiB`, `8GiB`, `2TiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(u64);

/// The units and their bytes as a power of two.
const UNITS: [(&str, u32); 3] = [("MiB", 20), ("GiB", 30), ("TiB", 40)];

/// The text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a whole number with a unit: 512MiB, 8GiB, 2TiB")]
pub struct InvalidSize;

impl Size {
    /// The number of bytes, at least one MiB.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let size = UNITS.iter().find_map(|(unit, power)| {
            let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
            number.checked_mul(1 << power).filter(|bytes| *bytes > 0)
        });
        size.map(Self).ok_or(InvalidSize)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidSize, Size};

    #[test]
    fn size_is_a_number_with_a_unit() {
        let bytes = |text: &str| text.parse::<Size>().map(Size::bytes);
        assert_eq!(
            [bytes("512MiB"), bytes("8GiB"), bytes("2TiB")],
            [Ok(512 << 20), Ok(8 << 30), Ok(2 << 40)]
        );
        let refused = ["", "8", "GiB", "0GiB", "-1GiB", "8GB", "1.5GiB", "99999999999TiB"];
        assert!(refused.iter().all(|text| bytes(text) == Err(InvalidSize)));
    }
}
