use std::{
    io::{self, BufRead, ErrorKind, Read},
    vec,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use twinfer_onnx::Tensor;

/// The maximum length of a header in bytes.
pub const MAX_HEADER: usize = 4 << 20;
/// The maximum number of payload parts of a frame.
pub const MAX_PARTS: usize = 1 << 14;
/// The maximum number of payload bytes of a frame, all parts together.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// The number of bytes that hold a header's length.
const LENGTH: usize = 4;
/// Bytes allocated before any have arrived; more are allocated as they arrive.
const EAGER: u64 = 1 << 16;

/// A message in its header form, with the raw bytes that follow it.
#[derive(Debug)]
pub struct Frame<'a, H, R> {
    /// The header's message.
    pub header: H,
    /// The payload, which is still in the stream.
    pub payload: Payload<'a, R>,
}

/// The parts of a payload that have not been read yet, in order.
#[derive(Debug)]
pub struct Payload<'a, R> {
    stream: &'a mut R,
    lengths: vec::IntoIter<u64>,
}

/// A part of a payload to write.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// The bytes themselves.
    Bytes(&'a [u8]),
    /// The elements of a tensor.
    Tensor(&'a Tensor),
}

/// The error of bytes that are not a frame.
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
    /// More payload bytes than this limit.
    #[error("a payload of more than {0} bytes")]
    PayloadTooLong(u64),
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

/// Reads the header of the next frame; `None` if the stream ends between frames.
///
/// Every allocation is within a limit, and large ones only happen as the bytes arrive.
///
/// A payload of more than `max_payload` bytes is an error before any of it is read.
///
/// A header for which `read` gives `None` is read as JSON.
pub fn read_frame<H: DeserializeOwned, R: BufRead>(
    stream: &mut R,
    max_payload: u64,
    read: impl FnOnce(&[u8]) -> Option<H>,
) -> Result<Option<Frame<'_, H, R>>, FrameError> {
    let Some(length) = read_length(stream)? else { return Ok(None) };
    if length as usize > MAX_HEADER {
        return Err(FrameError::HeaderTooLong(u64::from(length)));
    }
    let IncomingHeader { message, payload } =
        take_bytes(stream, u64::from(length), |header| match read(header) {
            Some(message) => Ok(IncomingHeader { message, payload: Vec::new() }),
            None => from_json(header),
        })??;
    check_payload(&payload, max_payload)?;
    Ok(Some(Frame { header: message, payload: Payload { stream, lengths: payload.into_iter() } }))
}

/// Checking the whole header for UTF-8 is faster than checking each of its strings.
fn from_json<T: DeserializeOwned>(header: &[u8]) -> serde_json::Result<T> {
    str::from_utf8(header).map_or_else(|_| serde_json::from_slice(header), serde_json::from_str)
}

impl<R: BufRead> Payload<'_, R> {
    /// Reads the next part with `read`; `None` if there is none.
    pub fn take<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, FrameError> {
        self.lengths.next().map(|length| take_bytes(self.stream, length, read)).transpose()
    }

    /// How many parts are left.
    pub fn left(&self) -> usize {
        self.lengths.len()
    }
}

/// Appends a frame to `stream`; appends nothing if a limit is exceeded.
pub fn write_frame<H: Serialize>(
    stream: &mut Vec<u8>,
    message: &H,
    payload: &[Part<'_>],
) -> Result<(), FrameError> {
    let lengths: Vec<_> = payload.iter().map(|part| part.len() as u64).collect();
    check_payload(&lengths, MAX_PAYLOAD)?;
    let total = lengths.iter().sum::<u64>() as usize;
    write_header(stream, |stream| {
        Ok(serde_json::to_writer(stream, &OutgoingHeader { message, payload: lengths })?)
    })?;
    stream.reserve(total);
    for part in payload {
        part.append_to(stream);
    }
    Ok(())
}

/// Appends the header that `write` appends, after its length; appends nothing if the header is over the limit.
pub fn write_header(
    stream: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), FrameError>,
) -> Result<(), FrameError> {
    let begin = stream.len();
    stream.extend([0; LENGTH]);
    let written = write(stream).and_then(|()| match stream.len() - begin - LENGTH {
        header if header > MAX_HEADER => Err(FrameError::HeaderTooLong(header as u64)),
        header => Ok(header as u32),
    });
    match written {
        Ok(header) => stream[begin..][..LENGTH].copy_from_slice(&header.to_le_bytes()),
        Err(_) => stream.truncate(begin),
    }
    written.map(|_| ())
}

impl Part<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Tensor(tensor) => tensor.byte_len(),
        }
    }

    fn append_to(&self, frame: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => frame.extend_from_slice(bytes),
            Self::Tensor(tensor) => tensor.append_le_bytes(frame),
        }
    }
}

fn check_payload(lengths: &[u64], max_payload: u64) -> Result<(), FrameError> {
    if lengths.len() > MAX_PARTS {
        return Err(FrameError::TooManyParts(lengths.len()));
    }
    let total = lengths.iter().try_fold(0u64, |total, length| total.checked_add(*length));
    let is_within = total.is_some_and(|total| total <= max_payload.min(MAX_PAYLOAD));
    if is_within { Ok(()) } else { Err(FrameError::PayloadTooLong(max_payload.min(MAX_PAYLOAD))) }
}

