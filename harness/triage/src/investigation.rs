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

/// Workers that have run nothing which a confirmed takes.
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
    pub hidden_behind: Option<Arc<Identity>>,
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
    is_canceled: AtomicBool,
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
    diverging: DivergingCase,
    /// What finding it would be.
    pub identity: Identity,
    /// How it was reached.
    pub events: Vec<Event>,
    /// Whether there was time to try all that is smaller.
    pub is_minimal: bool,
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

    /// Finds out what `suspect` shows, or what it shows `hidden_behind` a known finding. Nothing is proved where `is_familiar`
    /// knows the minimal case; `None` once `cancellation` is halted.
    pub fn investigate(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        is_familiar: impl FnOnce(&Identity) -> bool,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, TriageError> {
        let expected = hidden_behind.is_none().then(|| workers.request_fresh(FRESH));
        let reduced = self.reduce(workers, suspect, hidden_behind, cancellation)?;
        if cancellation.is_canceled() {
            return Ok(None);
        }
        let Some(reduced) = reduced else { return Ok(Some(TriageOutcome::Nothing)) };
        if is_familiar(&reduced.identity) {
            return Ok(Some(TriageOutcome::Reduced(reduced)));
        }
        // it is taken now
        drop(expected);
        let confirmed = self.confirm(workers, suspect, &reduced)?;
        Ok(Some(TriageOutcome::Confirmed(reduced, Box::new(confirmed))))
    }

    /// The smallest case that shows what `suspect` shows in warm workers; the suspect itself where it does not recur
    /// there. `None` where nothing is to be seen `hidden_behind` a known finding.
    fn reduce(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        cancellation: &Cancellation,
    ) -> Result<Option<Reduced>, TriageError> {
        let mut diverging = self.diverging(suspect)?;
        let reduction = Reduction { workers, oracle: self.oracle, cancellation };
        if let Some(known) = hidden_behind {
            match reduction.look_behind(&diverging, known)? {
                Some(other) => diverging = other,
                None => return Ok(None),
            }
        }
        let mut events = Vec::new();
        if self.minimize && (hidden_behind.is_some() || reduction.recurs(&diverging)?) {
            diverging = reduction.reduce(&diverging, &mut |event| events.push(event.clone()))?;
        }
        let encoded = &diverging.evaluated.encoded;
        let signature = diverging.symptom.signature(workers.info(), encoded);
        let identity = Identity { signature, classes: classes(&encoded.case) };
        Ok(Some(Reduced { diverging, identity, events, is_minimal: !cancellation.is_timed_out() }))
    }

    /// Confirms in a fresh worker what `suspect` was reduced to; where that does not recur, the suspect itself.
    pub fn confirm(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        reduced: &Reduced,
    ) -> Result<Confirmed, TriageError> {
        let DivergingCase { evaluated, symptom } = &self.diverging(suspect)?;
        let smaller = &reduced.diverging;
        let is_smaller = smaller.evaluated.encoded.task.hash != suspect.case;
        if is_smaller && let Some(minimal) = confirm_smaller(smaller, workers)? {
            let divergences = suspect.divergences().to_vec();
            return Ok(Confirmed::of(workers, evaluated, minimal, divergences).of_reduced(reduced));
        }
        Ok(match self.rerun(workers, suspect, evaluated)? {
            Confirmation::Fresh(fresh) => {
                let divergences = fresh.divergences().to_vec();
                let minimal = DivergingCase { evaluated: fresh, symptom: symptom.clone() };
                Confirmed::of(workers, evaluated, minimal, divergences).of_reduced(reduced)
            }
            Confirmation::AfterOthers(warm, history) => {
                let minimal = renamed(warm, symptom, Kind::StateDependent, "only after other cases");
                let divergences = minimal.evaluated.divergences().to_vec();
                Confirmed::of(workers, evaluated, minimal, divergences).after(history)
            }
            Confirmation::None => {
                let minimal = renamed(evaluated.clone(), symptom, Kind::Nondeterministic, "did not recur");
                let divergences = minimal.evaluated.divergences().to_vec();
                Confirmed { recurs: false, ..Confirmed::of(workers, evaluated, minimal, divergences) }
            }
        })
    }

    /// The suspect as it was seen.
    fn diverging(self, suspect: &Suspect) -> Result<DivergingCase, TriageError> {
        let evaluated = suspect.evaluated(self.source, self.oracle)?;
        Ok(DivergingCase { evaluated, symptom: suspect.symptom.clone() })
    }

    /// Runs the case again in a worker that has run nothing else; failing that, with its history.
    fn rerun(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        evaluated: &Evaluated,
    ) -> Result<Confirmation, TriageError> {
        let Suspect { symptom, preceding, .. } = suspect;
        let fresh = evaluated.with(workers.info(), workers.observe_fresh(&evaluated.encoded.task)?);
        if symptom.recurs_in(&fresh) {
            return Ok(Confirmation::Fresh(fresh));
        }
        let history = preceding.iter().map(|index| EncodedCase::encode((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = workers.observe_after(&history, &evaluated.encoded)?;
        let warm = warm.map(|observation| evaluated.with(workers.info(), observation));
        Ok(match warm.filter(|warm| symptom.recurs_in(warm)) {
            Some(warm) => Confirmation::AfterOthers(warm, history),
            None => Confirmation::None,
        })
    }
}

impl Cancellation {
    /// One that may take so long, where that is bounded.
    pub fn with_limit(limit: Option<Duration>) -> Self {
        Self { end: limit.and_then(|limit| Instant::now().checked_add(limit)), ..Self::default() }
    }

    /// Whether there is time to try more.
    pub fn is_active(&self) -> bool {
        !self.is_canceled() && !self.is_timed_out()
    }

    /// Whether its time is up.
    pub fn is_timed_out(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Ends it early.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end without a result.
    pub fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
    }

    /// Counts candidates that were run.
    pub fn count_candidates(&self, candidates: usize) {
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
        workers: &TriageWorkers,
        suspect: &Evaluated,
        minimal: DivergingCase,
        divergences: Vec<Divergence>,
    ) -> Self {
        let finding = finding(workers.info(), suspect, &minimal, Vec::new());
        Self { finding, minimal: minimal.evaluated, divergences, history: Vec::new(), recurs: true }
    }

    /// The same, of what was made as small as there was time for.
    const fn of_reduced(mut self, reduced: &Reduced) -> Self {
        self.finding.cut_short = !reduced.is_minimal;
        self
    }

    /// The same, after other cases only.
    fn after(mut self, history: Vec<Arc<EncodedCase>>) -> Self {
        self.finding.preceding = history.iter().map(|encoded| encoded.task.hash).collect();
        Self { history, ..self }
    }

    /// How the finding is recognised in other cases.
    pub fn identity(&self) -> Identity {
        Identity { signature: self.finding.signature.clone(), classes: classes(&self.minimal.encoded.case) }
    }
}

/// The finding that `minimal` shows, which was found in `suspect`.
pub fn finding(
    info: &VariantInfo,
    suspect: &Evaluated,
    DivergingCase { evaluated: minimal, symptom }: &DivergingCase,
    preceding: Vec<CaseHash>,
) -> Finding {
    let signature = symptom.signature(info, &minimal.encoded);
    Finding {
        format: FINDING_FORMAT,
        kind: signature.kind,
        stage: signature.stage,
        diagnosis: symptom.diagnosis().to_vec(),
        graph: shown(signature.kind, &minimal.encoded.case),
        signature,
        seen_in: vec![sighting(info)],
        before: suspect.encoded.size(),
        after: minimal.encoded.size(),
        case: minimal.encoded.task.hash,
        provenance: suspect.encoded.case.provenance.clone(),
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
fn renamed(mut evaluated: Evaluated, symptom: &Symptom, kind: Kind, how: &str) -> DivergingCase {
    if let Verdict::Diverges(divergences) = &mut evaluated.judgement.verdict {
        let place = symptom.place_among(divergences);
        if let Some(lead) = divergences.get_mut(place) {
            lead.diagnosis = None;
            lead.detail = format!("{how}: {}: {}", lead.kind, lead.detail);
            lead.kind = kind;
        }
    }
    DivergingCase { evaluated, symptom: symptom.clone().renamed(kind) }
}

/// Where a finding was seen.
pub fn sighting(info: &VariantInfo) -> Sighting {
    Sighting { variant: info.variant.clone(), version: info.description.backend_version() }
}
