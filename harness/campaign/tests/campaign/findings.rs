use std::{collections::BTreeMap, fs, num::NonZeroUsize};

use twinfer_case::{Budget, Event, Finding, Kind, TrustedVariant};
use twinfer_onnx::{Graph, Tensor};
use twinfer_store::{Start, StoreError, adopt, merge, replay_events};
use twinfer_targets::{Targets, read_case};

use crate::{
    actor::role::Role,
    setup::{Outcome, actor, against},
};

#[test]
fn wrong_values_become_a_minimal_finding_with_its_files() {
    let outcome = against(Role::IgnoresBias, 100).run();
    let findings = outcome.findings();
    let finding = &findings[0];
    assert_eq!(finding.kind, Kind::WrongValues);
    assert_eq!(finding.after.nodes, 1, "{}", finding.graph);
    assert!(finding.after.input_elements <= 2, "{}", finding.graph);
    assert!(finding.before.input_elements > 2);
    let folder = outcome.out.join("findings").join(finding.signature.slug());
    let case = read_case(&folder).unwrap();
    assert_eq!(case.hash().unwrap(), finding.case);
    let model = fs::read(folder.join("model.onnx")).unwrap();
    assert_eq!(Graph::decode(&model).unwrap(), case.graph);
    for name in ["input_0.pb", "output_0.pb"] {
        let bytes = fs::read(folder.join("test_data_set_0").join(name)).unwrap();
        assert!(Tensor::decode_proto(&bytes).is_ok(), "{name}");
    }
    assert!(fs::read_to_string(folder.join("finding.snap")).unwrap().contains("wrong-values"));
    assert_eq!(outcome.summary.new_findings, findings.iter().len() as u64);
}

#[test]
fn finding_says_under_which_condition_it_shows() {
    let outcome = against(Role::IgnoresBias, 100).run();
    let findings = outcome.findings();
    let triggers: Vec<_> = findings.iter().filter_map(|finding| finding.trigger.as_ref()).collect();
    let trigger = triggers.iter().find(|trigger| trigger.condition() == "Conv where there is a bias");
    let trigger = trigger.unwrap_or_else(|| panic!("{triggers:?}"));
    assert!(trigger.satisfying.cases >= 24 && trigger.missing.cases >= 24, "{trigger}");
    assert_eq!(trigger.missing.diverging, 0, "{trigger}");
}

#[test]
fn divergence_that_needs_history_is_state_dependent() {
    let mut campaign = against(Role::DependsOnHistory, 60);
    campaign.options.fresh_every = 0;
    campaign.options.repeat_every = 0;
    let outcome = campaign.run();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        // a Relu and a bias in one case of several runs diverge by themselves
        assert!(
            finding.kind != Kind::StateDependent || !finding.preceding.is_empty() || finding.after.runs > 1,
            "no history: {}",
            finding.graph
        );
    }
    let kept = findings
        .iter()
        .find(|finding| finding.kind == Kind::StateDependent && !finding.preceding.is_empty())
        .expect("one finding is state-dependent");
    let golden_cases = tempfile::tempdir().unwrap();
    let folder =
        adopt(&outcome.out.join("findings").join(kept.signature.slug()), golden_cases.path()).unwrap();
    let recurs = || {
        let variant = TrustedVariant::vouch(actor(Role::DependsOnHistory).parse().unwrap());
        let (worker, deadlines) = (&campaign.options.worker, campaign.options.deadlines);
        Targets::start(&[variant], worker, deadlines).unwrap().replay(&folder).unwrap()[0].recurs
    };
    assert!(recurs(), "{}", kept.graph);
    fs::remove_dir_all(folder.join("preceding")).unwrap();
    assert!(!recurs(), "{} needs no history", kept.graph);
}

#[test]
fn divergence_that_needs_earlier_runs_is_state_dependent() {
    let outcome = against(Role::ErrsInLaterRuns, 100).run();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!(finding.kind, Kind::StateDependent, "{}", finding.graph);
        assert_eq!((finding.after.runs, finding.preceding.len()), (2, 0), "{}", finding.graph);
    }
    // runs of equal inputs that differ show it without an experiment
    let is_by_experiment =
        |finding: &Finding| finding.divergences[0].detail.contains("only after other runs of the case");
    assert!(findings.iter().any(is_by_experiment), "{findings:?}");
}

#[test]
fn divergence_that_varies_on_repeat_is_nondeterministic() {
    let mut campaign = against(Role::DiffersOnRepeat, 40);
    campaign.options.jobs = NonZeroUsize::MIN;
    campaign.options.fresh_every = 0;
    campaign.options.repeat_every = 1;
    let outcome = campaign.run();
    assert!(!outcome.kinds().is_empty());
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Nondeterministic), "{:?}", outcome.kinds());
    assert!(outcome.findings().iter().all(|finding| finding.kind == Kind::Nondeterministic));
    campaign.options.repeat_every = 0;
    assert_eq!(campaign.run().kinds(), []);
}

