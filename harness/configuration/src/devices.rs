use std::{fmt, str::FromStr};

use serde::Deserialize;

/// GPUs by their numbers, or by their names as `nvidia-smi -L` prints them, each once: the forms that `CUDA_VISIBLE_DEVICES` takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Devices(pub Vec<String>);

/// The text does not name GPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a GPU: give numbers, or names such as GPU-8932f937, separated by commas")]
pub struct InvalidDevice(String);

/// What the names of GPUs, and of instances of one, begin with.
const PREFIXES: [&str; 2] = ["GPU-", "MIG-"];

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl TryFrom<String> for Devices {
    type Error = InvalidDevice;

    fn try_from(text: String) -> Result<Self, InvalidDevice> {
        text.parse()
    }
}

impl FromStr for Devices {
    type Err = InvalidDevice;

    fn from_str(text: &str) -> Result<Self, InvalidDevice> {
        let mut devices: Vec<String> = Vec::new();
        for device in text.split(',') {
            if !is_device(device) || devices.iter().any(|known| known == device) {
                return Err(InvalidDevice(device.to_owned()));
            }
            devices.push(device.to_owned());
        }
        Ok(Self(devices))
    }
}

fn is_device(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || "-/".contains(one))
    };
    match PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(name) => is_name(name),
        None => text.parse::<u16>().is_ok() && !text.starts_with('+'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbers_or_names() {
        for text in ["0", "0,1", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-GPU-8932f937/1/0,3"] {
            assert_eq!(text.parse::<Devices>().map(|devices| devices.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "a", "a,b", "0,", "-1", "+1", "0,0", "GPU-", "GPU-8 9", "99999"] {
            assert!(text.parse::<Devices>().is_err(), "{text}");
        }
    }
}
