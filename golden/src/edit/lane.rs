use super::{operand::Operand, operator::Operator};

/// Along what an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Along {
    Batch,
    /// The channels that a node reads, gives or has parameters for; of a weight, those that the node gives.
    Channel,
    /// The channels of a weight that the node reads.
    InputChannel,
    Group,
    ChannelOfGroup,
    FirstSpatial,
    LastSpatial,
    EverySpatial,
}

/// The places of a flattened tensor along an axis or a part of one: the index along it is `place / inner % extent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    pub extent: usize,
    pub inner: usize,
}

impl Lane {
    pub const fn index(self, place: usize) -> usize {
        place / self.inner % self.extent
    }

    fn axis(shape: &[usize], axis: usize) -> Option<Self> {
        let lane = Self { extent: *shape.get(axis)?, inner: shape[axis + 1..].iter().product() };
        (lane.extent > 0 && lane.inner > 0).then_some(lane)
    }

    /// The `parts` consecutive parts of an axis of equal extent.
    fn parts(shape: &[usize], axis: usize, parts: usize) -> Option<Self> {
        let Self { extent, inner } = Self::axis(shape, axis)?;
        let each = extent.checked_div(parts).filter(|each| *each > 0 && each * parts == extent)?;
        Some(Self { extent: parts, inner: inner * each })
    }

    /// The places in each of the `parts` consecutive parts of an axis.
    fn in_parts(shape: &[usize], axis: usize, parts: usize) -> Option<Self> {
        let Self { inner, extent } = Self::axis(shape, axis)?;
        let each = extent.checked_div(parts).filter(|each| *each > 0 && each * parts == extent)?;
        Some(Self { extent: each, inner })
    }
}

impl Along {
    pub const ALL: &[Self] = &[
        Self::Batch,
        Self::Channel,
        Self::InputChannel,
        Self::Group,
        Self::ChannelOfGroup,
        Self::LastSpatial,
        Self::FirstSpatial,
        Self::EverySpatial,
    ];

    /// The lanes of an operand of this shape; empty if there is nothing to tell apart along them.
    pub fn lanes(self, operator: Operator, operand: Operand, shape: &[usize], groups: usize) -> Vec<Lane> {
        let rank = shape.len();
        if !operand.is_tensor() {
            return match self {
                Self::Channel => Lane::axis(shape, 0),
                Self::Group => Lane::parts(shape, 0, groups),
                Self::ChannelOfGroup => Lane::in_parts(shape, 0, groups),
                _ => None,
            }
            .into_iter()
            .collect();
        }
        let lane = match (self, operand) {
            (Self::EverySpatial, _) => {
                return (2..rank).filter_map(|axis| Lane::axis(shape, axis)).collect();
            }
            (Self::FirstSpatial, _) if rank > 2 => Lane::axis(shape, 2),
            (Self::LastSpatial, _) if rank > 0 => Lane::axis(shape, rank - 1),
            (Self::FirstSpatial | Self::LastSpatial, _) => None,
            (_, Operand::Weight) => self.weight_lane(operator, shape, groups),
            (Self::Batch, _) => Lane::axis(shape, 0),
            (Self::Channel, _) => Lane::axis(shape, 1),
            (Self::Group, _) => Lane::parts(shape, 1, groups),
            (Self::ChannelOfGroup, _) => Lane::in_parts(shape, 1, groups),
            (Self::InputChannel, _) => None,
        };
        lane.into_iter().collect()
    }

    /// Conv has weights of [M, C/group, k…], and `ConvTranspose` of [C, M/group, k…].
    fn weight_lane(self, operator: Operator, shape: &[usize], groups: usize) -> Option<Lane> {
        let is_transposed = operator == Operator::ConvTranspose;
        match self {
            Self::Channel => Lane::axis(shape, usize::from(is_transposed)),
            Self::InputChannel => Lane::axis(shape, usize::from(!is_transposed)),
            Self::Group => Lane::parts(shape, 0, groups),
            Self::ChannelOfGroup => Lane::in_parts(shape, 0, groups),
            _ => None,
        }
    }

    /// Whether operands of this operator may have such lanes.
    pub const fn is_of(self, operator: Operator, operand: Operand) -> bool {
        let is_grouped = operator.is_convolution();
        // the order of positions does not matter to a global pool, which gives one
        let has_positions = !matches!(operator, Operator::GlobalAveragePool);
        match self {
            Self::FirstSpatial | Self::LastSpatial | Self::EverySpatial if !has_positions => false,
            Self::Channel | Self::Group | Self::ChannelOfGroup if operator.is_scalar(operand) => false,
            Self::Channel => true,
            Self::InputChannel => matches!(operand, Operand::Weight),
            Self::Group | Self::ChannelOfGroup => is_grouped,
            Self::Batch => operand.is_tensor() && !matches!(operand, Operand::Weight),
            Self::FirstSpatial | Self::LastSpatial | Self::EverySpatial => operand.is_tensor(),
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Channel => "channel",
            Self::InputChannel => "input-channel",
            Self::Group => "group",
            Self::ChannelOfGroup => "channel-of-group",
            Self::FirstSpatial => "first-axis",
            Self::LastSpatial => "last-axis",
            Self::EverySpatial => "position",
        }
    }

    /// What one of them is called, and where they lie.
    pub const fn noun(self) -> (&'static str, &'static str) {
        match self {
            Self::Batch => ("batch element", ""),
            Self::Channel => ("channel", ""),
            Self::InputChannel => ("input channel", ""),
            Self::Group => ("group", ""),
            Self::ChannelOfGroup => ("channel", " within each group"),
            Self::FirstSpatial => ("position", " along the first spatial axis"),
            Self::LastSpatial => ("position", " along the last axis"),
            Self::EverySpatial => ("position", " along every spatial axis"),
        }
    }
}
