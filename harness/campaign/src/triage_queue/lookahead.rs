use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use twinfer_case::{FindingSeverity, Signature};
use twinfer_triage::{
    Catalog, Dedup, Identity, Reduced, Suspect, SuspectId, TriageResult, may_be_same_finding,
};

use crate::{
    decide::{Counts, Decision, Question, Triaged, decide},
    stages::JudgedCase,
};

/// The most cases that are looked at: more would keep the dispatcher from its work.
const HORIZON: usize = 4096;

/// Which suspects will have to be investigated, as far as can be foreseen before their turn.
#[derive(Default)]
pub struct Lookahead {
    /// They are reduced, and only have to be confirmed.
    reduced: Vec<Wanted>,
    /// They resemble nothing that is known or under way.
    new: Vec<Wanted>,
    /// They show known findings behind which other bugs may hide.
    again: Vec<Wanted>,
    /// They may come down to the same as an earlier one.
    alike: Vec<Wanted>,
}

/// An investigation that will be needed.
#[derive(Clone)]
pub struct Wanted {
    pub suspect: Arc<Suspect>,
    /// The known finding behind which another bug may hide.
    pub hidden_behind: Option<Arc<Identity>>,
    /// How many suspects it may settle: this one, and those that may come down to the same.
    pub settles: u64,
}

impl Wanted {
    fn weight(&self) -> u64 {
        let severity =
            self.suspect.lead().map_or(FindingSeverity::Unconfirmed, FindingSeverity::of_divergence);
        weight(severity, self.settles)
    }
}

/// How much a divergence matters that so many suspects wait for. One that is a step less severe matters as much if they are twice as many.
fn weight(severity: FindingSeverity, suspects: u64) -> u64 {
    let less_severe = FindingSeverity::ALL.into_iter().filter(|other| *other > severity).count();
    suspects << less_severe
}

/// Investigations of suspects that are not decided.
pub struct Investigations<'a> {
    pub done: &'a BTreeMap<SuspectId, Arc<TriageResult>>,
    pub under_way: BTreeSet<SuspectId>,
    /// What they have reached.
    pub dedup: &'a Dedup,
}

impl Investigations<'_> {
    /// Whether an earlier suspect is under way that came to what this one was reduced to.
    fn expect(&self, suspect: SuspectId, reduced: &Reduced) -> bool {
        let earlier = self.dedup.reached_before(suspect, reduced);
        earlier.iter().any(|earlier| self.under_way.contains(earlier))
    }
}

/// Decides the undecided cases in advance, in a catalog of its own.
struct Foresight<'a> {
    lookahead: Lookahead,
    catalog: Catalog,
    investigations: Investigations<'a>,
    /// Provisional signatures of the suspects that resemble nothing else.
    expected: Vec<&'a Signature>,
    /// What the suspects that are to be confirmed were reduced to.
    unconfirmed: Vec<&'a Identity>,
}

impl Lookahead {
    /// Looks at the `undecided` cases. Every case before `end` has its verdicts.
    pub fn of(
        undecided: &BTreeMap<u64, JudgedCase>,
        catalog: Catalog,
        investigations: Investigations<'_>,
        end: u64,
    ) -> Self {
        let (lookahead, expected, unconfirmed) = (Self::default(), Vec::new(), Vec::new());
        let mut foresight = Foresight { lookahead, catalog, investigations, expected, unconfirmed };
        for (index, case) in undecided.iter().take(HORIZON) {
            foresight.record(case, Counts::at(*index, end));
        }
        foresight.lookahead
    }

    /// The same with those that matter most first in each class.
    #[must_use]
    pub fn by_weight(mut self) -> Self {
        for class in [&mut self.reduced, &mut self.new, &mut self.again, &mut self.alike] {
            class.sort_by_key(|wanted| Reverse(wanted.weight()));
        }
        self
    }

    /// What to investigate first, second and so on.
    pub fn by_priority(&self) -> impl Iterator<Item = &Wanted> {
        [&self.reduced, &self.new, &self.again, &self.alike].into_iter().flatten()
    }

    /// Whether the investigation of `suspect` may still be needed.
    pub fn may_need(&self, suspect: SuspectId) -> bool {
        self.by_priority().any(|wanted| wanted.suspect.id() == suspect)
    }
}

