//! *Merging* joins the run directories of shards into the run directory of their campaign.

use std::{
    collections::BTreeSet,
    iter::Peekable,
    path::{Path, PathBuf},
};

use twinfer_case::{Budget, CaseRecord, JOURNAL_FORMAT, RunEnd, RunInfo, Shard};

use crate::{
    Records, RunDirectory, StoreError,
    differences::between_shards,
    journal::Journal,
    lost_findings::check_findings,
    merged_findings::{MergedFindings, SameBug},
    names::FINDINGS,
    read_run,
    replay::FIRST_WITH_END,
    run_id,
};

/// The run directory of one shard.
struct Part {
    folder: PathBuf,
    run: RunInfo,
}

/// Joins the run directories `runs`, shards of one campaign, into the run directory `out`, which must hold no run: cases in the order of the
/// campaign, and of the findings that are the same bug the one that the first case showed. Returns the shards of the campaign that are
/// missing in `runs`.
///
/// A shard that ended early contributes the cases that it has.
pub fn merge(runs: &[PathBuf], out: &Path, same_bug: &SameBug) -> Result<Vec<u64>, StoreError> {
    let mut parts = runs.iter().map(|folder| Part::read(folder)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.run.shard.index());
    for (part, next) in parts.iter().zip(parts.iter().skip(1)) {
        if let Some(reason) = not_shards_of_one(&part.run, &next.run) {
            let (one, other) = (part.folder.clone(), next.folder.clone());
            return Err(StoreError::OtherCampaign { one, other, reason });
        }
    }
    let Some(whole) = whole(&parts) else { return Ok(Vec::new()) };
    let missing = missing(&parts);
    let directory = RunDirectory::create(out)?;
    let whole = RunInfo { end: Some(end(&parts, &missing)), ..whole };
    if let Err(error) = merge_into(&directory, &parts, &whole, same_bug) {
        directory.remove_incomplete();
        return Err(error);
    }
    Ok(missing)
}

/// The shards of the campaign that are not among `parts`.
fn missing(parts: &[Part]) -> Vec<u64> {
    let is_there = |shard: &u64| parts.iter().any(|part| part.run.shard.index() == *shard);
    let count = parts.first().map_or(0, |part| part.run.shard.count());
    (0..count).filter(|shard| !is_there(shard)).collect()
}

/// How the whole campaign ended: early, if a shard did or is missing.
fn end(parts: &[Part], missing: &[u64]) -> RunEnd {
    let missing = missing.iter().map(|shard| format!("shard {shard} is missing"));
    let early = parts.iter().filter_map(|part| {
        let shard = part.run.shard.index();
        match &part.run.end {
            Some(RunEnd::Complete) => None,
            Some(end) => Some(format!("shard {shard} ended early: {end}")),
            None if part.run.format < FIRST_WITH_END => None,
            None => Some(format!("shard {shard} is unfinished")),
        }
    });
    let causes: Vec<_> = missing.chain(early).collect();
    if causes.is_empty() { RunEnd::Complete } else { RunEnd::Partial(causes.join("; ")) }
}

/// Merges the parts in `directory`, which holds a run only when it is complete.
fn merge_into(
    directory: &RunDirectory,
    parts: &[Part],
    whole: &RunInfo,
    same_bug: &SameBug,
) -> Result<(), StoreError> {
    let folder = directory.path().join(FINDINGS);
    let mut journal = Journal::without_run(directory, whole)?;
    let mut findings = MergedFindings::new(same_bug);
    merge_journals(parts, &mut journal, &mut findings)?;
    let shards: Vec<_> = parts.iter().map(Part::findings).collect();
    findings.adopt(&shards, &folder)?;
    journal.finish()
}

/// Appends the records of all shards to `journal`: of those that come next in their shards, always the one with the lowest index.
fn merge_journals(
    parts: &[Part],
    journal: &mut Journal,
    findings: &mut MergedFindings<'_>,
) -> Result<(), StoreError> {
    let open = |part: &Part| Records::open(&part.folder, &part.run).map(Iterator::peekable);
    let mut shards = parts.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut named = vec![BTreeSet::new(); parts.len()];
    let index = |shard: &mut Peekable<Records>| match shard.peek() {
        Some(Ok(record)) => record.index,
        // an error is met at once
        Some(Err(_)) => 0,
        None => u64::MAX,
    };
    loop {
        let next = (0..shards.len()).min_by_key(|&shard| index(&mut shards[shard]));
        let Some(shard) = next else { break };
        let Some(record) = shards[shard].next() else { break };
        let record = record?;
        named[shard].extend(record.findings.iter().cloned());
        let record = findings.renamed(&parts[shard].findings(), record);
        journal.append(&CaseRecord { format: JOURNAL_FORMAT, ..record })?;
    }
    for (Part { folder, run }, named) in parts.iter().zip(&named) {
        check_findings((folder, run), named.iter().map(String::as_str))?;
    }
    Ok(())
}

