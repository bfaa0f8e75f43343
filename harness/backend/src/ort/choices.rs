//! What a variant chooses of ONNX Runtime.

use std::{collections::BTreeMap, fmt, str::FromStr};

use ort::{ep::cuda::ConvAlgorithmSearch, session::builder::GraphOptimizationLevel};

/// Where nodes run.
#[derive(Clone, Copy)]
pub enum Provider {
    Cpu,
    Cuda { device: i32, search: Search },
}

/// Graph optimisations, the fewest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimization {
    Off,
    Basic,
    All,
}

/// How a cuDNN algorithm is chosen.
#[derive(Clone, Copy, Default)]
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

    /// The library that provides it, as `twinfer backends install` calls it.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Cpu => "onnxruntime",
            Self::Cuda { .. } => "onnxruntime-cuda",
        }
    }
}

impl Optimization {
    /// The options of sessions that optimise more.
    pub fn ladder(self) -> Vec<BTreeMap<String, String>> {
        let above = [Self::Basic, Self::All].into_iter().filter(|level| *level > self);
        above.map(|level| [("opt".to_owned(), level.to_string())].into()).collect()
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

impl fmt::Display for Optimization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Basic => "basic",
            Self::All => "all",
        })
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heuristic => "heuristic",
            Self::Exhaustive => "exhaustive",
            Self::Default => "default",
        })
    }
}

/// A word that is not among an option's words.
pub struct UnknownWord;

impl FromStr for Optimization {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "off" => Ok(Self::Off),
            "basic" => Ok(Self::Basic),
            "all" => Ok(Self::All),
            _ => Err(UnknownWord),
        }
    }
}

impl FromStr for Search {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "heuristic" => Ok(Self::Heuristic),
            "exhaustive" => Ok(Self::Exhaustive),
            "default" => Ok(Self::Default),
            _ => Err(UnknownWord),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Optimization;

    #[test]
    fn above_a_level_are_those_that_optimise_more() {
        let ladder = |level: Optimization| {
            level.ladder().iter().map(|options| options["opt"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(ladder(Optimization::Off), ["basic", "all"]);
        assert_eq!(ladder(Optimization::Basic), ["all"]);
        assert!(ladder(Optimization::All).is_empty());
    }
}
