use super::{lane::Along, operator::Operator};

/// Which index is read in place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reindexing {
    First,
    Last,
    Next(End),
    Previous(End),
    Reversed,
    PairsExchanged,
    HalvesExchanged,
    /// As many consecutive blocks as stated are read as if their elements were interleaved.
    Interleaved(Blocks),
    /// The inverse of [`Interleaved`](Self::Interleaved).
    Dealt(Blocks),
    /// The first of each pair for both.
    PairsShared,
    /// The half of the index.
    Halved,
    /// The last but one for the last.
    BeforeLast,
    AtLeastOne,
    AtMost(usize),
    /// Only the first so many; zero for the others.
    Only(usize),
    OnlyLast,
    WithoutFirst,
    WithoutLast,
    /// All but the last, and the only one in any case.
    WithoutLastOfSeveral,
    /// The first half for both halves.
    HalfShared,
    /// Every second from the first on, then the others.
    EvensFirst,
    /// Only the first half, rounded up.
    OnlyHalf,
    /// Only whole blocks of so many from the start.
    OnlyWhole(usize),
    /// Only whole blocks of so many from the start, and the first in any case.
    OnlyWholeOrFirst(usize),
}

/// What is read beyond the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The index at the end once more.
    Clamped,
    /// The index at the other end.
    Around,
    /// Zero.
    Zero,
}

/// The number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    Two,
    Groups,
}

impl Blocks {
    const fn count(self, groups: usize) -> usize {
        match self {
            Self::Two => 2,
            Self::Groups => groups,
        }
    }
}

impl Reindexing {
    pub const ALL: &[Self] = &[
        Self::First,
        Self::Last,
        Self::Next(End::Clamped),
        Self::Next(End::Around),
        Self::Next(End::Zero),
        Self::Previous(End::Clamped),
        Self::Previous(End::Around),
        Self::Previous(End::Zero),
        Self::Reversed,
        Self::PairsExchanged,
        Self::HalvesExchanged,
        Self::Interleaved(Blocks::Two),
        Self::Interleaved(Blocks::Groups),
        Self::Dealt(Blocks::Two),
        Self::Dealt(Blocks::Groups),
        Self::PairsShared,
        Self::Halved,
        Self::BeforeLast,
        Self::AtLeastOne,
        Self::AtMost(1),
        Self::AtMost(2),
        Self::AtMost(3),
        Self::Only(1),
        Self::Only(2),
        Self::Only(3),
        Self::Only(4),
        Self::Only(8),
        Self::OnlyLast,
        Self::WithoutFirst,
        Self::WithoutLast,
        Self::WithoutLastOfSeveral,
        Self::HalfShared,
        Self::EvensFirst,
        Self::OnlyHalf,
        Self::OnlyWhole(2),
        Self::OnlyWhole(4),
        Self::OnlyWholeOrFirst(2),
        Self::OnlyWholeOrFirst(4),
    ];

    /// Whether an operator may read so along something: there are groups, and more than a few elements.
    pub fn is_of(self, operator: Operator, along: Along) -> bool {
        let is_grouped = operator.is_convolution() && matches!(along, Along::Channel | Along::InputChannel);
        match self {
            Self::Interleaved(Blocks::Groups) | Self::Dealt(Blocks::Groups) => is_grouped,
            Self::Interleaved(_)
            | Self::Dealt(_)
            | Self::AtMost(2..)
            | Self::Only(2..)
            | Self::OnlyWhole(_)
            | Self::OnlyWholeOrFirst(_) => along != Along::Batch,
            _ => true,
        }
    }

