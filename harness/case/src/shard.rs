use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The part of a campaign that one of several machines runs: shard `i` of `n` holds the cases whose index is `i` modulo `n`. In text it is `i/n`,
/// with `i` counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u64, u64)", into = "(u64, u64)")]
pub struct Shard {
    index: u64,
    count: u64,
}

/// The numbers or the text are not a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shard is i/n with i less than n and n at most {}, such as 0/4", Shard::MAX_COUNT)]
pub struct InvalidShard;

impl Shard {
    /// The most parts that a campaign is divided into.
    pub const MAX_COUNT: u64 = 1 << 16;
    /// The only part of a campaign that is not divided.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Part `index` of `count`.
    ///
    /// # Errors
    ///
    /// [`InvalidShard`] if `index` is not less than `count`, or `count` is greater than [`MAX_COUNT`](Self::MAX_COUNT).
    pub const fn new(index: u64, count: u64) -> Result<Self, InvalidShard> {
        if index < count && count <= Self::MAX_COUNT { Ok(Self { index, count }) } else { Err(InvalidShard) }
    }

    /// Which part this is, less than [`count`](Self::count).
    pub const fn index(self) -> u64 {
        self.index
    }

    /// How many parts there are, at least 1.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Whether the case at `index` in the campaign is in this part.
    pub const fn holds(self, index: u64) -> bool {
        index % self.count == self.index
    }

    /// The index in the campaign of the case that is `number` cases behind the first one of this part; `u64::MAX` if that is too large a number.
    pub const fn case_at(self, number: u64) -> u64 {
        self.index.saturating_add(number.saturating_mul(self.count))
    }

    /// How many cases of this part are before the one at `index` in the campaign.
    pub const fn number_of(self, index: u64) -> u64 {
        index.saturating_sub(self.index) / self.count
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl TryFrom<(u64, u64)> for Shard {
    type Error = InvalidShard;

    fn try_from((index, count): (u64, u64)) -> Result<Self, InvalidShard> {
        Self::new(index, count)
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
        let number = |text: &str| text.parse().map_err(|_| InvalidShard);
        Self::new(number(index)?, number(count)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_counted_from_zero() {
        assert_eq!("3/4".parse::<Shard>().map(Into::into), Ok((3, 4)));
        for text in ["4/4", "0/0", "0/65537", "1", "a/b", "-1/2", "0/18446744073709551615"] {
            assert_eq!(text.parse::<Shard>(), Err(InvalidShard), "{text}");
        }
    }

    #[test]
    fn a_file_holds_no_other_shard() {
        assert_eq!(serde_json::from_str::<Shard>("[3, 4]").ok(), Shard::new(3, 4).ok());
        assert_eq!(serde_json::to_string(&Shard::WHOLE).unwrap(), "[0,1]");
        assert!(
            ["[0, 0]", "[5, 2]", "[0, 65537]"]
                .iter()
                .all(|text| serde_json::from_str::<Shard>(text).is_err())
        );
    }

    #[test]
    fn every_case_is_in_one_shard() {
        let shards = [0, 1, 2].map(|index| Shard::new(index, 3).unwrap());
        for case in 0..20 {
            let holding: Vec<_> = shards.iter().filter(|shard| shard.holds(case)).collect();
            assert_eq!(holding.len(), 1, "{case}");
            assert_eq!(holding[0].case_at(holding[0].number_of(case)), case);
        }
        assert_eq!(shards[2].case_at(u64::MAX), u64::MAX);
    }
}
