use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::Variant;

/// A library that the variants of a run load, as it was when the run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryInfo {
    /// The name of the installation, such as `tensorrt-8.6`, or the path that a variant names in its place.
    pub name: String,
    /// The version that the packaging or the file names state.
    pub version: String,
    /// The files, the one that is loaded first.
    pub files: Vec<LibraryFileInfo>,
}

/// A file of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFileInfo {
    /// The file name, without a folder.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 in hexadecimal.
    pub sha256: String,
}

/// The libraries that variants load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries(Vec<(Variant, LibraryInfo)>);

/// A file that is not the same in two states of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryDifference {
    /// The file name.
    pub file: String,
    /// The SHA-256 in the earlier state; `None` if the library did not have the file.
    pub then: Option<String>,
    /// The SHA-256 in the later state; `None` if the library does not have the file.
    pub now: Option<String>,
}

/// How many digits of a SHA-256 a message shows.
const SHOWN_DIGITS: usize = 12;

impl LibraryInfo {
    /// The files in which this library differs from what it is `now`, by name.
    pub fn differences(&self, now: &Self) -> Vec<LibraryDifference> {
        let names: BTreeSet<&String> = self.files.iter().chain(&now.files).map(|file| &file.name).collect();
        let difference = |name: &String| {
            let (then, now) = (self.sha256_of(name), now.sha256_of(name));
            (then != now).then(|| LibraryDifference {
                file: name.clone(),
                then: then.map(str::to_owned),
                now: now.map(str::to_owned),
            })
        };
        names.into_iter().filter_map(difference).collect()
    }

    fn sha256_of(&self, file: &str) -> Option<&str> {
        self.files.iter().find(|one| one.name == file).map(|one| one.sha256.as_str())
    }
}

impl Libraries {
    /// The library that `variant`, or a variant that differs only in other options, loads; `None` if that is not known.
    pub fn of(&self, variant: &Variant) -> Option<&LibraryInfo> {
        self.0.iter().find_map(|(other, library)| other.shares_library(variant).then_some(library))
    }

    /// Every library once, in the order of the variants.
    pub fn each_once(&self) -> Vec<LibraryInfo> {
        let mut libraries: Vec<LibraryInfo> = Vec::new();
        for (_, library) in &self.0 {
            if !libraries.contains(library) {
                libraries.push(library.clone());
            }
        }
        libraries
    }
}

impl FromIterator<(Variant, LibraryInfo)> for Libraries {
    fn from_iter<I: IntoIterator<Item = (Variant, LibraryInfo)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl fmt::Display for LibraryDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, then, now } = self;
        let shortened =
            |digest: &Option<String>| digest.as_ref().map(|text| text.chars().take(SHOWN_DIGITS).collect());
        match (shortened(then), shortened(now)) {
            (Some::<String>(then), Some::<String>(now)) => {
                write!(f, "{file} has the SHA-256 {now}…, and had {then}… when this was recorded")
            }
            (None, _) => write!(f, "{file} was no part of the library when this was recorded"),
            (_, None) => write!(f, "{file} was part of the library when this was recorded, and is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(files: &[(&str, &str)]) -> LibraryInfo {
        let file = |(name, digit): &(&str, &str)| LibraryFileInfo {
            name: (*name).to_owned(),
            bytes: 1,
            sha256: digit.repeat(64),
        };
        LibraryInfo {
            name: "tensorrt-8.6".to_owned(),
            version: "8.6.0".to_owned(),
            files: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn only_files_with_other_bytes_differ() {
        let then = library(&[("libone.so", "1"), ("libtwo.so", "2"), ("libgone.so", "3")]);
        let now = library(&[("libtwo.so", "4"), ("libone.so", "1"), ("libnew.so", "5")]);
        let shown: Vec<_> = then.differences(&now).iter().map(LibraryDifference::to_string).collect();
        assert_eq!(
            shown,
            [
                "libgone.so was part of the library when this was recorded, and is missing",
                "libnew.so was no part of the library when this was recorded",
                "libtwo.so has the SHA-256 444444444444…, and had 222222222222… when this was recorded",
            ]
        );
        assert_eq!(then.differences(&then), []);
    }

    #[test]
    fn variants_share_the_library_of_their_product_and_version() {
        let variant = |text: &str| text.parse::<Variant>().unwrap();
        let (one, other) = (library(&[("libone.so", "1")]), library(&[("libother.so", "2")]));
        let libraries: Libraries = [
            (variant("trt,level=0,version=8.6"), one.clone()),
            (variant("trt-api,version=8.6"), one.clone()),
            (variant("trt,lib=/opt/other"), other.clone()),
        ]
        .into_iter()
        .collect();
        assert_eq!(libraries.of(&variant("trt,level=3,memory=off,version=8.6")), Some(&one));
        assert_eq!(libraries.of(&variant("trt,lib=/opt/other,level=3")), Some(&other));
        for elsewhere in ["trt", "trt,version=8.5", "ort:cpu", "external:trt", "golden"] {
            assert_eq!(libraries.of(&variant(elsewhere)), None, "{elsewhere}");
        }
        assert_eq!(libraries.each_once(), [one, other]);
    }
}
