use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Arithmetic, CaseRecord, Kind, Note, Stage, Variant, VariantRecord, Verdict};

/// What a campaign came to; the same numbers come out of its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Cases with a verdict.
    pub cases: u64,
    /// Cases that every variant executed and every comparison was made for.
    pub compared: u64,
    /// Wall time from the first case to the last verdict.
    pub seconds: f64,
    /// By variant, in the campaign's order.
    pub variants: Vec<VariantSummary>,
    /// Findings in order of discovery, by folder name, with the number of cases that show each.
    pub findings: Vec<FindingCount>,
    /// Findings that were not known before this campaign.
    pub new_findings: u64,
    /// Worker processes that ended unasked and were replaced.
    pub workers_lost: u64,
}

/// How many cases showed a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCount {
    /// The finding's folder name.
    pub slug: String,
    /// Cases that showed it.
    pub cases: u64,
}

/// What one variant came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// Which variant.
    pub variant: Variant,
    /// Cases that conform.
    pub conforms: u64,
    /// Cases whose error bound is too wide to mean anything.
    pub vacuous: u64,
    /// Cases that a capability predicted a refusal of, by rule.
    pub unsupported: BTreeMap<String, u64>,
    /// Cases that the specification leaves open, by entry of the rules list.
    pub unspecified: BTreeMap<String, u64>,
    /// Divergences by kind.
    pub divergences: BTreeMap<Kind, u64>,
    /// Cases by the deepest stage reached.
    pub stages: BTreeMap<Stage, u64>,
    /// Cases of the exact regime that deviate by less than half a grid step.
    pub algorithm_rounding: u64,
    /// The largest share of an error bound that was used.
    pub bound_used: f64,
    /// Cases that the specification leaves open and on which another variant gave a different answer.
    #[serde(default)]
    pub differs: u64,
    /// Capabilities that predicted a refusal that did not come, by rule.
    pub accepted_despite: BTreeMap<String, u64>,
    /// Cases with operators that the graph asks to run quantised, by how those ran.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arithmetic: BTreeMap<Arithmetic, u64>,
}

impl Summary {
    /// The summary before the first case.
    pub fn new(variants: impl IntoIterator<Item = Variant>) -> Self {
        Self { variants: variants.into_iter().map(VariantSummary::new).collect(), ..Self::default() }
    }

    /// Counts one case.
    pub fn record(&mut self, case: &CaseRecord) {
        self.cases += 1;
        self.compared += u64::from(case.variants.iter().all(|variant| variant.compared));
        for record in &case.variants {
            if let Some(summary) = self.variants.iter_mut().find(|summary| summary.variant == record.variant)
            {
                summary.record(record);
            }
        }
        for slug in &case.findings {
            match self.findings.iter_mut().find(|finding| finding.slug == *slug) {
                Some(finding) => finding.cases += 1,
                None => self.findings.push(FindingCount { slug: slug.clone(), cases: 1 }),
            }
        }
    }
}

impl VariantSummary {
    fn new(variant: Variant) -> Self {
        Self {
            variant,
            conforms: 0,
            vacuous: 0,
            unsupported: BTreeMap::new(),
            unspecified: BTreeMap::new(),
            divergences: BTreeMap::new(),
            stages: BTreeMap::new(),
            algorithm_rounding: 0,
            bound_used: 0.0,
            differs: 0,
            accepted_despite: BTreeMap::new(),
            arithmetic: BTreeMap::new(),
        }
    }

    fn record(&mut self, record: &VariantRecord) {
        *self.stages.entry(record.stage).or_default() += 1;
        match &record.verdict {
            Verdict::Conforms => self.conforms += 1,
            Verdict::Vacuous => self.vacuous += 1,
            Verdict::Unsupported(rule) => *self.unsupported.entry(rule.clone()).or_default() += 1,
            Verdict::Unspecified(rule) => *self.unspecified.entry(rule.clone()).or_default() += 1,
            Verdict::Diverges(divergences) => {
                for divergence in divergences {
                    *self.divergences.entry(divergence.kind).or_default() += 1;
                }
            }
        }
        for note in &record.notes {
            match note {
                Note::AlgorithmRounding(_) => self.algorithm_rounding += 1,
                Note::BoundUsed(share) => self.bound_used = self.bound_used.max(*share),
                Note::AcceptedDespite(rule) => *self.accepted_despite.entry(rule.clone()).or_default() += 1,
                Note::Differs(_) => self.differs += 1,
                Note::Arithmetic(arithmetic) => *self.arithmetic.entry(*arithmetic).or_default() += 1,
                Note::Placement(_) => {}
            }
        }
    }
}
