use std::sync::Arc;

use twinfer_case::{Distribution, JOURNAL_FORMAT, Stage, Verdict};
use twinfer_generators::Family;
use twinfer_onnx::Op;
use twinfer_workers::WorkerCommand;

use super::*;

fn source() -> CaseSource {
    let stream = Family::Conv.stream(Distribution::Baseline, 1);
    Arc::new(move |index| stream.case(index))
}

fn is_grouped(case: &Case) -> bool {
    let mut nodes = case.graph.nodes.iter();
    nodes.any(|node| matches!(&node.op, Op::Conv(conv) if conv.group.is_some_and(|group| group > 1)))
}

/// The record of the case at `index` on one variant: it hangs if `hangs` says so, and may be left out.
fn record(index: u64, hangs: impl Fn(&Case) -> bool, left_out: Option<String>) -> CaseRecord {
    let case = source()(index);
    let outcome = if hangs(&case) { Outcome::TimedOut } else { Outcome::Ok };
    let variant = "ort:cpu".parse().unwrap();
    let record = match left_out {
        Some(condition) => VariantRecord::left_out(variant, condition),
        None => VariantRecord {
            variant,
            stage: Stage::Execute,
            outcome: Some(outcome),
            verdict: Verdict::Conforms,
            notes: Vec::new(),
            compared: true,
            timings: Vec::new(),
        },
    };
    CaseRecord {
        format: JOURNAL_FORMAT,
        index,
        case: case.hash().unwrap(),
        provenance: None,
        variants: vec![record],
        findings: Vec::new(),
        masks: Vec::new(),
        reduced: Vec::new(),
        waits: false,
        open: Vec::new(),
        macs: 0,
    }
}

fn forecast(budget: Budget) -> HangForecast {
    let options = Options { budget, ..Options::new(Vec::new(), WorkerCommand::new("twinfer")) };
    HangForecast::new(source(), &options, 1)
}

fn outlook(forecast: &HangForecast, index: u64) -> Outlook {
    let case = source()(index);
    forecast.outlook(index, &case, case.hash().unwrap())
}

/// Runs the cases of a block, as far as they are not left out.
fn run_block(forecast: &HangForecast, block: u64, hangs: impl Fn(&Case) -> bool) {
    for index in block * BLOCK..(block + 1) * BLOCK {
        let Outlook::Final(left_out) = outlook(forecast, index) else { panic!("{index} waits") };
        forecast.add(&record(index, &hangs, left_out[0].clone()));
    }
    assert!(forecast.learn_block_before((block + 1) * BLOCK));
}

fn left_out(forecast: &HangForecast, block: u64) -> Vec<u64> {
    let is_left_out = |index: &u64| matches!(outlook(forecast, *index), Outlook::Final(conditions) if conditions[0].is_some());
    (block * BLOCK..(block + 1) * BLOCK).filter(is_left_out).collect()
}

#[test]
fn what_a_block_teaches_applies_from_the_next_one_on() {
    let forecast = forecast(Budget::Cases(1000));
    run_block(&forecast, 0, is_grouped);
    assert!(left_out(&forecast, 0).is_empty());
    let left_out = left_out(&forecast, 1);
    assert!(left_out.len() > 20, "{left_out:?}");
    assert!(left_out.iter().all(|index| is_grouped(&source()(*index))));
    // some run, so that a backend that no longer hangs shows
    let grouped = (BLOCK..2 * BLOCK).filter(|index| is_grouped(&source()(*index))).count();
    assert!(left_out.len() < grouped, "{} of {grouped}", left_out.len());
}

#[test]
fn case_of_a_block_that_may_still_learn_waits_or_runs() {
    let forecast = forecast(Budget::Cases(1000));
    assert_eq!(outlook(&forecast, BLOCK), Outlook::Runs);
    run_block(&forecast, 0, is_grouped);
    for index in 2 * BLOCK..3 * BLOCK {
        let is_waiting = outlook(&forecast, index) == Outlook::Waits;
        assert!(!is_waiting || is_grouped(&source()(index)));
        assert!(!forecast.is_final(index));
    }
    assert!((2 * BLOCK..3 * BLOCK).any(|index| outlook(&forecast, index) == Outlook::Waits));
    run_block(&forecast, 1, is_grouped);
    assert!((2 * BLOCK..3 * BLOCK).all(|index| forecast.is_final(index)));
}

#[test]
fn case_waits_as_soon_as_some_of_an_earlier_block_have_hung() {
    let forecast = forecast(Budget::Cases(1000));
    let may_hang = |index: &u64| is_grouped(&source()(*index));
    let is_sample = |index: u64| source()(index).hash().unwrap().number().is_multiple_of(RUN_EVERY);
    let later = (BLOCK..2 * BLOCK).filter(may_hang).find(|index| !is_sample(*index)).unwrap();
    assert_eq!(outlook(&forecast, later), Outlook::Runs);
    for index in 0..BLOCK / 2 {
        forecast.add(&record(index, is_grouped, None));
    }
    assert_eq!(outlook(&forecast, later), Outlook::Waits);
    assert!(!forecast.is_final(later));
}

#[test]
fn case_is_free_while_too_few_can_have_hung() {
    let forecast = forecast(Budget::Cases(1000));
    assert!(forecast.is_free(BLOCK, |start| u64::from(start == BLOCK) * 5));
    assert!(!forecast.is_free(BLOCK, |_| FEWEST_HANGS));
    forecast.add(&record(0, |_| true, None));
    assert!(forecast.is_free(BLOCK, |_| 4));
    assert!(!forecast.is_free(BLOCK, |_| 5));
}

#[test]
fn samples_that_do_not_hang_refute_a_condition() {
    let forecast = forecast(Budget::Cases(2000));
    run_block(&forecast, 0, is_grouped);
    assert!(!left_out(&forecast, 1).is_empty());
    let mut block = 1;
    while !left_out(&forecast, block).is_empty() {
        run_block(&forecast, block, |_| false);
        block += 1;
        assert!(block < 12, "nothing refutes it");
    }
}

#[test]
fn case_that_ran_before_its_hang_was_predicted_is_left_out() {
    let forecast = forecast(Budget::Cases(1000));
    run_block(&forecast, 0, is_grouped);
    let index = left_out(&forecast, 1)[0];
    let ran = record(index, |_| false, None);
    assert_eq!(forecast.left_out(&ran), [Some("Conv where group > 1".to_owned())]);
}

#[test]
fn hangs_count_at_once_with_a_budget_of_time() {
    let forecast = forecast(Budget::Seconds(60));
    for index in 0..BLOCK / 2 {
        forecast.add(&record(index, is_grouped, None));
    }
    assert!(!left_out(&forecast, 2).is_empty());
    assert!(!forecast.learn_block_before(BLOCK));
}
