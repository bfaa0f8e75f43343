//! A *study* finds out by experiments what a minimal case alone cannot tell: under which condition its finding shows, and which of
//! the mutants that reproduce it do so by accident.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{Case, Diagnosis, Expectation, Kind, Trigger};
use twinfer_checks::Evaluated;
use twinfer_golden::Hypothesis;
use twinfer_triggers::{DescribedNode, Learner, describe};

use crate::{
    TriageError,
    cancellation::Purpose,
    composition::Observations,
    diverging_case::DivergingCase,
    likeness::Likeness,
    neighbors::{Described, Neighbors},
    reduction::Reduction,
    sites::Sites,
    symptom::Symptom,
    trials::{Circumstances, Drawn},
    witness::{larger_witnesses, witnesses},
};

/// Cases that a study runs at most.
const MOST_CASES: usize = 192;
/// The same number for a symptom that ends workers: each needs a new one.
const MOST_CRASHES: usize = 32;
/// Cases that run at most beside those of a study to find out the trigger of an explanation.
const MOST_SITES: usize = 64;
/// Neighbors that did not run in which the sites of an explanation are looked for.
const MOST_SEARCHED: usize = 256;
/// Diverging cases beside the minimal one that an explanation must be tried on.
const FEWEST: usize = 2;

/// Operators that a finding is about, the likeliest first.
const SUBJECTS: [&str; 8] = [
    "ConvTranspose",
    "Conv",
    "BatchNormalization",
    "MaxPool",
    "Concat",
    "Add",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// What experiments showed of a minimal case before edits of golden were searched. Another case that comes to the same shows the same bug,
/// even if the edits that explain them differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preliminary {
    /// The condition under which the finding shows; `None` if none was found.
    pub trigger: Option<Trigger>,
    /// The mutants that reproduce the minimal case, and not other cases that show its finding.
    pub refuted: Vec<String>,
}

/// What experiments showed of a minimal case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// What was known before edits were searched.
    pub preliminary: Preliminary,
    /// The condition under which the finding shows; `None` if none was found.
    pub trigger: Option<Trigger>,
    /// The mutants that reproduce the minimal case, and not other cases that show its finding.
    pub refuted: Vec<String>,
    /// The edits of golden that explain the minimal case if no mutant does; `None` if none of them does either.
    pub composed: Option<Diagnosis>,
}

/// Runs experiments.
pub struct Experiments<'a> {
    /// Runs cases.
    pub reduction: &'a Reduction<'a>,
    /// The cases among which the trigger is looked for; `None` if it is not.
    pub neighbors: Option<&'a Neighbors>,
}

/// The cases among which the trigger of a node that diverges is looked for.
struct Neighborhood<'a> {
    /// The node.
    subject: &'a DescribedNode,
    neighbors: &'a Neighbors,
    /// What the nodes of the neighbors are like.
    described: Described,
    /// Tells which neighbors show the same bug.
    likeness: Likeness<'a>,
}

/// How often the mutants that explain a case explain its graph with other values.
#[derive(Default)]
struct Explanations {
    diverging: usize,
    explained: BTreeMap<String, usize>,
    /// The cases that ran.
    observations: Observations,
}

