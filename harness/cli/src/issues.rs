//! Resolves the known issues of `twinfer.toml` against the results of a campaign.

use std::path::PathBuf;

use twinfer_case::{Signature, Trust, TrustedVariant, Variant, VariantInfo, Verdict};
use twinfer_configuration::{Date, KnownIssue};
use twinfer_reports::{IssueState, ListedIssue, Report, ReportedFinding};
use twinfer_store::{has_finding, read_finding};
use twinfer_targets::{TargetError, Targets, read_case};
use twinfer_workers::{Deadlines, WorkerCommand};

use crate::Failure;

/// Replays the stored case of a known issue that no case of the campaign showed.
#[derive(Clone, Copy)]
pub struct Trials<'a> {
    /// Folders that hold the stored cases, each in a subfolder with the name of its issue.
    pub stored: &'a [PathBuf],
    /// The variants of the campaign, as they were trusted.
    pub variants: &'a [TrustedVariant],
    /// The command that starts a worker.
    pub worker: &'a WorkerCommand,
    /// How long a worker may stay in each stage.
    pub deadlines: Deadlines,
}

impl Trials<'_> {
    /// The folder of an issue's stored case; `None` if no case is stored.
    fn own_case_of(self, issue: &KnownIssue) -> Option<PathBuf> {
        let mut folders = self.stored.iter().map(|stored| stored.join(&issue.finding));
        folders.find(|folder| has_finding(folder))
    }

    /// Starts a worker for each of `variants`.
    pub fn start(self, variants: &[TrustedVariant]) -> Result<Targets, TargetError> {
        Targets::start(variants, self.worker, self.deadlines)
    }

    /// The variants that run the code of the campaign.
    fn trusted(self, variants: &[&Variant]) -> Vec<TrustedVariant> {
        let trust = Trust::Given(self.variants);
        variants.iter().filter_map(|variant| trust.admit(variant).ok()).collect()
    }
}

/// Marks the findings of `report` that `listed` accepts as known, and adds the state of each listed issue.
///
/// If no case of the campaign showed an issue, its stored case is run, provided that `trials` has one.
pub fn resolve(
    report: &mut Report,
    listed: &[KnownIssue],
    trials: Option<Trials<'_>>,
) -> Result<(), Failure> {
    for issue in listed {
        let state = state(report, issue, trials)?;
        accept(report, issue);
        let is_overdue = |review: &Date| *review < Date::today();
        report.issues.push(ListedIssue {
            slug: issue.finding.clone(),
            reason: issue.reason.clone(),
            upstream: issue.upstream.clone(),
            state,
            overdue_since: issue.review.filter(is_overdue).map(|review| review.to_string()),
        });
    }
    Ok(())
}

/// Marks the findings of `issue` as known if the issue is listed for every version that showed them.
fn accept(report: &mut Report, issue: &KnownIssue) {
    for found in report.findings.iter_mut().filter(|found| found.new && is_of(found, issue)) {
        if found.finding.seen_in.iter().all(|seen| issue.versions.holds(seen.version.version())) {
            found.new = false;
            report.summary.new_findings = report.summary.new_findings.saturating_sub(1);
        }
    }
}

/// Whether `found` is what `issue` names, perhaps by the name that the finding had in an earlier version of twinfer.
fn is_of(found: &ReportedFinding, issue: &KnownIssue) -> bool {
    found.slug == issue.finding || found.finding.signature.is_called(&issue.finding)
}

fn state(report: &Report, issue: &KnownIssue, trials: Option<Trials<'_>>) -> Result<IssueState, Failure> {
    let called: Vec<_> = report.findings.iter().filter(|found| is_of(found, issue)).collect();
    let is_called = |slug: &String| *slug == issue.finding || called.iter().any(|found| found.slug == *slug);
    let seen = report.summary.findings.iter().filter(|count| is_called(&count.slug));
    let cases: Vec<_> = seen.map(|count| count.cases).collect();
    if !cases.is_empty() {
        return Ok(IssueState::Occurs { cases: cases.iter().sum() });
    }
    let concerned: Vec<&Variant> = concerned(report, issue).collect();
    if concerned.is_empty() {
        return Ok(IssueState::NotTried);
    }
    let stored = trials.and_then(|trials| Some((trials, trials.own_case_of(issue)?)));
    let Some((trials, folder)) = stored else {
        return Ok(IssueState::NotSeen);
    };
    let concerned = trials.trusted(&concerned);
    let records = trials.start(&concerned)?.check(&read_case(&folder)?)?;
    let kind = read_finding(&folder)?.map(|finding| finding.kind);
    let diverges = records.iter().any(|record| match &record.verdict {
        Verdict::Diverges(divergences) => divergences.iter().any(|one| Some(one.kind) == kind),
        _ => false,
    });
    Ok(if diverges { IssueState::Occurs { cases: 0 } } else { IssueState::Fixed })
}

/// The variants of the campaign whose backend the issue concerns, in versions that the issue is listed for.
fn concerned<'a>(report: &'a Report, issue: &'a KnownIssue) -> impl Iterator<Item = &'a Variant> {
    let infos = report.run.iter().flat_map(|run| &run.variants);
    let is_concerned = |info: &&VariantInfo| {
        Signature::is_slug_of(&issue.finding, &info.variant.backend)
            && issue.versions.holds(&info.description.version)
    };
    infos.filter(is_concerned).map(|info| &info.variant)
}
