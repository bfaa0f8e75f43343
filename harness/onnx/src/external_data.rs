//! *External data*: the elements of initializers that are in other files than the model. They are put into the model, of which nothing
//! else changes.

use std::borrow::Cow;

use prost::{
    Message,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field},
};

use crate::census::{Census, EXTERNAL};

/// The fields of onnx.proto on the way to the elements of an initializer.
mod tag {
    pub const GRAPH: u32 = 7;
    pub const INITIALIZER: u32 = 5;
    pub const RAW_DATA: u32 = 9;
    pub const EXTERNAL_DATA: u32 = 13;
    pub const DATA_LOCATION: u32 = 14;
}

/// Where the elements of an initializer are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalData {
    /// The path of the file, relative to the folder of the model; not checked.
    pub location: String,
    /// The number of bytes in front of the elements.
    pub offset: u64,
    /// The number of bytes that the elements take; `None` for all up to the end of the file.
    pub length: Option<u64>,
}

/// The ONNX model `model` with the elements of its initializers inside; `read` gives those that are in another file.
///
/// The tensors of subgraphs, functions and attributes stay where they are, and so does what cannot be read.
pub fn with_external_data<E>(
    model: &[u8],
    mut read: impl FnMut(&ExternalData) -> Result<Vec<u8>, E>,
) -> Result<Cow<'_, [u8]>, E> {
    if !Census::of_model(model).is_external {
        return Ok(Cow::Borrowed(model));
    }
    let mut initializer = |field: &Field<'_>| {
        let tensor = ExternalTensor::decode(field.inside).ok().filter(|_| field.tag == tag::INITIALIZER);
        let Some(data) = tensor.and_then(ExternalTensor::data) else { return Ok(None) };
        Ok(Some(with_elements(field.inside, &read(&data)?)))
    };
    rewritten(model, |field| match field.tag {
        tag::GRAPH => rewritten(field.inside, &mut initializer).map(Some),
        _ => Ok(None),
    })
    .map(Cow::Owned)
}

/// A tensor as far as it says where its elements are.
#[derive(Clone, PartialEq, Message)]
struct ExternalTensor {
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<Entry>,
    #[prost(int32, tag = "14")]
    data_location: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

impl ExternalTensor {
    /// Where its elements are; `None` if they are not in another file, or if that cannot be read.
    fn data(self) -> Option<ExternalData> {
        let mut data = ExternalData::default();
        for Entry { key, value } in self.external_data {
            match key.as_str() {
                "location" => data.location = value,
                "offset" => data.offset = value.parse().ok()?,
                "length" => data.length = Some(value.parse().ok()?),
                _ => {}
            }
        }
        (self.data_location == EXTERNAL as i32 && !data.location.is_empty()).then_some(data)
    }
}

/// A field of a message.
struct Field<'m> {
    /// Its number; 0 for what cannot be read, up to the end of the message.
    tag: u32,
    /// All of its bytes.
    whole: &'m [u8],
    /// Its contents; empty unless it has a length.
    inside: &'m [u8],
}

/// The first field of a message, and what is behind it; `None` at the end.
fn first_field(message: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let read = || {
        let mut rest = message;
        let (tag, wire_type) = decode_key(&mut rest).ok()?;
        let mut inside = &message[..0];
        if wire_type == WireType::LengthDelimited {
            let length = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
            (inside, rest) = rest.split_at_checked(length)?;
        } else {
            skip_field(wire_type, tag, &mut rest, DecodeContext::default()).ok()?;
        }
        Some((Field { tag, whole: &message[..message.len() - rest.len()], inside }, rest))
    };
    let unreadable = || (Field { tag: 0, whole: message, inside: &message[..0] }, &message[message.len()..]);
    (!message.is_empty()).then(|| read().unwrap_or_else(unreadable))
}

