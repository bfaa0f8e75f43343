//! An *investigation* finds out what a divergence is: it makes the case smaller, and where that is nothing that an
//! earlier case showed, confirms it in fresh workers. It depends on its suspect alone, so that any number of them run at
//! once; what they come to counts in case order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use twinfer_case::{
    Case, CaseHash, Divergence, EncodedCase, Event, Expectation, FINDING_FORMAT, Finding, Kind, Sighting,
    VariantInfo, Verdict,
};
use twinfer_checks::{Evaluated, Oracle};
use twinfer_workers::TriageWorkers;

use crate::{
    CaseSource, TriageError,
    catalog::Identity,
    classes::classes,
    reduction::{DivergingCase, Reduction, confirm_smaller},
    suspect::Suspect,
    symptom::Symptom,
};

/// Workers that have run nothing which a proof takes.
const FRESH: usize = 1;

/// Investigates suspects, any number of them at once.
#[derive(Clone, Copy)]
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
}

/// What an investigation came to.
pub struct TriageResult {
    /// The finding behind which something else was looked for.
    pub beyond: Option<Arc<Identity>>,
    /// What was found.
    pub outcome: TriageOutcome,
    /// What it took.
    pub effort: Effort,
}

/// What an investigation took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Candidates that were run.
    pub candidates: u64,
    /// Wall time.
    pub time: Duration,
}

/// An investigation under way, as seen by whoever wants to end it.
#[derive(Default)]
pub struct Cancellation {
    is_halted: AtomicBool,
    candidates: AtomicU64,
    /// When it goes on with what it has.
    end: Option<Instant>,
}

/// What was found.
pub enum TriageOutcome {
    /// Nothing but what was known.
    Nothing,
    /// What an earlier case may have shown already; nothing is proved.
    Reduced(Reduced),
    /// What fresh workers confirmed.
    Confirmed(Reduced, Box<Confirmed>),
}

/// The smallest case that shows a symptom in warm workers.
#[derive(Clone)]
pub struct Reduced {
    specimen: DivergingCase,
    /// What finding it would be.
    pub identity: Identity,
    /// How it was reached.
    pub events: Vec<Event>,
    /// Whether there was time to try all that is smaller.
    pub is_smallest: bool,
}

/// What fresh workers say.
pub struct Confirmed {
    /// What is to be kept.
    pub finding: Finding,
    /// Its case.
    pub minimal: Evaluated,
    /// The divergences of the suspect as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// The cases that it needs before it.
    pub history: Vec<Arc<EncodedCase>>,
    /// Whether it recurred at all.
    pub recurs: bool,
}

/// What a divergence turned out to be.
enum Confirmation {
    /// It recurs in a worker that has run nothing else.
    Fresh(Evaluated),
    /// It recurs in a worker that has run these cases, and only there.
    AfterOthers(Evaluated, Vec<Arc<EncodedCase>>),
    /// It does not recur.
    None,
}

impl<'a> Investigator<'a> {
    /// An investigator that judges by `oracle`, takes preceding cases from `source`, and reduces cases if `minimize`.
    pub const fn new(oracle: &'a Oracle, source: &'a CaseSource, minimize: bool) -> Self {
        Self { oracle, source, minimize }
    }

    /// Finds out what `suspect` shows, or what it shows `beyond` a known finding. Nothing is proved where `is_familiar`
    /// knows the minimal case; `None` once `course` is halted.
    pub fn investigate(
        self,
        crew: &TriageWorkers,
        suspect: &Suspect,
        beyond: Option<&Identity>,
        is_familiar: impl FnOnce(&Identity) -> bool,
        course: &Cancellation,
    ) -> Result<Option<TriageOutcome>, TriageError> {
        let expected = beyond.is_none().then(|| crew.expect_fresh(FRESH));
        let reduced = self.reduce(crew, suspect, beyond, course)?;
        if course.is_halted() {
            return Ok(None);
        }
        let Some(reduced) = reduced else { return Ok(Some(TriageOutcome::Nothing)) };
        if is_familiar(&reduced.identity) {
            return Ok(Some(TriageOutcome::Reduced(reduced)));
        }
        // it is taken now
        drop(expected);
        let proof = self.prove(crew, suspect, &reduced)?;
        Ok(Some(TriageOutcome::Confirmed(reduced, Box::new(proof))))
    }

