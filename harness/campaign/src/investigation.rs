//! An *investigation* finds out what a divergence is: it makes the case smaller, and where that is nothing that an
//! earlier case showed, confirms it in fresh workers. It depends on its suspect alone, so that any number of them run at
//! once; what they come to counts in case order.

use std::sync::atomic::{AtomicBool, Ordering};

use twinfer_case::{
    CaseHash, Divergence, Event, FINDING_FORMAT, Finding, Kind, Sighting, VariantInfo, Verdict,
};

use crate::{
    CampaignError, CaseSource, Options, Oracle,
    catalogue::Identity,
    crew::{Crew, Tried},
    describe::{classes, one_line},
    prepared::Prepared,
    recording::version,
    reduction::{Reduction, Specimen, confirm_smaller},
    suspect::Suspect,
};

/// Investigates suspects, any number of them at once.
#[derive(Clone, Copy)]
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
}

/// What an investigation came to.
pub struct Inquest {
    /// The smallest case that shows the suspect's symptom in warm workers.
    pub reduced: Reduced,
    /// None where that is what an earlier case showed.
    pub proof: Option<Proof>,
}

/// The smallest case that shows a symptom in warm workers.
#[derive(Clone)]
pub struct Reduced {
    specimen: Specimen,
    /// What finding it would be.
    pub identity: Identity,
    /// How it was reached.
    pub events: Vec<Event>,
}

/// What fresh workers say.
pub struct Proof {
    /// What is to be kept.
    pub finding: Finding,
    /// Its case.
    pub minimal: Tried,
    /// The divergences of the suspect as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// Whether it recurred at all.
    pub recurs: bool,
}

/// What a divergence turned out to be.
enum Confirmation {
    /// It recurs in a worker that has run nothing else.
    Fresh(Tried),
    /// It recurs in a worker that has run these cases, and only there.
    AfterOthers(Tried, Vec<CaseHash>),
    /// It does not recur.
    None,
}

impl<'a> Investigator<'a> {
    pub const fn new(options: &'a Options, source: &'a CaseSource) -> Self {
        Self { oracle: &options.oracle, source, minimize: options.minimize }
    }

    /// Finds out what `suspect` shows. Nothing is proved where `is_familiar` knows the minimal case; `None` once `halt`
    /// is set.
    pub fn investigate(
        self,
        crew: &Crew,
        suspect: &Suspect,
        is_familiar: impl FnOnce(&Identity) -> bool,
        halt: &AtomicBool,
    ) -> Result<Option<Inquest>, CampaignError> {
        let reduced = self.reduce(crew, suspect, halt)?;
        if halt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if is_familiar(&reduced.identity) {
            return Ok(Some(Inquest { reduced, proof: None }));
        }
        let proof = Some(self.prove(crew, suspect, &reduced)?);
        Ok(Some(Inquest { reduced, proof }))
    }

    /// The smallest case that shows what `suspect` shows in warm workers; the suspect itself where it does not recur there.
    fn reduce(self, crew: &Crew, suspect: &Suspect, halt: &AtomicBool) -> Result<Reduced, CampaignError> {
        let Suspect { tried, symptom, .. } = suspect;
        let mut specimen = Specimen { tried: tried.clone(), symptom: symptom.clone() };
        let mut events = Vec::new();
        if self.minimize && symptom.recurs_in(&crew.again(tried, crew.observe_warm(&tried.prepared.task)?)) {
            let reduction = Reduction { crew, oracle: self.oracle, halt };
            specimen = reduction.reduce(&specimen, &mut |event| events.push(event.clone()))?;
        }
        let prepared = &specimen.tried.prepared;
        let signature = specimen.symptom.signature(crew.info(), prepared);
        let identity = Identity { signature, classes: classes(&prepared.case) };
        Ok(Reduced { specimen, identity, events })
    }

