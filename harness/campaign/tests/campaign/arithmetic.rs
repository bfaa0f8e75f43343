//! Variants whose arithmetic differs, side by side.

use twinfer_case::{TrustedVariant, Verdict};

use crate::{
    actor::role::Role,
    setup::{actor, against},
};

/// The verdicts on the last of these actors in a campaign with all of them.
fn verdicts_on_last(roles: &[Role]) -> Vec<Verdict> {
    let mut campaign = against(Role::Honest, 60);
    let variant = |role: &Role| TrustedVariant::vouch(actor(*role).parse().unwrap());
    campaign.options.variants = roles.iter().map(variant).collect();
    (campaign.options.minimize, campaign.options.experiments) = (false, false);
    let mut records = campaign.run().journal();
    records.sort_by_key(|record| record.index);
    records.into_iter().filter_map(|record| Some(record.variants.into_iter().last()?.verdict)).collect()
}

#[test]
fn variant_is_judged_by_its_own_arithmetic_beside_others() {
    let alone = verdicts_on_last(&[Role::OverstatesPrecision]);
    let diverging = alone.iter().filter(|verdict| matches!(verdict, Verdict::Diverges(_))).count();
    assert!((1..60).contains(&diverging), "{diverging} of 60 diverge");
    assert!(verdicts_on_last(&[Role::Honest, Role::OverstatesPrecision]) == alone, "the verdicts differ");
    let honest = verdicts_on_last(&[Role::OverstatesPrecision, Role::Honest]);
    assert!(!honest.iter().any(|verdict| matches!(verdict, Verdict::Diverges(_))));
}
