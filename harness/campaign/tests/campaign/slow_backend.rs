//! Campaigns against a backend that is slow and has many bugs, as TensorRT on a GPU is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use twinfer_campaign::{Campaign, CaseSource};
use twinfer_case::{
    BackendError, Budget, Case, CaseRecord, Distribution, Event, Finding, Kind, Outcome, TrustedVariant,
    Verdict,
};
use twinfer_generators::Family;
use twinfer_onnx::{Node, Op};
use twinfer_store::{RunDirectory, Start, replay_events};

use crate::{
    actor::{
        role::{Role, SLOW_CASE, SLOW_START},
        shared_folder::QUICK,
    },
    setup::{TestCampaign, actor, against},
};

const CASES: u64 = 1000;
const JOBS: usize = 6;

/// At the time limit, the journal holds cases whose divergences are not investigated, and marks them. A resumed run begins with them, and
/// with those that show what was being investigated.
#[test]
fn cases_left_untriaged_at_the_time_limit_resume_first() {
    let mut campaign = against(Role::HasManyBugsSlowly, 0);
    campaign.options.budget = Budget::Seconds(8);
    campaign.options.minimize = false;
    campaign.options.jobs = NonZeroUsize::MIN;
    campaign.options.investigations = NonZeroUsize::MIN;
    let outcome = campaign.run();
    let journal = outcome.journal();
    let open: Vec<_> = journal.iter().filter(|record| !record.open.is_empty()).collect();
    assert!(open.len() > 1, "{} of {}", open.len(), journal.len());
    assert_eq!(outcome.summary.open, open.len() as u64);
    assert!(open.iter().all(|record| record.findings.is_empty()), "an open case has a finding already");
    let diverging = journal.iter().filter(|record| !record.variants[0].verdict.divergences().is_empty());
    let found = journal.iter().filter(|record| !record.findings.is_empty()).count();
    assert_eq!(diverging.count(), found + open.len());
    assert!(found > 0, "no divergence was triaged in time");

    let findings = outcome.findings();
    let unfinished = names_of_unfinished(&findings);
    let is_unsettled = |record: &CaseRecord| {
        !record.open.is_empty() || record.findings.iter().any(|slug| unfinished.contains(slug))
    };

    let path = outcome.out.join("journal.jsonl");
    let (before, text) = (outcome.journal(), fs::read(&path).unwrap());
    campaign.start = Start::Resumed;
    // only a time limit needs a slow backend
    fs::write(campaign.shared(QUICK), "").unwrap();
    campaign.options.investigations = NonZeroUsize::new(JOBS).unwrap();
    // a case under way at the time limit may be missing: the resumed run makes up for it
    let reached = before.last().unwrap().index + 1;
    let missing = reached - before.len() as u64;
    campaign.options.budget = Budget::Cases(reached);
    let resumed = campaign.run();
    let after = resumed.journal();
    assert_eq!((resumed.summary.cases, resumed.summary.open), (reached, 0));
    let revisited = before.iter().filter(|record| is_unsettled(record)).count() as u64;
    assert_eq!(resumed.summary.now(), revisited + missing);
    let kept = fs::read(&path).unwrap();
    assert!(kept.starts_with(&text), "the journal holds these cases already");
    for before in &before {
        let after = &after[before.index as usize];
        assert_eq!((before.case, before.variants.len()), (after.case, after.variants.len()));
        if is_unsettled(before) {
            assert!(after.open.is_empty() && !after.findings.is_empty(), "{:?}", after.provenance);
        } else {
            assert_eq!(before, after);
        }
    }
    let recorded: BTreeSet<_> = resumed.findings().iter().map(|finding| finding.signature.slug()).collect();
    let referenced: BTreeSet<_> = after.iter().flat_map(|record| record.findings.clone()).collect();
    assert_eq!(recorded, referenced);
    let counted: u64 = resumed.summary.findings.iter().map(|count| count.cases).sum();
    assert_eq!(counted as usize, after.iter().map(|record| record.findings.len()).sum::<usize>());

    // nothing is left for another run
    let again = campaign.run();
    assert_eq!((again.summary.cases, again.summary.open), (reached, 0));
    assert_eq!(again.summary.findings.len(), resumed.summary.findings.len());
    assert!(!again.events.iter().any(|event| matches!(event, Event::CaseFinished { .. })));
}

