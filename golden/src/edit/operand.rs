/// Something that an operator reads, or its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Data,
    Addend,
    /// The first operand of an Add, as broadcast to the shape of the output.
    BroadcastData,
    /// The second.
    BroadcastAddend,
    Second,
    /// The last input of a Concat.
    Last,
    /// The second input of an Add, or the first one if that is broadcast.
    SecondOrBroadcast,
    /// Every tensor that is combined: the inputs of an Add or a Concat, the factors of a convolution.
    Each,
    Weight,
    Bias,
    Scale,
    ZeroPoint,
    DataScale,
    DataZeroPoint,
    WeightScale,
    WeightZeroPoint,
    Mean,
    Variance,
    /// The `min` of a Clip.
    LowerBound,
    /// The `max` of a Clip.
    UpperBound,
    Output,
}

impl Operand {
    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Data => "input",
            Self::Addend => "addend",
            Self::BroadcastData => "broadcast-input",
            Self::BroadcastAddend => "broadcast-addend",
            Self::Second => "second-input",
            Self::Last => "last-input",
            Self::SecondOrBroadcast => "second-or-broadcast-input",
            Self::Each => "operands",
            Self::Weight => "weight",
            Self::Bias => "bias",
            Self::Scale => "scale",
            Self::ZeroPoint => "zero-point",
            Self::DataScale => "input-scale",
            Self::DataZeroPoint => "input-zero-point",
            Self::WeightScale => "weight-scale",
            Self::WeightZeroPoint => "weight-zero-point",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::LowerBound => "lower-bound",
            Self::UpperBound => "upper-bound",
            Self::Output => "output",
        }
    }

    /// The words of the name.
    pub fn words(self) -> String {
        self.slug().replace('-', " ")
    }

    /// Whether it has an element for each position, and is not a parameter.
    pub const fn is_tensor(self) -> bool {
        matches!(
            self,
            Self::Data
                | Self::Addend
                | Self::BroadcastData
                | Self::BroadcastAddend
                | Self::Second
                | Self::Last
                | Self::SecondOrBroadcast
                | Self::Each
                | Self::Weight
                | Self::Output
        )
    }

    /// Whether it is the same input of every node of a kind.
    pub const fn is_one(self) -> bool {
        !matches!(self, Self::SecondOrBroadcast | Self::Each)
    }

    /// Whether it is an operand that was broadcast.
    pub const fn is_broadcast(self) -> bool {
        matches!(self, Self::BroadcastData | Self::BroadcastAddend)
    }

    /// Whether other numbers are multiplied or divided by it, so that leaving it out is taking it as 1.
    pub const fn is_factor(self) -> bool {
        matches!(self, Self::Scale | Self::DataScale | Self::WeightScale | Self::Variance)
    }

    /// Whether it holds integers.
    pub const fn is_zero_point(self) -> bool {
        matches!(self, Self::ZeroPoint | Self::DataZeroPoint | Self::WeightZeroPoint)
    }
}
