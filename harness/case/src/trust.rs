//! Which variants may run: those that the user gave, and of those that a file names only the ones that name no code.

use std::{collections::BTreeMap, fmt, ops::Deref};

use crate::{BackendName, MemoryMode, OptionKey, OptionValue, Variant};

/// A variant that may run. Workers are started for this type only.
///
/// A [`Variant`] is data: findings, recordings, run directories and configuration files hold some, and anyone may have
/// written those. `external:COMMAND` and `lib=PATH` in one of them would run code of the file's author. So there are two ways
/// to this type:
///
/// - [`vouch`](Self::vouch) for a variant that the user typed, or that the program itself made up.
/// - [`Trust::admit`] a variant that comes from a file.
///
/// ```
/// use twinfer_case::{Trust, TrustedVariant, Variant};
///
/// // the values of `--backends`
/// let given = [TrustedVariant::vouch("external:./adapter.py".parse()?)];
///
/// // what a file holds: built-in backends run, and code only if the user gave the same code
/// let trust = Trust::Given(&given);
/// assert!(trust.admit(&"ort:cpu,opt=off".parse()?).is_ok());
/// assert!(trust.admit(&"external:./adapter.py".parse()?).is_ok());
/// assert!(trust.admit(&"ort:cpu,lib=/tmp/evil.so".parse()?).is_err());
///
/// // with `--trust`
/// assert!(Trust::Everything.admit(&"ort:cpu,lib=/tmp/evil.so".parse()?).is_ok());
/// # Ok::<(), twinfer_case::InvalidVariant>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustedVariant(Variant);

/// What the user vouches for, against which the variants of files are checked.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// The code that these variants name, which the user gave on the command line. Empty if the user gave none.
    Given(&'a [TrustedVariant]),
    /// Whatever the file names, by `--trust`.
    Everything,
}

/// The error of a variant of a file that names code for which the user does not vouch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UntrustedVariant {
    /// The variant.
    pub variant: Variant,
    /// The part of it that may not come from a file.
    pub part: UntrustedPart,
}

/// A part of a variant that may not come from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UntrustedPart {
    /// The command of an external backend.
    Command(String),
    /// An option whose value is a path, or is not a plain word.
    Path {
        /// The option.
        key: String,
        /// Its value.
        value: String,
    },
    /// An option that no built-in backend has.
    Unknown {
        /// The option.
        key: String,
    },
}

impl TrustedVariant {
    /// A variant for which the caller vouches: the user typed it, or the program made it up of nothing that a file holds.
    pub const fn vouch(variant: Variant) -> Self {
        Self(variant)
    }

    /// This variant with `options` in addition to its own. They must come from its own backend, which runs already.
    #[must_use]
    pub fn with(&self, options: &BTreeMap<String, String>) -> Self {
        Self(self.0.with(options))
    }

    /// This variant without an option.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let mut variant = self.0.clone();
        variant.options.remove(key);
        Self(variant)
    }

    /// This variant with [`mode`](MemoryMode) in place of its own.
    #[must_use]
    pub fn with_memory(&self, mode: MemoryMode) -> Self {
        Self(self.0.with_memory(mode))
    }

    /// The variant that a campaign screens cases with; see [`Variant::for_screening`].
    #[must_use]
    pub fn for_screening(&self) -> Self {
        Self(self.0.for_screening())
    }

    /// The variant as data.
    pub fn into_inner(self) -> Variant {
        self.0
    }
}

impl Deref for TrustedVariant {
    type Target = Variant;

    fn deref(&self) -> &Variant {
        &self.0
    }
}

impl fmt::Display for TrustedVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Trust<'_> {
    /// Checks a variant that a file names: it may run if it names no code, or only code for which the user vouches.
    pub fn admit(self, variant: &Variant) -> Result<TrustedVariant, UntrustedVariant> {
        let is_vouched = match self {
            Self::Everything => true,
            Self::Given(given) => given.iter().any(|given| names_same_code(variant, given)),
        };
        match untrusted_part(variant) {
            Some(part) if !is_vouched => Err(UntrustedVariant { variant: variant.clone(), part }),
            _ => Ok(TrustedVariant(variant.clone())),
        }
    }
}