fn names_of_unfinished(findings: &[Finding]) -> BTreeSet<String> {
    let unfinished = findings.iter().filter(|finding| finding.is_unfinished());
    unfinished.map(|finding| finding.signature.slug()).collect()
}

/// A campaign of two minutes at most against an actor in a role in which an investigation hangs for much longer, beside others.
fn with_hanging_investigations(role: Role) -> TestCampaign {
    let mut campaign = against(role, 0);
    campaign.options.budget = Budget::Seconds(120);
    campaign.options.experiments = false;
    campaign.options.deadlines.execute = Duration::from_mins(10);
    campaign.options.investigations = NonZeroUsize::new(16).unwrap();
    campaign.options.repeat_every = u64::MAX;
    campaign
}

/// With a budget of time, no finding waits for the investigation of an earlier case, which takes longer here than the rest of the campaign.
#[test]
fn finding_is_known_while_an_earlier_case_is_investigated() {
    let mut campaign = with_hanging_investigations(Role::HangsOnRepeatOrMisshapes);
    campaign.options.minimize = false;
    let (stop, mut decided, mut kinds) = (Arc::clone(&campaign.options.stop), Vec::new(), Vec::new());
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let sink: &mut dyn FnMut(&Event) = &mut |event| match event {
        Event::CaseFinished { record } => decided.push(record.index),
        Event::FindingRecorded { finding, new: true, .. } => {
            kinds.push(finding.signature.kind);
            stop.store(true, Ordering::Relaxed);
        }
        _ => {}
    };
    Campaign::new(campaign.options.clone()).unwrap().run(&directory, sink).unwrap();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == Kind::WrongShape), "{kinds:?}");
    assert!(!decided.contains(&0), "{decided:?}");
}

/// With a budget of time, what was reduced and has to be confirmed after all does not wait for earlier cases either.
#[test]
fn reduced_case_is_confirmed_while_an_earlier_case_is_investigated() {
    let mut campaign = with_hanging_investigations(Role::NamesAnotherConditionAndHangsOnRepeat);
    let stream = |family: Family| family.stream(Distribution::Baseline, 3);
    let has = |case: &Case, op: &Op| case.graph.nodes.iter().any(|node| node.op == *op);
    let is_biased = |node: &Node| node.op.is_convolution() && node.inputs.len() == 3;
    let has_bias = |case: &Case| case.graph.nodes.iter().any(is_biased);
    let cases = || (0..1000).map(|index| stream(Family::Conv).case(index));
    let first = cases().find(|case| has(case, &Op::Relu) && !has_bias(case)).unwrap();
    let others: Vec<_> = cases().filter(|case| has_bias(case) && !has(case, &Op::Relu)).collect();
    let case = move |index: u64| match index {
        0 => first.clone(),
        _ => others[index as usize % others.len()].clone(),
    };
    campaign.options.source = Some(Arc::new(case));
    let (stop, mut decided, mut investigated) = (Arc::clone(&campaign.options.stop), Vec::new(), Vec::new());
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let sink: &mut dyn FnMut(&Event) = &mut |event| match event {
        Event::CaseFinished { record } => decided.push(record.index),
        Event::Investigated { index, .. } => {
            investigated.push(*index);
            stop.store(investigated.len() > 2, Ordering::Relaxed);
        }
        _ => {}
    };
    Campaign::new(campaign.options.clone()).unwrap().run(&directory, sink).unwrap();
    assert!(investigated.len() > 2, "{investigated:?}");
    assert!(!decided.contains(&0), "{decided:?}");
}

