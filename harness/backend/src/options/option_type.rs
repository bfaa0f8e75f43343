use std::path::PathBuf;

use nvinfer::Availability;
use twinfer_case::{MemoryMode, PoisonPattern};

/// The values of an option: how they are written, and which releases take them.
pub trait OptionType: Sized + 'static {
    /// The value that `text` writes; `None` if it writes none.
    fn read(text: &str) -> Option<Self>;

    /// The value as variants are written.
    fn written(&self) -> String;

    /// All values, in the order in which messages list them.
    fn forms() -> Vec<Form>;

    /// The releases of TensorRT that take the value; `None` if all do.
    fn releases(&self) -> Option<Availability> {
        None
    }
}

/// A value of an option, or several of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The value as variants are written, or what values of this form are.
    pub text: String,
    /// The releases of TensorRT that take it; `None` if all do.
    pub releases: Option<Availability>,
}

/// The values of an option, each named by a word.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with their values, in the order in which messages list them.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }

    /// The value that `word` names; `None` if it names none.
    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
    }

    /// The releases of TensorRT that have what the value needs; `None` if all do.
    fn needs(self) -> Option<Availability> {
        None
    }
}

impl<T: Choice> OptionType for T {
    fn read(text: &str) -> Option<Self> {
        Self::named(text)
    }

    fn written(&self) -> String {
        self.word().to_owned()
    }

    fn forms() -> Vec<Form> {
        let form =
            |(word, choice): &(&str, Self)| Form { text: (*word).to_owned(), releases: choice.needs() };
        Self::WORDS.iter().map(form).collect()
    }

    fn releases(&self) -> Option<Availability> {
        self.needs()
    }
}

impl Form {
    /// Values that every release takes.
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), releases: None }
    }
}

/// The number of a device.
impl OptionType for u16 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn written(&self) -> String {
        self.to_string()
    }

    fn forms() -> Vec<Form> {
        vec![Form::of("a device's number")]
    }
}

/// A library's file or folder; empty for the installed one.
impl OptionType for PathBuf {
    fn read(text: &str) -> Option<Self> {
        Some(text.into())
    }

    fn written(&self) -> String {
        self.display().to_string()
    }

    fn forms() -> Vec<Form> {
        vec![Form::of("a file or a folder")]
    }
}

/// A release of an installed library; empty for the newest one.
impl OptionType for String {
    fn read(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn written(&self) -> String {
        self.clone()
    }

    fn forms() -> Vec<Form> {
        vec![Form::of("a release, such as 8.6")]
    }
}

impl Choice for MemoryMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        (Self::Off.word(), Self::Off),
        (Self::Attributes.word(), Self::Attributes),
        (Self::Keep.word(), Self::Keep),
        (Self::Poison(PoisonPattern::Nan).word(), Self::Poison(PoisonPattern::Nan)),
        (Self::Poison(PoisonPattern::Large).word(), Self::Poison(PoisonPattern::Large)),
    ];
}
