//! Cases that also run with poisoned memory.

use std::{fs, num::NonZeroU64, time::Duration};

use twinfer_case::{Budget, Kind, MemoryMode, PoisonPattern, TrustedVariant, Variant, VariantSummary};

use crate::{
    actor::role::Role,
    setup::{TestCampaign, against},
};

/// A campaign against an actor in place of a backend with this memory, of whose cases one in `every` is poisoned.
fn poisoning(role: Role, memory: MemoryMode, cases: u64, every: u64) -> TestCampaign {
    let mut campaign = against(role, cases);
    let variant: Variant = "ort:cuda".parse().unwrap();
    campaign.options.variants = vec![TrustedVariant::vouch(variant.with_memory(memory))];
    campaign.options.worker.args = vec![role.to_string()];
    campaign.options.poison_every = NonZeroU64::new(every);
    campaign
}

#[test]
fn one_case_in_many_runs_with_a_pattern_of_its_own() {
    let outcome = poisoning(Role::Honest, MemoryMode::Keep, 200, 4).run();
    let [base, nan, large]: &[VariantSummary; 3] = outcome.summary.variants.as_slice().try_into().unwrap();
    assert_eq!(nan.variant.poison_of(&base.variant), Some(PoisonPattern::Nan));
    assert_eq!(large.variant.poison_of(&base.variant), Some(PoisonPattern::Large));
    assert!(outcome.journal().iter().all(|record| record.variants.len() <= 2), "one pattern a case");
    let poisoned = nan.cases() + large.cases();
    assert!(poisoned > 25 && poisoned < 100 && nan.cases() > 5 && large.cases() > 5, "{poisoned} of 200");
    assert!(base.cases() == 200 && base.divergences.is_empty());
}

#[test]
fn what_only_poison_shows_is_a_finding_of_that_variant() {
    for (role, kind) in
        [(Role::WritesOutOfBounds, Kind::OutOfBoundsWrite), (Role::ReadsUnwrittenMemory, Kind::WrongValues)]
    {
        let outcome = poisoning(role, MemoryMode::Keep, 100, 4).run();
        let [base, rungs @ ..] = outcome.summary.variants.as_slice() else { panic!("there are variants") };
        assert!(base.divergences.is_empty());
        assert!(rungs.iter().all(|rung| rung.first_seen[&kind] > 0 && rung.first_seen == rung.divergences));
        let findings = outcome.findings();
        let finding = findings.first().expect("the bug is found");
        assert_eq!((finding.kind, finding.after.nodes), (kind, 1), "{}", finding.graph);
        assert!(finding.seen_in.iter().all(|sighting| sighting.variant.poison_of(&base.variant).is_some()));
        assert!(finding.only_poisoned);
        let folder = outcome.out.join("findings").join(finding.signature.slug());
        let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert!(file("finding.json").contains("\"only_poisoned\": true"));
        assert!(file("finding.snap").contains("seen only with poisoned memory: memory=poison-"));
    }
}

#[test]
fn poisoned_cases_are_identical_for_one_and_six_jobs() {
    let mut campaign = poisoning(Role::ReadsUnwrittenMemory, MemoryMode::Keep, 80, 3);
    let one = campaign.record(1, 1);
    assert!(one.journal.iter().any(|record| record.variants.len() == 2));
    campaign.record(6, 3).assert_same(&one);
}

/// Rungs of a ladder may take as long as the campaign. What waits for them has verdicts all the same, and cases with poisoned memory do not wait.
#[test]
fn rungs_that_take_long_cost_no_case_and_delay_no_poison() {
    let mut campaign = poisoning(Role::HangsAtLevels, MemoryMode::Keep, 0, 2);
    let variant: Variant = "trt".parse().unwrap();
    campaign.options.variants = vec![TrustedVariant::vouch(variant.with_memory(MemoryMode::Keep))];
    campaign.options.ladder = Some("1/2".parse().unwrap());
    campaign.options.budget = Budget::Seconds(2);
    campaign.options.deadlines.execute = Duration::from_mins(10);
    let outcome = campaign.run();
    let indices: Vec<_> = outcome.journal().iter().map(|record| record.index).collect();
    let count = indices.len() as u64;
    assert!(count > 50 && indices.into_iter().eq(0..count), "cases are missing");
    let poison_of = |variant: &VariantSummary| variant.variant.poison_of(variant.rung_of.as_ref()?);
    let poisoned = outcome.summary.variants.iter().filter(|variant| poison_of(variant).is_some());
    let poisoned: u64 = poisoned.map(VariantSummary::cases).sum();
    assert!(poisoned > count / 8, "{poisoned} of {count} cases, a half of which also wait for rungs");
}

#[test]
fn only_variants_that_keep_memory_are_poisoned() {
    for memory in [MemoryMode::Off, MemoryMode::Attributes, MemoryMode::Poison(PoisonPattern::Nan)] {
        let outcome = poisoning(Role::Honest, memory, 20, 1).run();
        assert_eq!(outcome.summary.variants.len(), 1, "{memory}");
    }
}
