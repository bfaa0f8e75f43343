//! Whether the baseline distribution still gives the cases that figures were measured on.

use twinfer_case::Task;
use twinfer_generators::{Distribution, Family};

const SEEDS: [u64; 2] = [0, 20_261_124];
const CASES: u64 = 500;

/// The checksum over the first cases of each family, as the last version without distributions computed it.
const CHECKSUMS: [(Family, &str); 6] = [
    (Family::Conv, "7bc7d277ec0aba28"),
    (Family::Deconv, "709238c9db15fc06"),
    (Family::QdqConv, "f961b52ba4fe7e05"),
    (Family::QdqDeconv, "9b0a31fe0bd71b89"),
    (Family::Block, "24ce03a40a828ce6"),
    (Family::Invalid, "c869ec536e12ae6c"),
];

#[test]
fn baseline_cases_never_change() {
    for (family, expected) in CHECKSUMS {
        assert_eq!(checksum(family), expected, "{family}");
    }
}

fn checksum(family: Family) -> String {
    let mut hasher = blake3::Hasher::new();
    for seed in SEEDS {
        let stream = family.stream(Distribution::Baseline, seed);
        for index in 0..CASES {
            let task = Task::of(&stream.case(index)).expect("generated cases are small");
            hasher.update(task.hash.to_string().as_bytes());
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
