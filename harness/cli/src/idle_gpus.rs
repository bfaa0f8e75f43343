//! GPUs that a campaign leaves idle.

use std::{env, fs};

use twinfer_campaign::Options;
use twinfer_case::DeviceNeed;

use crate::output::note;

/// Says how to use every GPU if a campaign was given none and uses the first of several.
pub fn note_idle(options: &Options) {
    let needs_gpu = options.variants.iter().any(|one| one.backend.device_need() == DeviceNeed::Always);
    // whoever sets this has chosen
    if !needs_gpu || !options.devices.is_empty() || env::var_os("CUDA_VISIBLE_DEVICES").is_some() {
        return;
    }
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    let mut gpus: Vec<_> = entries.filter_map(|entry| number_of_gpu(entry.file_name().to_str()?)).collect();
    gpus.sort_unstable();
    if gpus.len() > 1 {
        let all = gpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        note!("workers use the first of {} GPUs; to use all, give --devices {all}", gpus.len());
    }
}

/// The number of a GPU from the name of its device node.
fn number_of_gpu(node: &str) -> Option<u16> {
    node.strip_prefix("nvidia")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_nodes_of_gpus_have_numbers() {
        let nodes = ["nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"];
        let numbers: Vec<_> = nodes.into_iter().filter_map(number_of_gpu).collect();
        assert_eq!(numbers, [0, 12]);
    }
}
