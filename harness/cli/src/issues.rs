//! What became of the issues that a project lists as known.

use std::path::Path;

use twinfer_campaign::{Subjects, WorkerCommand, read_case};
use twinfer_case::{Finding, Variant, VariantInfo, Verdict};
use twinfer_reports::{IssueState, ListedIssue, Report};

use crate::{
    Failure,
    configuration::{Date, KnownIssue},
    json,
};

/// Tells the findings of `report` that are listed from those that are new, and what became of every listed issue.
///
/// An issue that no case of the campaign showed is tried with its own case, which lies under `stored` by its name.
pub fn settle(
    report: &mut Report,
    listed: &[KnownIssue],
    stored: Option<&Path>,
    worker: &WorkerCommand,
) -> Result<(), Failure> {
    for issue in listed {
        let state = state(report, issue, stored, worker)?;
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

/// A finding that is listed for the versions that showed it is not new.
fn accept(report: &mut Report, issue: &KnownIssue) {
    let shown = report.findings.iter_mut().find(|found| found.new && found.slug == issue.finding);
    if let Some(found) = shown
        && found.finding.seen_in.iter().all(|seen| issue.versions.holds(release(&seen.version)))
    {
        found.new = false;
        report.summary.new_findings = report.summary.new_findings.saturating_sub(1);
    }
}

fn state(
    report: &Report,
    issue: &KnownIssue,
    stored: Option<&Path>,
    worker: &WorkerCommand,
) -> Result<IssueState, Failure> {
    let met = report.summary.findings.iter().find(|count| count.slug == issue.finding);
    if let Some(met) = met {
        return Ok(IssueState::Occurs { cases: met.cases });
    }
    let folder = stored.map(|stored| stored.join(&issue.finding));
    let Some(folder) = folder.filter(|folder| folder.join("finding.json").is_file()) else {
        return Ok(IssueState::NotSeen);
    };
    let finding: Finding = json::read(&folder.join("finding.json"))?;
    let concerned: Vec<Variant> = concerned(report, issue, &finding).cloned().collect();
    if concerned.is_empty() {
        return Ok(IssueState::NotTried);
    }
    let records = Subjects::start(&concerned, worker, twinfer_campaign::Deadlines::default())?
        .check(&read_case(&folder)?)?;
    let diverges = records.iter().any(|record| match &record.verdict {
        Verdict::Diverges(divergences) => divergences.iter().any(|one| one.kind == finding.kind),
        _ => false,
    });
    Ok(if diverges { IssueState::Occurs { cases: 0 } } else { IssueState::Fixed })
}

/// The variants of the campaign that the issue is about, at versions for which it is listed.
fn concerned<'a>(
    report: &'a Report,
    issue: &'a KnownIssue,
    finding: &'a Finding,
) -> impl Iterator<Item = &'a Variant> {
    let infos = report.run.iter().flat_map(|run| &run.variants);
    let is_concerned = |info: &&VariantInfo| {
        info.variant.backend == finding.signature.backend && issue.versions.holds(&info.description.version)
    };
    infos.filter(is_concerned).map(|info| &info.variant)
}

/// The version at the end of a backend's name and version.
fn release(version: &str) -> &str {
    version.rsplit(' ').next().unwrap_or_default()
}
