/// The arrangement of the parts of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Convolutions in a row, with neighbors.
    Chain,
    /// One or two convolutions, each with BatchNormalization and an activation.
    Normalized,
    /// Two branches that end in an Add: two convolutions, and a shortcut or a convolution of kernel 1.
    Residual,
    /// A value that several convolutions read through quantizers of their own; their results are added or
    /// concatenated.
    Fan,
    /// Values of different scales, concatenated in front of a convolution.
    Concat,
    /// A pooling between two convolutions.
    Pooling,
    /// Convolutions that halve the extents and a ConvTranspose that doubles them, with or without a skip connection.
    EncoderDecoder,
}

/// The branches of a residual block that are quantized in front of the Add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branches {
    /// None.
    Neither,
    /// The branch with the two convolutions.
    Main,
    /// The shortcut.
    Shortcut,
    /// Both, each by a quantizer of its own.
    Both,
}
