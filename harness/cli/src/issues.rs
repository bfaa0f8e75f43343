//! Resolves the known issues of `twinfer.toml` against the results of a campaign.

use std::path::PathBuf;

use twinfer_case::{
    Divergence, Finding, Kind, Note, Signature, Trust, TrustedVariant, Variant, VariantInfo, VariantRecord,
    Verdict,
};
use twinfer_configuration::{Date, KnownIssue};
use twinfer_reports::{IssueState, ListedIssue, Report, ReportedFinding};
use twinfer_store::{has_finding, read_finding};
use twinfer_targets::{TargetError, Targets};
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
    report.mark_known(|found| {
        is_of(found, issue)
            && found.finding.seen_in.iter().all(|seen| issue.versions.holds(seen.version.version()))
    });
}

/// Whether `found` is what `issue` names, perhaps by the name that the finding had in an earlier version of twinfer.
fn is_of(found: &ReportedFinding, issue: &KnownIssue) -> bool {
    found.slug == issue.finding || found.finding.signature.is_called(&issue.finding)
}

fn state(report: &Report, issue: &KnownIssue, trials: Option<Trials<'_>>) -> Result<IssueState, Failure> {
    let concerned: Vec<&Variant> = concerned(report, issue).collect();
    if concerned.is_empty() {
        return Ok(IssueState::NotTried);
    }
    let called: Vec<_> = report.findings.iter().filter(|found| is_of(found, issue)).collect();
    let is_called = |slug: &String| *slug == issue.finding || called.iter().any(|found| found.slug == *slug);
    let seen = report.summary.findings.iter().filter(|count| is_called(&count.slug));
    let cases: Vec<_> = seen.map(|count| count.cases).collect();
    if !cases.is_empty() {
        return Ok(IssueState::Occurs { cases: cases.iter().sum() });
    }
    let stored = trials.and_then(|trials| Some((trials, trials.own_case_of(issue)?)));
    let Some((trials, folder)) = stored else {
        return Ok(IssueState::NotSeen);
    };
    let concerned = trials.trusted(&concerned);
    let records = trials.start(&concerned)?.rerun(&folder)?;
    Ok(read_finding(&folder)?.map_or(IssueState::NotSeen, |finding| rerun_state(&finding, &records)))
}

/// What the stored case of `finding` says of its issue, which came to `records` now.
fn rerun_state(finding: &Finding, records: &[VariantRecord]) -> IssueState {
    if records.iter().any(|record| shows(finding, record)) {
        return IssueState::Occurs { cases: 0 };
    }
    // these do not show in every run of the case by itself
    let is_certain = !finding.kind.varies()
        && finding.kind != Kind::Disagree
        && !finding.only_poisoned
        && !records.is_empty();
    if is_certain && records.iter().all(|record| is_right(finding, record)) {
        IssueState::Fixed
    } else {
        IssueState::NotShown
    }
}

/// Whether a variant still shows `finding`. One that varies was named by its repeats, so that any divergence shows it.
fn shows(finding: &Finding, record: &VariantRecord) -> bool {
    let is_it = |one: &Divergence| finding.kind.varies() || one.kind == finding.kind;
    matches!(&record.verdict, Verdict::Diverges(divergences) if divergences.iter().any(is_it))
}

/// Whether a variant conforms where `finding` says that it did not: in the same stage, or by a refusal that was missing.
fn is_right(finding: &Finding, record: &VariantRecord) -> bool {
    let is_far_enough = record.stage >= finding.stage || finding.kind == Kind::AcceptsInvalid;
    let is_judged = record.is_compared() && (!finding.only_inside || is_judged_inside(record));
    record.verdict == Verdict::Conforms && is_judged && is_far_enough
}

