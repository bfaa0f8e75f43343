//! What a variant chooses of ONNX Runtime.

use std::collections::BTreeMap;

use ort::{ep::cuda::ConvAlgorithmSearch, session::builder::GraphOptimizationLevel};
use twinfer_case::MemoryMode;

use crate::options::Choice;

/// Where nodes run.
#[derive(Clone, Copy)]
pub enum Provider {
    Cpu,
    Cuda { device: i32, search: Search, memory: MemoryMode },
}

/// Graph optimizations, the fewest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimization {
    Off,
    Basic,
    All,
}

/// How a cuDNN algorithm is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    #[default]
    Heuristic,
    Exhaustive,
    Default,
}

impl Provider {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPUExecutionProvider",
            Self::Cuda { .. } => "CUDAExecutionProvider",
        }
    }
}

impl Optimization {
    /// The options of sessions that optimize more.
    pub fn ladder(self) -> Vec<BTreeMap<String, String>> {
        let above = [Self::Basic, Self::All].into_iter().filter(|level| *level > self);
        above.map(|level| [("opt".to_owned(), level.word().to_owned())].into()).collect()
    }
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

impl Choice for Optimization {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("basic", Self::Basic), ("all", Self::All)];
}

impl Choice for Search {
    const WORDS: &'static [(&'static str, Self)] =
        &[("heuristic", Self::Heuristic), ("exhaustive", Self::Exhaustive), ("default", Self::Default)];
}

#[cfg(test)]
mod tests {
    use super::Optimization;

    #[test]
    fn above_a_level_are_those_that_optimize_more() {
        let ladder = |level: Optimization| {
            level.ladder().iter().map(|options| options["opt"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(ladder(Optimization::Off), ["basic", "all"]);
        assert_eq!(ladder(Optimization::Basic), ["all"]);
        assert!(ladder(Optimization::All).is_empty());
    }
}
