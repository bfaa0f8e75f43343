//! What a campaign leaves behind, and what it came to so far.

use std::{sync::Arc, time::Duration};

use twinfer_case::{CaseRecord, Divergence, Event, Mask, ReducedCase, Summary, VariantInfo, Verdict};
use twinfer_store::{Journal, OpenCases};
use twinfer_triage::{Catalog, Confirmed, Effort, Findings, Reduced, Suspect, sighting};

use crate::{CampaignError, decide::Triaged, resolution::Resolution, stages::JudgedCase};

/// The journal, the findings, and the counts of a campaign.
pub struct RunState {
    pub journal: Journal,
    pub findings: Findings,
    /// Without the cases that are left open or recorded as open.
    pub summary: Summary,
    /// Cases that an earlier part of the campaign left open.
    left_open: OpenCases,
    /// Cases that the journal calls open although they may be decided yet, by their index in the campaign.
    recorded_open: OpenCases,
}

impl RunState {
    /// The state of a campaign that begins.
    pub const fn new(journal: Journal, findings: Findings, summary: Summary) -> Self {
        Self { journal, findings, summary, left_open: OpenCases::new(), recorded_open: OpenCases::new() }
    }

    /// The state of a campaign that goes on: an earlier part left these cases open.
    #[must_use]
    pub fn with_open(self, left_open: OpenCases) -> Self {
        Self { left_open, ..self }
    }

    /// How findings are recognized.
    pub const fn catalog(&self) -> &Catalog {
        self.findings.catalog()
    }

