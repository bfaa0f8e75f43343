//! Errors of rten, with a code that is the same for all models that cause them.

use std::fmt;

use rten::{LoadError, RunError};
use twinfer_case::BackendError;

/// The most characters of a code that twinfer takes.
const MAX_CODE: usize = 40;

/// rten says no to a model or to its inputs.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    code: String,
    text: String,
}

impl Refusal {
    /// A refusal of this worker, which does not pass the model on to rten.
    pub fn new(code: &str, text: impl fmt::Display) -> Self {
        Self { code: code.to_owned(), text: text.to_string() }
    }

    /// An error whose text is rten's. Its code is what the text says without the model's names and numbers.
    fn of_text(text: String) -> Self {
        Self { code: code(&text), text }
    }
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        Self::of_text(error.to_string())
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        Self::of_text(error.to_string())
    }
}

impl From<Refusal> for BackendError {
    fn from(refusal: Refusal) -> Self {
        Self::with_code(refusal.code, refusal.text)
    }
}

/// The end of the text that says what is wrong, without the operator's name in front and the inputs' shapes behind, in plain words.
fn code(text: &str) -> String {
    let about = text.split_once(". Inputs were (").map_or(text, |(about, _)| about);
    let words = about.split('"').step_by(2).collect::<String>();
    let plain: String = words.chars().map(|c| if c.is_ascii_alphabetic() { c } else { ' ' }).collect();
    let words: Vec<_> = plain.split_whitespace().collect();
    shortest_end(&words)
}

/// As many of the last words as a code can have.
fn shortest_end(words: &[&str]) -> String {
    let fits = |from: &usize| words[*from..].join(" ").len() <= MAX_CODE;
    (0..words.len()).find(fits).map_or_else(|| "error".to_owned(), |from| words[from..].join(" "))
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn code_is_the_same_for_other_names_and_shapes() {
        let of = |node: &str, shape: &str| {
            code(&format!(
                "operator \"{node}\" failed: input or attribute has invalid value: expected 2 stride values. Inputs were ({shape})"
            ))
        };
        assert_eq!(of("n0", "f32 1x2"), "has invalid value expected stride values");
        assert_eq!(of("n0", "f32 1x2"), of("conv", "i8 5, -"));
    }

    #[test]
    fn code_of_a_text_without_words_is_not_empty() {
        assert_eq!(code("12: \"x\""), "error");
    }
}