    /// The index that is read in place of `index`, which is less than `extent`; `None` for zero.
    pub fn source(self, index: usize, extent: usize, groups: usize) -> Option<usize> {
        let last = extent - 1;
        let end = |end: End, at: usize, other: usize| match end {
            End::Clamped => Some(at),
            End::Around => Some(other),
            End::Zero => None,
        };
        match self {
            Self::First => Some(0),
            Self::Last => Some(last),
            Self::Next(beyond) if index == last => end(beyond, last, 0),
            Self::Next(_) => Some(index + 1),
            Self::Previous(beyond) if index == 0 => end(beyond, 0, last),
            Self::Previous(_) => Some(index - 1),
            Self::Reversed => Some(last - index),
            Self::PairsExchanged => Some((index ^ 1).min(last)),
            Self::HalvesExchanged => Some((index + extent / 2) % extent),
            Self::Interleaved(blocks) => Some(transposed(index, extent, blocks.count(groups))),
            Self::Dealt(blocks) => Some(transposed(index, extent, extent / blocks.count(groups).max(1))),
            Self::PairsShared => Some(index / 2 * 2),
            Self::Halved => Some(index / 2),
            Self::BeforeLast => Some(index.min(last.saturating_sub(1))),
            Self::AtLeastOne => Some(index.max(1).min(last)),
            Self::AtMost(most) => Some(index.min(most)),
            Self::Only(count) => (index < count).then_some(index),
            Self::OnlyLast => (index == last).then_some(index),
            Self::WithoutFirst => (index > 0).then_some(index),
            Self::WithoutLast => (index < last).then_some(index),
            Self::WithoutLastOfSeveral => (index < last.max(1)).then_some(index),
            Self::HalfShared => Some(index % extent.div_ceil(2)),
            Self::EvensFirst => {
                let evens = extent.div_ceil(2);
                Some(if index < evens { 2 * index } else { 2 * (index - evens) + 1 })
            }
            Self::OnlyHalf => (index < extent.div_ceil(2)).then_some(index),
            Self::OnlyWhole(size) => (index < extent / size * size).then_some(index),
            Self::OnlyWholeOrFirst(size) => (index < (extent / size * size).max(1)).then_some(index),
        }
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let beyond = |end| match end {
            End::Clamped => "",
            End::Around => "-around",
            End::Zero => "-or-zero",
        };
        let by = |blocks| match blocks {
            Blocks::Two => "in-two",
            Blocks::Groups => "by-group",
        };
        match self {
            Self::First => "first".to_owned(),
            Self::Last => "last".to_owned(),
            Self::Next(end) => format!("next{}", beyond(end)),
            Self::Previous(end) => format!("previous{}", beyond(end)),
            Self::Reversed => "reversed".to_owned(),
            Self::PairsExchanged => "exchanged-in-pairs".to_owned(),
            Self::HalvesExchanged => "halves-exchanged".to_owned(),
            Self::Interleaved(blocks) => format!("interleaved-{}", by(blocks)),
            Self::Dealt(blocks) => format!("dealt-{}", by(blocks)),
            Self::PairsShared => "shared-in-pairs".to_owned(),
            Self::Halved => "halved".to_owned(),
            Self::BeforeLast => "last-but-one-for-last".to_owned(),
            Self::AtLeastOne => "second-for-first".to_owned(),
            Self::AtMost(most) => format!("at-most-{most}"),
            Self::Only(count) => format!("only-{count}"),
            Self::OnlyLast => "only-last".to_owned(),
            Self::WithoutFirst => "without-first".to_owned(),
            Self::WithoutLast => "without-last".to_owned(),
            Self::WithoutLastOfSeveral => "without-last-of-several".to_owned(),
            Self::HalfShared => "shared-by-halves".to_owned(),
            Self::EvensFirst => "evens-first".to_owned(),
            Self::OnlyHalf => "only-first-half".to_owned(),
            Self::OnlyWhole(size) => format!("only-whole-{size}"),
            Self::OnlyWholeOrFirst(size) => format!("only-whole-{size}-or-first"),
        }
    }

