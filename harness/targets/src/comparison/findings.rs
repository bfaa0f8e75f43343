use std::{
    collections::{BTreeMap, BTreeSet},
    iter, mem,
};

use twinfer_case::{
    CaseSize, Cause, Diagnosis, Divergence, Event, FINDING_FORMAT, Finding, Kind, Libraries, RepeatedOutcome,
    Signature, Task, VariantInfo, VariantRecord,
};
use twinfer_checks::{Evaluated, expected_outputs};
use twinfer_onnx::{Interface, Tensor};
use twinfer_store::{
    FindingsFolder, Observed, OpaqueFinding, RunDirectory, write_finding, write_opaque_finding,
};
use twinfer_triage::sighting;

use super::segment_finding::SegmentFinding;
use crate::TargetError;

/// What a variant shows on a case, besides its verdict.
pub struct Shown {
    /// What the repeats of the model came to; nothing if it was not repeated.
    pub outcomes: Vec<RepeatedOutcome>,
    /// Segments that are wrong, or fall back, as models of their own, for different reasons.
    pub segments: Vec<SegmentFinding>,
}

impl Shown {
    /// No segments, and what the repeats of the model came to.
    pub const fn of_model(outcomes: Vec<RepeatedOutcome>) -> Self {
        Self { outcomes, segments: Vec::new() }
    }
}

/// The findings of a comparison, in order of discovery.
pub struct Findings<'a> {
    interface: &'a Interface,
    libraries: &'a Libraries,
    folder: FindingsFolder,
    found: Vec<Finding>,
    /// What the first verdicts on cases that were repeated looked like.
    repeated: BTreeSet<Signature>,
}

impl<'a> Findings<'a> {
    /// No findings yet; new ones are written to the run in `directory`.
    pub fn new(interface: &'a Interface, libraries: &'a Libraries, directory: &RunDirectory) -> Self {
        Self {
            interface,
            libraries,
            folder: FindingsFolder::of_run(directory),
            found: Vec::new(),
            repeated: BTreeSet::new(),
        }
    }

