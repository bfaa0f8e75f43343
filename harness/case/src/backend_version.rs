use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A backend's name for itself with the version of the library that does the work, such as `ONNX Runtime 1.31.1`.
///
/// It is stored as one text, whose last word is the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub struct BackendVersion {
    name: String,
    version: String,
}

impl BackendVersion {
    /// The version of the backend of this name. All words of `version` but the last become part of the name, as they do when
    /// the stored text is read.
    pub fn new(name: &str, version: &str) -> Self {
        Self::from(format!("{name} {version}"))
    }

    /// The backend's name for itself, such as `ONNX Runtime`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version alone, such as `1.31.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl From<String> for BackendVersion {
    fn from(text: String) -> Self {
        let (name, version) = text.rsplit_once(' ').unwrap_or(("", &text));
        Self { name: name.to_owned(), version: version.to_owned() }
    }
}

impl From<&str> for BackendVersion {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl fmt::Display for BackendVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => f.write_str(&self.version),
            name => write!(f, "{name} {}", self.version),
        }
    }
}

impl Serialize for BackendVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_the_version() {
        let read = BackendVersion::from("ONNX Runtime CPUExecutionProvider 1.31.1");
        assert_eq!((read.name(), read.version()), ("ONNX Runtime CPUExecutionProvider", "1.31.1"));
        assert_eq!(read, BackendVersion::new("ONNX Runtime CPUExecutionProvider", "1.31.1"));
        assert_eq!(BackendVersion::from("1.0").version(), "1.0");
    }

    #[test]
    fn a_version_is_stored_as_one_text() {
        for (name, version) in [("TensorRT", "8.6.0"), ("mine", "1 beta"), ("mine", ""), ("", "1")] {
            let written = BackendVersion::new(name, version);
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<BackendVersion>(&text).unwrap(), written, "{text}");
            assert_eq!(text.trim_matches('"'), format!("{name} {version}").trim_start());
        }
    }
}
