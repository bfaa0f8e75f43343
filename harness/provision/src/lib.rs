//! Provides the libraries that variants load: installs those that are missing, verifies all of them, and tells workers where they are.

mod device;
mod error;
mod provision;

pub use device::{has_device, lacks_device};
pub use error::Error;
pub use provision::{Install, Provision};
