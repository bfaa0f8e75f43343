use std::fmt;

use proptest::{
    strategy::{NewTree, Strategy, ValueTree},
    test_runner::TestRunner,
};
use twinfer_case::Case;
use twinfer_minimize::Reducer;

use crate::{CaseSpace, Choices};

/// The most cases that are tried to make a failing one simpler.
const CANDIDATES: usize = 10_000;

/// A space as a proptest strategy.
///
/// A failing case is shrunk by the passes of `twinfer-minimize`, which may leave a restricted space: filter with
/// `prop_filter` what the test could not do with. On the cases that are drawn such a filter never rejects.
#[derive(Clone, Debug)]
pub struct Cases<S> {
    space: S,
}

impl<S: CaseSpace> Cases<S> {
    pub(crate) const fn of(space: S) -> Self {
        Self { space }
    }
}

impl<S: CaseSpace + fmt::Debug> Strategy for Cases<S> {
    type Tree = CaseTree;
    type Value = Case;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = proptest::num::u64::ANY.new_tree(runner)?.current();
        let drawn = self.space.draw(&mut Choices::of_index(seed, 0));
        Ok(CaseTree { drawn, reducer: None, candidate: None })
    }
}

/// A case, and what proptest may simplify it to.
#[derive(Clone, Debug)]
pub struct CaseTree {
    drawn: Case,
    /// Holds the simplest case that failed, once shrinking has begun.
    reducer: Option<Reducer>,
    /// The case that is being tried.
    candidate: Option<Case>,
}

impl CaseTree {
    /// Notes whether the candidate failed, and goes on to the next; without one, back to the simplest that failed.
    fn advance(&mut self, failed: bool) -> bool {
        let Some(reducer) = &mut self.reducer else {
            return false;
        };
        if self.candidate.take().is_some() {
            reducer.decide(failed.then_some(0));
        }
        self.candidate = reducer.propose(1).pop();
        self.candidate.is_some()
    }
}

impl ValueTree for CaseTree {
    type Value = Case;

    fn current(&self) -> Case {
        let simplest = self.reducer.as_ref().map_or(&self.drawn, Reducer::best);
        self.candidate.as_ref().unwrap_or(simplest).clone()
    }

    fn simplify(&mut self) -> bool {
        if self.reducer.is_none() {
            self.reducer = Reducer::new(&self.drawn, CANDIDATES).ok();
        }
        self.advance(true)
    }

    fn complicate(&mut self) -> bool {
        let tried = self.candidate.is_some();
        self.advance(false) || tried
    }
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng};
    use twinfer_onnx::{ConvTranspose, Op};

    use super::*;
    use crate::{InvalidSpace, Space};

    fn runner() -> TestRunner {
        let config = Config { failure_persistence: None, max_shrink_iters: u32::MAX, ..Config::default() };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    }

    fn dilated(case: &Case) -> bool {
        let is_dilated = |op: &Op| op.window().is_some_and(|window| window.is_dilated());
        case.graph.nodes.iter().any(|node| is_dilated(&node.op))
    }

    #[test]
    fn a_failing_test_shrinks_to_one_node_with_what_it_takes() {
        let test = |case: Case| if dilated(&case) { Err(TestCaseError::fail("dilated")) } else { Ok(()) };
        let Err(TestError::Fail(_, case)) = runner().run(&Space::deconvolutions().cases(), test) else {
            panic!("no case was dilated");
        };
        let [node] = case.graph.nodes.as_slice() else {
            panic!("{:#?}", case.graph);
        };
        let expected = ConvTranspose {
            dilations: Some(vec![2]),
            kernel_shape: Some(vec![1]),
            ..ConvTranspose::default()
        };
        assert_eq!(node.op, Op::ConvTranspose(expected));
    }

    #[test]
    fn a_filter_keeps_shrinking_within_a_restricted_space() {
        let mut space = Space::deconvolutions();
        space.rank = space.rank.keep(|rank| *rank == 3).expect("volumes are drawn");
        let rank = |case: &Case| case.runs[0].inputs[0].shape().len() - 2;
        let volumes = space.cases().prop_filter("volumes alone", move |case| rank(case) == 3);
        let test = |case: Case| if dilated(&case) { Err(TestCaseError::fail("dilated")) } else { Ok(()) };
        let Err(TestError::Fail(_, case)) = runner().run(&volumes, test) else {
            panic!("no case was dilated");
        };
        assert_eq!((rank(&case), case.graph.nodes.len()), (3, 1), "{:#?}", case.graph);
    }

    #[test]
    fn the_strategy_and_the_stream_draw_from_one_description() {
        let mut runner = runner();
        for _ in 0..50 {
            let seed =
                proptest::num::u64::ANY.new_tree(&mut runner.clone()).expect("is infallible").current();
            let space = InvalidSpace::new();
            let drawn = space.clone().cases().new_tree(&mut runner).expect("rejects nothing").current();
            assert_eq!(drawn, space.draw(&mut Choices::of_index(seed, 0)));
        }
    }
}
