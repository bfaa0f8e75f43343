//! The option `--backends`.

use std::str::FromStr;

use twinfer_case::TrustedVariant;
use twinfer_configuration::{InvalidVariants, Variants};

/// The value of `--backends`. The user typed it, and so vouches for the commands and libraries that it names.
#[derive(Clone, Debug)]
pub struct Backends(Variants);

impl Backends {
    /// The variants that are compared with golden.
    pub fn subjects(&self) -> Vec<TrustedVariant> {
        self.0.subjects().into_iter().map(TrustedVariant::vouch).collect()
    }
}

impl FromStr for Backends {
    type Err = InvalidVariants;

    fn from_str(text: &str) -> Result<Self, InvalidVariants> {
        text.parse().map(Self)
    }
}