impl Experiments<'_> {
    /// What experiments show of a minimal case.
    pub fn study(&self, minimal: &DivergingCase) -> Result<Study, TriageError> {
        let case = &minimal.evaluated.encoded.case;
        let mut explanations = self.explanations(minimal)?;
        if minimal.symptom.diagnosis().is_empty() {
            self.run_witnesses(minimal, witnesses(case), &mut explanations)?;
        }
        if self.neighbors.is_some() {
            self.run_witnesses(minimal, larger_witnesses(case), &mut explanations)?;
        }
        let nodes = describe(case);
        let mut neighborhood = self.neighborhood(minimal, &nodes)?;
        let mut learner = match &mut neighborhood {
            Some(neighborhood) => self.learn(minimal, neighborhood, &mut explanations)?,
            None => None,
        };
        let trigger = learner.as_ref().and_then(Learner::trigger);
        let refuted =
            explanations.observations.refuted(&minimal.symptom, self.circumstances(trigger.as_ref()));
        let preliminary = Preliminary { trigger: trigger.clone(), refuted };
        let study = Study { preliminary, ..self.settled(minimal, trigger, &explanations.observations) };
        if let (Some(neighborhood), Some(learner)) = (&mut neighborhood, &mut learner)
            && !study.trigger.as_ref().is_some_and(is_certain)
        {
            let informed = self.informed(minimal, neighborhood, &study, learner, &mut explanations)?;
            return Ok(match informed {
                Some(informed) => Study { preliminary: study.preliminary, ..informed },
                None => study,
            });
        }
        Ok(study)
    }

    /// The study with the trigger that is learned from the nodes at which an explanation would show; `None` if there is no explanation, or no
    /// reason for another trigger.
    fn informed(
        &self,
        minimal: &DivergingCase,
        neighborhood: &mut Neighborhood<'_>,
        study: &Study,
        learner: &mut Learner,
        explanations: &mut Explanations,
    ) -> Result<Option<Study>, TriageError> {
        let symptom = &minimal.symptom;
        // the trigger may be what contradicts an explanation
        let without_trigger = || self.settled(minimal, None, &explanations.observations);
        let hypothesis = study.hypothesis(symptom).or_else(|| without_trigger().hypothesis(symptom));
        let Some(hypothesis) = hypothesis else { return Ok(None) };
        let sites = self.sites(hypothesis);
        let trigger = self.learn_of_sites(minimal, neighborhood, &sites, learner, explanations)?;
        let is_upheld = |trigger: &Trigger| trigger.is_sufficient() && learner.upholds(trigger);
        if trigger.is_none() || study.trigger.as_ref().is_some_and(is_upheld) {
            return Ok(None);
        }
        let informed = self.settled(minimal, trigger, &explanations.observations);
        Ok(Some(informed).filter(|informed| informed.hypothesis(symptom).is_some()))
    }

    /// What the cases that ran say of the explanations, given a trigger.
    fn settled(
        &self,
        minimal: &DivergingCase,
        trigger: Option<Trigger>,
        observations: &Observations,
    ) -> Study {
        let circumstances = self.circumstances(trigger.as_ref());
        let refuted = observations.refuted(&minimal.symptom, circumstances);
        let (refuted, composed) = observations.settle(minimal, refuted, circumstances);
        Study { trigger, refuted, composed, ..Study::default() }
    }

    fn circumstances<'t>(&self, trigger: Option<&'t Trigger>) -> Circumstances<'t> {
        Circumstances { trigger, arithmetic: self.reduction.workers.info().description.arithmetic }
    }

    fn sites(&self, hypothesis: Hypothesis) -> Sites<'_> {
        let arithmetic = self.reduction.workers.info().description.arithmetic;
        Sites { hypothesis, oracle: self.reduction.oracle, arithmetic }
    }

    /// The mutants that explain a case, and not its graph with other values.
    pub fn doubt(&self, diverging: &DivergingCase) -> Result<Vec<String>, TriageError> {
        let explanations = self.explanations(diverging)?;
        let is_tried = explanations.diverging >= FEWEST;
        Ok(if is_tried { explanations.refuted(&diverging.symptom) } else { Vec::new() })
    }

    /// How often the mutants that explain a case explain its graph with other values.
    fn explanations(&self, diverging: &DivergingCase) -> Result<Explanations, TriageError> {
        let mut explanations = Explanations::default();
        if !diverging.symptom.diagnosis().is_empty() {
            let witnesses = witnesses(&diverging.evaluated.encoded.case);
            self.run_witnesses(diverging, witnesses, &mut explanations)?;
        }
        Ok(explanations)
    }

    /// Runs the graph of a case with other values, or of other extents.
    fn run_witnesses(
        &self,
        diverging: &DivergingCase,
        witnesses: Vec<Case>,
        explanations: &mut Explanations,
    ) -> Result<(), TriageError> {
        if is_studied(diverging) {
            let _lease = self.reduction.workers.lease();
            for evaluated in self.reduction.run_warm(Purpose::Explanation, witnesses, &diverging.symptom)? {
                explanations.count(&diverging.symptom, evaluated, Drawn::Witness);
            }
        }
        Ok(())
    }

    /// Where the trigger of a minimal case with these nodes is looked for; `None` if it is not.
    fn neighborhood<'n>(
        &'n self,
        minimal: &'n DivergingCase,
        nodes: &'n [DescribedNode],
    ) -> Result<Option<Neighborhood<'n>>, TriageError> {
        let Some(neighbors) = self.neighbors.filter(|_| is_studied(minimal)) else { return Ok(None) };
        let _lease = self.reduction.workers.lease();
        let likeness = Likeness::new(self.reduction, minimal)?;
        let Some(subject) = subject(nodes, likeness.wrong_alone()) else { return Ok(None) };
        let described = neighbors.described(&subject.operator);
        Ok(Some(Neighborhood { subject, neighbors, described, likeness }))
    }

    /// What tells under which condition cases of a neighborhood diverge; `None` if the investigation has to end before.
    fn learn(
        &self,
        minimal: &DivergingCase,
        neighborhood: &mut Neighborhood<'_>,
        explanations: &mut Explanations,
    ) -> Result<Option<Learner>, TriageError> {
        let limit = if minimal.symptom.kind() == Kind::Crash { MOST_CRASHES } else { MOST_CASES };
        let mut learner = Learner::new(neighborhood.subject, &neighborhood.described, limit);
        let _lease = self.reduction.workers.lease();
        while self.reduction.cancellation.is_active() {
            let places = learner.propose();
            if places.is_empty() {
                return Ok(Some(learner));
            }
            for (place, diverges) in self.run_neighbors(minimal, neighborhood, places, explanations)? {
                learner.learn(place, diverges);
            }
        }
        Ok(None)
    }

    /// The condition under which cases diverge where an explanation would show, with the evidence of all cases. `learner` has learned of cases
    /// in which the values may hide what is wrong, and learns of those that run.
    fn learn_of_sites(
        &self,
        minimal: &DivergingCase,
        neighborhood: &mut Neighborhood<'_>,
        sites: &Sites<'_>,
        learner: &mut Learner,
        explanations: &mut Explanations,
    ) -> Result<Option<Trigger>, TriageError> {
        let learned: Vec<_> = learner.learned().collect();
        let shown = neighborhood.sites(sites, &learned.iter().map(|(place, _)| *place).collect());
        let mut informed = Learner::new(neighborhood.subject, &shown, learned.len() + MOST_SITES);
        for (place, diverges) in learned.into_iter().filter(|(place, _)| !shown[*place].is_empty()) {
            informed.learn(place, diverges);
        }
        let _lease = self.reduction.workers.lease();
        while self.reduction.cancellation.is_active() {
            let places = informed.propose();
            if places.is_empty() {
                let trigger = informed.trigger();
                return Ok(trigger.and_then(|trigger| learner.confirmed(trigger)));
            }
            for (place, diverges) in self.run_neighbors(minimal, neighborhood, places, explanations)? {
                informed.learn(place, diverges);
                learner.learn(place, diverges);
            }
        }
        Ok(None)
    }

    /// Runs neighbors: whether each diverges as the minimal case does, if that is known.
    fn run_neighbors(
        &self,
        minimal: &DivergingCase,
        neighborhood: &mut Neighborhood<'_>,
        places: Vec<usize>,
        explanations: &mut Explanations,
    ) -> Result<Vec<(usize, bool)>, TriageError> {
        let cases = places.iter().map(|place| neighborhood.case(*place)).collect();
        let ran = self.reduction.run_warm(Purpose::Trigger, cases, &minimal.symptom)?;
        let mut learned = Vec::new();
        for (place, evaluated) in places.into_iter().zip(ran) {
            let lesson = neighborhood.likeness.lesson(evaluated)?;
            learned.extend(lesson.shows.map(|shows| (place, shows)));
            for case in lesson.cases {
                explanations.observations.add(&minimal.symptom, case, Drawn::Neighbor);
            }
        }
        Ok(learned)
    }
}

