use std::{env, fmt, str::FromStr};

/// The environment variable that says how a worker uses the cache: `on`, `attributes`, `off` or `verify`.
pub const VARIABLE: &str = "TWINFER_DRIVER_CACHE";

/// What a worker spares the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Device attributes are answered from memory, except that a sample of the answers is compared with the driver's; memory is
    /// kept, and events raise no interrupts.
    #[default]
    On,
    /// Device attributes alone.
    Attributes,
    /// Nothing: no library is touched.
    Off,
    /// Nothing of attributes, each answer is compared with the one in memory; a difference ends the worker. All else as with
    /// [`On`](Self::On).
    Verify,
}

/// A value of [`VARIABLE`] that is none of its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}={0}: the value is one of on, attributes, off, verify")]
pub struct InvalidMode(String);

impl Mode {
    /// What [`VARIABLE`] says; [`Mode::On`] where it is not set.
    pub fn of_environment() -> Result<Self, InvalidMode> {
        env::var_os(VARIABLE).map_or(Ok(Self::default()), |word| word.to_string_lossy().parse())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::On => "on",
            Self::Attributes => "attributes",
            Self::Off => "off",
            Self::Verify => "verify",
        })
    }
}

impl FromStr for Mode {
    type Err = InvalidMode;

    fn from_str(word: &str) -> Result<Self, InvalidMode> {
        match word {
            "on" => Ok(Self::On),
            "attributes" => Ok(Self::Attributes),
            "off" => Ok(Self::Off),
            "verify" => Ok(Self::Verify),
            _ => Err(InvalidMode(word.to_owned())),
        }
    }
}
