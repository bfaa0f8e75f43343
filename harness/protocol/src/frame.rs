use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The most bytes of a header.
pub const MAX_HEADER: usize = 4 << 20;
/// The most payload parts of a frame.
pub const MAX_PARTS: usize = 1 << 14;
/// The most payload bytes of a frame, all parts together.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// Allocated before the bytes have arrived; more is allocated as they do.
const EAGER: u64 = 1 << 16;

/// A message in its header form, and the raw bytes that came with it.
#[derive(Debug)]
pub struct Frame<H> {
    /// The header's message.
    pub header: H,
    /// The payload, part by part.
    pub payload: Vec<Vec<u8>>,
}

/// Bytes that are no frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe failed, or ended inside a frame.
    #[error("the pipe broke: {0}")]
    Io(#[from] io::Error),
    /// The header is longer than [`MAX_HEADER`].
    #[error("a header of {0} bytes is over the limit of {MAX_HEADER}")]
    HeaderTooLong(u64),
    /// More payload parts than [`MAX_PARTS`].
    #[error("a payload of {0} parts is over the limit of {MAX_PARTS}")]
    TooManyParts(usize),
    /// More payload bytes than [`MAX_PAYLOAD`].
    #[error("a payload of more than {MAX_PAYLOAD} bytes")]
    PayloadTooLong,
    /// The header is not the JSON of a message.
    #[error("the header is no message: {0}")]
    Header(#[from] serde_json::Error),
}

#[derive(Serialize)]
struct OutgoingHeader<'a, H> {
    message: &'a H,
    payload: Vec<u64>,
}

#[derive(Deserialize)]
struct IncomingHeader<H> {
    message: H,
    #[serde(default)]
    payload: Vec<u64>,
}

/// Reads the next frame; `None` where the stream ends between frames.
///
/// Nothing is allocated that a limit does not cover or whose bytes have not arrived.
pub fn read_frame<H: DeserializeOwned>(stream: &mut impl Read) -> Result<Option<Frame<H>>, FrameError> {
    let Some(length) = read_length(stream)? else { return Ok(None) };
    if length as usize > MAX_HEADER {
        return Err(FrameError::HeaderTooLong(u64::from(length)));
    }
    let header = read_exactly(stream, u64::from(length))?;
    let IncomingHeader { message, payload } = serde_json::from_slice(&header)?;
    check_payload(&payload)?;
    let payload = payload.into_iter().map(|part| read_exactly(stream, part)).collect::<Result<_, _>>()?;
    Ok(Some(Frame { header: message, payload }))
}

/// Writes one frame; the caller flushes.
pub fn write_frame<H: Serialize>(
    stream: &mut impl Write,
    message: &H,
    payload: &[&[u8]],
) -> Result<(), FrameError> {
    let lengths: Vec<_> = payload.iter().map(|part| part.len() as u64).collect();
    check_payload(&lengths)?;
    let header = serde_json::to_vec(&OutgoingHeader { message, payload: lengths })?;
    if header.len() > MAX_HEADER {
        return Err(FrameError::HeaderTooLong(header.len() as u64));
    }
    stream.write_all(&(header.len() as u32).to_le_bytes())?;
    stream.write_all(&header)?;
    payload.iter().try_for_each(|part| stream.write_all(part))?;
    Ok(())
}

fn check_payload(lengths: &[u64]) -> Result<(), FrameError> {
    if lengths.len() > MAX_PARTS {
        return Err(FrameError::TooManyParts(lengths.len()));
    }
    let total = lengths.iter().try_fold(0u64, |total, length| total.checked_add(*length));
    total.filter(|total| *total <= MAX_PAYLOAD).map(|_| ()).ok_or(FrameError::PayloadTooLong)
}

fn read_length(stream: &mut impl Read) -> Result<Option<u32>, FrameError> {
    let mut bytes = [0; 4];
    let mut filled = 0;
    while filled < bytes.len() {
        match stream.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(u32::from_le_bytes(bytes)))
}

fn read_exactly(stream: &mut impl Read, length: u64) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::with_capacity(length.min(EAGER) as usize);
    stream.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(io::Error::from(ErrorKind::UnexpectedEof).into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(message: &str, payload: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &message, payload).unwrap();
        bytes
    }

    fn framed(header: &str) -> Vec<u8> {
        [&(header.len() as u32).to_le_bytes(), header.as_bytes()].concat()
    }

    #[test]
    fn a_frame_comes_back_as_it_was_written() {
        let bytes = bytes("hello", &[b"model", b"", b"tensor"]);
        let frame: Frame<String> = read_frame(&mut bytes.as_slice()).unwrap().unwrap();
        assert_eq!(frame.header, "hello");
        assert_eq!(frame.payload, [b"model".to_vec(), vec![], b"tensor".to_vec()]);
    }

    #[test]
    fn the_end_of_the_stream_between_frames_is_no_error() {
        assert!(read_frame::<String>(&mut io::empty()).unwrap().is_none());
    }

    #[test]
    fn a_frame_cut_short_anywhere_is_an_error() {
        let whole = bytes("hello", &[b"model"]);
        for length in 1..whole.len() {
            assert!(read_frame::<String>(&mut &whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_header_over_the_limit_is_refused_before_it_is_read() {
        let bytes = (MAX_HEADER as u32 + 1).to_le_bytes();
        let refused = read_frame::<String>(&mut bytes.as_slice());
        assert!(matches!(refused, Err(FrameError::HeaderTooLong(_))), "{refused:?}");
    }

    #[test]
    fn a_payload_over_the_limit_is_refused_before_it_is_read() {
        for lengths in [format!("[{}]", MAX_PAYLOAD + 1), format!("[{},{}]", u64::MAX, u64::MAX)] {
            let bytes = framed(&format!(r#"{{"message":"m","payload":{lengths}}}"#));
            let refused = read_frame::<String>(&mut bytes.as_slice());
            assert!(matches!(refused, Err(FrameError::PayloadTooLong)), "{refused:?}");
        }
    }

    #[test]
    fn a_promised_payload_that_never_comes_is_not_allocated() {
        let bytes = framed(&format!(r#"{{"message":"m","payload":[{MAX_PAYLOAD}]}}"#));
        assert!(matches!(read_frame::<String>(&mut bytes.as_slice()), Err(FrameError::Io(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_frame::<serde_json::Value>(&mut bytes.as_slice());
            let _ = read_frame::<serde_json::Value>(&mut framed(&String::from_utf8_lossy(&bytes)).as_slice());
        }
    }
}
