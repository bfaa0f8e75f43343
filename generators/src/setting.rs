use crate::{Neighbor, Pooling, Values};

/// What is decided before the parts of a case are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The number of spatial axes.
    pub rank: usize,
    pub opset: i64,
    pub values: Values,
}

impl Setting {
    /// Whether the operators of a neighbor exist, and keep values exact if those have to be.
    pub const fn suits(self, neighbor: Neighbor) -> bool {
        match neighbor {
            Neighbor::HardSwish => self.opset >= 14 && !self.is_exact(),
            Neighbor::Swish => !self.is_exact(),
            _ => true,
        }
    }

    /// Whether a kernel of this extent keeps values exact if they have to be: an average divides by its elements.
    pub const fn suits_pool(self, pooling: Pooling, kernel: usize) -> bool {
        matches!(pooling, Pooling::Max) || !self.is_exact() || kernel == 2
    }

    /// Whether a pooling has dilations.
    pub const fn dilates(self, pooling: Pooling) -> bool {
        matches!(pooling, Pooling::Max) || self.opset >= 19
    }

    const fn is_exact(self) -> bool {
        matches!(self.values, Values::Exact)
    }
}