impl Neighborhood<'_> {
    fn case(&self, place: usize) -> Case {
        self.neighbors.case(&self.subject.operator, place)
    }

    /// The sites of each case, as far as it is one that `ran` or one of the first others.
    fn sites(&self, sites: &Sites<'_>, ran: &BTreeSet<usize>) -> Vec<Vec<DescribedNode>> {
        let places = 0..self.described.len();
        let others = places.clone().filter(|place| !ran.contains(place)).take(MOST_SEARCHED);
        let searched: BTreeSet<_> = others.chain(ran.iter().copied()).collect();
        let of_case = |place: usize| {
            let is_searched = searched.contains(&place);
            let found = is_searched
                .then(|| sites.of(self.case(place), &self.described[place], &self.subject.operator));
            found.unwrap_or_default()
        };
        places.map(of_case).collect()
    }
}

impl Study {
    /// What explains the minimal case of `symptom`: an edit, or a listed mutant that is not refuted. The first of several.
    fn hypothesis(&self, symptom: &Symptom) -> Option<Hypothesis> {
        let composed = self.composed.iter().flat_map(Diagnosis::mutant_names);
        let listed = symptom.diagnosis().iter().filter(|name| !self.refuted.contains(name));
        composed.chain(listed.map(String::as_str)).find_map(Hypothesis::from_name)
    }
}

