//! Which cases are escalated, and what a summary says of them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use twinfer_case::{
    Blame, CaseRecord, Description, Divergence, JOURNAL_FORMAT, Kind, Ladder, Percent, Request, Stage,
    Summary, Task, Timing, Variant, VariantInfo, VariantRecord, Verdict,
};
use twinfer_onnx::DataType;

const BASE: &str = "b,level=0";
const RUNGS: [&str; 2] = ["b,level=3", "b,level=5"];

fn variant(text: &str) -> Variant {
    text.replace('b', "ort:cpu").parse().unwrap()
}

fn record(name: &str, kinds: &[Kind]) -> VariantRecord {
    let diverges =
        |kind: &Kind| Divergence::new(variant(name), Stage::Execute, *kind, Blame::Variant, String::new());
    VariantRecord {
        variant: variant(name),
        stage: Stage::Execute,
        verdict: match kinds {
            [] => Verdict::Conforms,
            kinds => Verdict::Diverges(kinds.iter().map(diverges).collect()),
        },
        notes: Vec::new(),
        outcome: None,
        compared: true,
        timings: vec![Timing { stage: Stage::Execute, micros: 10 }],
    }
}

fn case(variants: Vec<VariantRecord>) -> CaseRecord {
    let request = Request { precision: DataType::Float, tf32: false };
    CaseRecord {
        format: JOURNAL_FORMAT,
        index: 0,
        case: Task::new(Vec::new(), request, Vec::new()).hash,
        provenance: None,
        variants,
        findings: Vec::new(),
        masks: Vec::new(),
        reduced: Vec::new(),
        waits: false,
        open: Vec::new(),
        macs: 0,
    }
}

fn summary(cases: &[CaseRecord]) -> Summary {
    let info = |(name, rung_of): (&str, Option<&str>)| VariantInfo {
        variant: variant(name),
        description: Description::new("b", "1", Stage::Execute),
        rung_of: rung_of.map(variant),
    };
    let infos = [(BASE, None), ("trt", None), (RUNGS[0], Some(BASE)), (RUNGS[1], Some(BASE))].map(info);
    let mut summary = Summary::new(&infos);
    for case in cases {
        summary.record(case);
    }
    summary
}

#[test]
fn a_ladder_is_a_part_of_the_time_or_of_the_cases() {
    for text in ["10%", "0.5%", "1/50", "1/1"] {
        assert_eq!(text.parse::<Ladder>().unwrap().to_string(), text);
    }
    assert_eq!("12.5%".parse(), Ok(Ladder::Time(Percent::new(12.5).unwrap())));
    assert!(matches!("1/50".parse(), Ok(Ladder::Sample(cases)) if cases.get() == 50));
}

#[test]
fn what_is_no_ladder_is_told_with_what_would_be_one() {
    for text in ["", "%", "10", "0%", "100%", "-1%", "NaN%", "inf%", "1/0", "2/50", "1/-1", "1/ 5", "ten%"] {
        let error = text.parse::<Ladder>().unwrap_err().to_string();
        assert!(error.contains("such as 10%") && error.contains("1/50"), "{text}: {error}");
    }
}

#[test]
fn a_divergence_counts_for_the_lowest_rung_that_shows_it() {
    let (wrong, fallback) = (Kind::WrongValues, Kind::PrecisionFallback);
    let summary = summary(&[
        case(vec![record(BASE, &[]), record("trt", &[wrong])]),
        case(vec![
            record(BASE, &[fallback]),
            record("trt", &[wrong]),
            record(RUNGS[0], &[fallback, wrong]),
            record(RUNGS[1], &[fallback, wrong]),
        ]),
        case(vec![record(BASE, &[]), record("trt", &[]), record(RUNGS[0], &[]), record(RUNGS[1], &[wrong])]),
    ]);
    let [base, other, first, second] = summary.variants.as_slice() else { panic!("four variants") };
    assert_eq!((base.cases(), other.cases(), first.cases(), second.cases()), (3, 3, 2, 2));
    assert_eq!((base.micros, first.micros), (30, 20));
    assert!(base.first_seen.is_empty() && other.first_seen.is_empty());
    assert_eq!(first.first_seen, [(wrong, 1)].into());
    assert_eq!(second.first_seen, [(wrong, 1)].into());
}
