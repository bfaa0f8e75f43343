//! An *investigation* turns a divergence into a finding: confirmed in a fresh worker, diagnosed, minimised, told from
//! the findings that are known, and written.

use std::sync::Arc;

use twinfer_case::{
    CaseHash, Cause, Divergence, Event, FINDING_FORMAT, Finding, Kind, Observation, Outcome, Sighting,
    Signature, VariantInfo, Verdict,
};
use twinfer_checks::{Evidence, judge};

use crate::{
    CampaignError, CaseSource, Options, Oracle,
    describe::{classes, error_code, one_line},
    diagnosis::diagnose,
    findings::{Findings, Stored},
    prepared::{Prepared, References},
    worker::{Nursery, observe},
};

/// A case that diverges, as the campaign met it.
#[derive(Clone, Copy)]
pub struct Suspect<'a> {
    /// The variant's place among the campaign's.
    pub variant: usize,
    /// The variant.
    pub info: &'a VariantInfo,
    /// The case.
    pub prepared: &'a Arc<Prepared>,
    /// What should have come out.
    pub references: &'a References,
    /// What came out.
    pub observation: &'a Observation,
    /// The cases that its worker ran before, as places in the campaign.
    pub preceding: &'a [u64],
}

/// Investigates divergences one after the other, in case order.
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
    nurseries: &'a [Arc<Nursery>],
    findings: Findings,
}

/// A case with what a variant made of it.
struct Tried {
    prepared: Arc<Prepared>,
    references: References,
    observation: Observation,
    divergences: Vec<Divergence>,
}

impl<'a> Investigator<'a> {
    pub const fn new(
        options: &'a Options,
        source: &'a CaseSource,
        nurseries: &'a [Arc<Nursery>],
        findings: Findings,
    ) -> Self {
        Self { oracle: &options.oracle, source, minimize: options.minimize, nurseries, findings }
    }

    /// Findings that this campaign added.
    pub fn new_findings(&self) -> u64 {
        self.findings.new_findings()
    }

    /// What `variant` does with a case in a worker that has run nothing else.
    pub fn observe_fresh(&self, variant: usize, prepared: &Prepared) -> Result<Observation, CampaignError> {
        Ok(self.nurseries[variant].try_fresh(&prepared.task, None)?.observation)
    }

    /// Finds out what the divergences of a case are: the divergences once they are confirmed, and the finding that
    /// the case shows, by folder name.
    pub fn investigate(
        &mut self,
        suspect: &Suspect<'_>,
        divergences: Vec<Divergence>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(Vec<Divergence>, Option<String>), CampaignError> {
        let provisional = signature(suspect.prepared, suspect.observation, &divergences);
        if let Some(known) = self.findings.find_likely(&provisional) {
            let (slug, look_again) = self.findings.meet(known);
            self.sight(known, suspect.info, sink)?;
            if !look_again {
                return Ok((divergences, Some(slug)));
            }
        }
        sink(&Event::Confirming { case: suspect.prepared.task.hash, divergence: divergences[0].clone() });
        let confirmation = self.confirm(suspect, divergences)?;
        let Confirmation::Confirmed(tried, preceding) = confirmation else {
            let Confirmation::Unconfirmed(divergences) = confirmation else { return Ok((Vec::new(), None)) };
            let event =
                Event::NotConfirmed { case: suspect.prepared.task.hash, divergence: divergences[0].clone() };
            sink(&event);
            return Ok((divergences, None));
        };
        let divergences = tried.divergences.clone();
        let minimal =
            if self.minimize && preceding.is_empty() { self.minimize(suspect, tried, sink)? } else { tried };
        let slug = self.record(suspect, minimal, preceding, sink)?;
        Ok((divergences, Some(slug)))
    }
}

/// What a divergence turned out to be.
enum Confirmation {
    /// It recurs; with the cases that must have run before, if any.
    Confirmed(Tried, Vec<CaseHash>),
    /// It does not.
    Unconfirmed(Vec<Divergence>),
}

impl Investigator<'_> {
    /// Runs the case again in a worker that has run nothing else; then with its history; then gives it up.
    fn confirm(
        &self,
        suspect: &Suspect<'_>,
        divergences: Vec<Divergence>,
    ) -> Result<Confirmation, CampaignError> {
        let observation = self.observe_fresh(suspect.variant, suspect.prepared)?;
        let again = self.judge(suspect.info, suspect.prepared, suspect.references, &observation);
        if same_kind(&again, &divergences) {
            return Ok(Confirmation::Confirmed(Tried::of(suspect, observation, again), Vec::new()));
        }
        if let Some((observation, again, preceding)) = self.repeat_history(suspect, &divergences)? {
            let again = state_dependent(again);
            return Ok(Confirmation::Confirmed(Tried::of(suspect, observation, again), preceding));
        }
        Ok(Confirmation::Unconfirmed(unrepeatable(divergences)))
    }

