use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    BlindSegment, Blindness, CaseRecord, Comparisons, Culprit, Finding, Kind, Mask, NamedNode, NotJudged,
    Note, QuantizedExecution, Reach, RunTotals, SegmentCounts, Stage, Variant, VariantInfo, VariantRecord,
    Verdict,
};

/// The counts of a campaign, which can also be computed from its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Cases with a verdict.
    pub cases: u64,
    /// Cases on which every variant was compared, each at the deepest stage that its backend reaches.
    pub compared: u64,
    /// Wall time from the first case to the last verdict, in seconds; zero if the summary is that of a stored run which does not say.
    pub seconds: f64,
    /// Cases that ran before the campaign was resumed; [`seconds`](Self::seconds) does not include them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier: u64,
    /// The counts of each variant, in the campaign's order.
    pub variants: Vec<VariantSummary>,
    /// Findings in order of discovery, by folder name, with the number of cases that show each.
    pub findings: Vec<FindingCount>,
    /// The findings that cases showed masked, in order of discovery.
    #[serde(alias = "veils", default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<MaskCount>,
    /// Cases with divergences that are not a known finding and were not investigated within the time budget.
    #[serde(default)]
    pub open: u64,
    /// Findings that were not known before this campaign.
    pub new_findings: u64,
    /// Worker processes that ended unexpectedly and were replaced; zero if the summary is that of a stored run which does not say.
    pub workers_lost: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The most reasons that are kept for which nodes were not judged.
const MAX_REASONS: usize = 64;
/// The most places of cases that were not investigated that are counted.
const MAX_PLACES: usize = 8;

/// How many cases showed a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCount {
    /// The finding's folder name.
    pub slug: String,
    /// Cases that showed the finding.
    pub cases: u64,
}

/// How many cases showed a finding masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskCount {
    /// The finding, and what the cases look like.
    #[serde(flatten)]
    pub mask: Mask,
    /// Cases that showed the finding masked.
    pub cases: u64,
}

/// The counts of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// The variant.
    pub variant: Variant,
    /// The variant above which this variant is a rung; `None` if it runs every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_of: Option<Variant>,
    /// How far the backend goes on the campaign's machine: what the counts are about.
    #[serde(default)]
    pub reaches: Reach,
    /// On how many cases the variant was compared, or why on none.
    #[serde(flatten)]
    pub comparisons: Comparisons,
    /// The wall time of all stages of all cases in microseconds.
    #[serde(default)]
    pub micros: u64,
    /// The wall time of all stages of the cases that differ and show a finding, in microseconds, by the finding's folder name. That of a
    /// case is divided among its findings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub finding_micros: BTreeMap<String, u64>,
    /// Divergences of a kind that no lower rung showed for the same case, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_seen: BTreeMap<Kind, u64>,
    /// Cases that conform.
    pub conforms: u64,
    /// Cases whose error bound is too wide to mean anything.
    pub vacuous: u64,
    /// Cases that were refused as a capability predicted, by rule.
    pub unsupported: BTreeMap<String, u64>,
    /// Cases that the specification leaves open, by entry of the rules list.
    pub unspecified: BTreeMap<String, u64>,
    /// Cases without a verdict, because golden computes no reference, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_computed: BTreeMap<String, u64>,
    /// Cases that did not run because earlier ones hung, by the condition that all of them satisfy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// Divergences by kind.
    pub divergences: BTreeMap<Kind, u64>,
    /// Cases by the deepest stage reached.
    pub stages: BTreeMap<Stage, u64>,
    /// Cases that deviate by less than half a grid step; 0 except for runs of formats 1 to 3.
    pub algorithm_rounding: u64,
    /// Cases with divergences that are not a known finding and were not investigated within the time budget.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Where the model is wrong in the cases that were not investigated, as far as a segment is to blame: the first few places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_at: Vec<OpenPlace>,
    /// The largest share of an error bound that was used.
    pub bound_used: f64,
    /// Cases whose outputs conform only within the bounds of algorithms that transform the operands of a convolution.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub transforms: u64,
    /// Cases that the specification leaves open and on which another variant gave a different answer.
    #[serde(default)]
    pub differs: u64,
    /// Cases that were accepted although a capability predicted a refusal, by rule.
    pub accepted_despite: BTreeMap<String, u64>,
    /// Cases with operators that the graph asks to run quantized, by how the operators ran.
    #[serde(rename = "arithmetic", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quantized_execution: BTreeMap<QuantizedExecution, u64>,
    /// Cases whose comparison of outputs cannot see much.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blind: u64,
    /// What the comparison of outputs cannot see in the case in which that is most, in proportion to the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindest: Option<Blindness>,
    /// Segments that were judged, in all cases together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segments: u64,
    /// Cases with segments that were judged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segmented: u64,
    /// The segment whose comparison sees least, in all cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindest_segment: Option<BlindSegment>,
    /// Nodes that no judged segment covers, in all cases together, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_judged: BTreeMap<String, u64>,
    /// The first node of those that no judged segment covers, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_not_judged: BTreeMap<String, NamedNode>,
    /// Cases of which a part ran elsewhere than the variant asks for, such as on ONNX Runtime's CPU provider, by where it ran.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placements: BTreeMap<String, u64>,
    /// Cases that golden does not support, by the reason: variants are compared with each other, and golden judges segments at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_reference: BTreeMap<String, u64>,
    /// Cases of which outputs were not compared with another variant either, by which outputs and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncompared_outputs: BTreeMap<String, u64>,
}

