use std::{cmp::Reverse, path::Path};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use twinfer_case::{
    Description, Event, Finding, FindingCount, Kind, MemoryGrowth, Reach, RunEnd, RunInfo, Stage, Summary,
    Variant,
};

use twinfer_store::{StoreError, replay_events};

use crate::{ListedIssue, Reporter, Severity, reach::remark};

/// The version of the JSON form of a report.
const REPORT_FORMAT: u32 = 2;

/// The results of a campaign, collected from its events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of the JSON form.
    pub format: u32,
    /// Everything that the results depend on; `None` until the campaign has started.
    pub run: Option<RunInfo>,
    /// Counts over all cases.
    pub summary: Summary,
    /// Findings in order of discovery.
    pub findings: Vec<ReportedFinding>,
    /// Why known findings may hide others, one sentence for each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Why the comparison is incomplete, if it had to be complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Known issues of the project with their state after this campaign.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<ListedIssue>,
    /// Worker processes that crashed, hung or exited on their own, in order.
    pub lost: Vec<Lost>,
    /// Worker processes that were replaced because of memory growth, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outgrown: Vec<Outgrown>,
    /// Devices that were disabled, each for one variant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
    /// Divergences that did not recur in a fresh worker.
    pub not_confirmed: u64,
    /// Triaged divergences in case order; empty in a report that was read from a run directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub investigations: Vec<Investigation>,
    /// How the campaign ended; `None` while it runs, and if its process was killed.
    pub end: Option<RunEnd>,
    /// The command that resumes the campaign; `None` if it is complete or cannot be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// What to do so that variants are compared that were not, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
}

/// A finding as a campaign recorded it; its serialized form has its [`Severity`] too.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedFinding {
    /// Its folder name.
    pub slug: String,
    /// Whether its signature was unknown before the campaign and no known issue accepts it.
    pub new: bool,
    /// The finding itself.
    pub finding: Finding,
}

impl ReportedFinding {
    /// How much the finding matters.
    pub fn severity(&self) -> Severity {
        Severity::of(&self.finding, self.new)
    }
}

impl Serialize for ReportedFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ReportedFinding", 4)?;
        fields.serialize_field("slug", &self.slug)?;
        fields.serialize_field("severity", &self.severity())?;
        fields.serialize_field("new", &self.new)?;
        fields.serialize_field("finding", &self.finding)?;
        fields.end()
    }
}

/// A worker process that crashed, hung, exited on its own, or was ended because it seemed to hang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The variant that the worker served.
    pub variant: Variant,
    /// The stage in which the worker was lost.
    pub stage: Stage,
    /// Why, in words, such as `the worker ended with signal 11`.
    pub reason: String,
}

/// A worker process that was replaced because of memory growth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outgrown {
    /// The variant that the worker served.
    pub variant: Variant,
    /// Its memory at first and when it was replaced.
    #[serde(flatten)]
    pub growth: MemoryGrowth,
}

/// The cost of triaging a divergence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Investigation {
    /// The index of its case.
    pub index: u64,
    /// The variant that diverged.
    pub variant: Variant,
    /// Candidates that minimization ran.
    pub candidates: u64,
    /// Wall time in milliseconds; several divergences may be triaged at the same time.
    pub millis: u64,
}

/// A device that was disabled for a variant because its workers could not run there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenUp {
    /// The variant that no longer uses the device.
    pub variant: Variant,
    /// The device, as `--devices` names it.
    pub device: String,
    /// Why the workers could not run.
    pub reason: String,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            format: REPORT_FORMAT,
            run: None,
            summary: Summary::default(),
            findings: Vec::new(),
            incomplete: None,
            issues: Vec::new(),
            lost: Vec::new(),
            outgrown: Vec::new(),
            given_up: Vec::new(),
            not_confirmed: 0,
            investigations: Vec::new(),
            end: None,
            resume: None,
            advice: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

