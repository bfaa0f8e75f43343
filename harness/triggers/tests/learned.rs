//! What is learned about backends that are wrong under a condition.

use std::collections::BTreeSet;

use twinfer_case::{Axes, Distribution, Fact, Property, Quantity, Relation, Tally, Trigger};
use twinfer_generators::Family;
use twinfer_triggers::{DescribedNode, Learner, describe};

type Pool = Vec<Vec<DescribedNode>>;

fn pool(families: &[Family], cases: u64) -> Pool {
    let streams: Vec<_> = families.iter().map(|family| family.stream(Distribution::Baseline, 5)).collect();
    (0..cases).map(|index| describe(&streams[index as usize % streams.len()].case(index))).collect()
}

fn satisfies(nodes: &[DescribedNode], operator: &str, facts: &[Fact]) -> bool {
    nodes.iter().any(|node| node.operator == operator && facts.iter().all(|fact| node.has(*fact)))
}

/// What is learned from `pool` about a backend that is wrong where `facts` hold for a node of `operator`, given the first such node,
/// and how many cases ran.
fn learned(pool: &Pool, operator: &str, facts: &[Fact]) -> (Option<Trigger>, usize) {
    let is_wrong =
        |node: &&DescribedNode| node.operator == operator && facts.iter().all(|fact| node.has(*fact));
    let minimal = pool.iter().flatten().find(is_wrong).expect("a node that is wrong");
    let mut learner = Learner::new(minimal, pool, 200);
    let ran = run(&mut learner, |place| satisfies(&pool[place], operator, facts));
    (learner.trigger(), ran)
}

/// Runs what the learner proposes, and returns how many cases that were.
fn run(learner: &mut Learner, diverges: impl Fn(usize) -> bool) -> usize {
    let mut tried = BTreeSet::new();
    loop {
        let proposed = learner.propose();
        if proposed.is_empty() {
            return tried.len();
        }
        for place in proposed {
            assert!(tried.insert(place), "a case runs once");
            learner.learn(place, diverges(place));
        }
    }
}

/// Asserts that what is learned holds for the same cases, those of another seed, as `facts`.
fn assert_learned(families: &[Family], operator: &str, facts: &[Fact]) {
    let (trigger, ran) = learned(&pool(families, 1200), operator, facts);
    let trigger = trigger.unwrap_or_else(|| panic!("nothing is learned of {operator} with {facts:?}"));
    let fresh = families.iter().flat_map(|family| (0..400).map(move |index| (family, index)));
    let (mut wrong, mut positive, mut text) = (0, 0, String::new());
    for (family, index) in fresh {
        let nodes = describe(&family.stream(Distribution::Baseline, 77).case(index));
        let expected = satisfies(&nodes, operator, facts);
        positive += usize::from(expected);
        if expected != satisfies(&nodes, operator, &trigger.facts) {
            wrong += 1;
            text = format!("{nodes:?}");
        }
    }
    assert!(ran < 100, "{trigger} took {ran} cases");
    assert!(wrong * 50 <= positive, "{trigger} is wrong about {wrong} of {positive} cases, such as {text}");
}

const CONV: [Family; 3] = [Family::Conv, Family::QdqConv, Family::Block];
const DECONV: [Family; 2] = [Family::Deconv, Family::QdqDeconv];

const fn above(quantity: Quantity, number: i64) -> Fact {
    Fact::Number(Axes::Some, quantity, Relation::Above, number)
}

#[test]
fn condition_without_facts_is_learned() {
    assert_learned(&CONV, "Conv", &[]);
}

#[test]
fn conditions_of_one_fact_are_learned() {
    assert_learned(&CONV, "Conv", &[above(Quantity::Group, 1)]);
    assert_learned(&CONV, "Conv", &[Fact::Is(Property::Bias)]);
    assert_learned(&CONV, "Conv", &[Fact::Is(Property::Depthwise)]);
    assert_learned(&DECONV, "ConvTranspose", &[above(Quantity::OutputPadding, 0)]);
    assert_learned(&CONV, "QuantizeLinear", &[Fact::Is(Property::Uint8)]);
    assert_learned(&CONV, "DequantizeLinear", &[above(Quantity::Scales, 1)]);
}

#[test]
fn conditions_on_scales_and_on_data_of_any_rank_are_learned() {
    assert_learned(&CONV, "QuantizeLinear", &[above(Quantity::SmallestScale, 4)]);
    let odd = Fact::Odd(Axes::Some, Quantity::LastExtent);
    assert_learned(&CONV, "DequantizeLinear", &[Fact::Is(Property::ScalarScale), odd]);
}

#[test]
fn conditions_of_two_facts_are_learned() {
    assert_learned(&CONV, "Conv", &[above(Quantity::Group, 1), above(Quantity::GroupInputs, 1)]);
    assert_learned(&CONV, "Conv", &[above(Quantity::Stride, 1), above(Quantity::Dilation, 1)]);
    assert_learned(&DECONV, "ConvTranspose", &[above(Quantity::Group, 1), Fact::Is(Property::Bias)]);
    assert_learned(
        &DECONV,
        "ConvTranspose",
        &[Fact::Is(Property::DequantizedWeights), above(Quantity::OutputPadding, 0)],
    );
}

#[test]
fn conditions_that_compare_quantities_are_learned() {
    let pair = |one, relation, other| Fact::Pair(Axes::Some, one, relation, other);
    assert_learned(&CONV, "Conv", &[pair(Quantity::PadBegin, Relation::Unequal, Quantity::PadEnd)]);
    assert_learned(&CONV, "Conv", &[Fact::Odd(Axes::Some, Quantity::OutputChannels)]);
    assert_learned(&CONV, "Conv", &[Fact::Varies(Quantity::Stride)]);
    let kernel = [Fact::Uniform(Quantity::Kernel), Fact::Varies(Quantity::Stride)];
    assert_learned(&CONV, "Conv", &kernel);
}

