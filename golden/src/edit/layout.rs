use super::{operand::Operand, operator::Operator};

/// The order in which the elements of an operand are taken to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Channels last instead of behind the batch.
    ChannelsLast,
    /// The last two axes exchanged.
    SpatialTransposed,
    /// The first two axes exchanged.
    LeadingTransposed,
    /// The spatial axes in reverse order.
    SpatialReversed,
    /// The spatial axes in reverse order, if all have one extent.
    CubeTransposed,
}

impl Layout {
    pub const ALL: &[Self] = &[
        Self::ChannelsLast,
        Self::SpatialTransposed,
        Self::LeadingTransposed,
        Self::SpatialReversed,
        Self::CubeTransposed,
    ];

    /// For each place of a tensor of this shape, the place that is read if the tensor is stored in this order; `None` if the rank is too
    /// small.
    pub fn places(self, shape: &[usize]) -> Option<Vec<usize>> {
        let rank = shape.len();
        let order: Vec<usize> = match self {
            Self::ChannelsLast if rank > 2 => [0].into_iter().chain(2..rank).chain([1]).collect(),
            Self::SpatialTransposed if rank > 3 => (0..rank - 2).chain([rank - 1, rank - 2]).collect(),
            Self::LeadingTransposed if rank > 1 => [1, 0].into_iter().chain(2..rank).collect(),
            Self::SpatialReversed if rank > 3 => [0, 1].into_iter().chain((2..rank).rev()).collect(),
            Self::CubeTransposed if rank > 3 && shape[3..].iter().all(|extent| *extent == shape[2]) => {
                [0, 1].into_iter().chain((2..rank).rev()).collect()
            }
            _ => return None,
        };
        let mut strides = vec![0; rank];
        let mut stride = 1;
        for axis in order.into_iter().rev() {
            strides[axis] = stride;
            stride *= shape[axis];
        }
        let mut places = vec![0];
        for (extent, stride) in shape.iter().zip(strides) {
            places = places
                .iter()
                .flat_map(|outer| (0..*extent).map(move |index| outer + index * stride))
                .collect();
        }
        Some(places)
    }

    /// Whether an operator gives something else if an operand is stored so: the order of positions does not matter to a global pool.
    pub const fn is_of(self, operator: Operator, operand: Operand) -> bool {
        match (operator, operand) {
            (Operator::GlobalAveragePool, Operand::Output) => matches!(self, Self::LeadingTransposed),
            (Operator::GlobalAveragePool, _) => matches!(self, Self::LeadingTransposed | Self::ChannelsLast),
            _ => true,
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::ChannelsLast => "channels-last",
            Self::SpatialTransposed => "positions-transposed",
            Self::LeadingTransposed => "leading-axes-transposed",
            Self::SpatialReversed => "spatial-axes-reversed",
            Self::CubeTransposed => "spatial-axes-reversed-if-equal",
        }
    }

    /// What sentences say of it.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::ChannelsLast => "as if its channels came last in memory",
            Self::SpatialTransposed => "as if its last two axes were exchanged in memory",
            Self::LeadingTransposed => "as if its first two axes were exchanged in memory",
            Self::SpatialReversed => "as if its spatial axes were in reverse order in memory",
            Self::CubeTransposed => {
                "as if its spatial axes, if they are of one extent, were in reverse order in memory"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_permute_the_places() {
        assert_eq!(Layout::ChannelsLast.places(&[1, 2, 3]), Some(vec![0, 2, 4, 1, 3, 5]));
        assert_eq!(Layout::SpatialTransposed.places(&[1, 1, 2, 2]), Some(vec![0, 2, 1, 3]));
        assert_eq!(Layout::LeadingTransposed.places(&[2, 3]), Some(vec![0, 2, 4, 1, 3, 5]));
        assert_eq!(Layout::SpatialTransposed.places(&[2, 2]), None);
    }
}
