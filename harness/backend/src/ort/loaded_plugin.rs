//! Plugins in a process: registered with ONNX Runtime, and appended to sessions.

use ort::{device::Device, environment::Environment, memory::DeviceType, session::builder::SessionBuilder};

use super::plugin::{Plugin, PluginLibrary};
use crate::OpenError;

/// Loads the library of a plugin, once a process. It is an error if the plugin does not have the device.
pub fn register(environment: &Environment, plugin: Plugin, library: &PluginLibrary) -> Result<(), OpenError> {
    let path = library.path.display().to_string();
    environment.register_ep_library(plugin.product, &library.path).map_err(|error| OpenError::Plugin {
        path: path.clone(),
        reason: error.message().trim_end().to_owned(),
    })?;
    let count = devices(environment, plugin).count();
    if count > plugin.place {
        return Ok(());
    }
    let found = match count {
        0 => "finds no device".to_owned(),
        _ => format!("finds {count} devices and none at place {}", plugin.place),
    };
    Err(OpenError::NoDevice { path, provider: plugin.provider, found, needs: plugin.needs })
}

/// Has sessions of `builder` give the provider of a plugin what it takes.
pub fn append(
    builder: SessionBuilder,
    environment: &Environment,
    plugin: Plugin,
) -> ort::Result<SessionBuilder> {
    let named = |&(key, value): &(&str, &str)| (format!("{}.{key}", plugin.provider), value.to_owned());
    let options: Vec<_> = plugin.options.iter().map(named).collect();
    Ok(builder.with_devices(devices(environment, plugin).nth(plugin.place), Some(&options))?)
}

/// The devices of the kind that the provider computes on. Some plugins have further providers, for combinations of devices.
fn devices(environment: &Environment, plugin: Plugin) -> impl Iterator<Item = Device<'_>> {
    let kind = if plugin.is_for_gpu { DeviceType::GPU } else { DeviceType::CPU };
    environment.devices().filter(move |device| {
        device.ep().is_ok_and(|name| name == plugin.provider) && device.hardware_device().ty() == kind
    })
}
