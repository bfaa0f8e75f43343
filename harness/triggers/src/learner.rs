//! Finding out under which condition cases diverge, by choosing which of them to run.

use std::{cell::LazyCell, collections::BTreeSet};

use twinfer_case::{Tally, Trigger};

use crate::{
    DescribedNode,
    conditions::{Condition, Population},
    evidence::Labels,
};

/// Conditions that are this many bits longer than the shortest may still be right.
const MARGIN: u32 = 12;

/// Conditions that are weighed at most.
const MOST_WEIGHED: usize = 48;

/// Cases that run at once. It is the same for any number of workers, so that the outcome is too.
const ROUND: usize = 8;

/// Cases about which a condition must have been right before it is believed: as many that satisfy it, and as many that just miss it.
const ENOUGH: usize = 24;

/// The fewest cases that show anything of a condition that few cases satisfy.
const FEWEST: u64 = 6;

/// The fewest cases that must diverge.
const FEWEST_DIVERGING: u64 = 4;

/// The share of the cases that satisfy a condition, in percent, that must diverge. It is low, because there may be no better condition: an error
/// may depend on values, or seldom reach an output.
const DIVERGING: u64 = 5;

/// Cases that must diverge among the first [`TRIED`] ones: if it is fewer, too few would among all that may run.
const PROMISING: usize = 2;

/// Cases after which it is known whether there is something to learn.
const TRIED: usize = 48;

/// Cases most like the minimal one that run if nearly none of the [`TRIED`] ones diverges.
const NEAREST: usize = 24;

/// The share of the cases that just miss a condition, in percent, that may diverge.
const STRAY: u64 = 5;

/// Whether there is something to learn.
enum Prospect {
    /// Many cases have run, and nearly none of them diverges.
    None,
    /// So have as many as may tell, but not those that are most like the minimal case.
    Rare,
    /// Some diverge, or few have run.
    Some,
}

/// Learns the condition under which cases diverge.
///
/// A learner starts from a node that diverges. In turns, it proposes cases, and its caller runs them and tells which of them diverge.
#[derive(Clone, Debug)]
pub struct Learner {
    operator: String,
    population: Population,
    labels: Labels,
    proposed: BTreeSet<usize>,
    limit: usize,
}

impl Learner {
    /// A learner that starts from `minimal`, a node that diverges, and proposes at most `limit` of these cases.
    pub fn new(minimal: &DescribedNode, cases: &[Vec<DescribedNode>], limit: usize) -> Self {
        Self {
            operator: minimal.operator.clone(),
            population: Population::new(minimal, cases),
            labels: Labels::default(),
            proposed: BTreeSet::new(),
            limit,
        }
    }

    /// Records whether the case at `place` diverges, which need not have been proposed.
    pub fn learn(&mut self, place: usize, diverges: bool) {
        let labels = &mut self.labels;
        if diverges {
            labels.diverging.push(place);
        } else {
            labels.conforming.push(place);
        }
        self.proposed.insert(place);
    }

    /// The cases that were learned, by their places, each with whether it diverges.
    pub fn learned(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let Labels { diverging, conforming } = &self.labels;
        let diverging = diverging.iter().map(|place| (*place, true));
        diverging.chain(conforming.iter().map(|place| (*place, false)))
    }

    /// Whether all cases that were learned to diverge satisfy a condition.
    pub fn upholds(&self, trigger: &Trigger) -> bool {
        let satisfies = |place: &usize| self.population.unmet(*place, &trigger.facts) == Some(0);
        self.labels.diverging.iter().all(satisfies)
    }

    /// A condition that was learned where an error would show, with what the cases that were learned here say of it; `None` if too many diverge that just miss it.
    pub fn confirmed(&self, trigger: Trigger) -> Option<Trigger> {
        let satisfying = self.tally(|place| self.population.unmet(place, &trigger.facts) == Some(0));
        let missing = self.tally(|place| self.population.unmet(place, &trigger.facts) == Some(1));
        let is_right = 100 * missing.diverging <= STRAY * missing.cases;
        is_right.then_some(Trigger { satisfying, missing, shown: Some(trigger.satisfying), ..trigger })
    }

    /// The cases to run next, by their places, none of them twice; none at all if nothing more is to be learned.
    pub fn propose(&mut self) -> Vec<usize> {
        let most = self.limit.saturating_sub(self.proposed.len()).min(ROUND);
        let next = self.next(most);
        self.proposed.extend(&next);
        next
    }