    /// The smallest case that shows what `suspect` shows in warm workers; the suspect itself where it does not recur
    /// there. `None` where nothing is to be seen `beyond` a known finding.
    fn reduce(
        self,
        crew: &TriageWorkers,
        suspect: &Suspect,
        beyond: Option<&Identity>,
        course: &Cancellation,
    ) -> Result<Option<Reduced>, TriageError> {
        let mut specimen = self.specimen(suspect)?;
        let reduction = Reduction { crew, oracle: self.oracle, course };
        if let Some(known) = beyond {
            match reduction.look_beyond(&specimen, known)? {
                Some(other) => specimen = other,
                None => return Ok(None),
            }
        }
        let mut events = Vec::new();
        if self.minimize && (beyond.is_some() || reduction.recurs(&specimen)?) {
            specimen = reduction.reduce(&specimen, &mut |event| events.push(event.clone()))?;
        }
        let prepared = &specimen.tried.prepared;
        let signature = specimen.symptom.signature(crew.info(), prepared);
        let identity = Identity { signature, classes: classes(&prepared.case) };
        Ok(Some(Reduced { specimen, identity, events, is_smallest: !course.is_late() }))
    }

    /// Confirms in a fresh worker what `suspect` was reduced to; where that does not recur, the suspect itself.
    pub fn prove(
        self,
        crew: &TriageWorkers,
        suspect: &Suspect,
        reduced: &Reduced,
    ) -> Result<Confirmed, TriageError> {
        let DivergingCase { tried, symptom } = &self.specimen(suspect)?;
        let smaller = &reduced.specimen;
        let is_smaller = smaller.tried.prepared.task.hash != suspect.case;
        if is_smaller && let Some(minimal) = confirm_smaller(smaller, crew)? {
            let divergences = suspect.divergences().to_vec();
            return Ok(Confirmed::of(crew, tried, minimal, divergences).of_reduced(reduced));
        }
        Ok(match self.confirm(crew, suspect, tried)? {
            Confirmation::Fresh(fresh) => {
                let divergences = fresh.divergences().to_vec();
                let minimal = DivergingCase { tried: fresh, symptom: symptom.clone() };
                Confirmed::of(crew, tried, minimal, divergences).of_reduced(reduced)
            }
            Confirmation::AfterOthers(warm, history) => {
                let minimal = renamed(warm, symptom, Kind::StateDependent, "only after other cases");
                let divergences = minimal.tried.divergences().to_vec();
                Confirmed::of(crew, tried, minimal, divergences).after(history)
            }
            Confirmation::None => {
                let minimal = renamed(tried.clone(), symptom, Kind::Nondeterministic, "did not recur");
                let divergences = minimal.tried.divergences().to_vec();
                Confirmed { recurs: false, ..Confirmed::of(crew, tried, minimal, divergences) }
            }
        })
    }

    /// The suspect as it was seen.
    fn specimen(self, suspect: &Suspect) -> Result<DivergingCase, TriageError> {
        let tried = suspect.tried(self.source, self.oracle)?;
        Ok(DivergingCase { tried, symptom: suspect.symptom.clone() })
    }