    /// Runs the cases that came before, then the case, in one fresh worker.
    fn repeat_history(
        &self,
        suspect: &Suspect<'_>,
        divergences: &[Divergence],
    ) -> Result<Option<(Observation, Vec<Divergence>, Vec<CaseHash>)>, CampaignError> {
        if suspect.preceding.is_empty() {
            return Ok(None);
        }
        let preceding: Vec<_> = suspect
            .preceding
            .iter()
            .map(|index| Prepared::of((self.source)(*index)))
            .collect::<Result<_, _>>()?;
        let mut worker = self.nurseries[suspect.variant].take()?;
        for prepared in &preceding {
            if observe(&mut worker, &prepared.task).is_err() {
                return Ok(None);
            }
        }
        let Ok(observation) = observe(&mut worker, &suspect.prepared.task) else { return Ok(None) };
        let again = self.judge(suspect.info, suspect.prepared, suspect.references, &observation);
        let hashes = preceding.iter().map(|prepared| prepared.task.hash).collect();
        Ok(same_kind(&again, divergences).then_some((observation, again, hashes)))
    }

    fn judge(
        &self,
        info: &VariantInfo,
        prepared: &Prepared,
        references: &References,
        observation: &Observation,
    ) -> Vec<Divergence> {
        let evidence = Evidence {
            case: &prepared.case,
            variant: &info.variant,
            description: &info.description,
            references,
            observation,
            repeat: None,
            fresh: None,
        };
        match judge(&evidence).verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => Vec::new(),
        }
    }

    fn minimize(
        &self,
        _suspect: &Suspect<'_>,
        tried: Tried,
        _sink: &mut dyn FnMut(&Event),
    ) -> Result<Tried, CampaignError> {
        Ok(tried)
    }

    /// Adds the finding, or the case to the finding that it turned out to be.
    fn record(
        &mut self,
        suspect: &Suspect<'_>,
        minimal: Tried,
        preceding: Vec<CaseHash>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<String, CampaignError> {
        let signature = signature(&minimal.prepared, &minimal.observation, &minimal.divergences);
        if let Some(known) = self.findings.find(&signature) {
            let (slug, _) = self.findings.meet(known);
            self.sight(known, suspect.info, sink)?;
            return Ok(slug);
        }
        let lead = &minimal.divergences[0];
        let finding = Finding {
            format: FINDING_FORMAT,
            kind: lead.kind,
            stage: lead.stage,
            diagnosis: diagnose(&minimal.prepared, &minimal.observation),
            graph: one_line(&minimal.prepared.case.graph),
            seen_in: vec![sighting(suspect.info)],
            before: suspect.prepared.size(),
            after: minimal.prepared.size(),
            case: minimal.prepared.task.hash,
            provenance: suspect.prepared.case.provenance.clone(),
            preceding,
            divergences: minimal.divergences,
            signature,
        };
        let stored = Stored {
            prepared: &minimal.prepared,
            references: &minimal.references,
            observation: &minimal.observation,
        };
        let entry = self.findings.add(finding, &stored)?;
        let (slug, finding) = (entry.slug.clone(), entry.finding.clone());
        sink(&Event::FindingRecorded { slug: slug.clone(), finding, new: true });
        Ok(slug)
    }

    fn sight(
        &mut self,
        known: usize,
        info: &VariantInfo,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        if let Some(entry) = self.findings.sight(known, sighting(info))? {
            let (slug, finding) = (entry.slug.clone(), entry.finding.clone());
            sink(&Event::FindingRecorded { slug, finding, new: false });
        }
        Ok(())
    }
}

impl Tried {
    fn of(suspect: &Suspect<'_>, observation: Observation, divergences: Vec<Divergence>) -> Self {
        Self {
            prepared: Arc::clone(suspect.prepared),
            references: suspect.references.clone(),
            observation,
            divergences,
        }
    }
}

/// Whether `again` has a divergence like the first of `divergences`.
fn same_kind(again: &[Divergence], divergences: &[Divergence]) -> bool {
    again.iter().any(|other| other.kind == divergences[0].kind && other.stage == divergences[0].stage)
}

/// The divergences of a case that needs its history to diverge.
fn state_dependent(mut divergences: Vec<Divergence>) -> Vec<Divergence> {
    if let Some(lead) = divergences.first_mut() {
        lead.detail = format!("only after other cases: {}: {}", lead.kind, lead.detail);
        lead.kind = Kind::StateDependent;
    }
    divergences
}

/// The divergences of a case that did not recur, neither in a fresh worker nor with its history.
fn unrepeatable(mut divergences: Vec<Divergence>) -> Vec<Divergence> {
    if let Some(lead) = divergences.first_mut() {
        lead.detail = format!("did not recur: {}: {}", lead.kind, lead.detail);
        lead.kind = Kind::Nondeterministic;
    }
    divergences
}

fn sighting(info: &VariantInfo) -> Sighting {
    let version = format!("{} {}", info.description.name, info.description.version);
    Sighting { variant: info.variant.clone(), version }
}

fn signature(prepared: &Prepared, observation: &Observation, divergences: &[Divergence]) -> Signature {
    let lead = &divergences[0];
    let diagnosis = match lead.kind {
        Kind::WrongValues | Kind::WrongShape => diagnose(prepared, observation),
        _ => Vec::new(),
    };
    let cause = if diagnosis.is_empty() {
        Cause::Graph(classes(&prepared.case))
    } else {
        Cause::Diagnosis(diagnosis)
    };
    let error = match &observation.outcome {
        Outcome::Rejected(reason) | Outcome::Failed(reason) => error_code(reason),
        Outcome::Crashed(status) => Some(status.clone()),
        Outcome::Ok | Outcome::TimedOut => None,
    };
    Signature { backend: lead.variant.backend.clone(), stage: lead.stage, kind: lead.kind, cause, error }
}
