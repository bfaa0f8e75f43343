//! Cases that climb to the rungs above their variant.

use std::{fs, num::NonZeroUsize};

use twinfer_case::{Budget, CaseRecord, Event, Kind, VariantSummary, Verdict};
use twinfer_store::{adopt, merge};
use twinfer_targets::Targets;

use crate::{
    actor,
    setup::{Outcome, Production, against},
};

/// A campaign whose cases climb to the two rungs of an actor's ladder.
fn climbing(role: &str, cases: u64, ladder: &str) -> Production {
    let mut production = against(role, cases);
    production.options.ladder = Some(ladder.parse().unwrap());
    production
}

/// The records of cases that climbed.
fn climbed(journal: &[CaseRecord]) -> impl Iterator<Item = &CaseRecord> {
    journal.iter().filter(|record| record.variants.len() > 1)
}

fn diverges(record: &CaseRecord, place: usize) -> bool {
    matches!(record.variants[place].verdict, Verdict::Diverges(_))
}

pub fn bug_above() {
    let production = climbing("errs-above", 200, "1/4");
    let outcome = production.run();
    let journal = outcome.journal();
    let [base, first, second]: &[VariantSummary; 3] = outcome.summary.variants.as_slice().try_into().unwrap();
    assert_eq!(base.rung_of, None);
    assert!([first, second].iter().all(|rung| rung.rung_of.as_ref() == Some(&base.variant)));
    let count = climbed(&journal).count() as u64;
    assert!(count > 25 && count < 100, "{count} of 200 cases climbed");
    assert_eq!((base.cases(), first.cases(), second.cases()), (200, count, count));
    assert!(journal.iter().all(|record| matches!(record.variants.len(), 1 | 3)));
    assert!(first.divergences.is_empty() && base.divergences.is_empty());
    assert_eq!(second.first_seen, second.divergences);
    assert!(second.divergences[&Kind::WrongValues] > 0 && second.micros > 0);

    let findings = outcome.findings();
    let finding = findings.first().expect("the bug is found");
    assert_eq!(finding.seen_in.len(), 1);
    assert_eq!(finding.seen_in[0].variant, second.variant);
    assert_eq!(second.variant, format!("{},level=2", actor::command("errs-above")).parse().unwrap());
    assert_eq!((finding.kind, finding.after.nodes), (Kind::WrongValues, 1), "{}", finding.graph);
    assert_eq!(finding.signature.backend, second.variant.backend);

    let folder = outcome.out.join("findings").join(finding.signature.slug());
    let (worker, deadlines) = (&production.options.worker, production.options.deadlines);
    let variant = std::slice::from_ref(&second.variant);
    let replays = Targets::start(variant, worker, deadlines).unwrap().replay(&folder).unwrap();
    assert!(replays.len() == 1 && replays[0].recurs, "{replays:?}");
}

/// What a rung shows that shows below it too is not investigated there, where each candidate takes longer.
pub fn same_below() {
    let outcome = climbing("drops-bias-and-more-after-relu", 100, "1/1").run();
    let journal = outcome.journal();
    assert!(
        journal.iter().any(|record| !record.masks.is_empty() && (0..3).all(|rung| diverges(record, rung)))
    );
    let base = &outcome.summary.variants[0].variant;
    let mut investigated = outcome.events.iter().filter_map(|event| match event {
        Event::Investigated { variant, .. } => Some(variant),
        _ => None,
    });
    assert!(investigated.clone().count() > 2 && investigated.all(|variant| variant == base));
}

pub fn one_job_and_two_jobs() {
    let mut production = climbing("errs-at-both", 150, "1/5");
    let one = production.record(1, 1);
    let suspects = one.journal.iter().filter(|record| diverges(record, 0)).count();
    assert!(suspects > 0 && climbed(&one.journal).count() > suspects);
    assert!(climbed(&one.journal).any(|record| diverges(record, 2) && !diverges(record, 1)));
    assert_eq!(one.journal.len(), 150);
    production.record(6, 3).assert_same(&one);
}

