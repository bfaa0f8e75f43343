use std::{
    collections::{BTreeMap, HashSet},
    fmt, mem,
    str::FromStr,
};

use twinfer_case::{BackendName, InvalidVariant, Variant};

/// A list of variants, as in `--backends`: `golden,ort:cpu,opt=off,trt-rtx` are three, the second with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants(pub Vec<Variant>);

impl Variants {
    /// The default list: backends that run on any machine.
    pub const DEFAULT: &str = "golden,ort:cpu,trt-rtx";

    /// The variants that are compared with golden, which are those that workers run.
    pub fn subjects(&self) -> Vec<Variant> {
        self.0.iter().filter(|variant| variant.backend != BackendName::Golden).cloned().collect()
    }
}

impl fmt::Display for Variants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        self.0.iter().try_for_each(|variant| write!(f, "{}{variant}", mem::replace(&mut separator, ",")))
    }
}

impl Default for Variants {
    fn default() -> Self {
        let backends = [BackendName::Golden, BackendName::OrtCpu, BackendName::TrtRtx];
        Self(backends.map(|backend| Variant { backend, options: BTreeMap::new() }).to_vec())
    }
}

/// Why a text is not a list of variants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVariants {
    /// An entry is not a variant.
    #[error(transparent)]
    Variant(#[from] InvalidVariant),
    /// The list begins with an option.
    #[error("option {0:?} belongs to no backend: write BACKEND,{0}")]
    StrayOption(String),
    /// A variant is listed twice.
    #[error("{0} is listed twice")]
    Twice(Variant),
}

impl FromStr for Variants {
    type Err = InvalidVariants;

    fn from_str(text: &str) -> Result<Self, InvalidVariants> {
        let mut texts: Vec<String> = Vec::new();
        for part in text.split(',') {
            match texts.last_mut() {
                Some(variant) if is_option(part) => variant.extend([",", part]),
                None if is_option(part) => return Err(InvalidVariants::StrayOption(part.to_owned())),
                _ => texts.push(part.to_owned()),
            }
        }
        let variants = texts.iter().map(|text| text.parse()).collect::<Result<Vec<Variant>, _>>()?;
        let mut seen = HashSet::new();
        match variants.iter().find(|variant| !seen.insert(*variant)) {
            Some(twice) => Err(InvalidVariants::Twice(twice.clone())),
            None => Ok(Self(variants)),
        }
    }
}

/// Whether a part is `key=value` with a plain key. The command of an external backend has a colon before any equals sign.
fn is_option(part: &str) -> bool {
    let plain =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    part.split_once('=').is_some_and(|(key, _)| plain(key))
}

#[cfg(test)]
mod tests {
    use super::{InvalidVariants, Variants};

    fn texts(list: &str) -> Vec<String> {
        let Variants(variants) = list.parse().unwrap();
        variants.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn default_text_parses_to_the_default() {
        assert_eq!(Ok(Variants::default()), Variants::DEFAULT.parse());
        assert_eq!(Variants::default().to_string(), Variants::DEFAULT);
    }

    #[test]
    fn an_option_belongs_to_the_backend_before_it() {
        assert_eq!(
            texts("golden,ort:cpu,opt=off,lib=/x,trt-rtx"),
            ["golden", "ort:cpu,lib=/x,opt=off", "trt-rtx"]
        );
    }

    #[test]
    fn the_command_of_an_external_backend_may_have_arguments() {
        assert_eq!(
            texts("external:./adapter.py --mode=a,ort:cpu"),
            ["external:./adapter.py --mode=a", "ort:cpu"]
        );
    }

    #[test]
    fn backend_listed_twice_is_an_error() {
        assert!(matches!("trt,ort:cpu,trt".parse::<Variants>(), Err(InvalidVariants::Twice(_))));
        assert!("ort:cpu,opt=off,ort:cpu,opt=all".parse::<Variants>().is_ok());
    }

    #[test]
    fn option_without_a_backend_is_an_error() {
        assert!(matches!("opt=off,ort:cpu".parse::<Variants>(), Err(InvalidVariants::StrayOption(_))));
    }
}