    /// The suspect shows the known finding at `index`, masked if need be.
    pub fn known(
        &mut self,
        index: usize,
        (suspect, info): (&Suspect, &VariantInfo),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Resolution, CampaignError> {
        self.add_sighting(index, info, sink)?;
        Ok(self.resolution(index, suspect))
    }

    /// What an investigation found in a suspect.
    pub fn triaged(
        &mut self,
        triaged: &Triaged<'_>,
        effort: Effort,
        (suspect, info): (&Suspect, &VariantInfo),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Resolution, CampaignError> {
        let resolution = match *triaged {
            Triaged::OnlyKnown(known) => self.known(known, (suspect, info), sink)?,
            Triaged::Reduced { shown, counts_for, reduced } => {
                report_reduction(suspect, reduced, sink);
                self.add_sighting(shown, info, sink)?;
                let learned = reduced.minimal.map(|minimal| (shown, minimal));
                Resolution { learned, ..self.known(counts_for, (suspect, info), sink)? }
            }
            Triaged::New { confirmed, reduced, hidden_behind } => {
                report_reduction(suspect, reduced, sink);
                let mut resolution = self.add_finding(confirmed, (suspect, info), sink)?;
                let shown = resolution.findings.first().copied().filter(|_| confirmed.is_of(reduced));
                resolution.learned = shown.zip(reduced.minimal);
                if let Some(known) = hidden_behind {
                    self.add_sighting(known, info, sink)?;
                    resolution.findings.insert(0, known);
                }
                resolution
            }
        };
        if let Some((shown, minimal)) = resolution.learned {
            self.findings.learn(shown, minimal);
        }
        let (variant, millis) = (info.variant.clone(), effort.time.as_millis() as u64);
        let candidates = effort.candidates;
        sink(&Event::Investigated { index: suspect.index, variant, candidates, millis });
        Ok(resolution)
    }

    /// Completes what the journal is to say of a suspect.
    pub fn enter(
        &self,
        resolution: Resolution,
        (suspect, info): (&Arc<Suspect>, &VariantInfo),
        case: &mut JudgedCase,
    ) {
        let JudgedCase { record, resolved, .. } = case;
        let of_variant = record.variants.iter_mut().find(|one| one.variant == info.variant);
        // the first cause of a variant's divergences says what all of them were confirmed as; a segment does not tell how other nodes run
        if let Some(one) = of_variant.filter(|_| suspect.is_first()) {
            let mut divergences = resolution.divergences;
            if suspect.is_of_segment() {
                let besides =
                    one.verdict.divergences().iter().filter(|other| is_besides(other, &divergences));
                let besides: Vec<_> = besides.cloned().collect();
                divergences.extend(besides);
            }
            one.verdict = Verdict::Diverges(divergences);
        }
        for index in resolution.findings {
            push_once(&mut record.findings, self.findings.slug(index));
            resolved.push((Arc::clone(suspect), index));
        }
        if let Some(mask) = resolution.mask {
            push_once(&mut record.masks, mask);
        }
        if let Some((shown, minimal)) = resolution.learned {
            let finding = self.findings.slug(shown);
            push_once(&mut record.reduced, ReducedCase { finding, minimal: minimal.hash() });
        }
    }

    /// Records a case whose divergences are not decided yet.
    pub fn record_open(&mut self, record: CaseRecord) -> Result<(), CampaignError> {
        if !self.is_recorded(record.index) {
            self.journal.append(&record)?;
            self.recorded_open.insert(record.index, record);
        }
        Ok(())
    }

    /// Whether the journal calls the case at `index` open.
    fn is_recorded(&self, index: u64) -> bool {
        self.left_open.contains_key(&index) || self.recorded_open.contains_key(&index)
    }

    /// Records a case that is decided, or left open when the campaign ends; whether the catalog has learned a new mask from it.
    pub fn record(&mut self, index: u64, record: &CaseRecord) -> Result<bool, CampaignError> {
        let is_recorded = self.is_recorded(index);
        self.left_open.remove(&index);
        self.recorded_open.remove(&index);
        if is_recorded {
            self.journal.append_revisited(record)?;
        } else {
            self.journal.append(record)?;
        }
        self.summary.record(record);
        for slug in &record.findings {
            self.findings.count(slug, 1);
        }
        let mut has_new_mask = false;
        for mask in &record.masks {
            has_new_mask |= self.findings.count_masked(mask, 1);
        }
        if self.summary.new_findings < self.findings.new_findings() {
            // a resumed campaign investigates again what the journal does not count
            self.journal.flush()?;
        }
        self.summary.new_findings = self.findings.new_findings();
        Ok(has_new_mask)
    }

    /// Completes the journal; what the campaign came to in `time`.
    pub fn finish(mut self, time: Duration) -> Result<Summary, CampaignError> {
        self.journal.finish()?;
        self.summary.earlier += self.left_open.len() as u64;
        for record in self.left_open.values().chain(self.recorded_open.values()) {
            self.summary.record(record);
        }
        self.summary.seconds = time.as_secs_f64();
        Ok(self.summary)
    }

    /// Adds the finding that is confirmed or left unfinished, or counts the case for the finding that it turned out to be.
    pub fn add_finding(
        &mut self,
        confirmed: &Confirmed,
        (suspect, info): (&Suspect, &VariantInfo),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Resolution, CampaignError> {
        if let Some(lead) = suspect.lead().filter(|_| !confirmed.recurs) {
            sink(&Event::NotConfirmed { case: suspect.case, divergence: lead.clone() });
        }
        let index = if let Some(known) = self.catalog().find(&confirmed.identity()) {
            self.add_sighting(known, info, sink)?;
            known
        } else {
            let added = self.findings.add(confirmed)?;
            let (slug, finding) = (self.findings.slug(added), confirmed.finding.clone());
            sink(&Event::FindingRecorded { slug, finding, new: true });
            added
        };
        let divergences = confirmed.divergences.clone();
        Ok(Resolution { divergences, ..self.resolution(index, suspect) })
    }

    fn resolution(&self, index: usize, suspect: &Suspect) -> Resolution {
        let guise = self.catalog().guise(index, &suspect.provisional);
        let mask = guise.map(|guise| Mask { finding: self.findings.slug(index), guise });
        Resolution { mask, ..Resolution::repeated(index, suspect) }
    }

    /// Records that the finding at `index` was seen in a variant.
    pub fn add_sighting(
        &mut self,
        index: usize,
        info: &VariantInfo,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(), CampaignError> {
        if let Some((slug, finding)) = self.findings.record_sighting(index, sighting(info))? {
            sink(&Event::FindingRecorded { slug, finding, new: false });
        }
        Ok(())
    }
}

/// Reports how a suspect was investigated, now that its turn has come.
fn report_reduction(suspect: &Suspect, reduced: &Reduced, sink: &mut dyn FnMut(&Event)) {
    if let Some(lead) = suspect.lead() {
        sink(&Event::Confirming { case: suspect.case, divergence: lead.clone() });
    }
    reduced.events.iter().for_each(sink);
}

fn push_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Whether `other` is a fallback that is not why values are wrong, and none of `divergences` is the same one.
fn is_besides(other: &Divergence, divergences: &[Divergence]) -> bool {
    other.fallback.is_some()
        && !other.concerns_values()
        && !divergences.iter().any(|one| one.is_same_fallback(other))
}
