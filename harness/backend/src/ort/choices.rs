//! What a variant chooses of ONNX Runtime.

use std::collections::BTreeMap;

use ort::{ep::cuda::ConvAlgorithmSearch, session::builder::GraphOptimizationLevel};
use twinfer_case::MemoryMode;

use super::plugin::Plugin;
use crate::options::{Choice, Optimization, Search};

/// Where nodes run.
#[derive(Clone, Copy)]
pub enum Provider {
    Cpu,
    Cuda { device: i32, search: Search, memory: MemoryMode },
    Plugin(Plugin),
}

impl Provider {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPUExecutionProvider",
            Self::Cuda { .. } => "CUDAExecutionProvider",
            Self::Plugin(plugin) => plugin.provider,
        }
    }
}

/// The options of sessions that optimize more than `level`.
pub fn ladder(level: Optimization) -> Vec<BTreeMap<String, String>> {
    let above = [Optimization::Basic, Optimization::All].into_iter().filter(|above| *above > level);
    above.map(|above| [("opt".to_owned(), above.word().to_owned())].into()).collect()
}

impl From<Optimization> for GraphOptimizationLevel {
    fn from(level: Optimization) -> Self {
        match level {
            Optimization::Off => Self::Disable,
            Optimization::Basic => Self::Level1,
            Optimization::All => Self::All,
        }
    }
}

impl From<Search> for ConvAlgorithmSearch {
    fn from(search: Search) -> Self {
        match search {
            Search::Heuristic => Self::Heuristic,
            Search::Exhaustive => Self::Exhaustive,
            Search::Default => Self::Default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_a_level_are_those_that_optimize_more() {
        let words = |level: Optimization| {
            ladder(level).iter().map(|options| options["opt"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(words(Optimization::Off), ["basic", "all"]);
        assert_eq!(words(Optimization::Basic), ["all"]);
        assert!(words(Optimization::All).is_empty());
    }
}
