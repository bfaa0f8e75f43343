use std::{fmt, str::FromStr};

use twinfer_case::MAX_SHARDS;

/// The part of a campaign that one of several machines runs: `i/n`, with i counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

/// The text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give i/n with i less than n and n at most {MAX_SHARDS}, such as 0/4")]
pub struct InvalidShard;

impl Default for Shard {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl From<Shard> for (u64, u64) {
    fn from(shard: Shard) -> Self {
        (shard.index, shard.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let (index, count) = text.split_once('/').ok_or(InvalidShard)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| InvalidShard);
        let shard = Self { index: number(index)?, count: number(count)? };
        if shard.index < shard.count && shard.count <= MAX_SHARDS { Ok(shard) } else { Err(InvalidShard) }
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidShard, Shard};

    #[test]
    fn a_shard_is_counted_from_zero() {
        assert_eq!("3/4".parse::<Shard>().map(Into::into), Ok((3, 4)));
        assert!(
            ["4/4", "0/0", "0/65537", "1", "a/b", "-1/2"]
                .iter()
                .all(|text| text.parse::<Shard>() == Err(InvalidShard))
        );
    }
}
