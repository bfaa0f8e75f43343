use proptest::{
    strategy::{NewTree, Strategy, ValueTree},
    test_runner::TestRunner,
};
use twinfer_case::Case;

use crate::{CaseSpace, Choices};

/// A space as a proptest strategy.
#[derive(Clone, Debug)]
pub struct Cases<S> {
    space: S,
}

impl<S: CaseSpace> Cases<S> {
    pub(crate) const fn of(space: S) -> Self {
        Self { space }
    }
}

impl<S: CaseSpace + std::fmt::Debug> Strategy for Cases<S> {
    type Tree = CaseTree;
    type Value = Case;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = proptest::num::u64::ANY.new_tree(runner)?.current();
        Ok(CaseTree { case: self.space.draw(&mut Choices::of_index(seed, 0)) })
    }
}

/// A case and what proptest may simplify it to.
#[derive(Clone, Debug)]
pub struct CaseTree {
    case: Case,
}

impl ValueTree for CaseTree {
    type Value = Case;

    fn current(&self) -> Case {
        self.case.clone()
    }

    fn simplify(&mut self) -> bool {
        false
    }

    fn complicate(&mut self) -> bool {
        false
    }
}
