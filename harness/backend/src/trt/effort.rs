//! How hard a build looks for kernels: the builder optimization level, and where tactics may come from.

use std::collections::BTreeMap;

use nvinfer::{Builder, BuilderConfig, Error, Result, TacticSource};

use super::product::builds_without_gpu;
use crate::options::{Choice, InvalidOption, LEVEL, Level, SOURCES, Sources, VariantOptions};

/// How hard a build looks for kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    level: Level,
    sources: Sources,
}

impl Effort {
    pub fn take(options: &mut VariantOptions) -> std::result::Result<Self, InvalidOption> {
        Ok(Self { level: options.take(&LEVEL)?, sources: options.take(&SOURCES)? })
    }

    /// Whether a build takes the first tactic that fits and times none.
    pub fn is_lowest(self) -> bool {
        self.level.0 == Some(Level::LOWEST)
    }

    /// Configures a build. Tactics of cuBLAS and cuDNN are left out, as TensorRT-RTX leaves them out by itself.
    pub fn apply(self, builder: &Builder, config: &BuilderConfig<'_>) -> Result<()> {
        if self.sources != Sources::All || !builds_without_gpu(builder.library()) {
            config.set_tactic_sources(allowed(self.sources))?;
        }
        self.level.0.map_or(Ok(()), |level| config.set_builder_optimization_level(level))
    }

    /// The level in force: the release's default if the option is not set, `none` if the release has no levels.
    pub fn level_in_force(self, builder: &Builder) -> Result<String> {
        match self.level.0 {
            Some(level) => Ok(level.to_string()),
            None => Ok(default_level(builder)?.map_or_else(|| "none".to_owned(), |level| level.to_string())),
        }
    }

    /// The options of builds that look harder, or elsewhere: the default level, the highest, and the highest with none
    /// but TensorRT's own tactics.
    pub fn ladder(self, builder: &Builder) -> Result<Vec<BTreeMap<String, String>>> {
        Ok(self.above(default_level(builder)?))
    }

    /// The ladder of a release with this default level.
    fn above(self, default: Option<i32>) -> Vec<BTreeMap<String, String>> {
        let level = default.map(|default| self.level.0.map_or(default, i32::from));
        let levels = default.into_iter().chain([i32::from(Level::HIGHEST)]);
        let above = levels.filter(|rung| level.is_some_and(|level| level < *rung));
        let mut ladder: Vec<_> = above.map(|rung| options([("level", rung.to_string())])).collect();
        if self.sources != Sources::None {
            let highest = level.map(|_| ("level", Level::HIGHEST.to_string()));
            ladder.push(options(highest.into_iter().chain([("sources", Sources::None.word().to_owned())])));
        }
        ladder
    }
}

/// The release's default level, if it has levels.
fn default_level(builder: &Builder) -> Result<Option<i32>> {
    match builder.create_config()?.builder_optimization_level() {
        Ok(level) => Ok(Some(level)),
        Err(Error::Unsupported(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn options(pairs: impl IntoIterator<Item = (&'static str, String)>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

const fn allowed(sources: Sources) -> &'static [TacticSource] {
    match sources {
        Sources::All => &[TacticSource::EdgeMaskConvolutions, TacticSource::JitConvolutions],
        Sources::EdgeMask => &[TacticSource::EdgeMaskConvolutions],
        Sources::Jit => &[TacticSource::JitConvolutions],
        Sources::None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionType as _;

    /// The rungs above a variant, as options, in a release with this default level.
    fn ladder(level: &str, sources: &str, default: Option<i32>) -> Vec<String> {
        let effort = Effort { level: Level::read(level).unwrap(), sources: Sources::named(sources).unwrap() };
        let text = |options: BTreeMap<String, String>| {
            options.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
        };
        effort.above(default).into_iter().map(text).collect()
    }

    #[test]
    fn above_a_level_are_the_default_the_highest_and_other_tactics() {
        assert_eq!(ladder("0", "all", Some(3)), ["level=3", "level=5", "level=5,sources=none"]);
        assert_eq!(ladder("3", "all", Some(3)), ["level=5", "level=5,sources=none"]);
        assert_eq!(ladder("default", "all", Some(3)), ["level=5", "level=5,sources=none"]);
        assert_eq!(ladder("5", "jit", Some(3)), ["level=5,sources=none"]);
        assert!(ladder("5", "none", Some(3)).is_empty());
    }

    #[test]
    fn a_release_without_levels_has_other_tactics_only() {
        assert_eq!(ladder("default", "all", None), ["sources=none"]);
        assert!(ladder("default", "none", None).is_empty());
    }
}