/// Whether every node of the case was judged by itself.
fn is_judged_inside(record: &VariantRecord) -> bool {
    let is_whole = |note: &Note| matches!(note, Note::Segments(counts) if counts.not_judged.is_empty());
    record.notes.iter().any(is_whole)
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

#[cfg(test)]
mod tests {
    use twinfer_case::{Blame, NamedNode, NotJudged, Outcome, SegmentCounts, Stage};

    use super::*;

    /// A finding of a kind in the last stage.
    fn finding(kind: Kind) -> Finding {
        let folder = "/../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2";
        let folder = format!("{}{folder}", env!("CARGO_MANIFEST_DIR"));
        let stored = read_finding(folder.as_ref()).unwrap().unwrap();
        Finding { kind, stage: Stage::Execute, ..stored }
    }

    fn record(stage: Stage, compared: bool, verdict: Verdict) -> VariantRecord {
        let variant = "trt".parse().unwrap();
        let (outcome, notes, timings) = (Some(Outcome::Ok), Vec::new(), Vec::new());
        VariantRecord { variant, stage, outcome, verdict, notes, compared, timings }
    }

    fn diverging(kind: Kind) -> VariantRecord {
        let variant = "trt".parse().unwrap();
        let divergence = Divergence::new(variant, Stage::Execute, kind, Blame::Variant, String::new());
        record(Stage::Execute, true, Verdict::Diverges(vec![divergence]))
    }

    #[test]
    fn issue_is_fixed_only_by_a_comparison_in_its_stage() {
        let wrong = finding(Kind::WrongValues);
        let right = record(Stage::Execute, true, Verdict::Conforms);
        let state = |records: &[VariantRecord]| rerun_state(&wrong, records);
        assert_eq!(state(std::slice::from_ref(&right)), IssueState::Fixed);
        assert_eq!(state(&[right.clone(), diverging(Kind::WrongValues)]), IssueState::Occurs { cases: 0 });
        let built = record(Stage::Build, true, Verdict::Conforms);
        let uncompared = record(Stage::Execute, false, Verdict::Conforms);
        let unsupported = record(Stage::Execute, false, Verdict::Unsupported("rule".to_owned()));
        let vacuous = record(Stage::Execute, false, Verdict::Vacuous);
        for other in [built, uncompared, unsupported, vacuous, diverging(Kind::Crash)] {
            assert_eq!(state(&[right.clone(), other.clone()]), IssueState::NotShown, "{other:?}");
        }
        assert_eq!(state(&[]), IssueState::NotShown);
    }

    #[test]
    fn issue_that_varies_is_not_fixed_by_one_run() {
        let right = record(Stage::Execute, true, Verdict::Conforms);
        let poisoned = Finding { only_poisoned: true, ..finding(Kind::WrongValues) };
        for doubtful in
            [finding(Kind::Unstable), finding(Kind::StateDependent), finding(Kind::Disagree), poisoned]
        {
            assert_eq!(rerun_state(&doubtful, std::slice::from_ref(&right)), IssueState::NotShown);
        }
        let shown = rerun_state(&finding(Kind::Unstable), &[diverging(Kind::WrongValues)]);
        assert_eq!(shown, IssueState::Occurs { cases: 0 });
    }

    #[test]
    fn right_values_inside_the_model_fix_what_shows_only_there() {
        let conforms = |notes| VariantRecord { notes, ..record(Stage::Execute, true, Verdict::Conforms) };
        let node = NamedNode { name: "n".to_owned(), operator: "Tanh".to_owned(), output: String::new() };
        let not_judged =
            NotJudged { reason: "golden does not support Tanh".to_owned(), nodes: 1, first: node };
        let segments = |not_judged| Note::Segments(SegmentCounts { judged: 3, not_judged, blindest: None });
        let inside = Finding { only_inside: true, ..finding(Kind::WrongValues) };
        let state = |notes| rerun_state(&inside, &[conforms(notes)]);
        assert_eq!(state(vec![]), IssueState::NotShown);
        assert_eq!(state(vec![segments(vec![not_judged])]), IssueState::NotShown);
        assert_eq!(state(vec![segments(vec![])]), IssueState::Fixed);
        assert_eq!(rerun_state(&finding(Kind::WrongValues), &[conforms(vec![])]), IssueState::Fixed);
    }

    #[test]
    fn missing_refusal_is_fixed_by_a_refusal() {
        let refused = record(Stage::Parse, true, Verdict::Conforms);
        assert_eq!(rerun_state(&finding(Kind::AcceptsInvalid), &[refused]), IssueState::Fixed);
    }
}
