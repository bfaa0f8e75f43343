//! What cases that hang have in common, by which other cases are *predicted* to hang.
//!
//! A finding's trigger is learned by experiments, which a hang is too slow for. The cases of a campaign are many, and tell as much for nothing.

use std::{cmp::Reverse, collections::HashSet};

use twinfer_case::{Case, Fact, Tally, Trigger};
use twinfer_triggers::{DescribedNode, describe_runs, satisfies};

/// The fewest hangs that predict others: so many cases that satisfy a condition must hang.
pub const FEWEST_HANGS: u64 = 6;

/// The cases that must hang for each one that satisfies the condition and does not.
const PER_EXCEPTION: u64 = 10;

/// The most conditions: each is another bug.
const MOST_CONDITIONS: usize = 4;

/// Hangs from which a condition is looked for: one of them may be of a bug that few others show.
const STARTS: usize = 3;

/// The most facts of a condition.
const MOST_FACTS: usize = 3;

/// Conditions of one number of facts that are extended by another fact, the most promising ones.
const MOST_STEMS: usize = 16;

/// A case that ran on a variant.
pub struct RanCase {
    nodes: Vec<DescribedNode>,
    hung: bool,
}

impl RanCase {
    /// `case`, which `hung` or came to something else.
    pub fn new(case: &Case, hung: bool) -> Self {
        Self { nodes: describe_runs(case), hung }
    }

    fn satisfies(&self, conditions: &[Trigger]) -> bool {
        conditions.iter().any(|condition| satisfies(&self.nodes, condition))
    }
}

/// The conditions under which nearly all cases hang, as far as these cases tell: at least `fewest` hang that satisfy one, and ten for each
/// that does not hang. The condition of most hangs comes first.
pub fn hang_conditions(ran: &[&RanCase], fewest: u64) -> Vec<Trigger> {
    let mut conditions = Vec::new();
    while conditions.len() < MOST_CONDITIONS
        && let Some(condition) = next_condition(ran, &conditions, fewest)
    {
        conditions.push(condition);
    }
    conditions
}

/// The first of these conditions that a case satisfies, by which it is predicted to hang.
pub fn predicted_hang<'a>(conditions: &'a [Trigger], case: &Case) -> Option<&'a Trigger> {
    if conditions.is_empty() {
        return None;
    }
    let nodes = describe_runs(case);
    conditions.iter().find(|condition| satisfies(&nodes, condition))
}

/// The condition of most of the hangs that the `known` ones do not predict.
fn next_condition(ran: &[&RanCase], known: &[Trigger], fewest: u64) -> Option<Trigger> {
    let open: Vec<&RanCase> =
        ran.iter().copied().filter(|case| !case.hung || !case.satisfies(known)).collect();
    let hung = open.iter().filter(|case| case.hung).count() as u64;
    if hung < fewest {
        return None;
    }
    let mut starts: Vec<&DescribedNode> = Vec::new();
    for node in open.iter().filter(|case| case.hung).take(STARTS).flat_map(|case| &case.nodes) {
        if !starts.contains(&node) {
            starts.push(node);
        }
    }
    let mut best = None;
    for start in starts {
        let candidates = Candidates::of(start, &open, fewest);
        let Some(condition) = candidates.best() else { continue };
        let worth = condition.worth();
        if best.as_ref().is_none_or(|(best, _)| *best < worth) {
            best = Some((worth, candidates.trigger(condition)));
        }
        if worth.0 == hung {
            break;
        }
    }
    best.map(|(_, condition)| condition)
}

/// Conditions about one node that hangs.
struct Candidates<'a> {
    operator: &'a str,
    /// By node of this operator of all cases: the place of its case.
    cases: Vec<usize>,
    /// How many cases must hang that satisfy a condition.
    fewest: u64,
    /// By case: whether it hung.
    hung: Vec<bool>,
    /// What holds for the node that hangs, the simplest first, each with whether it holds for each of the nodes. No two hold for the same.
    facts: Vec<(Fact, Vec<bool>)>,
}

/// Some facts, by their places, with what the cases came to that satisfy all of them.
#[derive(Clone)]
struct Condition {
    facts: Vec<usize>,
    tally: Tally,
}

impl Condition {
    /// How many more hang than must, and how simple the condition is.
    fn worth(&self) -> (u64, Reverse<usize>) {
        let Tally { diverging, cases } = self.tally;
        let needed = PER_EXCEPTION * (cases - diverging);
        (diverging.saturating_sub(needed), Reverse(self.facts.len()))
    }

    fn predicts(&self, fewest: u64) -> bool {
        self.tally.diverging >= fewest && self.worth().0 > 0
    }

    /// How much the condition tells about the hangs that satisfy it, in bits, if without it `all` cases were known to be as they are.
    fn gain(&self, all: Tally) -> f64 {
        let share = |tally: Tally| tally.diverging as f64 / tally.cases.max(1) as f64;
        match self.tally.diverging {
            0 => 0.0,
            hung => hung as f64 * (share(self.tally) / share(all)).log2(),
        }
    }
}