    /// The same, at most so many.
    fn next(&self, most: usize) -> Vec<usize> {
        let conditions = LazyCell::new(|| self.conditions());
        let next = match self.prospect() {
            Prospect::None => return Vec::new(),
            Prospect::Rare => self.population.nearest(self.unproposed(), most),
            Prospect::Some => self.separating(&conditions, most),
        };
        if next.is_empty() {
            conditions.first().map(|shortest| self.to_verify(shortest, most)).unwrap_or_default()
        } else {
            next
        }
    }

    /// The condition, if cases that satisfy it diverge and nearly none that just misses it.
    pub fn trigger(&self) -> Option<Trigger> {
        let condition = self.conditions().into_iter().next()?;
        let (satisfying, missing) = (self.satisfying(&condition), self.missing(&condition));
        let facts = self.population.facts(&condition);
        let is_right = satisfying.cases >= FEWEST
            && satisfying.diverging >= FEWEST_DIVERGING
            && 100 * satisfying.diverging >= DIVERGING * satisfying.cases
            && 100 * missing.diverging <= STRAY * missing.cases;
        is_right.then(|| Trigger { operator: self.operator.clone(), facts, satisfying, missing, shown: None })
    }

    /// What the cases that ran so far say of those to come: if nearly none diverges, it may be those that are most like the minimal case.
    fn prospect(&self) -> Prospect {
        match self.proposed.len() {
            _ if self.labels.diverging.len() >= PROMISING => Prospect::Some,
            tried if tried < TRIED => Prospect::Some,
            tried if tried < TRIED + NEAREST => Prospect::Rare,
            _ => Prospect::None,
        }
    }

    fn conditions(&self) -> Vec<Condition> {
        let mut conditions = self.population.shortest(&self.labels, MARGIN);
        conditions.truncate(MOST_WEIGHED);
        conditions
    }

    /// The cases on which conditions disagree most, no two of which divide them alike.
    fn separating(&self, conditions: &[Condition], most: usize) -> Vec<usize> {
        let Some(shortest) = conditions.first() else { return Vec::new() };
        let weight = |condition: &Condition| 0.5_f64.powi((condition.bits - shortest.bits) as i32);
        let weights: Vec<_> = conditions.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        let divide = |place: usize| {
            let satisfied: Vec<_> =
                conditions.iter().map(|condition| self.population.satisfies(place, condition)).collect();
            let share: f64 =
                satisfied.iter().zip(&weights).filter(|(one, _)| **one).map(|(_, weight)| weight).sum();
            let balance = (share / total).min(1.0 - share / total);
            let is_divided = satisfied.iter().any(|one| *one != satisfied[0]);
            is_divided.then_some((balance, place, satisfied))
        };
        let mut divided: Vec<_> = self.unproposed().filter_map(divide).collect();
        divided.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let mut seen = BTreeSet::new();
        let new = divided.into_iter().filter(|(_, _, satisfied)| seen.insert(satisfied.clone()));
        new.take(most).map(|(_, place, _)| place).collect()
    }

    /// Cases that satisfy the condition, and cases that just miss it, until enough of each have run.
    fn to_verify(&self, condition: &Condition, most: usize) -> Vec<usize> {
        let wanted = |ran: Tally| ENOUGH.saturating_sub(ran.cases as usize).min(ROUND / 2);
        let satisfying = self.unproposed().filter(|place| self.population.satisfies(*place, condition));
        let missing = self.unproposed().filter(|place| self.population.just_misses(*place, condition));
        let satisfying = satisfying.take(wanted(self.satisfying(condition)));
        let missing = missing.take(wanted(self.missing(condition)));
        satisfying.chain(missing).take(most).collect()
    }

    fn unproposed(&self) -> impl Iterator<Item = usize> {
        self.population.cases().filter(|place| !self.proposed.contains(place))
    }

    fn satisfying(&self, condition: &Condition) -> Tally {
        self.tally(|place| self.population.satisfies(place, condition))
    }

    fn missing(&self, condition: &Condition) -> Tally {
        self.tally(|place| self.population.just_misses(place, condition))
    }

    fn tally(&self, is_counted: impl Fn(usize) -> bool) -> Tally {
        let count = |places: &[usize]| places.iter().filter(|&&place| is_counted(place)).count() as u64;
        let diverging = count(&self.labels.diverging);
        Tally { diverging, cases: diverging + count(&self.labels.conforming) }
    }
}
