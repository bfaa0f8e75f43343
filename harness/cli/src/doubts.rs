//! *Doubts* about known findings. Any wrong values of an operator count for a known finding of that operator if nothing explains either, so a
//! campaign in which only known findings show may hide a new bug. It does if the known finding's own case shows another error now.

use std::collections::BTreeMap;

use twinfer_case::{
    BackendName, Diagnosis, Finding, FindingCount, Magnitude, RunEnd, TrustedVariant, VariantRecord, Verdict,
};
use twinfer_reports::Report;
use twinfer_store::{has_case, has_finding, read_finding};
use twinfer_targets::Targets;

use crate::{Failure, issues::Trials};

/// What the case of a known finding shows now.
#[derive(Clone, Copy)]
enum Now {
    Nothing,
    Larger { now: f64, then: f64 },
}

/// Why known findings may hide others, one sentence each. Runs the case of every one that nothing explains and that cases of the campaign counted
/// for, unless the campaign ended early.
pub fn doubts(report: &Report, trials: Trials<'_>) -> Result<Vec<String>, Failure> {
    let (mut doubts, mut started) = (Vec::new(), BTreeMap::new());
    if report.end.as_ref().is_some_and(RunEnd::is_early) {
        return Ok(doubts);
    }
    let is_new = |slug: &str| report.findings.iter().any(|found| found.new && found.slug == slug);
    for count in report.summary.findings.iter().filter(|count| count.cases > 0 && !is_new(&count.slug)) {
        let folders = trials.stored.iter().map(|stored| stored.join(&count.slug));
        let Some(folder) = folders.into_iter().find(|folder| has_finding(folder) && has_case(folder)) else {
            continue;
        };
        let Some(finding) = read_finding(&folder)?.filter(hides_others) else { continue };
        let backend = &finding.signature.backend;
        if !started.contains_key(backend) {
            started.insert(backend.clone(), start(backend, trials)?);
        }
        let Some(targets) = &started[backend] else { continue };
        let rerun = || Ok::<_, Failure>(now(&finding, &targets.rerun(&folder)?));
        // one run may vary, as engines do
        if rerun()?.is_some()
            && let Some(now) = rerun()?
        {
            doubts.push(sentence(count, now));
        }
    }
    Ok(doubts)
}

/// Workers of the variants of the campaign that have this backend; `None` if none has.
fn start(backend: &BackendName, trials: Trials<'_>) -> Result<Option<Targets>, Failure> {
    let is_concerned = |variant: &&TrustedVariant| variant.backend == *backend;
    let concerned: Vec<_> = trials.variants.iter().filter(is_concerned).cloned().collect();
    Ok(if concerned.is_empty() { None } else { Some(trials.start(&concerned)?) })
}

/// Whether wrong values count for `finding` that may have another reason, and its own case tells.
fn hides_others(finding: &Finding) -> bool {
    finding.is_unexplained() && !finding.kind.varies() && !finding.only_poisoned && !finding.only_inside
}

/// What the case of `finding`, which came to `records` now, shows that the finding does not; `None` if it shows the finding, or does not tell.
fn now(finding: &Finding, records: &[VariantRecord]) -> Option<Now> {
    let errors: Vec<_> = records
        .iter()
        .flat_map(|record| record.verdict.divergences())
        .filter(|divergence| divergence.kind == finding.kind)
        .map(|divergence| divergence.diagnosis.as_ref().map(Diagnosis::largest_difference))
        .collect();
    if errors.is_empty() {
        let conforms = |record: &VariantRecord| record.verdict == Verdict::Conforms && record.is_compared();
        return (!records.is_empty() && records.iter().all(conforms)).then_some(Now::Nothing);
    }
    let then = finding.detailed_diagnosis()?.largest_difference();
    let now = errors.into_iter().collect::<Option<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
    finding.is_much_smaller_than(now).then_some(Now::Larger { now, then })
}

fn sentence(FindingCount { slug, cases }: &FindingCount, now: Now) -> String {
    let now = match now {
        Now::Nothing => "its stored case conforms now".to_owned(),
        Now::Larger { now, .. } if now.is_infinite() => {
            "its stored case gives NaN or infinity now".to_owned()
        }
        Now::Larger { now, then } => {
            format!("the error in its stored case is now {}, up from {}", Magnitude(now), Magnitude(then))
        }
    };
    let cases = if *cases == 1 { "the case".to_owned() } else { format!("the {cases} cases") };
    format!("known finding {slug}: {now}, so {cases} attributed to it may show a new bug")
}