fn read_length(stream: &mut impl Read) -> Result<Option<u32>, FrameError> {
    let mut bytes = [0; LENGTH];
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

/// Reads the next `length` bytes with `read`, without copying them if the stream has buffered them.
fn take_bytes<T>(
    stream: &mut impl BufRead,
    length: u64,
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, FrameError> {
    if length > 0
        && let Ok(held) = stream.fill_buf()
        && let Some(bytes) = held.get(..length as usize)
    {
        let taken = read(bytes);
        stream.consume(length as usize);
        return Ok(taken);
    }
    Ok(read(&read_exactly(stream, length)?))
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
        let parts: Vec<_> = payload.iter().map(|part| Part::Bytes(part)).collect();
        write_frame(&mut bytes, &message, &parts).unwrap();
        bytes
    }

    /// A header and the parts of its payload.
    type Whole<H> = (H, Vec<Vec<u8>>);

    /// The next frame.
    fn read<H: DeserializeOwned>(stream: &mut impl BufRead) -> Result<Option<Whole<H>>, FrameError> {
        let Some(mut frame) = read_frame(stream, MAX_PAYLOAD, |_| None)? else { return Ok(None) };
        let mut parts = Vec::new();
        while let Some(part) = frame.payload.take(<[u8]>::to_vec)? {
            parts.push(part);
        }
        Ok(Some((frame.header, parts)))
    }

    fn framed(header: &str) -> Vec<u8> {
        [&(header.len() as u32).to_le_bytes(), header.as_bytes()].concat()
    }

    #[test]
    fn frames_are_read_whatever_part_of_them_has_arrived() {
        let bytes = [bytes("hello", &[b"model", b"", b"tensor", b""]), bytes("again", &[])].concat();
        for capacity in 1..=bytes.len() {
            let mut stream = io::BufReader::with_capacity(capacity, bytes.as_slice());
            let parts = vec![b"model".to_vec(), vec![], b"tensor".to_vec(), vec![]];
            assert_eq!(read(&mut stream).unwrap(), Some(("hello".to_owned(), parts)), "{capacity}");
            assert_eq!(read(&mut stream).unwrap(), Some(("again".to_owned(), vec![])), "{capacity}");
            assert_eq!(read::<String>(&mut stream).unwrap(), None);
        }
    }

    #[test]
    fn the_end_of_the_stream_between_frames_is_not_an_error() {
        assert!(read::<String>(&mut io::empty()).unwrap().is_none());
    }

    #[test]
    fn a_frame_cut_short_anywhere_is_an_error() {
        let whole = bytes("hello", &[b"model"]);
        for length in 1..whole.len() {
            assert!(read::<String>(&mut &whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_header_over_the_limit_is_refused_before_it_is_read() {
        let bytes = (MAX_HEADER as u32 + 1).to_le_bytes();
        let refused = read::<String>(&mut bytes.as_slice());
        assert!(matches!(refused, Err(FrameError::HeaderTooLong(_))), "{refused:?}");
    }

    #[test]
    fn an_oversized_frame_leaves_the_stream_unchanged() {
        let before = bytes("hello", &[b"model"]);
        let mut stream = before.clone();
        let written = write_frame(&mut stream, &"m".repeat(MAX_HEADER), &[Part::Bytes(b"model")]);
        assert!(matches!(written, Err(FrameError::HeaderTooLong(_))), "{written:?}");
        assert_eq!(stream, before);
        let written = write_frame(&mut stream, &"m", &vec![Part::Bytes(b""); MAX_PARTS + 1]);
        assert!(matches!(written, Err(FrameError::TooManyParts(_))), "{written:?}");
        assert_eq!(stream, before);
        write_frame(&mut stream, &"again", &[]).unwrap();
        assert_eq!(stream, [before, bytes("again", &[])].concat());
    }

    #[test]
    fn a_payload_over_the_limit_is_refused_before_it_is_read() {
        for lengths in [format!("[{}]", MAX_PAYLOAD + 1), format!("[{},{}]", u64::MAX, u64::MAX)] {
            let bytes = framed(&format!(r#"{{"message":"m","payload":{lengths}}}"#));
            let refused = read::<String>(&mut bytes.as_slice());
            assert!(matches!(refused, Err(FrameError::PayloadTooLong(MAX_PAYLOAD))), "{refused:?}");
        }
    }

    #[test]
    fn a_promised_payload_that_never_comes_is_not_allocated() {
        let bytes = framed(&format!(r#"{{"message":"m","payload":[{MAX_PAYLOAD}]}}"#));
        assert!(matches!(read::<String>(&mut bytes.as_slice()), Err(FrameError::Io(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read::<serde_json::Value>(&mut bytes.as_slice());
            let _ = read::<serde_json::Value>(&mut framed(&String::from_utf8_lossy(&bytes)).as_slice());
        }
    }
}