pub fn suspects() {
    let never = "1/1000000000000";
    let first = climbing("errs-at-both", 80, never).run();
    let journal = first.journal();
    assert!(climbed(&journal).count() > 0);
    assert!(journal.iter().all(|record| (record.variants.len() > 1) == diverges(record, 0)));
    let golden_cases = tempfile::tempdir().unwrap();
    for finding in first.findings() {
        adopt(&first.out.join("findings").join(finding.signature.slug()), golden_cases.path()).unwrap();
    }
    let mut second = climbing("errs-at-both", 80, never);
    second.options.known = vec![golden_cases.path().to_owned()];
    assert_eq!(climbed(&second.run().journal()).count(), 0);
}

pub fn shards() {
    let mut production = climbing("errs-at-both", 60, "1/6");
    production.options.minimize = false;
    let whole = production.run();
    let (journal, findings) = (whole.journal(), whole.summary.findings.clone());
    let folder = tempfile::tempdir().unwrap();
    let runs = [0, 1].map(|shard| {
        production.options.shard = (shard, 2);
        production.options.budget = Budget::Cases(30);
        production.options.out = folder.path().join(format!("shard-{shard}"));
        production.run();
        production.options.out.clone()
    });
    let merged = folder.path().join("whole");
    assert_eq!(merge(&runs, &merged).unwrap(), [0; 0]);
    production.options.out = merged;
    let merged = production.outcome(whole.summary, Vec::new());
    let verdicts = |journal: Vec<CaseRecord>| {
        journal.into_iter().map(|record| (record.case, record.variants)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(merged.journal()), verdicts(journal));
    assert!(!findings.is_empty());
    production.options.ladder = Some("1/7".parse().unwrap());
    production.options.shard = (1, 2);
    production.options.out = folder.path().join("other");
    production.run();
    let error = merge(&[runs[0].clone(), production.options.out], &folder.path().join("mixed")).unwrap_err();
    assert!(error.to_string().contains("same seed, families, ladder"), "{error}");
}

pub fn resumed() {
    let whole = climbing("errs-at-both", 100, "1/5").run();
    let mut part = climbing("errs-at-both", 60, "1/5");
    part.run();
    let path = part.options.out.join("journal.jsonl");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 97]).unwrap();
    part.options.resume = true;
    part.options.budget = Budget::Cases(100);
    let resumed = part.run();
    assert_eq!(resumed.journal(), whole.journal());
    assert!(resumed.finding_files() == whole.finding_files(), "the files of the findings differ");
    part.options.ladder = "1/6".parse().ok();
    let error = part.try_run().err().expect("the ladder is another");
    assert!(error.to_string().contains("give the same options"), "{error}");
}

pub fn time() {
    let production = climbing("errs-above", 300, "40%");
    let outcome = production.run();
    let journal = outcome.journal();
    assert_eq!(journal.len(), 300);
    assert!(climbed(&journal).count() > 0);
    assert!(journal.iter().all(|record| matches!(record.variants.len(), 1 | 3)));
    // golden decides with the same bounds whether cases climb or not
    let mut without = against("errs-above", 300);
    without.options.seed = production.options.seed;
    let bases = |outcome: &Outcome| {
        outcome.journal().into_iter().map(|record| record.variants[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(bases(&outcome), bases(&without.run()));
}

pub fn device_alone() {
    let mut production = climbing("wants-its-device-alone-above", 60, "1/2");
    production.options.jobs = NonZeroUsize::new(8).unwrap();
    production.options.investigations = NonZeroUsize::new(3).unwrap();
    let outcome = production.run();
    // an actor that finds its place taken dies, which would be a crash
    assert!(!outcome.kinds().is_empty() && outcome.kinds().iter().all(|kind| *kind == Kind::WrongValues));
    assert_eq!(outcome.summary.workers_lost, 0);
}

pub fn nothing_above() {
    let error = climbing("honest", 10, "10%").try_run().err().expect("there is no rung");
    assert!(error.to_string().contains("none of the backends has a higher optimization level"), "{error}");
}
