use std::{collections::BTreeMap, fs, num::NonZeroUsize};

use twinfer_case::{Budget, Event, Kind};
use twinfer_onnx::{Graph, Tensor};
use twinfer_store::adopt;
use twinfer_targets::{Targets, read_case};

use crate::{
    actor,
    setup::{Outcome, against},
};

pub fn wrong_values() {
    let outcome = against("ignores-bias", 100).run();
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

pub fn state_dependent() {
    let mut production = against("remembers", 200);
    production.options.fresh_every = 0;
    production.options.repeat_every = 0;
    let outcome = production.run();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        // a Relu and a bias in one case of several runs diverge by themselves
        assert!(
            finding.kind != Kind::StateDependent || !finding.preceding.is_empty(),
            "no history: {}",
            finding.graph
        );
    }
    let kept = findings.iter().find(|finding| finding.kind == Kind::StateDependent).expect("one is found");
    let golden_cases = tempfile::tempdir().unwrap();
    let folder =
        adopt(&outcome.out.join("findings").join(kept.signature.slug()), golden_cases.path()).unwrap();
    let recurs = || {
        let variant = actor::command("remembers").parse().unwrap();
        let (worker, deadlines) = (&production.options.worker, production.options.deadlines);
        Targets::start(&[variant], worker, deadlines).unwrap().replay(&folder).unwrap()[0].recurs
    };
    assert!(recurs(), "{}", kept.graph);
    fs::remove_dir_all(folder.join("preceding")).unwrap();
    assert!(!recurs(), "{} needs no history", kept.graph);
}

pub fn nondeterministic() {
    // right the first time that it is given a case, wrong the second
    let mut production = against("wavers", 40);
    production.options.jobs = NonZeroUsize::MIN;
    production.options.fresh_every = 0;
    production.options.repeat_every = 1;
    let outcome = production.run();
    assert!(!outcome.kinds().is_empty());
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Nondeterministic), "{:?}", outcome.kinds());
    assert!(outcome.findings().iter().all(|finding| finding.kind == Kind::Nondeterministic));
    production.options.repeat_every = 0;
    assert_eq!(production.run().kinds(), []);
}

pub fn known() {
    let first = against("ignores-bias", 60);
    let outcome = first.run();
    let golden_cases = tempfile::tempdir().unwrap();
    let findings = outcome.findings();
    assert!(!findings.is_empty());
    for finding in &findings {
        adopt(&outcome.out.join("findings").join(finding.signature.slug()), golden_cases.path()).unwrap();
    }
    let shown = |outcome: &Outcome| outcome.summary.findings.iter().map(|finding| finding.cases).sum::<u64>();
    let (adopted, of_run) = (golden_cases.path().to_owned(), outcome.out.join("findings"));
    // one that is known twice counts once
    for known in [vec![adopted.clone()], vec![adopted, of_run]] {
        let mut second = against("ignores-bias", 60);
        second.options.known = known;
        let again = second.run();
        assert_eq!(again.summary.new_findings, 0);
        assert_eq!(again.summary.findings.len(), findings.len());
        assert_eq!(shown(&again), shown(&outcome));
    }
}

/// A bug that golden explains hides in some cases behind one that nothing explains: of those, a few are looked into.
pub fn veiled() {
    let mut production = against("drops-bias-and-more-after-relu", 500);
    let outcome = production.run();
    let one = production.record(1, 1);
    production.record(3, 4).assert_same(&one);
    let is_investigated = |place: usize| {
        let is_of_place =
            |event: &Event| matches!(event, Event::Investigated { index, .. } if *index == place as u64);
        outcome.events.iter().any(is_of_place)
    };
    let mut met: BTreeMap<_, Vec<bool>> = BTreeMap::new();
    for (place, record) in one.journal.iter().enumerate() {
        for mask in &record.masks {
            met.entry((&mask.finding, &mask.operators)).or_default().push(is_investigated(place));
        }
    }
    for (veil, investigated) in &met {
        let numbers = (1..).zip(investigated);
        let numbers: Vec<usize> = numbers.filter_map(|(number, it)| it.then_some(number)).collect();
        assert_eq!(numbers, [1, 2, 4, 8, 16][..numbers.len()], "{veil:?}");
    }
    assert!(met.values().any(|cases| cases.len() >= 10), "{met:?}");
    // a campaign that goes on knows how many there were
    let mut part = against("drops-bias-and-more-after-relu", 250);
    part.run();
    part.options.resume = true;
    part.options.budget = Budget::Cases(500);
    assert_eq!(part.run().journal(), one.journal);
}

pub fn replay() {
    let production = against("ignores-bias", 60);
    let outcome = production.run();
    let folder = outcome.out.join("findings").join(outcome.findings()[0].signature.slug());
    let start = |role: &str| {
        let variant = actor::command(role).parse().unwrap();
        Targets::start(&[variant], &production.options.worker, production.options.deadlines).unwrap()
    };
    let replays = start("ignores-bias").replay(&folder).unwrap();
    assert!(replays.len() == 1 && replays[0].recurs, "{replays:?}");
    // the same recording, played by a backend that has been repaired
    let text = fs::read_to_string(folder.with_extension("observed.json")).unwrap();
    fs::write(folder.with_extension("observed.json"), text.replace("ignores-bias", "honest")).unwrap();
    let replays = start("honest").replay(&folder).unwrap();
    assert!(replays.len() == 1 && !replays[0].recurs, "{replays:?}");
}

pub fn two_bugs() {
    let mut production = against("has-two-bugs", 20);
    production.options.families = vec!["conv".to_owned()];
    let findings = production.run().findings();
    let of = |kind| findings.iter().find(|finding| finding.kind == kind).expect("both bugs are found");
    // without its bias the first bug's case shows the second bug
    assert_eq!(of(Kind::WrongValues).after.nodes, 1, "{}", of(Kind::WrongValues).graph);
    assert_eq!(of(Kind::WrongValues).divergences[0].kind, Kind::WrongValues);
    assert_eq!(of(Kind::WrongShape).divergences[0].kind, Kind::WrongShape);
}