impl Report {
    /// The report of a campaign with these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut report = Self::default();
        events.into_iter().for_each(|event| report.on_event(event));
        report
    }

    /// The workers that were lost, where neither a verdict nor a finding says that the backend crashes, hangs or is unstable. Of findings that were known
    /// before, only verdicts tell.
    pub fn lost_without_finding(&self) -> impl Iterator<Item = &Lost> {
        let ends_workers =
            |kind: &Kind| matches!(kind, Kind::Crash | Kind::Hang | Kind::Unstable | Kind::StateDependent);
        let is_told = move |lost: &&Lost| {
            let is_same = |variant: &Variant| variant.backend == lost.variant.backend;
            let mut verdicts = self.summary.variants.iter().filter(|one| is_same(&one.variant));
            let mut findings = self.findings.iter().map(|found| &found.finding);
            verdicts.any(|summary| summary.divergences.keys().any(ends_workers))
                || findings
                    .any(|one| ends_workers(&one.kind) && one.signature.backend == lost.variant.backend)
        };
        self.lost.iter().filter(move |lost| !is_told(lost))
    }

    /// Marks the new findings for which `is_known` holds as known.
    pub fn mark_known(&mut self, is_known: impl Fn(&ReportedFinding) -> bool) {
        for found in self.findings.iter_mut().filter(|found| found.new && is_known(found)) {
            found.new = false;
            self.summary.new_findings = self.summary.new_findings.saturating_sub(1);
        }
    }

    /// The report of a stored campaign, finished or killed, from its run directory.
    pub fn of_directory(run: &Path) -> Result<Self, StoreError> {
        let mut report = Self::default();
        replay_events(run, &mut |event| report.on_event(event))?;
        // a stored run does not count them
        report.summary.new_findings = report.findings.iter().filter(|found| found.new).count() as u64;
        Ok(report)
    }

    /// The description that the backend of `variant` gave in its handshake; `None` before the handshake.
    pub(crate) fn description(&self, variant: &Variant) -> Option<&Description> {
        let run = self.run.as_ref()?;
        run.variants.iter().find(|info| info.variant == *variant).map(|info| &info.description)
    }

    /// The backend's name and version, such as `ONNX Runtime 1.31.1`; empty before the handshake.
    pub(crate) fn version(&self, variant: &Variant) -> String {
        self.description(variant).map(|found| found.backend_version().to_string()).unwrap_or_default()
    }

    /// The backend's name and version with how far it goes on this machine if it does not execute, such as
    /// `TensorRT-RTX 1.7.1.116 (built, not executed)`; empty before the handshake.
    pub(crate) fn backend(&self, variant: &Variant) -> String {
        let reach = self.description(variant).map(|found| Reach::from(found.reaches));
        format!("{}{}", self.version(variant), remark(reach.unwrap_or_default()))
    }

    /// The source of a limitation that the backend of `variant` declares; `None` if it declares no such rule.
    pub(crate) fn source_of(&self, variant: &Variant, rule: &str) -> Option<&str> {
        let limitations = &self.description(variant)?.limitations;
        limitations.iter().find(|limitation| limitation.rule == rule).map(|found| found.source.as_str())
    }

    /// Whether every variant executes on this machine, so that all can be compared.
    pub(crate) fn all_execute(&self) -> bool {
        let reaches_execute =
            |run: &RunInfo| run.variants.iter().all(|info| info.description.reaches == Stage::Execute);
        self.run.as_ref().is_some_and(reaches_execute)
    }

    /// The findings, the most severe first, then those that most cases show.
    pub(crate) fn ranked(&self) -> Vec<&ReportedFinding> {
        let mut findings: Vec<_> = self.findings.iter().collect();
        findings.sort_by_cached_key(|found| {
            (found.severity(), Reverse(self.cases_of(&found.slug)), found.slug.clone())
        });
        findings
    }

    /// The same report with its findings as [`ranked`](Self::ranked).
    pub(crate) fn by_severity(&self) -> Self {
        Self { findings: self.ranked().into_iter().cloned().collect(), ..self.clone() }
    }

    /// The findings that were known before, of which only the number of cases is recorded.
    pub(crate) fn known_by_name(&self) -> impl Iterator<Item = &FindingCount> {
        let is_recorded = |slug: &str| self.findings.iter().any(|found| found.slug == slug);
        self.summary.findings.iter().filter(move |count| !is_recorded(&count.slug))
    }

    /// The number of cases that showed a finding.
    pub(crate) fn cases_of(&self, slug: &str) -> u64 {
        self.summary.findings.iter().find(|count| count.slug == slug).map_or(0, |count| count.cases)
    }
}

impl Reporter for Report {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::CampaignStarted { run } => self.run = Some(run.clone()),
            Event::Progress { summary, .. } => self.summary = summary.clone(),
            Event::CampaignFinished { summary, end } => {
                self.summary = summary.clone();
                self.end = Some(end.clone());
            }
            Event::FindingRecorded { slug, finding, new } => self.record(slug, finding, *new),
            Event::FindingRestored { slug, finding } => self.record(slug, finding, true),
            Event::WorkerLost { variant, stage, reason, .. } => {
                self.lost.push(Lost { variant: variant.clone(), stage: *stage, reason: reason.clone() });
            }
            Event::WorkerOutgrown { variant, growth } => {
                self.outgrown.push(Outgrown { variant: variant.clone(), growth: *growth });
            }
            Event::WorkforceChanged { workforce } => {
                if let Some(run) = &mut self.run {
                    run.workforce.clone_from(workforce);
                }
            }
            Event::WorkersEnded { processor } => {
                if let Some(run) = &mut self.run {
                    run.processor = Some(*processor);
                }
            }
            Event::DeviceGivenUp { variant, device, reason } => {
                let (variant, device, reason) = (variant.clone(), device.clone(), reason.clone());
                self.given_up.push(GivenUp { variant, device, reason });
            }
            Event::NotConfirmed { .. } => self.not_confirmed += 1,
            Event::Investigated { index, variant, candidates, millis } => {
                let (index, variant) = (*index, variant.clone());
                let (candidates, millis) = (*candidates, *millis);
                self.investigations.push(Investigation { index, variant, candidates, millis });
            }
            Event::WorkerStarted { .. }
            | Event::CaseFinished { .. }
            | Event::Confirming { .. }
            | Event::Minimizing { .. } => {}
        }
    }
}

impl Report {
    /// Adds a finding, or replaces it: a finding is recorded again when another variant shows it.
    fn record(&mut self, slug: &str, finding: &Finding, new: bool) {
        match self.findings.iter_mut().find(|known| known.slug == slug) {
            Some(known) => known.finding = finding.clone(),
            None => {
                self.findings.push(ReportedFinding { slug: slug.to_owned(), new, finding: finding.clone() });
            }
        }
    }
}