impl Explanations {
    fn count(&mut self, symptom: &Symptom, evaluated: Evaluated, drawn: Drawn) {
        if let Some(shown) = symptom.recurring_in(&evaluated) {
            self.diverging += 1;
            for mutant in shown.diagnosis() {
                *self.explained.entry(mutant.clone()).or_default() += 1;
            }
        }
        self.observations.add(symptom, evaluated, drawn);
    }

    /// The mutants of `symptom` that explain less than half of the cases, or all if the cases are too few to tell.
    fn refuted(&self, symptom: &Symptom) -> Vec<String> {
        let is_refuted = |mutant: &&String| {
            let explained = self.explained.get(*mutant).copied().unwrap_or(0);
            self.diverging < FEWEST || 2 * explained < self.diverging
        };
        symptom.diagnosis().iter().filter(is_refuted).cloned().collect()
    }
}

/// Whether a trigger says that the finding shows nearly always.
fn is_certain(trigger: &Trigger) -> bool {
    trigger.facts.is_empty() && trigger.is_sufficient()
}

/// Whether other cases may show the symptom of a case, at a cost that allows for trying.
fn is_studied(minimal: &DivergingCase) -> bool {
    let case: &Case = &minimal.evaluated.encoded.case;
    is_shown_by_others(minimal.symptom.kind()) && case.expectation == Expectation::Valid
}

/// Whether other cases may show a finding of this kind each time they run, so that experiments tell something.
pub const fn is_shown_by_others(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Hang | Kind::Nondeterministic | Kind::StateDependent | Kind::Unstable | Kind::AcceptsInvalid
    )
}

/// The node that a finding with these nodes in its minimal case is about: the one that is wrong alone, if that is known.
fn subject<'n>(nodes: &'n [DescribedNode], wrong_alone: Option<&str>) -> Option<&'n DescribedNode> {
    let of_operator = |operator: &str| nodes.iter().find(|node| node.operator == operator);
    wrong_alone
        .and_then(of_operator)
        .or_else(|| SUBJECTS.iter().find_map(|operator| of_operator(operator)))
        .or_else(|| nodes.first())
}