/// A message with other contents of the fields for which `change` gives some.
fn rewritten<E>(
    mut message: &[u8],
    mut change: impl FnMut(&Field<'_>) -> Result<Option<Vec<u8>>, E>,
) -> Result<Vec<u8>, E> {
    let mut written = Vec::with_capacity(message.len());
    while let Some((field, rest)) = first_field(message) {
        match change(&field)? {
            Some(inside) => write_bytes(field.tag, &inside, &mut written),
            None => written.extend_from_slice(field.whole),
        }
        message = rest;
    }
    Ok(written)
}

/// A tensor with these elements instead of a place where they are.
fn with_elements(mut tensor: &[u8], elements: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(tensor.len() + elements.len());
    while let Some((field, rest)) = first_field(tensor) {
        if !matches!(field.tag, tag::RAW_DATA | tag::EXTERNAL_DATA | tag::DATA_LOCATION) {
            written.extend_from_slice(field.whole);
        }
        tensor = rest;
    }
    write_bytes(tag::RAW_DATA, elements, &mut written);
    written
}

fn write_bytes(tag: u32, bytes: &[u8], written: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, written);
    encode_varint(bytes.len() as u64, written);
    written.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::{DataType, Graph, Interface, Node, Op, Tensor, ValueInfo};

    const UNKNOWN: &[u8] = b"of a later version";

    /// A model of one Relu that reads the initializer `tensor`, and an unknown field.
    fn model(tensor: &[u8]) -> Vec<u8> {
        let graph = Graph {
            opset: 13,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: vec![Node {
                name: "node".to_owned(),
                op: Op::Relu,
                inputs: vec!["w".to_owned()],
                outputs: vec!["y".to_owned()],
            }],
            outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
        };
        let mut model = graph.encode();
        // a second graph is merged with the first
        let mut second = Vec::new();
        write_bytes(tag::INITIALIZER, tensor, &mut second);
        write_bytes(tag::GRAPH, &second, &mut model);
        write_bytes(99, UNKNOWN, &mut model);
        model
    }

    /// The tensor `w` of two 32-bit floats, with its elements somewhere.
    fn tensor(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut tensor = vec![1 << 3, 2, 2 << 3, 1];
        write_bytes(8, b"w", &mut tensor);
        for (key, value) in entries {
            let entry = Entry { key: (*key).to_owned(), value: (*value).to_owned() };
            write_bytes(tag::EXTERNAL_DATA, &entry.encode_to_vec(), &mut tensor);
        }
        tensor.extend([14 << 3, 1]);
        tensor
    }

    fn elements() -> Vec<u8> {
        [1.0_f32, 2.0].iter().flat_map(|element| element.to_le_bytes()).collect()
    }

    #[test]
    fn elements_in_another_file_come_into_the_model() {
        let place = [("location", "w.bin"), ("offset", "4096"), ("length", "8"), ("checksum", "?")];
        let model = model(&tensor(&place));
        assert!(Interface::decode(&model).is_err());
        let whole = with_external_data(&model, |data| {
            let expected = ExternalData { location: "w.bin".to_owned(), offset: 4096, length: Some(8) };
            assert_eq!(*data, expected);
            Ok::<_, Infallible>(elements())
        })
        .unwrap();
        let graph = Graph::decode(&whole).unwrap();
        let [w] = &graph.initializers[..] else { panic!("one initializer") };
        let expected = Tensor::from_le_bytes(DataType::Float, vec![2], &elements()).unwrap();
        assert_eq!((w.name.as_str(), &w.tensor), ("w", &expected));
        assert!(whole.ends_with(UNKNOWN), "the unknown field is there");
    }

    #[test]
    fn model_with_its_elements_inside_stays_as_it_is() {
        let mut inside = vec![1 << 3, 2, 2 << 3, 1];
        write_bytes(tag::RAW_DATA, &elements(), &mut inside);
        let model = model(&inside);
        let read = |_: &ExternalData| Err("nothing is to be read");
        assert!(matches!(with_external_data(&model, read), Ok(Cow::Borrowed(same)) if same == model));
    }

    #[test]
    fn what_cannot_be_read_stays() {
        let location = ("location", "w.bin");
        for place in [vec![], vec![location, ("offset", "-1")], vec![location, ("length", "all")]] {
            let model = model(&tensor(&place));
            let whole = with_external_data(&model, |_| Err("nothing is to be read")).unwrap();
            assert_eq!(whole, model, "{place:?}");
            assert!(Graph::decode(&whole).is_err(), "the initializer is missing");
        }
        let torn = [7 << 3 | 2, 200, 1];
        let model = [&model(&tensor(&[location]))[..], &torn].concat();
        let whole = with_external_data(&model, |_| Ok::<_, Infallible>(elements())).unwrap();
        assert!(whole.ends_with(&torn));
    }

    #[test]
    fn an_error_of_the_reader_is_returned() {
        let model = model(&tensor(&[("location", "w.bin")]));
        assert_eq!(with_external_data(&model, |_| Err("no such file")), Err("no such file"));
    }
}