/// Without their folders, new findings would pass for known ones.
#[test]
fn run_that_lacks_findings_is_not_read() {
    let first = against(Role::IgnoresBias, 40).run();
    let known = tempfile::tempdir().unwrap();
    let mut again = against(Role::IgnoresBias, 40);
    for finding in first.findings() {
        adopt(&first.out.join("findings").join(finding.signature.slug()), known.path()).unwrap();
    }
    again.options.known = vec![known.path().to_owned()];
    replay_events(&again.run().out, &mut |_| {}).expect("all were known before");
    fs::remove_dir_all(first.out.join("findings")).unwrap();
    let merged = known.path().join("merged");
    for refused in [
        replay_events(&first.out, &mut |_| {}),
        merge(std::slice::from_ref(&first.out), &merged, &|_, _| false).map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::LostFindings { .. })), "{refused:?}");
    }
    assert!(!merged.join("run.json").exists());
}

#[test]
fn known_finding_is_counted_but_not_new() {
    let first = against(Role::IgnoresBias, 60);
    let outcome = first.run();
    let golden_cases = tempfile::tempdir().unwrap();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        adopt(&outcome.out.join("findings").join(finding.signature.slug()), golden_cases.path()).unwrap();
    }
    let counted =
        |outcome: &Outcome| outcome.summary.findings.iter().map(|finding| finding.cases).sum::<u64>();
    let (adopted, of_run) = (golden_cases.path().to_owned(), outcome.out.join("findings"));
    // a finding that is known from two folders counts once
    for known in [vec![adopted.clone()], vec![adopted, of_run]] {
        let mut second = against(Role::IgnoresBias, 60);
        second.options.known = known;
        let again = second.run();
        assert_eq!(again.summary.new_findings, 0);
        assert_eq!(again.summary.findings.len(), findings.len());
        assert_eq!(counted(&again), counted(&outcome));
    }
}

/// A finding without a diagnosis masks one with a diagnosis in some cases. The campaign triages a few of these.
#[test]
fn masked_divergences_are_triaged_ever_more_seldom() {
    let mut campaign = against(Role::DropsBiasAndMore, 500);
    // neighbors that show the other bug too would refute that the bias is dropped
    campaign.options.experiments = false;
    let outcome = campaign.run();
    let one = campaign.record(1, 1);
    campaign.record(3, 4).assert_same(&one);
    let is_investigated = |place: usize| {
        let is_of_place =
            |event: &Event| matches!(event, Event::Investigated { index, .. } if *index == place as u64);
        outcome.events.iter().any(is_of_place)
    };
    let mut masked: BTreeMap<_, Vec<bool>> = BTreeMap::new();
    for (place, record) in one.journal.iter().enumerate() {
        for mask in &record.masks {
            masked.entry((&mask.finding, &mask.guise)).or_default().push(is_investigated(place));
        }
    }
    for (mask, investigated) in &masked {
        // about one before each doubling, and the first
        let most = 2 + 2 * investigated.len().ilog2() as usize;
        let count = investigated.iter().filter(|it| **it).count();
        assert!(investigated[0] && count <= most, "{mask:?}: {investigated:?}");
    }
    assert!(masked.values().any(|cases| cases.len() >= 10), "{masked:?}");
    // a resumed campaign continues to count
    let mut part = against(Role::DropsBiasAndMore, 250);
    part.options.experiments = false;
    part.run();
    part.start = Start::Resumed;
    part.options.budget = Budget::Cases(500);
    assert_eq!(part.run().journal(), one.journal);
}

#[test]
fn finding_recurs_until_the_backend_changes() {
    let campaign = against(Role::IgnoresBias, 60);
    let outcome = campaign.run();
    let folder = outcome.out.join("findings").join(outcome.findings()[0].signature.slug());
    let start = |role: Role| {
        let variant = TrustedVariant::vouch(actor(role).parse().unwrap());
        Targets::start(&[variant], &campaign.options.worker, campaign.options.deadlines).unwrap()
    };
    let replays = start(Role::IgnoresBias).replay(&folder).unwrap();
    assert!(replays.len() == 1 && replays[0].recurs, "{replays:?}");
    // the same recording of a backend that was fixed since
    let text = fs::read_to_string(folder.with_extension("observed.json")).unwrap();
    fs::write(
        folder.with_extension("observed.json"),
        text.replace(&Role::IgnoresBias.to_string(), &Role::Honest.to_string()),
    )
    .unwrap();
    let replays = start(Role::Honest).replay(&folder).unwrap();
    assert!(replays.len() == 1 && !replays[0].recurs, "{replays:?}");
}

#[test]
fn bug_is_not_minimized_into_another_bug() {
    let mut campaign = against(Role::HasTwoBugs, 20);
    campaign.options.families = vec!["conv".to_owned()];
    let findings = campaign.run().findings();
    let of = |kind| findings.iter().find(|finding| finding.kind == kind).expect("both bugs are found");
    // without its bias the first bug's case shows the second bug
    assert_eq!(of(Kind::WrongValues).after.nodes, 1, "{}", of(Kind::WrongValues).graph);
    assert_eq!(of(Kind::WrongValues).divergences[0].kind, Kind::WrongValues);
    assert_eq!(of(Kind::WrongShape).divergences[0].kind, Kind::WrongShape);
}
