//! Cases that become findings are repeated.

use std::{collections::BTreeMap, sync::Arc};

use twinfer_campaign::CaseSource;
use twinfer_case::{Case, Circumstance, Distribution, Ending, Finding, Kind, Stage, TrustedVariant};
use twinfer_generators::Family;
use twinfer_targets::Targets;

use crate::{
    actor::role::Role,
    setup::{Record, actor, against},
};

/// How many runs of the only outcome of a finding there were, by circumstance.
fn only_outcome(finding: &Finding) -> BTreeMap<Circumstance, u32> {
    assert_eq!(finding.outcomes.len(), 1, "{:?}", finding.outcomes);
    finding.outcomes[0].times.clone()
}

#[test]
fn fault_that_recurs_ten_times_is_stable() {
    use Circumstance::{FilledLarge, FilledNan, Fresh, Warm};
    let answering = [(Warm, 5), (Fresh, 1), (FilledNan, 2), (FilledLarge, 2)];
    // a worker that dies is never warm
    let dying = [(Fresh, 6), (FilledNan, 2), (FilledLarge, 2)];
    let expected = [
        (Role::IgnoresBias, Kind::WrongValues, answering.to_vec()),
        (Role::Aborts, Kind::Crash, dying.to_vec()),
    ];
    for (role, kind, times) in expected {
        let findings = against(role, 40).run().findings();
        assert!(!findings.is_empty(), "{role}");
        for finding in findings {
            assert_eq!(finding.kind, kind);
            assert_eq!(only_outcome(&finding), times.iter().copied().collect(), "{role}");
        }
    }
}

#[test]
fn case_whose_build_hides_what_its_parsing_shows_is_no_smaller_case() {
    let findings = against(Role::MisinfersOrFailsToBuild, 40).run().findings();
    let kinds: Vec<_> = findings.iter().map(|finding| (finding.stage, finding.kind)).collect();
    assert!(kinds.contains(&(Stage::Parse, Kind::WrongShape)), "{kinds:?}");
    assert!(!kinds.iter().any(|(_, kind)| *kind == Kind::Unstable), "{kinds:?}");
    let misinferred = findings.iter().filter(|finding| finding.stage == Stage::Parse);
    assert!(misinferred.map(|finding| finding.after.nodes).all(|nodes| nodes > 1));
}

#[test]
fn hang_is_repeated_three_times() {
    let mut campaign = against(Role::Hangs, 4);
    campaign.options.minimize = false;
    let findings = campaign.run().findings();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding.kind, Kind::Hang);
        assert_eq!(only_outcome(&finding).values().sum::<u32>(), 3);
    }
}

#[test]
fn outcome_that_changes_from_run_to_run_is_unstable() {
    let outcome = against(Role::AlternatesErrors, 120).run();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!(finding.kind, Kind::Unstable, "{}", finding.signature);
        let errors: Vec<_> = finding.outcomes.iter().map(|one| one.outcome.error.as_deref()).collect();
        assert_eq!(errors, [Some("INVALID_NODE"), Some("UNSUPPORTED_NODE")]);
    }
    // whichever error comes first, the bug is one and the same
    let signatures: Vec<_> = findings.iter().map(|finding| &finding.signature.error).collect();
    assert!(signatures.iter().all(|error| error.is_none()), "{signatures:?}");
}

/// Workers that have run other cases name another condition, so that what they show has to be confirmed to be recognized.
#[test]
fn cases_whose_condition_depends_on_the_worker_are_investigated_seldom() {
    let record = against(Role::NamesAnotherConditionOnceWarm, 300).record(2, 3);
    let refused = record.journal.iter().filter(|record| !record.findings.is_empty()).count();
    let [finding] = &record.findings[..] else { panic!("one bug: {:?}", record.findings) };
    assert_eq!(finding.signature.failed_check(), Some("bias.rank == 1"));
    let masked = record.journal.iter().filter(|record| !record.masks.is_empty()).count();
    assert!(refused > 60 && masked + 5 > refused, "{masked} of {refused}");
    // of those with Conv, with ConvTranspose and with both, about one before each doubling and one in 64
    assert!((1..refused / 4).contains(&record.investigated), "{} of {refused}", record.investigated);
}

/// Which of two conditions a worker names depends on what it ran before. The fresh workers that confirm a finding name the first one.
#[test]
fn condition_that_depends_on_earlier_cases_hinders_no_reduction() {
    for role in [Role::NamesAnotherConditionOnceWarm, Role::NamesConditionsByHistory] {
        let findings = |jobs| against(role, 120).record(jobs, 3).findings;
        let one = findings(1);
        assert!(!one.is_empty());
        for finding in &one {
            assert_eq!(finding.signature.failed_check(), Some("bias.rank == 1"));
            assert_eq!(
                (finding.after.nodes, finding.after.input_elements),
                (1, 1),
                "{role}: {}",
                finding.graph
            );
        }
        assert_eq!(findings(6), one, "{role}");
    }
}

