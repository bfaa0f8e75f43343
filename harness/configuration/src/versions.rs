//! Ranges of a backend's versions.

use std::{cmp::Ordering, str::FromStr};

/// The versions that satisfy every condition, such as `>=8.5, <9`. Without a condition it holds all versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRange(Vec<Bound>);

/// The text is not a range of versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a range of versions: write conditions such as >=8.5, <9")]
pub struct InvalidRange(String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    sign: Sign,
    version: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

impl Sign {
    /// Longer operators first, because some are prefixes of others.
    const ALL: [(&str, Self); 5] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        (">", Self::Above),
        ("<", Self::Below),
        ("=", Self::Equal),
    ];

    const fn is_met(self, ordering: Ordering) -> bool {
        match self {
            Self::AtLeast => ordering.is_ge(),
            Self::AtMost => ordering.is_le(),
            Self::Above => ordering.is_gt(),
            Self::Below => ordering.is_lt(),
            Self::Equal => ordering.is_eq(),
        }
    }
}

impl VersionRange {
    /// Whether a version lies in the range. A version that is not made of numbers lies only in the range of all
    /// versions.
    pub fn holds(&self, version: &str) -> bool {
        let version = numbers(version);
        self.0.iter().all(|bound| {
            version.as_ref().is_some_and(|version| bound.sign.is_met(compare(version, &bound.version)))
        })
    }
}

impl FromStr for VersionRange {
    type Err = InvalidRange;

    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let bound = |condition: &str| {
            let condition = condition.trim();
            let (sign, version) = Sign::ALL
                .into_iter()
                .find_map(|(written, sign)| Some((sign, condition.strip_prefix(written)?.trim())))?;
            Some(Bound { sign, version: numbers(version)? })
        };
        let bounds = text.split(',').map(bound).collect::<Option<Vec<_>>>();
        bounds.map(Self).ok_or_else(|| InvalidRange(text.to_owned()))
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|number| number.parse().ok()).collect()
}

/// Compares versions number by number; missing numbers are zero.
fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let length = one.len().max(other.len());
    let at = |version: &[u64], place: usize| version.get(place).copied().unwrap_or(0);
    (0..length).map(|place| at(one, place).cmp(&at(other, place))).fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::VersionRange;

    fn holds(range: &str, version: &str) -> bool {
        range.parse::<VersionRange>().unwrap().holds(version)
    }

    #[test]
    fn versions_compare_numerically_and_every_condition_holds() {
        assert!(holds(">=8.5, <9", "8.10.3"));
        assert!(holds("=8.6", "8.6.0"));
        assert!(!holds(">8.6", "8.6.0"));
        assert!(!holds(">=8.5, <9", "10.0"));
        assert!(holds("<=1.31.1", "1.9"));
    }

    #[test]
    fn non_numeric_version_is_only_in_the_range_of_all() {
        assert!(!holds(">=0", "1.0-rc1"));
        assert!(VersionRange::default().holds("1.0-rc1"));
    }

    #[test]
    fn a_range_has_signs_and_numbers() {
        for text in ["", "8.5", ">=", ">=8.x", "~8"] {
            assert!(text.parse::<VersionRange>().is_err(), "{text}");
        }
    }
}
