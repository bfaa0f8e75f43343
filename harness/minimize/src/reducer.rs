use std::collections::HashSet;

use twinfer_case::{Case, CaseHash, OversizedRecipe, Run, TensorSource, materialize};

use crate::{
    Complexity,
    fit::Baseline,
    passes::{PASSES, Pass},
};

/// A minimization under way.
#[derive(Clone, Debug)]
pub struct Reducer {
    best: Case,
    /// How complex `best` is; what replaces it is less so.
    complexity: Complexity,
    /// Where this round of passes has come to.
    place: Place,
    /// The candidates that [`propose`](Self::propose) returned last.
    proposed: Vec<Proposal>,
    /// Candidates that do not show what the case shows.
    refuted: HashSet<CaseHash>,
    /// Whether this round of passes had a success.
    progress: bool,
    steps: Vec<Reduction>,
    tried: usize,
    limit: usize,
}

/// A pass and one of its candidates, both by their place in the order of trial.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    pass: usize,
    candidate: usize,
}

/// A candidate and where it came from.
#[derive(Clone, Debug)]
struct Proposal {
    case: Case,
    hash: CaseHash,
    complexity: Complexity,
    place: Place,
}

/// One success of a minimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The name of the pass that proposed it.
    pub pass: &'static str,
    /// Number of candidates tried up to and including this one.
    pub tried: usize,
}

/// The result of a minimization.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimized {
    /// The smallest case found, with its tensors as data.
    pub case: Case,
    /// The successes that led to the case, in order.
    pub steps: Vec<Reduction>,
    /// Number of candidates tried.
    pub tried: usize,
    /// Whether no pass has a simpler candidate left; if not, the limit on candidates was reached.
    pub complete: bool,
}

impl Reducer {
    /// Starts from a case that shows what is to be kept, and tries at most `limit` candidates.
    ///
    /// Fails if a recipe of the case is too large to materialize.
    pub fn new(case: &Case, limit: usize) -> Result<Self, OversizedRecipe> {
        let best = materialized(case)?;
        let complexity = Complexity::of(&best);
        Ok(Self {
            best,
            complexity,
            place: Place::default(),
            proposed: vec![],
            refuted: HashSet::new(),
            progress: false,
            steps: vec![],
            tried: 0,
            limit,
        })
    }

    /// The simplest case so far.
    pub const fn best(&self) -> &Case {
        &self.best
    }

    /// The next candidates in pass order, at most `count`; empty when the minimization is over.
    pub fn propose(&mut self, count: usize) -> Vec<Case> {
        self.propose_if(count, |_| true)
    }

    /// The next candidates for which `wanted` holds, in pass order, at most `count`.
    pub fn propose_if(&mut self, count: usize, wanted: impl Fn(&Case) -> bool) -> Vec<Case> {
        let count = count.min(self.limit - self.tried);
        self.proposed = self.next(count, &wanted);
        if self.proposed.is_empty() && self.progress && count > 0 {
            self.place = Place::default();
            self.progress = false;
            self.proposed = self.next(count, &wanted);
        }
        self.proposed.iter().map(|proposal| proposal.case.clone()).collect()
    }

    /// Records the first of the candidates proposed last that still shows what the case shows; `None` if none does.
    /// Earlier candidates are taken not to show it; nothing is assumed about later ones.
    pub fn decide(&mut self, first: Option<usize>) {
        let mut proposed = std::mem::take(&mut self.proposed);
        let success = first.filter(|place| *place < proposed.len()).map(|place| proposed.split_off(place));
        self.tried += proposed.len();
        self.refuted.extend(proposed.iter().map(|proposal| proposal.hash));
        if let Some(last) = proposed.last() {
            self.place = Place { candidate: last.place.candidate + 1, ..last.place };
        }
        if let Some(success) = success.into_iter().flatten().next() {
            self.tried += 1;
            self.progress = true;
            // what was refuted before it is tried again in the next round, not after each success
            self.place = success.place;
            self.steps.push(Reduction { pass: PASSES[success.place.pass].name, tried: self.tried });
            self.best = success.case;
            self.complexity = success.complexity;
        }
    }

    /// Ends the minimization with the simplest case so far.
    pub fn finish(mut self) -> Minimized {
        let complete = self.propose(1).is_empty() && self.tried < self.limit;
        Minimized { case: self.best, steps: self.steps, tried: self.tried, complete }
    }

    /// Up to `count` wanted and untried candidates from the current place to the last.
    fn next(&self, count: usize, wanted: &impl Fn(&Case) -> bool) -> Vec<Proposal> {
        let Some(baseline) = Baseline::of(&self.best) else {
            return vec![];
        };
        let mut seen = HashSet::new();
        let passes = PASSES.iter().enumerate().skip(self.place.pass);
        passes
            .flat_map(|(number, pass)| {
                let first = if number == self.place.pass { self.place.candidate } else { 0 };
                self.candidates(Place { pass: number, candidate: first }, pass, &baseline)
            })
            .filter(|proposal| seen.insert(proposal.hash) && wanted(&proposal.case))
            .take(count)
            .collect()
    }

    /// What a pass makes of the best case, from one candidate on: sound, simpler and not refuted yet.
    fn candidates<'a>(
        &'a self,
        from: Place,
        pass: &Pass,
        baseline: &'a Baseline,
    ) -> impl Iterator<Item = Proposal> + 'a {
        let edited = (pass.propose)(&self.best, baseline).enumerate().skip(from.candidate);
        edited.filter_map(move |(candidate, case)| {
            let case = baseline.fit(case)?;
            let complexity = Complexity::of(&case);
            let hash = case.hash().ok()?;
            let wanted = complexity < self.complexity && !self.refuted.contains(&hash);
            let place = Place { candidate, ..from };
            wanted.then_some(Proposal { case, hash, complexity, place })
        })
    }
}

/// Minimizes `case` with at most `limit` candidates in batches of `batch`.
///
/// `first` receives candidates and returns the index of the first that still shows what `case` shows. It may try them in
/// parallel and need not finish those after a success: the result is the same for every batch size. Fails if a recipe of
/// the case is too large to materialize.
pub fn minimize(
    case: &Case,
    limit: usize,
    batch: usize,
    mut first: impl FnMut(&[Case]) -> Option<usize>,
) -> Result<Minimized, OversizedRecipe> {
    let mut reducer = Reducer::new(case, limit)?;
    loop {
        let candidates = reducer.propose(batch.max(1));
        if candidates.is_empty() {
            return Ok(reducer.finish());
        }
        reducer.decide(first(&candidates));
    }
}

/// The case with its tensors as data, which passes can cut.
fn materialized(case: &Case) -> Result<Case, OversizedRecipe> {
    let data = |inputs: Vec<_>| Run { inputs: inputs.into_iter().map(TensorSource::Data).collect() };
    let runs = materialize(&case.runs)?.into_iter().map(data).collect();
    Ok(Case { runs, ..case.clone() })
}