/// A case that is wrong in the same way each time is not counted for what varies in a smaller case.
#[test]
fn steady_case_stands_for_itself_if_smaller_ones_vary() {
    let stream = Family::Conv.stream(Distribution::Baseline, 3);
    let is_steady = |case: &Case| {
        let nodes = &case.graph.nodes;
        nodes.len() > 1 && nodes.iter().any(|node| node.op.is_convolution() && node.inputs.len() > 2)
    };
    let generated = (0..2000).map(|index| Case { provenance: None, ..stream.case(index) });
    let cases: Vec<_> = generated.filter(is_steady).take(20).collect();
    let source: CaseSource = Arc::new(move |index| cases[index as usize].clone());
    let record = |jobs| {
        let mut campaign = against(Role::DropsBiasUnsteadilyAlone, 20);
        campaign.options.source = Some(Arc::clone(&source));
        campaign.record(jobs, 1)
    };
    let Record { findings, journal, .. } = record(1);
    let [finding] = &findings[..] else { panic!("one bug: {findings:?}") };
    assert_eq!((finding.kind, &*finding.diagnosis), (Kind::WrongValues, &["bias-dropped".to_owned()][..]));
    let mut diverging = journal.iter().filter(|case| !case.variants[0].verdict.divergences().is_empty());
    assert!(diverging.all(|case| case.findings == [finding.signature.slug()]));
    assert_eq!(record(6).findings, findings);
}

#[test]
fn outcome_that_depends_on_unwritten_memory_is_unstable() {
    let mut campaign = against(Role::RefusesByFilling, 80);
    let one = campaign.record(1, 1);
    campaign.record(2, 3).assert_same(&one);
    assert!(!one.findings.is_empty());
    for finding in &one.findings {
        assert_eq!(finding.kind, Kind::Unstable, "{}", finding.signature);
        let under = |circumstance| {
            let mut came = finding.outcomes.iter().filter(|one| one.times.contains_key(&circumstance));
            let outcome = came.next().map(|one| (one.outcome.ended, one.outcome.error.clone()));
            assert!(came.next().is_none(), "{:?}", finding.outcomes);
            outcome.expect("the case ran under every circumstance")
        };
        let refused = |error: &str| (Ending::Rejected, Some(error.to_owned()));
        assert_eq!(under(Circumstance::Fresh), refused("UNSUPPORTED_NODE"));
        assert_eq!(under(Circumstance::Warm), refused("UNSUPPORTED_NODE"));
        assert_eq!(under(Circumstance::FilledNan), refused("INVALID_NODE"));
        assert_eq!(under(Circumstance::FilledLarge), (Ending::Ok, None));
    }
}

#[test]
fn output_that_keeps_either_filling_is_unwritten() {
    let mut campaign = against(Role::LeavesUnwritten, 60);
    let one = campaign.record(1, 1);
    campaign.record(2, 3).assert_same(&one);
    assert!(!one.findings.is_empty());
    for finding in &one.findings {
        assert_eq!(finding.kind, Kind::UnwrittenOutput, "{}", finding.signature);
        assert_eq!(only_outcome(finding).values().sum::<u32>(), 10);
    }
}

#[test]
fn output_that_is_computed_whatever_its_buffer_held_is_wrong() {
    let findings = against(Role::ComputesFilling, 60).run().findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!(finding.kind, Kind::WrongValues, "{}", finding.signature);
        let kinds = |circumstance| {
            let mut came = finding.outcomes.iter().filter(|one| one.times.contains_key(&circumstance));
            came.next().map(|one| one.outcome.kinds.clone())
        };
        assert_eq!(kinds(Circumstance::FilledNan), Some(vec![Kind::UnwrittenOutput]));
        assert_eq!(kinds(Circumstance::FilledLarge), Some(vec![Kind::WrongValues]));
    }
}

#[test]
fn outcome_that_depends_on_filled_scratch_memory_is_unstable() {
    let findings = against(Role::ReadsScratch, 60).run().findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!(finding.kind, Kind::Unstable, "{}", finding.signature);
        assert_eq!(finding.outcomes.len(), 3, "{:?}", finding.outcomes);
    }
}

#[test]
fn unstable_finding_recurs_with_any_listed_outcome() {
    let campaign = against(Role::AlternatesErrors, 40);
    let outcome = campaign.run();
    let finding = &outcome.findings()[0];
    let folder = outcome.out.join("findings").join(finding.signature.slug());
    let recurs = |role: Role| {
        let variant = TrustedVariant::vouch(actor(role).parse().unwrap());
        let observed = folder.with_extension("observed.json");
        let text = std::fs::read_to_string(&observed).unwrap();
        std::fs::write(&observed, text.replace(&Role::AlternatesErrors.to_string(), &role.to_string()))
            .unwrap();
        let targets =
            Targets::start(&[variant], &campaign.options.worker, campaign.options.deadlines).unwrap();
        let replays = targets.replay(&folder).unwrap();
        assert_eq!(replays.len(), 1);
        replays[0].recurs
    };
    assert!(recurs(Role::AlternatesErrors));
    assert!(!recurs(Role::Honest), "the backend is mended");
}
