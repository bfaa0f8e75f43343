//! A look at a protobuf message before it is decoded: how many messages it is made of, and whether it asks for files.
//!
//! An empty message takes two bytes, and hundreds once it is decoded; the census refuses bytes that would grow so before
//! anything is allocated. It also looks where decoding does not: into subgraphs, functions and attributes.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// The most messages, and repeated texts, of a model.
pub const MAX_MESSAGES: usize = 1 << 20;

/// The most graphs within graphs.
const MAX_DEPTH: usize = 100;

/// What the census found.
#[derive(Default)]
pub struct Census {
    /// Messages and repeated texts.
    pub messages: usize,
    /// Whether a tensor's elements are in another file.
    pub is_external: bool,
}

/// The messages of onnx.proto that hold others, or tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    SparseTensor,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    Shape,
    /// Anything whose fields are of no interest.
    Leaf,
}

/// `DataLocation::EXTERNAL`.
pub const EXTERNAL: u64 = 1;

impl Kind {
    /// What a length-delimited field is, where it is a message or one of many.
    const fn field(self, tag: u32) -> Option<Self> {
        Some(match (self, tag) {
            (Self::Model, 7) | (Self::Training, 1 | 2) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 20) => Self::Training,
            (Self::Model, 25) => Self::Function,
            (Self::Function, 7) | (Self::Graph, 1) => Self::Node,
            (Self::Function, 11) | (Self::Node, 5) => Self::Attribute,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::SparseTensor, 1 | 2) => Self::Tensor,
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::SparseTensor,
            (Self::Graph, 11 | 12) => Self::ValueInfo,
            (Self::ValueInfo, 2) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Model, 8) | (Self::Node, 1 | 2) | (Self::Shape, 1) => Self::Leaf,
            _ => return None,
        })
    }

    /// Whether a field says that a tensor is elsewhere: its location, or where that is.
    const fn is_location(self, tag: u32) -> bool {
        matches!((self, tag), (Self::Tensor, 13 | 14))
    }
}

impl Census {
    /// Of the bytes of a model. What is malformed ends the message that it is in; decoding tells.
    pub fn of_model(bytes: &[u8]) -> Self {
        let mut census = Self::default();
        let _ = census.count(Kind::Model, bytes, MAX_DEPTH);
        census
    }

    fn count(&mut self, kind: Kind, mut bytes: &[u8], depth: usize) -> Option<()> {
        while !bytes.is_empty() && self.messages <= MAX_MESSAGES {
            let (tag, wire_type) = decode_key(&mut bytes).ok()?;
            match wire_type {
                WireType::LengthDelimited => {
                    let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
                    let (inside, rest) = bytes.split_at_checked(length)?;
                    bytes = rest;
                    self.enter(kind, tag, inside, depth);
                }
                WireType::Varint => {
                    let value = decode_varint(&mut bytes).ok()?;
                    self.is_external |= kind.is_location(tag) && value == EXTERNAL;
                }
                other => skip_field(other, tag, &mut bytes, DecodeContext::default()).ok()?,
            }
        }
        Some(())
    }

    fn enter(&mut self, kind: Kind, tag: u32, inside: &[u8], depth: usize) {
        self.is_external |= kind.is_location(tag);
        match (kind.field(tag), depth) {
            (None, _) => {}
            (Some(_), 0) => self.messages = usize::MAX,
            (Some(kind), depth) => {
                self.messages += 1;
                if kind != Kind::Leaf {
                    let _ = self.count(kind, inside, depth - 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::{Message, encoding::encode_varint};

    use super::*;
    use crate::{
        DecodeError, Graph, Interface, Outline, Unsupported,
        proto::{GraphProto, ModelProto, NodeProto},
    };

    fn field(tag: u64, inside: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_varint(tag << 3 | 2, &mut bytes);
        encode_varint(inside.len() as u64, &mut bytes);
        bytes.extend_from_slice(inside);
        bytes
    }

    /// A field within fields, the outermost first.
    fn nested(tags: &[u64], innermost: &[u8]) -> Vec<u8> {
        tags.iter().rev().fold(innermost.to_vec(), |inside, tag| field(*tag, &inside))
    }

    #[test]
    fn countless_empty_messages_are_refused_before_decoding() {
        // what stands in two bytes here takes a hundred times as many once it is decoded
        for tag in [1, 5, 11, 12, 15] {
            let empty = field(tag, &[]).repeat(MAX_MESSAGES + 1);
            let model = field(7, &empty);
            assert_eq!(Graph::decode(&model), Err(DecodeError::TooManyMessages), "field {tag} of a graph");
            assert_eq!(Interface::decode(&model), Err(DecodeError::TooManyMessages));
            assert_eq!(Outline::decode(&model), Err(DecodeError::TooManyMessages));
        }
        let attributes = nested(&[7, 1], &field(5, &[]).repeat(MAX_MESSAGES + 1));
        assert_eq!(Graph::decode(&attributes), Err(DecodeError::TooManyMessages));
    }

    #[test]
    fn graphs_within_graphs_end_somewhere() {
        let tags: Vec<u64> = [7].into_iter().chain([1, 5, 6].repeat(MAX_DEPTH)).collect();
        assert_eq!(Interface::decode(&nested(&tags, &[])), Err(DecodeError::TooManyMessages));
    }

    #[test]
    fn a_tensor_in_another_file_is_found_wherever_it_is() {
        let known = ModelProto {
            graph: Some(GraphProto {
                node: vec![NodeProto { op_type: "If".to_owned(), ..Default::default() }],
                ..Default::default()
            }),
            ..Default::default()
        };
        let places: [&[u64]; 6] = [
            // an attribute, a subgraph of one, a function, a sparse initializer, training, an attribute of many tensors
            &[7, 1, 5, 5],
            &[7, 1, 5, 6, 5],
            &[25, 7, 5, 5],
            &[7, 15, 1],
            &[20, 1, 5],
            &[7, 1, 5, 10],
        ];
        for place in places {
            for location in [field(13, b"\x0a\x02../"), vec![14 << 3, 1]] {
                let model = [known.encode_to_vec(), nested(place, &location)].concat();
                let refused = Interface::decode(&model);
                assert_eq!(refused, Err(Unsupported::NestedExternalData.into()), "{place:?}");
            }
            let model = [known.encode_to_vec(), nested(place, &[14 << 3, 0])].concat();
            assert!(Interface::decode(&model).is_ok(), "{place:?}");
        }
    }

    #[test]
    fn what_is_malformed_hides_nothing_behind_it() {
        let graph = [field(1, &field(5, b"\xff")), nested(&[1, 5, 5], &[14 << 3, 1])].concat();
        assert!(Census::of_model(&field(7, &graph)).is_external);
    }
}
