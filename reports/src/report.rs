use std::path::Path;

use serde::Serialize;
use twinfer_case::{Description, Event, Finding, Growth, RunInfo, Stage, Summary, Variant};

use twinfer_store::{StoreError, replay_events};

use crate::{ListedIssue, Reporter};

/// The version of the JSON form of a report.
const REPORT_FORMAT: u32 = 1;

/// What a campaign came to, as its events told it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of this form.
    pub format: u32,
    /// What the results depend on; absent until the campaign started.
    pub run: Option<RunInfo>,
    /// Counts over all cases.
    pub summary: Summary,
    /// In order of discovery.
    pub findings: Vec<ReportedFinding>,
    /// Findings that the project lists as known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<ListedIssue>,
    /// Worker processes that ended unasked.
    pub lost: Vec<Lost>,
    /// Worker processes that were replaced since they held ever more memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outgrown: Vec<Outgrown>,
    /// Devices that were given up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
    /// Divergences that did not recur in a fresh worker.
    pub not_confirmed: u64,
    /// What was investigated, in the order of the cases; a run directory does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub investigations: Vec<Investigation>,
    /// Whether the campaign came to its end.
    pub finished: bool,
}

/// A finding as a campaign recorded it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedFinding {
    /// Its folder name.
    pub slug: String,
    /// Whether its signature was unknown before the campaign.
    pub new: bool,
    /// The finding itself.
    pub finding: Finding,
}

/// A worker process that ended unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Which variant.
    pub variant: Variant,
    /// What it was doing.
    pub stage: Stage,
    /// How it ended.
    pub reason: String,
}

/// A worker process that held ever more memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outgrown {
    /// Which variant.
    pub variant: Variant,
    /// How much.
    #[serde(flatten)]
    pub growth: Growth,
}

/// A divergence that was investigated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Investigation {
    /// The place of its case.
    pub index: u64,
    /// The variant that diverged.
    pub variant: Variant,
    /// Candidates that were run.
    pub candidates: u64,
    /// From its beginning to its end, in milliseconds, in which others went on.
    pub millis: u64,
}

/// A device on which the workers of a variant could not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenUp {
    /// Which variant.
    pub variant: Variant,
    /// The device, as `--devices` names it.
    pub device: String,
    /// What happened there.
    pub reason: String,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            format: REPORT_FORMAT,
            run: None,
            summary: Summary::default(),
            findings: Vec::new(),
            issues: Vec::new(),
            lost: Vec::new(),
            outgrown: Vec::new(),
            given_up: Vec::new(),
            not_confirmed: 0,
            investigations: Vec::new(),
            finished: false,
        }
    }
}

impl Report {
    /// The report of a campaign that told these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut report = Self::default();
        events.into_iter().for_each(|event| report.hear(event));
        report
    }

    /// The report of a campaign that is over, or was killed, out of its run directory.
    pub fn of_directory(run: &Path) -> Result<Self, StoreError> {
        let mut report = Self::default();
        replay_events(run, &mut |event| report.hear(event))?;
        Ok(report)
    }

    /// What the backend of a variant said of itself.
    pub(crate) fn description(&self, variant: &Variant) -> Option<&Description> {
        let run = self.run.as_ref()?;
        run.variants.iter().find(|info| info.variant == *variant).map(|info| &info.description)
    }

    /// `ONNX Runtime 1.31.1`, or nothing before the handshake.
    pub(crate) fn version(&self, variant: &Variant) -> String {
        self.description(variant).map(|found| found.backend_version().to_string()).unwrap_or_default()
    }

    /// Where the backend of a variant documents one of its limitations.
    pub(crate) fn source_of(&self, variant: &Variant, rule: &str) -> Option<&str> {
        let limitations = &self.description(variant)?.limitations;
        limitations.iter().find(|limitation| limitation.rule == rule).map(|found| found.source.as_str())
    }

    /// Whether every variant goes as far as executing on this machine, so that all can be compared.
    pub(crate) fn all_execute(&self) -> bool {
        let reaches_execute =
            |run: &RunInfo| run.variants.iter().all(|info| info.description.reaches == Stage::Execute);
        self.run.as_ref().is_some_and(reaches_execute)
    }

    /// How many cases showed a finding.
    pub(crate) fn cases_of(&self, slug: &str) -> u64 {
        self.summary.findings.iter().find(|count| count.slug == slug).map_or(0, |count| count.cases)
    }
}

impl Reporter for Report {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::CampaignStarted { run } => self.run = Some(run.clone()),
            Event::Progress { summary, .. } => self.summary = summary.clone(),
            Event::CampaignFinished { summary } => {
                self.summary = summary.clone();
                self.finished = true;
            }
            Event::FindingRecorded { slug, finding, new } => self.record(slug, finding, *new),
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
    /// A finding that was recorded before is recorded again when another variant shows it.
    fn record(&mut self, slug: &str, finding: &Finding, new: bool) {
        match self.findings.iter_mut().find(|known| known.slug == slug) {
            Some(known) => known.finding = finding.clone(),
            None => {
                self.findings.push(ReportedFinding { slug: slug.to_owned(), new, finding: finding.clone() });
            }
        }
    }
}
