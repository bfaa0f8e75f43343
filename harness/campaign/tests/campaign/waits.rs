//! Every wait on a worker ends, in both directions, whatever the worker and the processes that it started do.

use std::{sync::Arc, time::Duration};

use twinfer_case::{Budget, Case, Expectation, Kind, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, Tensor, TensorData, ValueInfo};

use crate::{
    actor::role::Role,
    setup::{Outcome, TestCampaign, against},
};

/// Elements of a case that fills the pipe to a worker several times.
const LARGE: usize = 1 << 18;

/// A campaign of few cases whose deadlines are short.
fn hasty(role: Role) -> TestCampaign {
    with_deadlines(role, Duration::from_millis(400))
}

fn with_deadlines(role: Role, deadline: Duration) -> TestCampaign {
    let mut campaign = against(role, 6);
    campaign.options.minimize = false;
    (campaign.options.deadlines.load, campaign.options.deadlines.execute) = (deadline, deadline);
    campaign
}

/// A campaign of one case that does not fit the pipe.
fn with_large_case(role: Role) -> TestCampaign {
    let mut campaign = hasty(role);
    campaign.options.budget = Budget::Cases(1);
    campaign.options.source = Some(Arc::new(|_| large_case()));
    campaign
}

fn large_case() -> Case {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(LARGE)]),
    };
    let relu = Node {
        name: "relu".to_owned(),
        op: Op::Relu,
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![relu],
        outputs: vec![value("y")],
    };
    let input = Tensor { shape: vec![LARGE], data: TensorData::Float(vec![1.0; LARGE]) };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// Checks that every case has a verdict, and that those that diverge do so in this kind.
fn assert_kind(outcome: &Outcome, cases: usize, kind: Kind) {
    assert_eq!(outcome.journal().len(), cases);
    let kinds = outcome.kinds();
    assert!(!kinds.is_empty() && kinds.iter().all(|one| *one == kind), "{kinds:?}");
}

#[test]
fn orphan_that_keeps_the_pipe_open_does_not_hide_a_hang() {
    assert_kind(&hasty(Role::HangsWithOrphan).run(), 6, Kind::Hang);
}

#[test]
fn orphan_that_keeps_the_pipe_open_does_not_hide_a_crash() {
    // a busy machine takes its time to notice a crash, which must not pass for a hang
    assert_kind(&with_deadlines(Role::LeavesOrphan, Duration::from_secs(10)).run(), 6, Kind::Crash);
}

#[test]
fn large_case_for_a_worker_that_never_reads_is_a_hang() {
    assert_kind(&with_large_case(Role::NeverReads).run(), 1, Kind::Hang);
}

#[test]
fn large_case_for_a_worker_that_reads_slowly_is_a_hang() {
    assert_kind(&with_large_case(Role::ReadsSlowly).run(), 1, Kind::Hang);
}

#[test]
fn large_case_passes_through_the_pipe() {
    let outcome = with_large_case(Role::Honest).run();
    assert_eq!((outcome.journal().len(), outcome.kinds().len()), (1, 0));
}

#[test]
fn slow_answer_is_a_hang() {
    assert_kind(&hasty(Role::AnswersSlowly).run(), 6, Kind::Hang);
}

#[test]
fn worker_that_closes_its_output_is_lost() {
    let mut campaign = hasty(Role::ClosesOutput);
    campaign.options.budget = Budget::Cases(2);
    assert_kind(&campaign.run(), 2, Kind::Hang);
}

#[test]
fn second_handshake_ends_the_worker() {
    assert_kind(&hasty(Role::GreetsTwice).run(), 6, Kind::Crash);
}

#[test]
fn answers_that_nobody_asked_for_end_the_worker() {
    let outcome = hasty(Role::FloodsOutput).run();
    assert_eq!(outcome.journal().len(), 6);
    assert!(outcome.summary.workers_lost > 0);
}

#[test]
fn flood_on_stderr_disturbs_no_case() {
    let mut campaign = hasty(Role::FloodsStderr);
    campaign.options.deadlines.execute = Duration::from_mins(1);
    let outcome = campaign.run();
    assert_eq!((outcome.journal().len(), outcome.kinds().len()), (6, 0));
}

#[test]
fn worker_that_never_greets_is_an_error() {
    let mut campaign = hasty(Role::NeverGreets);
    campaign.options.deadlines.start = Duration::from_millis(300);
    let error = campaign.try_run().err().expect("no worker starts");
    assert!(error.to_string().contains("deadline"), "{error}");
}
