//! Options of a variant, drawn from the table.

use std::collections::BTreeMap;

use nvinfer::{Family, Product, Version};
use twinfer_case::{BackendName, OptionKey, Variant};

use super::table::{ListedOption, options_of};

/// The options that are drawn: what is asked of an engine, not where and how hard its kernels are looked for, which is the ladder's.
pub const DRAWN: [OptionKey; 7] = [
    OptionKey::Constraints,
    OptionKey::Layers,
    OptionKey::Precision,
    OptionKey::Profile,
    OptionKey::Refit,
    OptionKey::Timing,
    OptionKey::VersionCompatible,
];

/// The most options of one set.
const MOST: u64 = 3;

/// Up to `count` sets of options for `variant`, each with other values than the defaults and with values that `release` has, such as
/// `8.6.0`; fewer if there are no more. Without a GPU no refittable engines, which need one. Options that the variant sets are not drawn. The same seed gives the same sets.
pub fn sample_options(
    variant: &Variant,
    (release, has_gpu): (&str, bool),
    seed: u64,
    count: usize,
) -> Vec<BTreeMap<String, String>> {
    let version = version(&variant.backend, release);
    let is_drawn = |option: &ListedOption| {
        DRAWN.contains(&option.key)
            && (has_gpu || option.key != OptionKey::Refit)
            && !variant.options.contains_key(option.key.key())
    };
    let choices: Vec<(&str, Vec<String>)> = options_of(&variant.backend)
        .into_iter()
        .filter(is_drawn)
        .map(|option| (option.key.key(), values(option, version)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    let mut numbers = Numbers(seed);
    let mut sets = Vec::new();
    // sets that were drawn before are drawn again
    for _ in 0..count * 16 {
        if sets.len() == count || choices.is_empty() {
            break;
        }
        let mut set = BTreeMap::new();
        for _ in 0..=numbers.below(MOST) {
            let (key, values) = &choices[numbers.place(choices.len())];
            set.insert((*key).to_owned(), values[numbers.place(values.len())].clone());
        }
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// The values of an option that a release has, but the default.
fn values(option: ListedOption, version: Option<Version>) -> Vec<String> {
    let is_had = |releases: Option<nvinfer::Availability>| {
        releases.is_none_or(|releases| version.is_some_and(|version| releases.includes(version)))
    };
    let values = option.values.into_iter().filter(|value| value.text != option.default);
    values.filter(|value| is_had(value.releases)).map(|value| value.text).collect()
}

/// A release as its library numbers it.
fn version(backend: &BackendName, release: &str) -> Option<Version> {
    let product = if *backend == BackendName::TrtRtx { Product::TensorRtRtx } else { Product::TensorRt };
    let mut parts = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    let (major, minor, patch) = (part(), part(), part());
    let is_narrow = product == Product::TensorRt && major < 10;
    let number = major * if is_narrow { 1_000 } else { 10_000 } + minor * 100 + patch;
    Version::from_number(number).filter(|version| Family::product(version.family()) == product)
}

/// Numbers that follow from a seed: `SplitMix64`.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn place(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(variant: &str, release: &str, seed: u64, count: usize) -> Vec<String> {
        let sets = sample_options(&variant.parse().unwrap(), (release, true), seed, count);
        let text = |set: BTreeMap<String, String>| {
            set.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
        };
        sets.into_iter().map(text).collect()
    }

    #[test]
    fn same_seed_draws_the_same_sets() {
        assert_eq!(sample("trt", "8.6.0", 7, 5), sample("trt", "8.6.0", 7, 5));
        assert_ne!(sample("trt", "8.6.0", 7, 5), sample("trt", "8.6.0", 8, 5));
    }

    #[test]
    fn every_value_that_the_release_has_is_drawn() {
        let drawn = sample("trt", "8.6.0", 1, 200).join(" ");
        for value in [
            "precision=fp32",
            "precision=tf32",
            "precision=fp16",
            "precision=int8",
            "precision=best",
            "vc=on",
            "refit=on",
            "layers=alternate",
            "constraints=obey",
            "profile=beyond",
            "timing=worker",
        ] {
            assert!(drawn.contains(value), "{value}");
        }
    }

    #[test]
    fn values_that_the_release_lacks_are_not_drawn() {
        let drawn = |variant: &str, release: &str| sample(variant, release, 1, 200).join(" ");
        assert!(!drawn("trt", "8.6.0").contains("bf16") && drawn("trt", "10.0.1").contains("bf16"));
        assert!(!drawn("trt", "8.5.3.1").contains("vc") && !drawn("trt-rtx", "1.7.1.116").contains("fp16"));
        assert!(drawn("trt-rtx", "1.7.1.116").contains("precision=tf32"));
    }

    #[test]
    fn refittable_engines_are_drawn_only_with_a_gpu() {
        let sets = sample_options(&"trt-rtx".parse().unwrap(), ("1.7.1", false), 1, 200);
        assert!(!sets.is_empty() && sets.iter().all(|set| !set.contains_key("refit")));
    }

    #[test]
    fn options_that_are_set_and_other_backends_have_nothing_to_draw() {
        assert!(!sample("trt,precision=fp32", "8.6.0", 1, 100).join(" ").contains("precision"));
        assert!(sample("ort:cpu", "1.31.1", 1, 5).is_empty());
    }
}
