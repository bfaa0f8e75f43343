//! On how many cases a variant was compared, and why on none.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use twinfer_case::{
    Blame, Comparisons, Divergence, Kind, Outcome, Stage, Uncompared, UncomparedReason, Variant,
    VariantRecord, Verdict,
};

fn variant() -> Variant {
    "ort:cpu".parse().unwrap()
}

fn record(verdict: Verdict, outcome: Outcome, compared: bool) -> VariantRecord {
    VariantRecord {
        variant: variant(),
        stage: Stage::Parse,
        outcome: Some(outcome),
        verdict,
        notes: Vec::new(),
        compared,
        timings: Vec::new(),
    }
}

fn without_reference() -> Verdict {
    Verdict::NoReference("golden does not support the operator Foo".to_owned())
}

fn rejected(message: &str) -> VariantRecord {
    record(without_reference(), Outcome::rejected(message), false)
}

fn comparisons(records: &[VariantRecord]) -> Comparisons {
    let mut comparisons = Comparisons::default();
    for record in records {
        comparisons.record(record);
    }
    comparisons
}

fn causes(records: &[VariantRecord]) -> Vec<String> {
    comparisons(records).causes(&variant())
}

#[test]
fn causes_are_grouped_by_reason_stage_and_code() {
    let divergence =
        Divergence::new(variant(), Stage::Parse, Kind::Crash, Blame::Variant, "signal 11".to_owned());
    let records = [
        record(without_reference(), Outcome::Ok, false),
        rejected("Fail: no kernel for node 1"),
        rejected("Fail: no kernel for node 2"),
        rejected("InvalidGraph: node 3"),
        record(Verdict::Diverges(vec![divergence]), Outcome::Crashed("signal 11".to_owned()), false),
    ];
    let foo = "without a reference (golden does not support the operator Foo)";
    let expected = [
        format!("ort:cpu: 2 cases {foo}, rejected in parse: Fail: no kernel for node 1"),
        format!("ort:cpu: 1 case {foo}, no error (parsed, not built)"),
        format!("ort:cpu: 1 case {foo}, rejected in parse: InvalidGraph: node 3"),
        "ort:cpu: 1 case diverging (crash), worker died in parse: signal 11".to_owned(),
    ];
    assert_eq!(causes(&records), expected);
}

#[test]
fn one_comparison_is_enough_in_any_order() {
    let compared = record(Verdict::Conforms, Outcome::Ok, true);
    assert_eq!(causes(&[rejected("no"), compared.clone()]), [""; 0]);
    assert_eq!(causes(&[compared, rejected("no")]), [""; 0]);
    assert_eq!(causes(&[]), ["ort:cpu: no case ran"]);
}

#[test]
fn verdicts_that_are_none_are_never_compared() {
    for verdict in [without_reference(), Verdict::Vacuous, Verdict::Unsupported("rule".to_owned())] {
        assert!(!record(verdict, Outcome::Ok, true).is_compared());
    }
}

#[test]
fn record_of_an_earlier_format_is_compared_if_it_has_a_verdict() {
    let earlier = |verdict| VariantRecord { outcome: None, ..record(verdict, Outcome::Ok, false) };
    assert!(earlier(Verdict::Conforms).is_compared());
    assert!(!earlier(without_reference()).is_compared());
}

#[test]
fn causes_from_a_backend_are_bounded() {
    let records: Vec<_> = (0..500).map(|number| rejected(&format!("code{number}: no"))).collect();
    assert_eq!(comparisons(&records).uncompared.len(), 32);
    let lines = causes(&records);
    assert_eq!((lines.len(), lines[5].as_str()), (6, "ort:cpu: … and 27 more causes"));
}

#[test]
fn conforming_without_comparison_is_incomplete() {
    let expected = Uncompared {
        reason: UncomparedReason::Incomplete,
        stage: Stage::Parse,
        outcome: Some(Outcome::Ok),
        cases: 1,
    };
    let conforming = record(Verdict::Conforms, Outcome::Ok, false);
    assert_eq!(comparisons(&[conforming]).uncompared, [expected]);
}
