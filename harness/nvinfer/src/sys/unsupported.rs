use std::fmt;

use super::{Family, Version};

/// A method or an enum value that the loaded release lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{version} has no {what}; it is in {since}")]
pub struct Unsupported {
    /// The method or enum value, as C++ spells it.
    pub what: &'static str,
    /// The loaded release.
    pub version: Version,
    /// The releases that have it.
    pub since: Availability,
}

/// For each [`Family`] the number of the first release that has a method or an enum value, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Availability(pub [Option<u32>; Family::ALL.len()]);

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (family, since) in Family::ALL.into_iter().zip(self.0) {
            let Some(number) = since else { continue };
            let since = Version::from_number(number).unwrap_or(family.first());
            write!(f, "{separator}{since} to {}", family.last())?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("no known release") } else { Ok(()) }
    }
}