    /// How many findings there are.
    pub fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// Whether one of these verdicts diverges as none has that was repeated. From then on, all of them count as repeated.
    pub fn are_to_be_repeated<'b>(
        &mut self,
        variants: impl Iterator<Item = (&'b VariantInfo, &'b VariantRecord)>,
    ) -> bool {
        let signatures: Vec<_> = variants
            .filter_map(|(info, record)| Some(self.signature(info, record.verdict.divergences().first()?)))
            .collect();
        let before = self.repeated.len();
        self.repeated.extend(signatures);
        self.repeated.len() > before
    }

    /// Whether a finding has this signature.
    pub fn knows(&self, signature: &Signature) -> bool {
        self.place_of(signature).is_some()
    }

    fn place_of(&self, signature: &Signature) -> Option<usize> {
        self.found.iter().position(|finding| finding.signature == *signature)
    }

    /// Records the findings that the verdicts on a task show, and returns their folder names.
    pub fn record<'b>(
        &mut self,
        task: &Task,
        variants: impl Iterator<Item = ((&'b VariantInfo, &'b VariantRecord), Shown)>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<String>, TargetError> {
        let mut slugs = Vec::new();
        for ((info, record), shown) in variants {
            let Shown { mut outcomes, segments } = shown;
            let leads = leads_of_model(record, !segments.is_empty());
            let mut shown = self.record_segments(task, info, segments, sink)?;
            for lead in leads {
                let outcomes = mem::take(&mut outcomes);
                shown.push(self.record_model(task, (info, record), (lead, outcomes), sink)?);
            }
            shown.extend(self.record_fallbacks(task, (info, record), sink)?);
            for slug in shown {
                if !slugs.contains(&slug) {
                    slugs.push(slug);
                }
            }
        }
        Ok(slugs)
    }

    /// Records the finding that a divergence of the whole model is, with what its repeats came to.
    fn record_model(
        &mut self,
        task: &Task,
        (info, record): (&VariantInfo, &VariantRecord),
        (lead, outcomes): (&Divergence, Vec<RepeatedOutcome>),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<String, TargetError> {
        let signature = self.signature(info, lead);
        let slug = signature.slug();
        if let Some(known) = self.place_of(&signature) {
            self.record_sighting(known, info, sink)?;
        } else {
            let others = record.verdict.divergences().iter().filter(|one| *one != lead);
            let divergences = iter::once(lead).chain(others).cloned().collect();
            let diagnosis = explanations(lead);
            let finding = Finding { outcomes, divergences, diagnosis, ..self.finding(task, info, signature) };
            let opaque = OpaqueFinding { finding: &finding, interface: self.interface, task };
            self.folder.add(&finding, |folder| write_opaque_finding(folder, opaque))?;
            self.push(finding, sink);
        }
        Ok(slug)
    }

    /// Records the fallbacks of the whole model.
    fn record_fallbacks(
        &mut self,
        task: &Task,
        (info, record): (&VariantInfo, &VariantRecord),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<String>, TargetError> {
        let mut slugs = Vec::new();
        let divergences = record.verdict.divergences();
        for fallback in divergences.iter().filter(|one| is_fallback_of_model(one)) {
            let signature = self.signature(info, fallback);
            slugs.push(signature.slug());
            if let Some(known) = self.place_of(&signature) {
                self.record_sighting(known, info, sink)?;
                continue;
            }
            let others = divergences.iter().filter(|one| *one != fallback);
            let divergences = iter::once(fallback).chain(others).cloned().collect();
            let finding = Finding { divergences, ..self.finding(task, info, signature) };
            let opaque = OpaqueFinding { finding: &finding, interface: self.interface, task };
            self.folder.add(&finding, |folder| write_opaque_finding(folder, opaque))?;
            self.push(finding, sink);
        }
        Ok(slugs)
    }

    /// Whether the fallback of a model is a finding already.
    pub fn knows_fallback(&self, info: &VariantInfo, fallback: &Divergence) -> bool {
        self.knows(&self.signature(info, fallback))
    }

    /// Records findings of segments of the model.
    fn record_segments(
        &mut self,
        task: &Task,
        info: &VariantInfo,
        segments: Vec<SegmentFinding>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<String>, TargetError> {
        let mut slugs = Vec::new();
        for SegmentFinding { finding, evaluated } in segments {
            slugs.push(finding.signature.slug());
            if let Some(known) = self.place_of(&finding.signature) {
                self.record_sighting(known, info, sink)?;
                continue;
            }
            let finding = Finding { before: self.size(task), ..finding };
            let Evaluated { encoded, references, observation, .. } = &evaluated;
            let outputs = expected_outputs(references)?;
            let observed = Observed { info, library: self.libraries.of(&info.variant), observation };
            self.folder
                .add(&finding, |folder| write_finding(folder, &finding, (encoded, &outputs), observed))?;
            self.push(finding, sink);
        }
        Ok(slugs)
    }

    fn push(&mut self, finding: Finding, sink: &mut dyn FnMut(&Event)) {
        let slug = finding.signature.slug();
        sink(&Event::FindingRecorded { slug, finding: finding.clone(), new: true });
        self.found.push(finding);
    }

    /// Records that the finding at `known` was seen in the variant of `info`.
    fn record_sighting(
        &mut self,
        known: usize,
        info: &VariantInfo,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), TargetError> {
        if !self.found[known].add_sighting(sighting(info)) {
            return Ok(());
        }
        let finding = self.found[known].clone();
        self.folder.update(&finding)?;
        sink(&Event::FindingRecorded { slug: finding.signature.slug(), finding, new: false });
        Ok(())
    }

    /// The signature of a divergence. Nothing is minimized, so what explains the culprit distinguishes one bug from another, or else the operators
    /// of the culprit, or those of the whole model if there is no culprit.
    fn signature(&self, info: &VariantInfo, lead: &Divergence) -> Signature {
        let operators: BTreeSet<_> = match &lead.culprit {
            Some(culprit) => culprit.nodes.iter().map(|node| node.operator.clone()).collect(),
            None => self.interface.operators.iter().cloned().collect(),
        };
        if lead.kind == Kind::Unstable {
            return Signature::unstable(info.variant.backend.clone(), operators.into_iter().collect());
        }
        let mutants = explanations(lead);
        let cause = if let Some(fallback) = &lead.fallback {
            Cause::of_fallback(fallback, mutants)
        } else if mutants.is_empty() || lead.kind.varies() {
            Cause::Graph(operators.into_iter().collect())
        } else {
            Cause::Diagnosis(mutants)
        };
        Signature {
            backend: info.variant.backend.clone(),
            stage: lead.stage,
            kind: lead.kind,
            cause,
            error: lead.disagreement.as_ref().map(|disagreement| disagreement.with.backend.to_string()),
        }
    }

    /// A finding of the whole model, without its divergences.
    fn finding(&self, task: &Task, info: &VariantInfo, signature: Signature) -> Finding {
        let size = self.size(task);
        Finding {
            format: FINDING_FORMAT,
            kind: signature.kind,
            stage: signature.stage,
            signature,
            diagnosis: Vec::new(),
            graph: self.interface.operators.join("; "),
            divergences: Vec::new(),
            seen_in: vec![sighting(info)],
            only_poisoned: info.variant.is_poisoned(),
            only_inside: false,
            before: size,
            after: size,
            case: task.hash,
            provenance: None,
            preceding: Vec::new(),
            cut_short: false,
            outcomes: Vec::new(),
            trigger: None,
            refuted: Vec::new(),
            wrong_at: Vec::new(),
            differences: BTreeMap::new(),
            fewest_options: None,
        }
    }

    fn size(&self, task: &Task) -> CaseSize {
        CaseSize {
            nodes: self.interface.operators.len(),
            input_elements: task.runs.first().into_iter().flatten().map(Tensor::len).sum(),
            initializer_elements: self.interface.initializer_elements,
            runs: task.runs.len(),
        }
    }
}

/// The divergences of the whole model that are findings: the first one, without those of segments if these are findings of their own, and the first
/// disagreement with another variant.
fn leads_of_model(record: &VariantRecord, has_segments: bool) -> impl Iterator<Item = &Divergence> {
    let is_of_segment = move |one: &&Divergence| has_segments && one.culprit.is_some();
    let divergences = record.verdict.divergences().iter();
    let mut of_model = divergences.filter(move |one| !is_fallback_of_model(one) && !is_of_segment(one));
    let first = of_model.next();
    let is_other = |one: &&Divergence| first.is_some_and(|first| first.kind != one.kind);
    first.into_iter().chain(of_model.find(|one| one.kind == Kind::Disagree).filter(is_other))
}

/// Whether the layers of the whole model show that an operator runs in another precision.
const fn is_fallback_of_model(divergence: &Divergence) -> bool {
    divergence.fallback.is_some() && divergence.culprit.is_none()
}

/// The mutants that explain a divergence; empty if none does.
fn explanations(divergence: &Divergence) -> Vec<String> {
    let mutants = divergence.diagnosis.iter().flat_map(Diagnosis::mutant_names);
    mutants.map(str::to_owned).collect()
}