/// What was under investigation at the time limit was not investigated, and shows nothing known, if the resumed campaign has no time for it either.
#[test]
fn what_is_left_unfinished_twice_is_not_investigated() {
    let mut campaign = with_hanging_investigations(Role::HangsOnRepeatOrMisshapes);
    campaign.options.budget = Budget::Seconds(4);
    let outcome = campaign.run();
    let unfinished = names_of_unfinished(&outcome.findings());
    let shows_one = |record: &CaseRecord| record.findings.iter().any(|slug| unfinished.contains(slug));
    let cases = outcome.journal().into_iter().filter(shows_one).count() as u64;
    assert!(cases > 0);
    campaign.start = Start::Resumed;
    campaign.options.stop.store(true, Ordering::Relaxed);
    let resumed = campaign.run();
    assert_eq!(resumed.summary.cases, outcome.summary.cases);
    assert_eq!(resumed.summary.open, outcome.summary.open + cases);
    assert!(resumed.summary.findings.iter().all(|count| !unfinished.contains(&count.slug)));
    let mut stored = None;
    let sink: &mut dyn FnMut(&Event) = &mut |event| {
        if let Event::CampaignFinished { summary, .. } = event {
            stored = Some(summary.clone());
        }
    };
    replay_events(&resumed.out, sink).unwrap();
    let stored = stored.unwrap();
    assert_eq!((stored.open, stored.findings), (resumed.summary.open, resumed.summary.findings));
    assert!(stored.seconds > outcome.summary.seconds, "the time of both parts");
}

#[test]
fn stopped_campaign_ends_with_the_investigations_under_way() {
    let mut campaign = against(Role::HasManyBugs, 400);
    campaign.options.investigations = NonZeroUsize::MIN;
    let (stop, mut under_way, mut later) = (Arc::clone(&campaign.options.stop), Vec::new(), Vec::new());
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let sink: &mut dyn FnMut(&Event) = &mut |event| {
        let Event::Progress { investigating, .. } = event else { return };
        let cases = investigating.iter().map(|one| one.index);
        if under_way.is_empty() {
            under_way.extend(cases);
            stop.store(!under_way.is_empty(), Ordering::Relaxed);
        } else {
            later.extend(cases);
        }
    };
    let summary = Campaign::new(campaign.options.clone()).unwrap().run(&directory, sink).unwrap();
    assert!(summary.open > 0, "there was more to investigate");
    assert!(
        !under_way.is_empty() && later.iter().all(|case| under_way.contains(case)),
        "{under_way:?} {later:?}"
    );
}

/// With a budget of time, what one backend shows does not wait until it is known what another one shows on the same case.
#[test]
fn finding_is_known_while_another_one_of_its_case_is_investigated() {
    let mut campaign = with_hanging_investigations(Role::HangsOnRepeatOrMisshapes);
    let quick = actor(Role::IgnoresBias);
    campaign.options.variants.push(TrustedVariant::vouch(quick.parse().unwrap()));
    let stream = Family::Conv.stream(Distribution::Baseline, 3);
    let has_bias = |case: &Case| case.graph.nodes.iter().any(|node| node.inputs.len() > 2);
    let case = (0..100).map(|index| stream.case(index)).find(has_bias).unwrap();
    campaign.options.source = Some(Arc::new(move |_| case.clone()));
    campaign.options.minimize = false;
    let (stop, mut found) = (Arc::clone(&campaign.options.stop), Vec::new());
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let sink: &mut dyn FnMut(&Event) = &mut |event| {
        if let Event::FindingRecorded { finding, new: true, .. } = event {
            found.extend(finding.seen_in.iter().map(|seen| seen.variant.to_string()));
            stop.store(true, Ordering::Relaxed);
        }
    };
    Campaign::new(campaign.options.clone()).unwrap().run(&directory, sink).unwrap();
    assert_eq!(found, [quick]);
}