    /// Of which `noun` something is read, such as "the next channel, and of the last one for itself".
    pub fn clause(self, noun: &str) -> String {
        let beyond = |end, at, other| match end {
            End::Clamped => format!("and of the {at} for the {at} itself"),
            End::Around => format!("and of the {other} for the {at}"),
            End::Zero => format!("and zero for the {at}"),
        };
        let by = |blocks| match blocks {
            Blocks::Two => "two",
            Blocks::Groups => "`group`",
        };
        match self {
            Self::First => format!("the first {noun} for every {noun}"),
            Self::Last => format!("the last {noun} for every {noun}"),
            Self::Next(end) => format!("the next {noun}, {}", beyond(end, "last", "first")),
            Self::Previous(end) => format!("the previous {noun}, {}", beyond(end, "first", "last")),
            Self::Reversed => format!("the {noun} that comes at its place in reverse order"),
            Self::PairsExchanged => format!("the other {noun} of each pair"),
            Self::HalvesExchanged => format!("the {noun} at its place in the other half"),
            Self::Interleaved(blocks) => {
                format!("the {noun} at its place if {} blocks were interleaved", by(blocks))
            }
            Self::Dealt(blocks) => {
                format!("the {noun} at its place if {} interleaved blocks were separated", by(blocks))
            }
            Self::PairsShared => format!("the first {noun} of each pair for both"),
            Self::Halved => format!("the {noun} of half the index"),
            Self::BeforeLast => format!("the last {noun} but one for the last"),
            Self::AtLeastOne => format!("the second {noun} for the first"),
            Self::AtMost(most) => format!("{noun} {most}, counted from 0, for every later {noun}"),
            Self::Only(1) => format!("the first {noun}, and zero for every other one"),
            Self::Only(count) => format!("the first {count} {noun}s, and zero for every other one"),
            Self::OnlyLast => format!("the last {noun}, and zero for every other one"),
            Self::WithoutFirst => format!("each {noun} but the first, and zero for that"),
            Self::WithoutLast => format!("each {noun} but the last, and zero for that"),
            Self::WithoutLastOfSeveral => {
                format!("each {noun} but the last, and zero for that unless there is only one")
            }
            Self::HalfShared => format!("the {noun} at its place in the first half"),
            Self::EvensFirst => {
                format!("the {noun} at its place if every second one, from the first on, came first")
            }
            Self::OnlyHalf => format!("each {noun} in the first half, and zero for the others"),
            Self::OnlyWhole(size) => {
                format!("each {noun} in whole blocks of {size}, and zero for the rest")
            }
            Self::OnlyWholeOrFirst(size) => {
                format!("the first {noun} and each one in whole blocks of {size}, and zero for the rest")
            }
        }
    }
}

/// The index in a matrix of `columns` columns whose transpose has `index`; the index itself unless the columns are full.
fn transposed(index: usize, extent: usize, columns: usize) -> usize {
    if columns == 0 || !extent.is_multiple_of(columns) {
        return index;
    }
    let rows = extent / columns;
    index % columns * rows + index / columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(reindexing: Reindexing, extent: usize) -> Vec<Option<usize>> {
        (0..extent).map(|index| reindexing.source(index, extent, 3)).collect()
    }

    #[test]
    fn reindexings_stay_within_their_extent() {
        for reindexing in Reindexing::ALL {
            for extent in 1..10 {
                let is_within = |source: Option<usize>| source.is_none_or(|source| source < extent);
                let sources = sources(*reindexing, extent);
                assert!(sources.into_iter().all(is_within), "{reindexing:?} {extent}");
            }
        }
    }

    #[test]
    fn blocks_and_halves_end_where_they_are_whole() {
        assert_eq!(sources(Reindexing::EvensFirst, 5), [0, 2, 4, 1, 3].map(Some));
        assert_eq!(sources(Reindexing::HalfShared, 5), [0, 1, 2, 0, 1].map(Some));
        assert_eq!(sources(Reindexing::OnlyHalf, 3), [Some(0), Some(1), None]);
        assert_eq!(sources(Reindexing::OnlyWhole(2), 3), [Some(0), Some(1), None]);
        assert_eq!(sources(Reindexing::OnlyWhole(2), 1), [None]);
        assert_eq!(sources(Reindexing::OnlyWholeOrFirst(2), 1), [Some(0)]);
    }

    #[test]
    fn dealing_undoes_interleaving() {
        let interleaved = sources(Reindexing::Interleaved(Blocks::Groups), 6);
        assert_eq!(interleaved, [0, 2, 4, 1, 3, 5].map(Some));
        let dealt = sources(Reindexing::Dealt(Blocks::Groups), 6);
        let back = interleaved.into_iter().map(|index| dealt[index.expect("it permutes")]);
        assert_eq!(back.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5].map(Some));
    }
}
