//! In place of `loaded_plugin`, without the feature `ort-plugins`: there are no plugins.

use ort::{environment::Environment, session::builder::SessionBuilder};

use super::plugin::{Plugin, PluginLibrary};
use crate::OpenError;

pub const fn register(_: &Environment, _: Plugin, _: &PluginLibrary) -> Result<(), OpenError> {
    Err(OpenError::NoPlugins)
}

#[expect(clippy::unnecessary_wraps, reason = "the form that the loaded plugin has")]
pub fn append(builder: SessionBuilder, _: &Environment, _: Plugin) -> ort::Result<SessionBuilder> {
    Ok(builder)
}