impl<'a> Foresight<'a> {
    /// Counts a case for the findings that it will probably show.
    fn record(&mut self, case: &'a JudgedCase, counts: Counts) {
        let (mut shown, mut masked) = (BTreeSet::new(), BTreeSet::new());
        for (place, suspect) in case.suspects.iter().enumerate() {
            let mut lower = case.resolved.iter().map(|(lower, _)| lower).chain(&case.suspects[..place]);
            if lower.any(|lower| suspect.repeats(lower)) {
                shown.extend(self.catalog.find_likely(&suspect.provisional));
                continue;
            }
            let Some(known) = self.decide(suspect, counts) else { continue };
            shown.insert(known);
            masked.extend(self.catalog.guise(known, &suspect.provisional).map(|guise| (known, guise)));
        }
        for known in shown {
            self.catalog.count(known, 1);
        }
        for (known, guise) in masked {
            self.catalog.count_masked(known, &guise, 1);
        }
    }

    /// The finding that a suspect will probably count for.
    fn decide(&mut self, suspect: &'a Arc<Suspect>, counts: Counts) -> Option<usize> {
        let result = self.investigations.done.get(&suspect.id()).map(|result| &**result);
        match decide(&self.catalog, counts, suspect.case, &suspect.provisional, None, result) {
            Decision::Known(finding) | Decision::Repeats(finding) => Some(finding),
            Decision::Triaged(triaged, _) => Some(self.triaged(&triaged)),
            Decision::Confirm(question) => {
                let meanwhile = question.meanwhile.filter(|_| question.hidden_behind.is_some());
                self.want_confirmed(suspect, question);
                meanwhile
            }
            Decision::Investigate(question) => {
                let meanwhile = question.meanwhile;
                self.want(suspect, question);
                meanwhile
            }
        }
    }

    /// Wants a suspect that is reduced to be confirmed, unless an earlier one that was reduced to the same is, or another one under way is
    /// expected to come to that.
    fn want_confirmed(&mut self, suspect: &'a Arc<Suspect>, question: Question) {
        let result = self.investigations.done.get(&suspect.id());
        let reduced = result.and_then(|result| result.outcome.reduced());
        let Some(reduced) = reduced.filter(|_| question.hidden_behind.is_none()) else {
            return self.want(suspect, question);
        };
        if self.unconfirmed.iter().any(|earlier| earlier.is_same_as(&reduced.identity)) {
            return;
        }
        self.unconfirmed.push(&reduced.identity);
        if !self.investigations.expect(suspect.id(), reduced) {
            let wanted = Wanted { suspect: Arc::clone(suspect), hidden_behind: None, settles: 1 };
            self.lookahead.reduced.push(wanted);
        }
    }

    fn want(&mut self, suspect: &'a Arc<Suspect>, Question { hidden_behind, .. }: Question) {
        let is_again = hidden_behind.is_some();
        let wanted = Wanted { suspect: Arc::clone(suspect), hidden_behind, settles: 1 };
        let is_alike = |one: &&Signature| may_be_same_finding(one, &suspect.provisional.signature);
        if is_again {
            self.lookahead.again.push(wanted);
        } else if let Some(first) = self.expected.iter().position(is_alike) {
            self.lookahead.new[first].settles += 1;
            self.lookahead.alike.push(wanted);
        } else {
            self.lookahead.new.push(wanted);
            self.expected.push(&suspect.provisional.signature);
        }
    }

    /// The finding that an investigation leads to, which is added to the catalog if it is new.
    fn triaged(&mut self, triaged: &Triaged<'_>) -> usize {
        match *triaged {
            Triaged::OnlyKnown(known) => known,
            Triaged::Reduced { shown, counts_for, reduced } => {
                self.learn(shown, reduced);
                counts_for
            }
            Triaged::New { confirmed, reduced, hidden_behind } => {
                let identity = confirmed.identity();
                let known = self.catalog.find(&identity);
                let found = known.unwrap_or_else(|| self.catalog.add(Arc::new(identity)));
                if confirmed.is_of(reduced) {
                    self.learn(found, reduced);
                }
                hidden_behind.unwrap_or(found)
            }
        }
    }

    fn learn(&mut self, shown: usize, reduced: &Reduced) {
        if let Some(minimal) = reduced.minimal {
            self.catalog.learn(shown, minimal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_suspects_outweigh_severity() {
        let severe = weight(FindingSeverity::WrongValues, 1);
        assert!(weight(FindingSeverity::Logged, 1) < severe);
        assert!(weight(FindingSeverity::Logged, 300) > severe);
    }
}
