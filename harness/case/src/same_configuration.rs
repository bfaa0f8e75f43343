use crate::{BackendName, Description, Libraries, OptionKey, Variant};

/// Two variants are one configuration of one library. It agrees with itself, so that comparing the two would show nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} the same configuration of the same library: leave one of them out, or set another option", self.named())]
pub struct SameConfiguration {
    /// The variant that is listed first.
    pub one: Variant,
    /// The other one.
    pub other: Variant,
}

/// A variant with what its worker says when it starts.
type Described<'a> = (&'a Variant, &'a Description);

impl SameConfiguration {
    /// Such as `ort:cpu and ort:cpu,opt=all are`; one variant may stand for two that were asked for.
    fn named(&self) -> String {
        let Self { one, other } = self;
        if one == other { format!("two backends are {one},") } else { format!("{one} and {other} are") }
    }

    /// Looks for two variants that load the same files and run with the same options, defaults included. Nothing is known of `external:` backends, nor
    /// of those whose library is not in `libraries`.
    pub fn find(described: &[Described<'_>], libraries: &Libraries) -> Option<Self> {
        let pairs = described
            .iter()
            .enumerate()
            .flat_map(|(place, one)| described[place + 1..].iter().map(move |other| (*one, *other)));
        let same = pairs.into_iter().find(|(one, other)| is_same(*one, *other, libraries));
        same.map(|(one, other)| Self { one: one.0.clone(), other: other.0.clone() })
    }
}

fn is_same((one, of_one): Described<'_>, (other, of_other): Described<'_>, libraries: &Libraries) -> bool {
    let files = |variant| libraries.of(variant).map(|library| &library.files);
    !matches!(one.backend, BackendName::External(_))
        && one.backend == other.backend
        && of_one == of_other
        && files(one).is_some()
        && files(one) == files(other)
        && unstated(one, of_one) == unstated(other, of_other)
}

/// The options of a variant that its worker does not state, but for those that choose the library.
fn unstated<'a>(variant: &'a Variant, description: &Description) -> Vec<(&'a String, &'a String)> {
    let chooses_library =
        |key: &str| [OptionKey::Library, OptionKey::Version].iter().any(|one| one.key() == key);
    let is_unstated = |key: &str| !description.options.contains_key(key) && !chooses_library(key);
    variant.options.iter().filter(|(key, _)| is_unstated(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LibraryFileInfo, LibraryInfo, Stage};

    fn description(options: &[(&str, &str)]) -> Description {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Description { options: options.collect(), ..Description::new("backend", "1.0", Stage::Execute) }
    }

    fn library(name: &str, sha256: &str) -> LibraryInfo {
        let file = LibraryFileInfo { name: "lib.so".to_owned(), bytes: 1, sha256: sha256.to_owned() };
        LibraryInfo { name: name.to_owned(), version: "1.0".to_owned(), files: vec![file] }
    }

    /// Whether two variants are one configuration, with the options that their workers state and the digests of their libraries.
    fn are_same(variants: [&str; 2], stated: [&[(&str, &str)]; 2], digests: [&str; 2]) -> bool {
        let variants = variants.map(|text| text.parse::<Variant>().unwrap());
        let descriptions = stated.map(description);
        let libraries = variants.iter().zip(digests);
        let libraries =
            libraries.map(|(variant, digest)| (variant.clone(), library(&variant.to_string(), digest)));
        let described: Vec<_> = variants.iter().zip(&descriptions).collect();
        SameConfiguration::find(&described, &libraries.collect()).is_some()
    }

    #[test]
    fn default_and_version_by_name_make_no_other_configuration() {
        let all: &[_] = &[("opt", "all")];
        assert!(are_same(["ort:cpu", "ort:cpu,opt=all"], [all, all], ["a", "a"]));
        assert!(are_same(["ort:cpu", "ort:cpu,version=1.31"], [all, all], ["a", "a"]));
    }

    #[test]
    fn error_names_both_or_the_one_that_stands_for_both() {
        let same = |one: &str, other: &str| {
            SameConfiguration { one: one.parse().unwrap(), other: other.parse().unwrap() }.to_string()
        };
        assert!(same("ort:cpu", "ort:cpu,opt=all").starts_with("ort:cpu and ort:cpu,opt=all are the same"));
        assert!(same("ort:cpu", "ort:cpu").starts_with("two backends are ort:cpu, the same"));
    }

    #[test]
    fn other_option_or_library_makes_another_configuration() {
        let [all, off]: [&[_]; 2] = [&[("opt", "all")], &[("opt", "off")]];
        assert!(!are_same(["ort:cpu", "ort:cpu,opt=off"], [all, off], ["a", "a"]));
        assert!(!are_same(["ort:cpu", "ort:cpu,version=1.20"], [all, all], ["a", "b"]));
        assert!(!are_same(["ort:cpu", "ort:cpu,unknown=1"], [all, all], ["a", "a"]));
        assert!(!are_same(["ort:cpu", "ort:cuda"], [all, all], ["a", "a"]));
        assert!(!are_same(["external:a", "external:b"], [&[], &[]], ["a", "a"]));
    }
}
