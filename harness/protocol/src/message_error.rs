use twinfer_onnx::InvalidTensor;

use crate::frame::FrameError;

/// The error of a frame that is not a message of this protocol.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The bytes are not a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The payload has fewer parts than the header describes.
    #[error("the payload has fewer parts than the header describes")]
    MissingPart,
    /// The payload has more parts than the header describes.
    #[error("the payload has {0} parts that the header does not describe")]
    SpareParts(usize),
    /// A part of the payload is not the tensor that the header describes.
    #[error("the payload does not fit the header: {0}")]
    Tensor(InvalidTensor),
}

impl From<InvalidTensor> for MessageError {
    fn from(error: InvalidTensor) -> Self {
        Self::Tensor(error)
    }
}
