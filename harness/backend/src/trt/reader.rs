/// How a model becomes a network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The release's ONNX parser.
    Parser,
    /// Layer by layer through the network API.
    Layers,
}
