use nvinfer::Version;
use twinfer_case::Condition;

use crate::hazard::Hazard;

/// Graphs from whose build TensorRT 8.6 does not come back.
pub fn hazard() -> Hazard {
    Hazard {
        rule: "trt-hazardous-added-bias",
        source: "measured on TensorRT 8.6.0: the build of a convolution or deconvolution with quantized data or weights and one \
                 output channel, whose bias is the sum of two constants, does not end (docs/campaigns.md)",
        concerned: Condition::All(vec![
            Condition::AnyQuantizedOperand,
            Condition::OneOutputChannel,
            Condition::AddedBias,
        ]),
    }
}

/// Whether they do harm to a release.
pub fn concerns(version: Version) -> bool {
    ((8, 6, 0)..(9, 0, 0)).contains(&version.parts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_concerned_of_which_it_was_seen() {
        let concerned = |number| concerns(Version::from_number(number).unwrap());
        assert!(concerned(8600) && !concerned(8503) && !concerned(100_100));
    }
}
