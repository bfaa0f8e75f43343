use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Something that takes an ONNX model and inputs and answers with an observation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Backend {
    /// The reference, in process.
    Golden,
    /// ONNX Runtime's CPU execution provider: `ort:cpu`.
    OrtCpu,
    /// ONNX Runtime's CUDA execution provider: `ort:cuda`.
    OrtCuda,
    /// TensorRT through its ONNX parser: `trt`.
    Trt,
    /// TensorRT with the network built layer by layer: `trt-api`.
    TrtApi,
    /// TensorRT-RTX through its ONNX parser: `trt-rtx`.
    TrtRtx,
    /// Any program that speaks the worker protocol: `external:CMD`.
    External(String),
}

/// A backend with its resolved options; observations, expectations and reports are keyed by it.
///
/// Written `backend`, or `backend,key=value,…` with the keys in order: `ort:cpu,opt=off`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Variant {
    /// Which backend.
    pub backend: Backend,
    /// Its options, by key.
    pub options: BTreeMap<String, String>,
}

/// A text that names no variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVariant {
    /// The backend is not one of ours.
    #[error(
        "unknown backend {0:?}: it is one of golden, ort:cpu, ort:cuda, trt, trt-api, trt-rtx, external:CMD"
    )]
    Backend(String),
    /// An option lacks its value.
    #[error("option {0:?} is not of the form key=value")]
    Option(String),
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Golden => f.write_str("golden"),
            Self::OrtCpu => f.write_str("ort:cpu"),
            Self::OrtCuda => f.write_str("ort:cuda"),
            Self::Trt => f.write_str("trt"),
            Self::TrtApi => f.write_str("trt-api"),
            Self::TrtRtx => f.write_str("trt-rtx"),
            Self::External(command) => write!(f, "external:{command}"),
        }
    }
}

impl FromStr for Backend {
    type Err = InvalidVariant;

    fn from_str(text: &str) -> Result<Self, InvalidVariant> {
        Ok(match text {
            "golden" => Self::Golden,
            "ort:cpu" => Self::OrtCpu,
            "ort:cuda" => Self::OrtCuda,
            "trt" => Self::Trt,
            "trt-api" => Self::TrtApi,
            "trt-rtx" => Self::TrtRtx,
            _ => match text.strip_prefix("external:") {
                Some(command) if !command.is_empty() => Self::External(command.to_owned()),
                _ => return Err(InvalidVariant::Backend(text.to_owned())),
            },
        })
    }
}

impl Variant {
    /// The same backend with these options in the place of its own.
    #[must_use]
    pub fn with(&self, options: &BTreeMap<String, String>) -> Self {
        let mut variant = self.clone();
        variant.options.extend(options.clone());
        variant
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.backend)?;
        self.options.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

impl FromStr for Variant {
    type Err = InvalidVariant;

    fn from_str(text: &str) -> Result<Self, InvalidVariant> {
        let mut parts = text.split(',');
        let backend = parts.next().unwrap_or_default().parse()?;
        let options = parts
            .map(|part| match part.split_once('=') {
                Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
                None => Err(InvalidVariant::Option(part.to_owned())),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { backend, options })
    }
}

macro_rules! text_form {
    ($type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
        impl TryFrom<String> for $type {
            type Error = InvalidVariant;
            fn try_from(text: String) -> Result<Self, InvalidVariant> {
                text.parse()
            }
        }
    };
}
text_form!(Backend);
text_form!(Variant);
