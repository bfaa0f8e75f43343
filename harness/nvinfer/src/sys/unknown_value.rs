use super::Version;

/// An enum value that the tables do not list for the release that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{version} returned {value} as {what}")]
pub struct UnknownValue {
    /// The enum as C++ spells it, without its namespace.
    pub what: &'static str,
    /// The value.
    pub value: i32,
    /// The release.
    pub version: Version,
}