/// Whether the code that `variant` names is the code that `given` names. The options of the same external program are its own.
fn names_same_code(variant: &Variant, given: &Variant) -> bool {
    if variant.backend != given.backend {
        return false;
    }
    let is_given = |(key, value): (&String, &String)| given.options.get(key) == Some(value);
    let is_external = matches!(variant.backend, BackendName::External(_));
    is_external || variant.options.iter().all(|option| is_given(option) || untrusted_option(option).is_none())
}

/// The first part of a variant that may not come from a file.
fn untrusted_part(variant: &Variant) -> Option<UntrustedPart> {
    match &variant.backend {
        BackendName::External(command) => Some(UntrustedPart::Command(command.clone())),
        _ => variant.options.iter().find_map(untrusted_option),
    }
}

fn untrusted_option((key, value): (&String, &String)) -> Option<UntrustedPart> {
    match OptionKey::named(key).map(OptionKey::value) {
        None => Some(UntrustedPart::Unknown { key: key.clone() }),
        Some(OptionValue::Word) if is_word(value) => None,
        Some(OptionValue::Word | OptionValue::Path) => {
            Some(UntrustedPart::Path { key: key.clone(), value: value.clone() })
        }
    }
}

/// Whether a text is a word, a number or a version, and no path.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_plain)
}

impl fmt::Display for UntrustedVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variant, part } = self;
        let variant = variant.to_string();
        match part {
            UntrustedPart::Command(command) => write!(f, "{variant:?} would run the command {command:?}"),
            UntrustedPart::Path { key, value } => {
                write!(f, "{variant:?} would load code from {key}={value:?}")
            }
            UntrustedPart::Unknown { key } => write!(f, "{variant:?} has an unknown option {key:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(texts: &[&str]) -> Vec<TrustedVariant> {
        texts.iter().map(|text| TrustedVariant::vouch(text.parse().unwrap())).collect()
    }

    /// Whether a file may name `variant` if the user gave `given`.
    fn admits(given: &[&str], variant: &str) -> bool {
        Trust::Given(&variants(given)).admit(&variant.parse().unwrap()).is_ok()
    }

    #[test]
    fn file_may_name_built_in_backends_with_words() {
        for variant in
            ["golden", "ort:cpu,opt=off", "trt,level=3,sources=edge-mask,version=8.6", "ort:cuda,device=1"]
        {
            assert!(admits(&[], variant), "{variant}");
        }
    }

    #[test]
    fn file_may_name_no_command_and_no_path() {
        for variant in [
            "external:touch /tmp/x",
            "ort:cpu,lib=/tmp/evil.so",
            "ort:cpu,lib=evil",
            "trt,version=8.6/../../../tmp/evil",
            "trt,version=..",
            "ort:cpu,opt=",
            "trt,plugin=evil",
        ] {
            assert!(!admits(&[], variant), "{variant}");
            assert!(Trust::Everything.admit(&variant.parse().unwrap()).is_ok(), "{variant}");
        }
    }

    #[test]
    fn code_that_the_user_gave_may_be_named() {
        assert!(admits(&["external:./a.py"], "external:./a.py,mode=fast"));
        assert!(admits(&["ort:cpu,lib=/opt/ort"], "ort:cpu,lib=/opt/ort,opt=off"));
    }

    #[test]
    fn other_code_than_the_user_gave_may_not_be_named() {
        assert!(!admits(&["external:./a.py"], "external:./b.py"));
        assert!(!admits(&["external:./a.py"], "ort:cpu,lib=/tmp/evil.so"));
        assert!(!admits(&["ort:cpu,lib=/opt/ort"], "ort:cpu,lib=/tmp/evil.so"));
        assert!(!admits(&["ort:cpu,lib=/opt/ort"], "ort:cuda,lib=/opt/ort"));
    }

    #[test]
    fn the_error_names_the_code_without_control_characters() {
        let message =
            |variant: &str| Trust::Given(&[]).admit(&variant.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            message("external:touch /tmp/x\u{1b}[2J"),
            r#""external:touch /tmp/x\u{1b}[2J" would run the command "touch /tmp/x\u{1b}[2J""#
        );
        assert_eq!(
            message("ort:cpu,lib=/tmp/evil.so"),
            r#""ort:cpu,lib=/tmp/evil.so" would load code from lib="/tmp/evil.so""#
        );
    }
}
