use std::{fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use twinfer_onnx::{DataType, Graph, Tensor};

use crate::Distribution;

/// One graph, a request, and one or more runs in order.
///
/// A case is self-contained: replaying it needs no generator and no seed. [`Display`](fmt::Display) and [`Debug`] write it in ONNX's
/// text form.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The graph, with its initializers as data.
    pub graph: Graph,
    /// What the backend is asked for beyond the graph.
    pub request: Request,
    /// The inputs of each run, in order; shape A, then B, then A again is one case of three runs.
    pub runs: Vec<Run>,
    /// What a conforming backend does with the case.
    pub expectation: Expectation,
    /// Where the case came from; replaying needs none of it. `None` for a case that no generator made.
    pub provenance: Option<Provenance>,
}

/// What a conforming backend does with a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Accept the graph and compute it.
    Valid,
    /// Refuse it before computing anything: it breaks the named validity rule.
    Invalid(String),
}

/// What a backend is asked for beyond the graph itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The element type in which values are computed.
    pub precision: DataType,
    /// Whether TF32 may replace FP32.
    pub tf32: bool,
}

/// One execution: a tensor for each graph input, in the graph's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// One tensor per graph input.
    pub inputs: Vec<TensorSource>,
}

/// A tensor as data, or as the recipe that makes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorSource {
    /// The elements themselves, as in a stored case.
    Data(Tensor),
    /// A recipe, as a generator yields it.
    Recipe(Recipe),
}

/// How to make a tensor: equal recipes give equal bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The element type.
    pub dtype: DataType,
    /// The extent of each axis.
    pub shape: Vec<usize>,
    /// How the values are distributed.
    pub regime: Regime,
    /// The seed of the values.
    pub seed: u64,
}

/// How values are distributed, which decides how strictly results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// Integers `-limit..=limit` times 2^`exponent`: every sum of products is exact.
    Exact {
        /// The largest magnitude in grid steps.
        limit: u32,
        /// The grid step is 2^`exponent`.
        exponent: i32,
    },
    /// Integers `least..=greatest`, uniformly distributed.
    Integers {
        /// The smallest value.
        least: i32,
        /// The largest value.
        greatest: i32,
    },
    /// Standard normal values.
    Gaussian,
    /// Log-uniform magnitudes over many decades.
    WideRange,
    /// Values around the smallest normal number.
    Denormal,
    /// Values around the largest finite number.
    Saturating,
    /// Standard normal values, and in one of eight places a special one: NaN, an infinity, a zero of either sign, the largest number,
    /// or a subnormal one.
    Special,
}

/// Where a case came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The generator's name.
    pub family: String,
    /// What the generator draws how often.
    #[serde(default, skip_serializing_if = "Distribution::is_default")]
    pub distribution: Distribution,
    /// The campaign's seed.
    pub seed: u64,
    /// The case's index in the campaign, from 0.
    pub index: u64,
}

/// The BLAKE3 hash of everything that a backend is given: the model's bytes, the request, and every input tensor of every run.
///
/// A case with recipes has the same hash as the case with the tensors that they make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseHash([u8; 32]);

impl CaseHash {
    /// The hash of a model, a request and the inputs of each run.
    ///
    /// Each part is hashed after its length, so that different cases never give the same bytes.
    pub fn over(model: &[u8], request: &Request, runs: &[Vec<Tensor>]) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(model);
        part(&request.precision.onnx_code().to_le_bytes());
        part(&[u8::from(request.tf32)]);
        part(&(runs.len() as u64).to_le_bytes());
        for tensor in runs.iter().flatten() {
            part(&tensor.dtype().onnx_code().to_le_bytes());
            let extents = tensor.shape.iter().flat_map(|extent| (*extent as u64).to_le_bytes());
            part(&extents.collect::<Vec<_>>());
            part(&tensor.to_le_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// A number that looks drawn, the same for the same case.
    pub fn number(self) -> u64 {
        self.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl fmt::Display for CaseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl Serialize for CaseHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for CaseHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(HashVisitor)
    }
}

/// Reads a hash without copying its text, since every message has one.
struct HashVisitor;

impl Visitor<'_> for HashVisitor {
    type Value = CaseHash;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CaseHash, E> {
        text.parse().map_err(E::custom)
    }
}

/// The error of text that is not 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a case hash is 64 hexadecimal digits, not {0:?}")]
pub struct InvalidHash(String);

impl FromStr for CaseHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| InvalidHash(text.to_owned()))?;
        Ok(Self(*hash.as_bytes()))
    }
}