/// Why `run` and `next`, in the order of their shards, are not different shards of one campaign; `None` if they are.
fn not_shards_of_one(run: &RunInfo, next: &RunInfo) -> Option<String> {
    if run.shard.count() != next.shard.count() || run.shard == next.shard {
        return Some(format!("shard: {}, the other {}", run.shard, next.shard));
    }
    between_shards(run, next)
}

/// The run of the whole campaign; `None` without a shard.
fn whole(parts: &[Part]) -> Option<RunInfo> {
    let runs = || parts.iter().map(|part| &part.run);
    let budget = runs().map(|run| run.budget).reduce(|one, other| match (one, other) {
        (Budget::Cases(one), Budget::Cases(other)) => Budget::Cases(one.saturating_add(other)),
        (Budget::Seconds(one), Budget::Seconds(other)) => Budget::Seconds(one.max(other)),
        (time @ Budget::Seconds(_), Budget::Cases(_)) | (Budget::Cases(_), time @ Budget::Seconds(_)) => time,
    });
    Some(RunInfo {
        format: JOURNAL_FORMAT,
        id: run_id(),
        journal: None,
        revisited: None,
        budget: budget?,
        shard: Shard::WHOLE,
        workforce: Vec::new(),
        processor: None,
        totals: None,
        recognized: Vec::new(),
        end: None,
        merged: runs().map(|run| run.id.clone()).filter(|id| !id.is_empty()).collect(),
        resumed: Vec::new(),
        jobs: runs().fold(0, |jobs, run| jobs.saturating_add(run.jobs)),
        started: runs().map(|run| run.started).min()?,
        ..runs().next()?.clone()
    })
}

impl Part {
    fn read(folder: &Path) -> Result<Self, StoreError> {
        Ok(Self { folder: folder.to_owned(), run: read_run(folder)? })
    }

    /// The folder of its findings.
    fn findings(&self) -> PathBuf {
        self.folder.join(FINDINGS)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::{write, write_json};

    fn run_of(shard: (u64, u64)) -> tempfile::TempDir {
        let run = serde_json::json!({
            "format": JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": [], "budget": {"cases": 1},
            "shard": shard, "jobs": usize::MAX, "variants": [], "machine": {"os": "", "arch": "", "cores": 1},
            "started": 0,
        });
        let folder = tempfile::tempdir().unwrap();
        write_json(&folder.path().join("run.json"), &run).unwrap();
        write(&folder.path().join("journal.jsonl"), b"").unwrap();
        folder
    }

    fn merged(shards: &[(u64, u64)]) -> Result<Vec<u64>, StoreError> {
        let runs: Vec<_> = shards.iter().map(|shard| run_of(*shard)).collect();
        let folders: Vec<_> = runs.iter().map(|run| run.path().to_owned()).collect();
        merge(&folders, tempfile::tempdir().unwrap().path(), &|_, _| false)
    }

    #[test]
    fn shards_outside_a_campaign_are_rejected() {
        assert_eq!(merged(&[(0, 3), (2, 3)]).unwrap(), [1]);
        for shard in [(0, u64::MAX), (3, 3), (0, 0)] {
            assert!(matches!(merged(&[shard]), Err(StoreError::Format { .. })), "{shard:?}");
        }
    }

    #[test]
    fn merge_that_fails_leaves_no_run() {
        let (whole, damaged, parent) = (run_of((0, 2)), run_of((1, 2)), tempfile::tempdir().unwrap());
        write(&damaged.path().join("journal.jsonl"), b"{}\n{}\n").unwrap();
        fs::write(
            damaged.path().join("run.json"),
            run_text(&damaged).replace("\"format\": 4", "\"format\": 3"),
        )
        .unwrap();
        fs::write(whole.path().join("run.json"), run_text(&whole).replace("\"format\": 4", "\"format\": 3"))
            .unwrap();
        let out = parent.path().join("merged");
        let folders = [whole.path().to_owned(), damaged.path().to_owned()];
        assert!(merge(&folders, &out, &|_, _| false).unwrap_err().to_string().contains("line 1"));
        assert!(!out.exists());
        write(&damaged.path().join("journal.jsonl"), b"").unwrap();
        merge(&folders, &out, &|_, _| false).unwrap();
        assert!(out.join("run.json").is_file());
    }

    fn run_text(run: &tempfile::TempDir) -> String {
        fs::read_to_string(run.path().join("run.json")).unwrap()
    }
}
