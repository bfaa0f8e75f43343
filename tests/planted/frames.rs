//! Frames of docs/protocol.md, as programs of this folder read them from stdin, and the lines of JSON with which they answer.

use std::{
    error::Error,
    io::{self, BufReader, Read, Write},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use twinfer_onnx::{DataType, Graph, Tensor};

#[derive(Deserialize)]
struct Header<Question> {
    message: Question,
    payload: Vec<usize>,
}

/// An element type and a shape, whose elements are a part of the payload.
#[derive(Deserialize)]
pub struct Described {
    dtype: DataType,
    shape: Vec<usize>,
}

/// Answers each frame on stdin with a line. `answer` is given the question and the parts of the payload.
pub fn serve<Question: DeserializeOwned, Answer: Serialize>(
    answer: impl Fn(&Question, &[Vec<u8>]) -> Result<Answer, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut stdin, mut stdout) = (BufReader::new(io::stdin().lock()), io::stdout().lock());
    let mut length = [0; 4];
    while stdin.read_exact(&mut length).is_ok() {
        let header: Header<Question> =
            serde_json::from_slice(&read(&mut stdin, u32::from_le_bytes(length) as usize)?)?;
        let parts =
            header.payload.iter().map(|size| read(&mut stdin, *size)).collect::<Result<Vec<_>, _>>()?;
        serde_json::to_writer(&mut stdout, &answer(&header.message, &parts)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
    Ok(())
}

/// The model and the tensors that a payload holds.
pub fn decoded<'a>(
    parts: &[Vec<u8>],
    described: impl Iterator<Item = &'a Described>,
) -> Result<(Graph, Vec<Tensor>), Box<dyn Error>> {
    let [model, tensors @ ..] = parts else { return Err("a frame has no model".into()) };
    let tensor =
        |(of, bytes): (&Described, &Vec<u8>)| Tensor::from_le_bytes(of.dtype, of.shape.clone(), bytes);
    Ok((Graph::decode(model)?, described.zip(tensors).map(tensor).collect::<Result<_, _>>()?))
}

fn read(from: &mut impl Read, size: usize) -> Result<Vec<u8>, io::Error> {
    let mut bytes = Vec::new();
    from.take(size as u64).read_to_end(&mut bytes)?;
    if bytes.len() == size { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
