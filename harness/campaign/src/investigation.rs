//! An *investigation* turns a divergence into a finding: confirmed in a fresh worker, diagnosed, minimised, told from
//! the findings that are known, and written.

use std::sync::Arc;

use twinfer_case::{
    CaseHash, Divergence, Event, FINDING_FORMAT, Finding, Kind, Sighting, VariantInfo, Verdict,
};

use crate::{
    CampaignError, CaseSource, Options, Oracle,
    crew::{Crew, Tried},
    describe::one_line,
    findings::Findings,
    prepared::Prepared,
    recording::version,
    reduction::reduce,
    symptom::Symptom,
};

/// Investigates divergences one after the other, in case order.
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
    findings: Findings,
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

/// What an investigation came to.
pub struct Conclusion {
    /// The divergences as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// The finding that the case shows, by folder name.
    pub finding: Option<String>,
}

impl<'a> Investigator<'a> {
    pub const fn new(options: &'a Options, source: &'a CaseSource, findings: Findings) -> Self {
        Self { oracle: &options.oracle, source, minimize: options.minimize, findings }
    }

    /// Findings that this campaign added.
    pub fn new_findings(&self) -> u64 {
        self.findings.new_findings()
    }

    /// Counts a case that shows these findings.
    pub fn count(&mut self, findings: &[String]) {
        for slug in findings {
            self.findings.count(slug, 1);
        }
    }

    /// Finds out what the divergences of `suspect` are; `preceding` are the places in the campaign of the cases that
    /// its worker ran before.
    pub fn investigate(
        &mut self,
        crew: &Crew,
        suspect: &Tried,
        preceding: &[u64],
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Conclusion, CampaignError> {
        let divergences = suspect.divergences();
        let Some(lead) = divergences.first() else { return Ok(Conclusion::nothing()) };
        let symptom = Symptom::of(lead, suspect);
        let provisional = symptom.signature(crew.info(), &suspect.prepared);
        if let Some(known) = self.findings.find_likely(&provisional) {
            self.sight(known, crew.info(), sink)?;
            if !self.findings.is_due(known) {
                let finding = Some(self.findings.slug(known));
                return Ok(Conclusion { divergences: divergences.to_vec(), finding });
            }
        }
        let case = suspect.prepared.task.hash;
        sink(&Event::Confirming { case, divergence: lead.clone() });
        let (minimal, symptom, divergences, preceding) =
            match self.confirm(crew, suspect, &symptom, preceding)? {
                Confirmation::Fresh(confirmed) => {
                    let divergences = confirmed.divergences().to_vec();
                    let (minimal, symptom) = self.reduce(crew, confirmed, symptom, sink)?;
                    (minimal, symptom, divergences, Vec::new())
                }
                Confirmation::AfterOthers(confirmed, preceding) => {
                    let confirmed = renamed(confirmed, Kind::StateDependent, "only after other cases");
                    let divergences = confirmed.divergences().to_vec();
                    (confirmed, symptom.renamed(Kind::StateDependent), divergences, preceding)
                }
                Confirmation::None => {
                    sink(&Event::NotConfirmed { case, divergence: lead.clone() });
                    let suspect = renamed(suspect.clone(), Kind::Nondeterministic, "did not recur");
                    let divergences = suspect.divergences().to_vec();
                    (suspect, symptom.renamed(Kind::Nondeterministic), divergences, Vec::new())
                }
            };
        let finding = finding(crew.info(), suspect, &minimal, &symptom, preceding);
        let slug = self.record(crew.info(), finding, &minimal, sink)?;
        Ok(Conclusion { divergences, finding: Some(slug) })
    }

    fn reduce(
        &self,
        crew: &Crew,
        confirmed: Tried,
        symptom: Symptom,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(Tried, Symptom), CampaignError> {
        if self.minimize {
            reduce(confirmed, symptom, crew, self.oracle, sink)
        } else {
            Ok((confirmed, symptom))
        }
    }

    /// Runs the case again in a worker that has run nothing else; failing that, with its history.
    fn confirm(
        &self,
        crew: &Crew,
        suspect: &Tried,
        symptom: &Symptom,
        preceding: &[u64],
    ) -> Result<Confirmation, CampaignError> {
        let again =
            |observation| crew.judge(Arc::clone(&suspect.prepared), suspect.references.clone(), observation);
        let fresh = again(crew.observe_fresh(&suspect.prepared.task)?);
        if symptom.recurs_in(&fresh) {
            return Ok(Confirmation::Fresh(fresh));
        }
        let history = preceding.iter().map(|index| Prepared::of((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = crew.observe_after(&history, &suspect.prepared)?.map(again);
        Ok(match warm.filter(|warm| symptom.recurs_in(warm)) {
            Some(warm) => {
                let hashes = history.iter().map(|prepared| prepared.task.hash).collect();
                Confirmation::AfterOthers(warm, hashes)
            }
            None => Confirmation::None,
        })
    }

    /// Adds the finding that `minimal` shows, or counts the case for the one that it turned out to be.
    fn record(
        &mut self,
        info: &VariantInfo,
        finding: Finding,
        minimal: &Tried,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<String, CampaignError> {
        if let Some(known) = self.findings.find(&finding.signature) {
            self.sight(known, info, sink)?;
            return Ok(self.findings.slug(known));
        }
        let slug = self.findings.add(finding.clone(), info, minimal)?;
        sink(&Event::FindingRecorded { slug: slug.clone(), finding, new: true });
        Ok(slug)
    }

    fn sight(
        &mut self,
        known: usize,
        info: &VariantInfo,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        if let Some((slug, finding)) = self.findings.sight(known, sighting(info))? {
            sink(&Event::FindingRecorded { slug, finding, new: false });
        }
        Ok(())
    }
}

impl Conclusion {
    const fn nothing() -> Self {
        Self { divergences: Vec::new(), finding: None }
    }
}

/// The finding that `minimal` shows, which was found in `suspect`.
pub fn finding(
    info: &VariantInfo,
    suspect: &Tried,
    minimal: &Tried,
    symptom: &Symptom,
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