/// Cases on which `role` diverges, in this order: refusals with different errors, then wrong values; last of all one that conforms.
fn refusals_before_wrong_values(role: Role) -> Vec<Case> {
    let stream = Family::Deconv.stream(Distribution::Baseline, 3);
    let cases: CaseSource = Arc::new(move |index| stream.case(index));
    let mut campaign = against(role, 400);
    (campaign.options.minimize, campaign.options.experiments) = (false, false);
    campaign.options.source = Some(Arc::clone(&cases));
    let (mut refused, mut wrong, mut conforming) = (BTreeMap::new(), None, None);
    for CaseRecord { index, variants, .. } in campaign.run().journal() {
        let error = variants[0].outcome.as_ref().and_then(Outcome::error).and_then(BackendError::code);
        match (variants[0].verdict.divergences().first().map(|one| one.kind), error) {
            (Some(Kind::RejectsValid), Some(code)) => _ = refused.entry(code.to_owned()).or_insert(index),
            (Some(Kind::WrongValues), _) => _ = wrong.get_or_insert(index),
            (None, _) => _ = conforming.get_or_insert(index),
            _ => {}
        }
    }
    assert!(refused.len() > 1 && wrong.is_some() && conforming.is_some(), "{refused:?}");
    refused.into_values().chain(wrong).chain(conforming).map(|index| cases(index)).collect()
}

/// With a budget of time, wrong values that are known when an investigation ends are investigated next, whatever came before them.
#[test]
fn severe_divergences_are_investigated_first_where_time_is_limited() {
    let cases = refusals_before_wrong_values(Role::HasManyBugs);
    let mut campaign = against(Role::HasManyBugsSlowly, 0);
    campaign.options.budget = Budget::Seconds(120);
    campaign.options.minimize = false;
    campaign.options.experiments = false;
    campaign.options.investigations = NonZeroUsize::MIN;
    campaign.options.source =
        Some(Arc::new(move |index| cases[(index as usize).min(cases.len() - 1)].clone()));
    let (stop, mut kinds) = (Arc::clone(&campaign.options.stop), Vec::new());
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let sink: &mut dyn FnMut(&Event) = &mut |event| {
        if let Event::FindingRecorded { finding, new: true, .. } = event {
            kinds.push(finding.signature.kind);
            stop.store(kinds.len() > 1, Ordering::Relaxed);
        }
    };
    Campaign::new(campaign.options.clone()).unwrap().run(&directory, sink).unwrap();
    assert_eq!(kinds[..2], [Kind::RejectsValid, Kind::WrongValues]);
}

/// Prints the wall time next to the time that the cases alone take, and asserts neither.
#[test]
#[ignore = "measures wall time: run with --ignored --nocapture"]
fn slow_backend_with_many_bugs_finishes_all_cases() {
    let mut campaign = against(Role::HasManyBugsSlowly, CASES);
    campaign.options.jobs = NonZeroUsize::new(JOBS).unwrap();
    campaign.options.investigations = NonZeroUsize::new(JOBS).unwrap();
    let begun = Instant::now();
    let outcome = campaign.run();
    let seconds = begun.elapsed().as_secs_f64();
    let diverging = outcome
        .journal()
        .iter()
        .filter(|record| record.variants.iter().any(|one| matches!(one.verdict, Verdict::Diverges(_))))
        .count();
    let signatures: BTreeSet<_> = outcome.findings().into_iter().map(|one| one.signature).collect();
    let candidates: Vec<_> =
        outcome.events.iter().filter(|one| matches!(one, Event::Minimizing { .. })).collect();
    let alone = SLOW_START.as_secs_f64() + CASES as f64 * SLOW_CASE.as_secs_f64() / JOBS as f64;
    println!(
        "{CASES} cases, {diverging} of them diverging, {} findings, {} steps of minimization, {JOBS} jobs: {seconds:.1} s; \
         the cases alone take {alone:.1} s",
        signatures.len(),
        candidates.len(),
    );
    assert_eq!(outcome.summary.cases, CASES);
}
