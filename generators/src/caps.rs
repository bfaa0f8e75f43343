use crate::Size;

/// How large a layer may be, so that a case takes microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    /// How much further than the least an extent may be.
    pub slack: usize,
}

impl Caps {
    /// For a case of so many spatial axes and so many convolutions.
    pub const fn of(rank: usize, length: usize) -> Self {
        match (rank, length) {
            (1, 1) => Self { channels: 24, kernel: 5, stride: 4, slack: 8 },
            (1, _) => Self { channels: 12, kernel: 5, stride: 4, slack: 5 },
            (2, 1) => Self { channels: 16, kernel: 5, stride: 4, slack: 4 },
            (2, _) => Self { channels: 8, kernel: 3, stride: 2, slack: 2 },
            (_, 1) => Self { channels: 8, kernel: 3, stride: 3, slack: 2 },
            (_, _) => Self { channels: 6, kernel: 3, stride: 2, slack: 1 },
        }
    }

    /// These limits, raised as a size asks.
    pub const fn raised(self, size: Size, rank: usize) -> Self {
        match (size, rank) {
            (Size::Small, _) => self,
            (Size::ManyChannels, _) => Self { channels: 512, ..self },
            (Size::ManyPositions, 1) => Self { slack: 8000, ..self },
            (Size::ManyPositions, 2) => Self { slack: 90, ..self },
            (Size::ManyPositions, _) => Self { slack: 20, ..self },
        }
    }

    /// For a block in so many spatial axes.
    pub const fn of_block(rank: usize) -> Self {
        match rank {
            1 => Self { channels: 16, kernel: 5, stride: 2, slack: 8 },
            2 => Self { channels: 16, kernel: 5, stride: 2, slack: 5 },
            _ => Self { channels: 8, kernel: 3, stride: 2, slack: 3 },
        }
    }
}