#[test]
fn condition_is_learned_although_some_cases_hide_it() {
    let pool = pool(&CONV, 1200);
    let facts = [above(Quantity::Group, 1), Fact::Odd(Axes::Some, Quantity::Channels)];
    let minimal = pool
        .iter()
        .flatten()
        .find(|node| node.operator == "Conv" && facts.iter().all(|fact| node.has(*fact)));
    let mut learner = Learner::new(minimal.expect("a node that is wrong"), &pool, 160);
    run(&mut learner, |place| place % 8 != 0 && satisfies(&pool[place], "Conv", &facts));
    let Trigger { facts: learned, satisfying, missing, .. } = learner.trigger().expect("it is learned");
    assert_eq!(learned, facts);
    assert!(satisfying.diverging < satisfying.cases && missing.diverging == 0, "{satisfying:?} {missing:?}");
}

#[test]
fn chance_is_learned_as_a_rate_without_facts() {
    let pool = pool(&CONV, 600);
    let minimal = pool.iter().flatten().find(|node| node.operator == "Conv").expect("a Conv");
    let mut learner = Learner::new(minimal, &pool, 120);
    run(&mut learner, |place| place.wrapping_mul(2_654_435_761) >> 7 & 1 == 0);
    let trigger = learner.trigger().expect("a rate is learned");
    assert_eq!(trigger.facts, []);
    assert!(!trigger.is_sufficient(), "{trigger}");
}

#[test]
fn condition_of_values_is_learned_with_its_rate() {
    let pool = pool(&CONV, 1200);
    let facts = [above(Quantity::Batch, 1)];
    let minimal = pool.iter().flatten().find(|node| node.operator == "Conv" && node.has(facts[0]));
    let mut learner = Learner::new(minimal.expect("a node that is wrong"), &pool, 160);
    let by_chance = |place: usize| (place.wrapping_mul(2_654_435_761) >> 7).is_multiple_of(2);
    run(&mut learner, |place| by_chance(place) && satisfies(&pool[place], "Conv", &facts));
    let trigger = learner.trigger().expect("it is learned");
    assert_eq!(trigger.facts, facts);
    assert!(!trigger.is_sufficient(), "{trigger}");
}

#[test]
fn evidence_counts_cases_that_ran() {
    let (trigger, ran) = learned(&pool(&CONV, 1000), "Conv", &[above(Quantity::Group, 1)]);
    let Trigger { satisfying, missing, .. } = trigger.expect("it is learned");
    assert!(satisfying.cases >= 24 && missing.cases >= 24, "{satisfying:?} {missing:?}");
    assert!(satisfying.cases + missing.cases <= ran as u64);
    assert_eq!(satisfying.diverging, satisfying.cases);
    assert_eq!(missing, Tally { diverging: 0, cases: missing.cases });
}

#[test]
fn condition_that_few_cases_satisfy_is_learned() {
    let pool = pool(&CONV, 1536);
    let facts = [
        Fact::Odd(Axes::Some, Quantity::OutputChannels),
        above(Quantity::Group, 1),
        Fact::Is(Property::Same),
    ];
    let count = pool.iter().filter(|nodes| satisfies(nodes, "Conv", &facts)).count();
    let (trigger, ran) = learned(&pool, "Conv", &facts);
    assert!(trigger.is_some() && count < 16, "of {count} cases, {ran} ran");
}

/// A node that diverges only if a value shows it, which is so at the places that are a multiple of three.
#[test]
fn condition_of_nodes_that_show_an_error_has_the_evidence_of_all_cases() {
    let pool = pool(&CONV, 900);
    let facts = [above(Quantity::Group, 1)];
    let shows = |place: usize| place.is_multiple_of(3);
    let diverges = |place: usize| shows(place) && satisfies(&pool[place], "Conv", &facts);
    let minimal = pool.iter().flatten().find(|node| node.operator == "Conv" && node.has(facts[0]));
    let minimal = minimal.expect("a node that is wrong");
    let mut learner = Learner::new(minimal, &pool, 120);
    run(&mut learner, diverges);
    let shown: Pool = pool
        .iter()
        .enumerate()
        .map(|(place, nodes)| if shows(place) { nodes.clone() } else { vec![] })
        .collect();
    let learned: Vec<_> = learner.learned().collect();
    let mut informed = Learner::new(minimal, &shown, learned.len() + 64);
    for (place, diverges) in learned.iter().filter(|(place, _)| shows(*place)) {
        informed.learn(*place, *diverges);
    }
    let more = run(&mut informed, diverges);
    assert!(more <= 64 && informed.learned().all(|(place, _)| shows(place)));
    let trigger = informed.trigger().expect("it is learned");
    assert_eq!(trigger.facts, facts);
    assert!(trigger.is_sufficient(), "every node that shows the error diverges: {trigger}");
    assert!(learner.upholds(&trigger));
    let confirmed = learner.confirmed(trigger.clone()).expect("no other case diverges");
    assert!(confirmed.is_sufficient() && confirmed.shown == Some(trigger.satisfying));
    assert!(confirmed.satisfying.cases > trigger.satisfying.cases, "the others hide the error: {confirmed}");
    let narrower = [facts[0], Fact::Is(Property::Bias)].to_vec();
    assert!(!learner.upholds(&Trigger { facts: narrower, ..trigger.clone() }), "others diverge too");
    let other = Trigger { facts: vec![facts[0], Fact::IsNot(Property::Bias)], ..trigger };
    assert_eq!(learner.confirmed(other), None, "cases that just miss it diverge");
}
