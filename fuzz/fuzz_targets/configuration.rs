//! The value of an option in the first line, and a `twinfer.toml` in the rest.
#![no_main]

use std::{fmt::Display, path::Path, str::FromStr};

use libfuzzer_sys::fuzz_target;
use twinfer_case::{Shard, Variant};
use twinfer_configuration::{Configuration, Variants, VersionRange, seconds};

fuzz_target!(|text: &str| {
    let (option, file) = text.split_once('\n').unwrap_or((text, ""));
    options(option);
    if let Ok(configuration) = file.parse::<Configuration>() {
        check(&configuration);
    }
});

fn options(option: &str) {
    same_when_written::<Variant>(option);
    same_when_written::<Shard>(option);
    if let Ok(Variants(variants)) = option.parse() {
        let written: Vec<_> = variants.iter().map(ToString::to_string).collect();
        assert_eq!(written.join(",").parse(), Ok(Variants(variants)));
    }
    if let Ok(shard) = option.parse::<Shard>() {
        assert!(shard.index() < shard.count());
    }
    assert!(seconds(option).is_ok_and(|seconds| seconds > 0) || seconds(option).is_err());
    if let Ok(range) = option.parse::<VersionRange>() {
        range.holds(option);
        range.holds("1.31.1");
    }
}

fn same_when_written<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert!(value.to_string().parse::<T>().is_ok_and(|again| again == value));
    }
}

/// A signature that names a folder is a plain file name.
fn check(configuration: &Configuration) {
    for issue in &configuration.known {
        let path = Path::new("known").join(&issue.finding);
        assert_eq!(path.parent(), Some(Path::new("known")), "{:?}", issue.finding);
        assert!(!issue.finding.contains('\0'));
        issue.versions.holds("8.6.0");
        let _ = issue.review.map(|day| day.to_string());
    }
    if let Some(variants) = &configuration.backends {
        assert!(variants.subjects().len() <= variants.0.len());
    }
}