/// A place at which cases that were not investigated are wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenPlace {
    /// The first segment that is wrong there.
    pub culprit: Culprit,
    /// How the first of the cases differs.
    pub detail: String,
    /// The number of cases.
    pub cases: u64,
}

impl Summary {
    /// The summary before the first case.
    pub fn new<'a>(variants: impl IntoIterator<Item = &'a VariantInfo>) -> Self {
        Self { variants: variants.into_iter().map(VariantSummary::new).collect(), ..Self::default() }
    }

    /// Cases that ran within [`seconds`](Self::seconds).
    pub const fn now(&self) -> u64 {
        self.cases.saturating_sub(self.earlier)
    }

    /// What it took.
    pub const fn totals(&self) -> RunTotals {
        RunTotals { seconds: self.seconds, workers_lost: self.workers_lost }
    }

    /// Counts one case.
    pub fn record(&mut self, case: &CaseRecord) {
        self.cases += 1;
        self.compared += u64::from(case.variants.iter().all(VariantRecord::is_compared));
        for (place, record) in case.variants.iter().enumerate() {
            let first_seen = self.first_seen(record, &case.variants[..place]);
            let summary = self.variants.iter_mut().find(|summary| summary.variant == record.variant);
            if let Some(summary) = summary {
                summary.record(record, first_seen);
                summary.record_time(record, &case.findings);
            }
        }
        for slug in &case.findings {
            match self.findings.iter_mut().find(|finding| finding.slug == *slug) {
                Some(finding) => finding.cases += 1,
                None => self.findings.push(FindingCount { slug: slug.clone(), cases: 1 }),
            }
        }
        self.open += u64::from(!case.open.is_empty());
        for record in case.variants.iter().filter(|record| case.open.contains(&record.variant)) {
            if let Some(summary) = self.variants.iter_mut().find(|one| one.variant == record.variant) {
                summary.record_open(record);
            }
        }
        for mask in &case.masks {
            match self.masks.iter_mut().find(|count| count.mask == *mask) {
                Some(count) => count.cases += 1,
                None => self.masks.push(MaskCount { mask: mask.clone(), cases: 1 }),
            }
        }
    }

    /// Counts `case`, which [`record`](Self::record) has counted, as compared on the variants that show `known` on it, whatever
    /// stage they reached: what they did was compared with that finding.
    pub fn recognize(&mut self, case: &CaseRecord, known: &Finding) {
        let shows = |record: &VariantRecord| record.has_run() && known.is_seen_in(&record.variant);
        let recognized: Vec<_> =
            case.variants.iter().filter(|record| !record.is_compared() && shows(record)).collect();
        for record in &recognized {
            if let Some(summary) = self.variants.iter_mut().find(|summary| summary.variant == record.variant)
            {
                summary.comparisons.count();
            }
        }
        let is_complete = case.variants.iter().all(|record| record.is_compared() || shows(record));
        self.compared += u64::from(is_complete && !recognized.is_empty());
    }

    /// Why variants were compared on no case, one line per cause; empty if every variant was compared.
    pub fn causes(&self) -> Vec<String> {
        self.uncompared().flat_map(|variant| variant.comparisons.causes(&variant.variant)).collect()
    }

    /// The variants that were compared on no case. Rungs do not count: they run again what a variant below them ran.
    pub fn uncompared(&self) -> impl Iterator<Item = &VariantSummary> {
        self.variants.iter().filter(|variant| variant.rung_of.is_none() && variant.comparisons.compared == 0)
    }

    /// The kinds of divergence that a rung showed and none below it, of the records of a case that come before its own.
    fn first_seen(&self, record: &VariantRecord, earlier: &[VariantRecord]) -> Vec<Kind> {
        let Some(base) = self.base_of(&record.variant) else { return Vec::new() };
        let is_below =
            |other: &&VariantRecord| other.variant == *base || self.base_of(&other.variant) == Some(base);
        let kinds = |record: &VariantRecord| {
            record.verdict.divergences().iter().map(|divergence| divergence.kind).collect()
        };
        let below: Vec<Vec<Kind>> = earlier.iter().filter(is_below).map(kinds).collect();
        let mut first_seen: Vec<Kind> = kinds(record);
        first_seen.retain(|kind| !below.iter().any(|kinds| kinds.contains(kind)));
        first_seen
    }

    /// The variant above which this one is a rung.
    fn base_of(&self, variant: &Variant) -> Option<&Variant> {
        self.variants.iter().find(|summary| summary.variant == *variant)?.rung_of.as_ref()
    }
}