    /// Runs the case again in a worker that has run nothing else; failing that, with its history.
    fn confirm(
        self,
        crew: &TriageWorkers,
        suspect: &Suspect,
        tried: &Evaluated,
    ) -> Result<Confirmation, TriageError> {
        let Suspect { symptom, preceding, .. } = suspect;
        let fresh = tried.with(crew.info(), crew.observe_fresh(&tried.prepared.task)?);
        if symptom.recurs_in(&fresh) {
            return Ok(Confirmation::Fresh(fresh));
        }
        let history = preceding.iter().map(|index| EncodedCase::of((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = crew.observe_after(&history, &tried.prepared)?;
        let warm = warm.map(|observation| tried.with(crew.info(), observation));
        Ok(match warm.filter(|warm| symptom.recurs_in(warm)) {
            Some(warm) => Confirmation::AfterOthers(warm, history),
            None => Confirmation::None,
        })
    }
}

impl Cancellation {
    /// One that may take so long, where that is bounded.
    pub fn within(patience: Option<Duration>) -> Self {
        Self { end: patience.and_then(|patience| Instant::now().checked_add(patience)), ..Self::default() }
    }

    /// Whether there is time to try more.
    pub fn goes_on(&self) -> bool {
        !self.is_halted() && !self.is_late()
    }

    /// Whether its time is up.
    pub fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Ends it early.
    pub fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end without a result.
    pub fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::Relaxed)
    }

    /// Counts candidates that were run.
    pub fn ran(&self, candidates: usize) {
        self.candidates.fetch_add(candidates as u64, Ordering::Relaxed);
    }

    /// Candidates that were run so far.
    pub fn candidates(&self) -> u64 {
        self.candidates.load(Ordering::Relaxed)
    }
}

impl Confirmed {
    /// That `minimal` recurs, which was found in `suspect`.
    fn of(
        crew: &TriageWorkers,
        suspect: &Evaluated,
        minimal: DivergingCase,
        divergences: Vec<Divergence>,
    ) -> Self {
        let finding = finding(crew.info(), suspect, &minimal, Vec::new());
        Self { finding, minimal: minimal.tried, divergences, history: Vec::new(), recurs: true }
    }

    /// The same, of what was made as small as there was time for.
    const fn of_reduced(mut self, reduced: &Reduced) -> Self {
        self.finding.cut_short = !reduced.is_smallest;
        self
    }

    /// The same, after other cases only.
    fn after(mut self, history: Vec<Arc<EncodedCase>>) -> Self {
        self.finding.preceding = history.iter().map(|prepared| prepared.task.hash).collect();
        Self { history, ..self }
    }

    /// How the finding is recognised in other cases.
    pub fn identity(&self) -> Identity {
        Identity { signature: self.finding.signature.clone(), classes: classes(&self.minimal.prepared.case) }
    }
}

/// The finding that `minimal` shows, which was found in `suspect`.
pub fn finding(
    info: &VariantInfo,
    suspect: &Evaluated,
    DivergingCase { tried: minimal, symptom }: &DivergingCase,
    preceding: Vec<CaseHash>,
) -> Finding {
    let signature = symptom.signature(info, &minimal.prepared);
    Finding {
        format: FINDING_FORMAT,
        kind: signature.kind,
        stage: signature.stage,
        diagnosis: symptom.diagnosis().to_vec(),
        graph: shown(signature.kind, &minimal.prepared.case),
        signature,
        seen_in: vec![sighting(info)],
        before: suspect.prepared.size(),
        after: minimal.prepared.size(),
        case: minimal.prepared.task.hash,
        provenance: suspect.prepared.case.provenance.clone(),
        preceding,
        cut_short: false,
        divergences: symptom.narrowed(minimal.divergences()),
    }
}

/// The graph in one line; behind the rule that it breaks where that is what is wrong with accepting it.
fn shown(kind: Kind, case: &Case) -> String {
    let graph = case.graph.to_string();
    match (kind, &case.expectation) {
        (Kind::AcceptsInvalid, Expectation::Invalid(rule)) => format!("breaks {rule}: {graph}"),
        _ => graph,
    }
}

/// The same case, the divergence with the symptom called by what it turned out to be.
fn renamed(mut tried: Evaluated, symptom: &Symptom, kind: Kind, how: &str) -> DivergingCase {
    if let Verdict::Diverges(divergences) = &mut tried.judgement.verdict {
        let place = symptom.place_among(divergences);
        if let Some(lead) = divergences.get_mut(place) {
            lead.diagnosis = None;
            lead.detail = format!("{how}: {}: {}", lead.kind, lead.detail);
            lead.kind = kind;
        }
    }
    DivergingCase { tried, symptom: symptom.clone().renamed(kind) }
}

/// Where a finding was seen.
pub fn sighting(info: &VariantInfo) -> Sighting {
    Sighting { variant: info.variant.clone(), version: info.description.backend_version() }
}
