//! *Screening*: how a campaign runs every case, so that it runs many. What diverges is confirmed as the user listed it.

use crate::{DeviceNeed, MemoryMode, OptionKey, Variant};

/// Leaves out graphs that are known to end workers.
const WITHOUT_HAZARDS: &str = "skip";
/// TensorRT's lowest builder optimization level: it takes the first kernel that fits, and times none.
const LOWEST_LEVEL: &str = "0";
/// Releases without levels.
const WITHOUT_LEVELS: [&str; 2] = ["8.4", "8.5"];

impl Variant {
    /// The variant that a campaign screens cases with, if the variant does not say otherwise: a backend that cannot work without a
    /// GPU keeps memory ([`MemoryMode::Keep`]) and leaves out graphs that are known to end its workers, and one that builds engines does it at the
    /// lowest level.
    #[must_use]
    pub fn for_screening(&self) -> Self {
        let needs_gpu = self.backend.device_need() == DeviceNeed::Always;
        let mut screening = if needs_gpu && !self.options.contains_key(OptionKey::Memory.key()) {
            self.with_memory(MemoryMode::Keep)
        } else {
            self.clone()
        };
        if self.runs_hazards() {
            screening.options.insert(OptionKey::Hazards.key().to_owned(), WITHOUT_HAZARDS.to_owned());
        }
        if self.is_above_lowest_level() {
            screening.options.insert(OptionKey::Level.key().to_owned(), LOWEST_LEVEL.to_owned());
        }
        screening
    }

    /// Whether the variant runs graphs that are known to end its workers only because nothing else was asked for.
    pub fn runs_hazards(&self) -> bool {
        self.backend.device_need() == DeviceNeed::Always
            && !self.options.contains_key(OptionKey::Hazards.key())
    }

    /// Whether the variant says that it builds engines at the lowest level, which times no kernels: its workers share a device, and each
    /// takes seconds to start.
    pub fn is_at_lowest_level(&self) -> bool {
        let level = self.options.get(OptionKey::Level.key());
        self.backend.builds_engines() && level.is_some_and(|level| level == LOWEST_LEVEL)
    }

    /// Whether the variant builds engines at the default level of a release that is known to have levels.
    pub fn is_above_lowest_level(&self) -> bool {
        let is_given = |key: OptionKey| self.options.contains_key(key.key());
        let version = self.options.get(OptionKey::Version.key());
        let has_levels =
            !version.is_some_and(|version| WITHOUT_LEVELS.iter().any(|one| version.starts_with(one)));
        self.backend.builds_engines()
            && has_levels
            && !is_given(OptionKey::Level)
            && !is_given(OptionKey::Library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screened(text: &str) -> String {
        text.parse::<Variant>().unwrap().for_screening().to_string()
    }

    #[test]
    fn screening_keeps_memory_where_only_a_gpu_works() {
        assert_eq!(screened("ort:cuda,hazards=run"), "ort:cuda,hazards=run,memory=keep");
        assert_eq!(screened("ort:cuda,hazards=run,memory=off"), "ort:cuda,hazards=run,memory=off");
        assert_eq!(screened("trt-rtx"), "trt-rtx");
        assert_eq!(screened("ort:cpu"), "ort:cpu");
    }

    #[test]
    fn lowest_level_is_that_of_screening() {
        let is_lowest = |text: &str| text.parse::<Variant>().unwrap().is_at_lowest_level();
        assert!(is_lowest(&screened("trt,version=8.6")));
        assert!(!is_lowest("trt,version=8.6") && !is_lowest("trt,level=3") && !is_lowest("trt,version=8.5"));
    }

    #[test]
    fn screening_leaves_hazards_out_unless_they_are_asked_for() {
        assert_eq!(screened("ort:cuda"), "ort:cuda,hazards=skip,memory=keep");
        assert_eq!(screened("trt,level=3"), "trt,hazards=skip,level=3,memory=keep");
        assert_eq!(screened("trt,hazards=run,level=3"), "trt,hazards=run,level=3,memory=keep");
    }

    #[test]
    fn screening_builds_engines_at_the_lowest_level() {
        assert_eq!(screened("trt,version=8.6"), "trt,hazards=skip,level=0,memory=keep,version=8.6");
        assert_eq!(screened("trt-api"), "trt-api,hazards=skip,level=0,memory=keep");
        assert_eq!(screened("trt,level=3"), "trt,hazards=skip,level=3,memory=keep");
        assert_eq!(screened("trt,level=default"), "trt,hazards=skip,level=default,memory=keep");
        assert_eq!(screened("trt,version=8.5"), "trt,hazards=skip,memory=keep,version=8.5");
        assert_eq!(screened("trt,lib=/opt/tensorrt"), "trt,hazards=skip,lib=/opt/tensorrt,memory=keep");
    }
}