impl VariantSummary {
    fn new(info: &VariantInfo) -> Self {
        Self {
            variant: info.variant.clone(),
            rung_of: info.rung_of.clone(),
            reaches: Reach::from(info.description.reaches),
            comparisons: Comparisons::default(),
            micros: 0,
            finding_micros: BTreeMap::new(),
            first_seen: BTreeMap::new(),
            conforms: 0,
            vacuous: 0,
            unsupported: BTreeMap::new(),
            unspecified: BTreeMap::new(),
            not_computed: BTreeMap::new(),
            left_out: BTreeMap::new(),
            divergences: BTreeMap::new(),
            stages: BTreeMap::new(),
            algorithm_rounding: 0,
            transforms: 0,
            open: 0,
            open_at: Vec::new(),
            bound_used: 0.0,
            differs: 0,
            accepted_despite: BTreeMap::new(),
            quantized_execution: BTreeMap::new(),
            blind: 0,
            blindest: None,
            segments: 0,
            segmented: 0,
            blindest_segment: None,
            not_judged: BTreeMap::new(),
            first_not_judged: BTreeMap::new(),
            placements: BTreeMap::new(),
            without_reference: BTreeMap::new(),
            uncompared_outputs: BTreeMap::new(),
        }
    }

    /// Counts the time of a case for the findings that it shows.
    fn record_time(&mut self, record: &VariantRecord, findings: &[String]) {
        let share = record.micros() / findings.len().max(1) as u64;
        for slug in findings.iter().filter(|_| !record.verdict.divergences().is_empty()) {
            let micros = self.finding_micros.entry(slug.clone()).or_default();
            *micros = micros.saturating_add(share);
        }
    }

