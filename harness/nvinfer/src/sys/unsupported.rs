use std::fmt;

use super::{Family, Version};

/// Something that the loaded release does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{version} has no {what}; it is in {since}")]
pub struct Unsupported {
    /// The method or enum value, as C++ spells it.
    pub what: &'static str,
    /// The release that was asked.
    pub version: Version,
    /// The releases that have it.
    pub since: Availability,
}

/// The releases that have something: for each [`Family`] the number of the first one, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Availability(pub [Option<u32>; 5]);

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (family, since) in Family::ALL.into_iter().zip(self.0) {
            let Some(number) = since else { continue };
            let since = Version::from_number(number).unwrap_or(family.first());
            let last = match family {
                Family::Trt8 => "9.2",
                Family::Trt10 => "10.16",
                Family::Trt11 => "11.4",
                Family::Rtx13 => "1.4",
                Family::Rtx15 => "1.7",
            };
            write!(f, "{separator}{since} to {last}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("no known release") } else { Ok(()) }
    }
}
