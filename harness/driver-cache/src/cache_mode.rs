use std::{env, fmt, str::FromStr};

/// The environment variable that selects a worker's [`CacheMode`]: `on`, `attributes`, `off` or `verify`.
pub const CACHE_MODE_VARIABLE: &str = "TWINFER_DRIVER_CACHE";

/// Which driver calls the cache answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// Device attributes, memory and events. A sample of the attributes is compared with the driver's answers.
    #[default]
    On,
    /// Device attributes alone; memory and events are the driver's.
    Attributes,
    /// None: no library is attached.
    Off,
    /// As [`On`](Self::On), but the driver answers every device attribute and each of its answers is compared with the
    /// cached one. A worker in this mode ends at the first difference.
    Verify,
}

/// A value of [`CACHE_MODE_VARIABLE`] that names no [`CacheMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{CACHE_MODE_VARIABLE}={0}: the value is one of on, attributes, off, verify")]
pub struct InvalidCacheMode(String);

impl CacheMode {
    /// Reads [`CACHE_MODE_VARIABLE`]; [`CacheMode::On`] if it is not set.
    pub fn from_environment() -> Result<Self, InvalidCacheMode> {
        env::var_os(CACHE_MODE_VARIABLE).map_or(Ok(Self::default()), |value| value.to_string_lossy().parse())
    }
}

impl fmt::Display for CacheMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::On => "on",
            Self::Attributes => "attributes",
            Self::Off => "off",
            Self::Verify => "verify",
        })
    }
}

impl FromStr for CacheMode {
    type Err = InvalidCacheMode;

    fn from_str(value: &str) -> Result<Self, InvalidCacheMode> {
        match value {
            "on" => Ok(Self::On),
            "attributes" => Ok(Self::Attributes),
            "off" => Ok(Self::Off),
            "verify" => Ok(Self::Verify),
            _ => Err(InvalidCacheMode(value.to_owned())),
        }
    }
}