    fn record_blindness(&mut self, blindness: Blindness) {
        self.blind += 1;
        if self.blindest.is_none_or(|blindest| blindest.share() < blindness.share()) {
            self.blindest = Some(blindness);
        }
    }

    fn record_open(&mut self, record: &VariantRecord) {
        self.open += 1;
        let mut divergences = record.verdict.divergences().iter();
        let Some((lead, culprit)) = divergences.find_map(|one| Some((one, one.culprit.as_ref()?))) else {
            return;
        };
        if let Some(place) = self.open_at.iter_mut().find(|place| place.culprit.is_segment_of(culprit)) {
            place.cases += 1;
        } else if self.open_at.len() < MAX_PLACES {
            let culprit = culprit.clone();
            self.open_at.push(OpenPlace { culprit, detail: lead.readable_detail(), cases: 1 });
        }
    }

    fn record_segments(&mut self, segments: &SegmentCounts) {
        self.segments = self.segments.saturating_add(segments.judged);
        self.segmented += u64::from(segments.judged > 0);
        self.blindest_segment =
            BlindSegment::blinder(self.blindest_segment.take(), segments.blindest.clone());
        for NotJudged { reason, nodes, first } in &segments.not_judged {
            if self.not_judged.len() < MAX_REASONS || self.not_judged.contains_key(reason) {
                let known = self.not_judged.entry(reason.clone()).or_default();
                *known = known.saturating_add(*nodes);
                self.first_not_judged.entry(reason.clone()).or_insert_with(|| first.clone());
            }
        }
    }

    /// Cases that the variant ran.
    pub fn cases(&self) -> u64 {
        self.stages.values().sum()
    }

    fn record(&mut self, record: &VariantRecord, first_seen: Vec<Kind>) {
        self.comparisons.record(record);
        if let Verdict::LeftOut(condition) = &record.verdict {
            *self.left_out.entry(condition.clone()).or_default() += 1;
            return;
        }
        self.micros = self.micros.saturating_add(record.micros());
        for kind in first_seen {
            *self.first_seen.entry(kind).or_default() += 1;
        }
        *self.stages.entry(record.stage).or_default() += 1;
        match &record.verdict {
            Verdict::Conforms => self.conforms += 1,
            Verdict::Vacuous => self.vacuous += 1,
            Verdict::Unsupported(rule) => *self.unsupported.entry(rule.clone()).or_default() += 1,
            Verdict::Unspecified(rule) => *self.unspecified.entry(rule.clone()).or_default() += 1,
            Verdict::NoReference(reason) => *self.not_computed.entry(reason.clone()).or_default() += 1,
            Verdict::LeftOut(_) | Verdict::Diverges(_) => {}
        }
        for divergence in record.verdict.divergences() {
            *self.divergences.entry(divergence.kind).or_default() += 1;
        }
        for note in &record.notes {
            match note {
                Note::AlgorithmRounding(_) => self.algorithm_rounding += 1,
                Note::BoundUsed(share) => self.bound_used = self.bound_used.max(*share),
                Note::Transforms => self.transforms += 1,
                Note::AcceptedDespite(rule) => *self.accepted_despite.entry(rule.clone()).or_default() += 1,
                Note::Differs(_) => self.differs += 1,
                Note::QuantizedExecution(way) => *self.quantized_execution.entry(*way).or_default() += 1,
                Note::Blind(blindness) => self.record_blindness(*blindness),
                Note::Segments(segments) => self.record_segments(segments),
                Note::NoReference(reason) => {
                    *self.without_reference.entry(reason.clone()).or_default() += 1;
                }
                Note::Uncompared(outputs) => {
                    let has_room = self.uncompared_outputs.len() < MAX_REASONS;
                    if has_room || self.uncompared_outputs.contains_key(outputs) {
                        *self.uncompared_outputs.entry(outputs.clone()).or_default() += 1;
                    }
                }
                Note::Placement(place) => *self.placements.entry(place.clone()).or_default() += 1,
            }
        }
    }
}