    /// Confirms in fresh workers what `suspect` was reduced to.
    pub fn prove(self, crew: &Crew, suspect: &Suspect, reduced: &Reduced) -> Result<Proof, CampaignError> {
        let symptom = &suspect.symptom;
        let (specimen, divergences, preceding, recurs) = match self.confirm(crew, suspect)? {
            Confirmation::Fresh(tried) => {
                let divergences = tried.divergences().to_vec();
                let confirmed = Specimen { tried, symptom: symptom.clone() };
                (smallest(crew, confirmed, reduced)?, divergences, Vec::new(), true)
            }
            Confirmation::AfterOthers(tried, preceding) => {
                let tried = renamed(tried, Kind::StateDependent, "only after other cases");
                let divergences = tried.divergences().to_vec();
                let symptom = symptom.clone().renamed(Kind::StateDependent);
                (Specimen { tried, symptom }, divergences, preceding, true)
            }
            Confirmation::None => {
                let tried = renamed(suspect.tried.clone(), Kind::Nondeterministic, "did not recur");
                let divergences = tried.divergences().to_vec();
                let symptom = symptom.clone().renamed(Kind::Nondeterministic);
                (Specimen { tried, symptom }, divergences, Vec::new(), false)
            }
        };
        let finding = finding(crew.info(), &suspect.tried, &specimen, preceding);
        Ok(Proof { finding, minimal: specimen.tried, divergences, recurs })
    }

    /// Runs the case again in a worker that has run nothing else; failing that, with its history.
    fn confirm(self, crew: &Crew, suspect: &Suspect) -> Result<Confirmation, CampaignError> {
        let Suspect { tried, symptom, preceding, .. } = suspect;
        let fresh = crew.again(tried, crew.observe_fresh(&tried.prepared.task)?);
        if symptom.recurs_in(&fresh) {
            return Ok(Confirmation::Fresh(fresh));
        }
        let history = preceding.iter().map(|index| Prepared::of((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = crew.observe_after(&history, &tried.prepared)?;
        let warm = warm.map(|observation| crew.again(tried, observation));
        Ok(match warm.filter(|warm| symptom.recurs_in(warm)) {
            Some(warm) => {
                let hashes = history.iter().map(|prepared| prepared.task.hash).collect();
                Confirmation::AfterOthers(warm, hashes)
            }
            None => Confirmation::None,
        })
    }
}

/// The reduced case where it shows the same in a fresh worker, otherwise the one that it was reduced from.
fn smallest(crew: &Crew, confirmed: Specimen, reduced: &Reduced) -> Result<Specimen, CampaignError> {
    let smaller = &reduced.specimen;
    if smaller.tried.prepared.task.hash == confirmed.tried.prepared.task.hash {
        return Ok(confirmed);
    }
    Ok(confirm_smaller(smaller, crew)?.unwrap_or(confirmed))
}

impl Proof {
    /// How the finding is recognised in other cases.
    pub fn identity(&self) -> Identity {
        Identity { signature: self.finding.signature.clone(), classes: classes(&self.minimal.prepared.case) }
    }
}

/// The finding that `minimal` shows, which was found in `suspect`.
pub fn finding(
    info: &VariantInfo,
    suspect: &Tried,
    Specimen { tried: minimal, symptom }: &Specimen,
    preceding: Vec<CaseHash>,
) -> Finding {
    let signature = symptom.signature(info, &minimal.prepared);
    Finding {
        format: FINDING_FORMAT,
        kind: signature.kind,
        stage: signature.stage,
        signature,
        diagnosis: symptom.diagnosis().to_vec(),
        graph: one_line(&minimal.prepared.case.graph),
        seen_in: vec![sighting(info)],
        before: suspect.prepared.size(),
        after: minimal.prepared.size(),
        case: minimal.prepared.task.hash,
        provenance: suspect.prepared.case.provenance.clone(),
        preceding,
        divergences: symptom.narrowed(minimal.divergences()),
    }
}

/// The same case, its first divergence called by what it turned out to be.
fn renamed(mut tried: Tried, kind: Kind, how: &str) -> Tried {
    if let Verdict::Diverges(divergences) = &mut tried.judgement.verdict
        && let Some(lead) = divergences.first_mut()
    {
        lead.diagnosis = None;
        lead.detail = format!("{how}: {}: {}", lead.kind, lead.detail);
        lead.kind = kind;
    }
    tried
}

/// Where a finding was seen.
pub fn sighting(info: &VariantInfo) -> Sighting {
    Sighting { variant: info.variant.clone(), version: version(info) }
}
