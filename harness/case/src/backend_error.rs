use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The most bytes of a code.
const MAX_CODE: usize = 40;

/// An error that a backend reported.
///
/// It is stored and sent as its message alone, which begins with the code if there is one: `InvalidGraph: node 7`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct BackendError {
    code: Option<String>,
    message: String,
}

impl BackendError {
    /// An error whose `code` names its kind, with what the backend says besides.
    pub fn with_code(code: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self::from(format!("{code}: {text}"))
    }

    /// What names the kind of the error and tells it from others: what precedes the first colon of the message; `None`
    /// if that is longer than 40 bytes or has characters that occur in paths, addresses and sentences.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The same error with a message of at most `bytes` bytes and the same code.
    #[must_use]
    pub(crate) fn shortened(&self, bytes: usize) -> Self {
        Self { code: self.code.clone(), message: shortened(&self.message, bytes) }
    }

    /// All that the backend reported, the code included.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<String> for BackendError {
    fn from(message: String) -> Self {
        Self { code: code(&message).map(str::to_owned), message }
    }
}

impl From<&str> for BackendError {
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Serialize for BackendError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.message)
    }
}

/// The first `bytes` bytes of a text, with an ellipsis if that is not all of it.
pub(crate) fn shortened(text: &str, bytes: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(ELLIPSIS.len()));
    format!("{}{ELLIPSIS}", &text[..end])
}

fn code(message: &str) -> Option<&str> {
    let (code, _) = message.split_once(':')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
    (!code.is_empty() && code.len() <= MAX_CODE && code.chars().all(is_plain)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_what_precedes_the_first_colon_if_plain() {
        let code = |message: &str| BackendError::from(message).code().map(str::to_owned);
        assert_eq!(code("InvalidGraph: node 7 at /tmp/x").as_deref(), Some("InvalidGraph"));
        assert_eq!(code("parse error 8: input tensor").as_deref(), Some("parse error 8"));
        assert_eq!(code("something at 0x7f: failed (x)").as_deref(), Some("something at 0x7f"));
        assert_eq!(code("node 7 (Conv): failed"), None);
        assert_eq!(code("no colon"), None);
    }

    #[test]
    fn shortened_error_keeps_its_code() {
        let error = BackendError::with_code("InvalidGraph", "ö".repeat(600));
        let short = error.shortened(100);
        assert_eq!(short.code(), error.code());
        assert!(short.message().len() <= 100 && short.message().ends_with("ö…"), "{short}");
        assert_eq!(error.shortened(5000), error);
    }

    #[test]
    fn an_error_is_stored_as_its_message() {
        let error = BackendError::with_code("InvalidGraph", "node 7");
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(text, r#""InvalidGraph: node 7""#);
        assert_eq!(serde_json::from_str::<BackendError>(&text).unwrap(), error);
    }
}