impl<'a> Candidates<'a> {
    fn of(start: &'a DescribedNode, ran: &[&'a RanCase], fewest: u64) -> Self {
        let of_case = |(place, case): (usize, &&'a RanCase)| {
            let case: &'a RanCase = case;
            let alike = case.nodes.iter().filter(|node| node.operator == start.operator);
            alike.map(move |node| (place, node))
        };
        let (cases, nodes): (Vec<_>, Vec<_>) = ran.iter().enumerate().flat_map(of_case).unzip();
        let (mut facts, mut seen) = (Vec::new(), HashSet::from([vec![true; nodes.len()]]));
        for fact in start.facts() {
            let holds: Vec<_> = nodes.iter().map(|node| node.has(fact)).collect();
            if seen.insert(holds.clone()) {
                facts.push((fact, holds));
            }
        }
        let hung = ran.iter().map(|case| case.hung).collect();
        Self { operator: &start.operator, cases, fewest, hung, facts }
    }

    /// The condition that predicts most hangs, with few exceptions; `None` if none does.
    fn best(&self) -> Option<Condition> {
        let always = self.condition(Vec::new(), &self.satisfying(&[]));
        let all = always.tally;
        let (mut best, mut stems) =
            (Some(always.clone()).filter(|always| always.predicts(self.fewest)), vec![always]);
        for _ in 0..MOST_FACTS {
            let mut longer: Vec<_> = stems.iter().flat_map(|stem| self.longer(stem)).collect();
            longer.sort_by(|one, other| other.gain(all).total_cmp(&one.gain(all)));
            let predicting = longer.iter().filter(|condition| condition.predicts(self.fewest)).cloned();
            // of several that are equally good, the shortest, and the simplest of these
            best = predicting.rev().chain(best).max_by_key(Condition::worth);
            longer.truncate(MOST_STEMS);
            stems = longer;
        }
        best
    }

    /// The conditions of one more fact that fewer nodes satisfy, and enough cases that hung.
    fn longer(&self, stem: &Condition) -> Vec<Condition> {
        let nodes = self.satisfying(&stem.facts);
        let first = stem.facts.last().map_or(0, |last| last + 1);
        let further = (first..self.facts.len()).filter_map(|place| {
            let (_, holds) = &self.facts[place];
            let narrower: Vec<_> = nodes.iter().copied().filter(|&node| holds[node]).collect();
            let facts = stem.facts.iter().copied().chain([place]).collect();
            (narrower.len() < nodes.len()).then(|| self.condition(facts, &narrower))
        });
        further.filter(|condition| condition.tally.diverging >= self.fewest).collect()
    }

    /// The nodes for which all of these facts hold.
    fn satisfying(&self, facts: &[usize]) -> Vec<usize> {
        let holds = |node: &usize| facts.iter().all(|&fact| self.facts[fact].1[*node]);
        (0..self.cases.len()).filter(holds).collect()
    }

    /// The condition of these facts, which hold for these nodes.
    fn condition(&self, facts: Vec<usize>, nodes: &[usize]) -> Condition {
        let mut cases: Vec<_> = nodes.iter().map(|&node| self.cases[node]).collect();
        cases.dedup();
        let diverging = cases.iter().filter(|&&case| self.hung[case]).count() as u64;
        Condition { facts, tally: Tally { diverging, cases: cases.len() as u64 } }
    }

    fn trigger(&self, Condition { facts, tally }: Condition) -> Trigger {
        let facts = facts.into_iter().map(|place| self.facts[place].0).collect();
        let operator = self.operator.to_owned();
        Trigger { operator, facts, satisfying: tally, missing: Tally::default(), shown: None }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::Distribution;
    use twinfer_generators::Family;
    use twinfer_onnx::Op;

    use super::*;

    fn cases(count: u64) -> Vec<Case> {
        let stream = Family::Conv.stream(Distribution::Baseline, 1);
        (0..count).map(|index| stream.case(index)).collect()
    }

    fn has(case: &Case, is_meant: impl Fn(i64, &[i64]) -> bool) -> bool {
        case.graph.nodes.iter().any(|node| match &node.op {
            Op::Conv(conv) => is_meant(conv.group.unwrap_or(1), conv.strides.as_deref().unwrap_or_default()),
            _ => false,
        })
    }

    fn grouped(case: &Case) -> bool {
        has(case, |group, _| group > 1)
    }

    fn strided(case: &Case) -> bool {
        has(case, |_, strides| strides.iter().any(|&stride| stride > 2))
    }

    fn conditions(cases: &[Case], hangs: impl Fn(&Case) -> bool) -> Vec<String> {
        let ran: Vec<_> = cases.iter().map(|case| RanCase::new(case, hangs(case))).collect();
        hang_conditions(&ran.iter().collect::<Vec<_>>(), FEWEST_HANGS)
            .iter()
            .map(Trigger::condition)
            .collect()
    }

    #[test]
    fn each_bug_that_hangs_has_its_condition() {
        let cases = cases(400);
        assert_eq!(conditions(&cases, grouped), ["Conv where group > 1"]);
        let mut both = conditions(&cases, |case| grouped(case) || strided(case));
        both.sort();
        assert_eq!(both, ["Conv where group > 1", "Conv where stride > 2 on some axis"]);
    }

    #[test]
    fn few_hangs_and_chance_predict_nothing() {
        let cases = cases(400);
        assert_eq!(conditions(&cases, |_| false), Vec::<String>::new());
        let few: Vec<_> = cases.iter().filter(|case| grouped(case)).take(3).cloned().collect();
        assert_eq!(conditions(&cases, |case| few.contains(case)), Vec::<String>::new());
        let by_chance = |case: &Case| case.hash().expect("small").number().is_multiple_of(16);
        assert_eq!(conditions(&cases, by_chance), Vec::<String>::new());
    }

    #[test]
    fn only_cases_that_satisfy_a_condition_are_predicted_to_hang() {
        let cases = cases(400);
        let ran: Vec<_> = cases[..200].iter().map(|case| RanCase::new(case, grouped(case))).collect();
        let conditions = hang_conditions(&ran.iter().collect::<Vec<_>>(), FEWEST_HANGS);
        for case in &cases[200..] {
            assert_eq!(predicted_hang(&conditions, case).is_some(), grouped(case));
        }
        assert!(predicted_hang(&[], &cases[0]).is_none());
    }
}
