//! The findings of a merged run: shards may reach the same bug by different cases, and then the first of them stands for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
};

use twinfer_case::{Case, CaseRecord, Finding};

use crate::{
    FindingsFolder, StoreError, adopt::add_sightings, adopt_by_name, case_folder::read_case, has_finding,
    read_finding,
};

/// Whether two findings, each with its minimal case, are the same bug.
pub type SameBug = dyn Fn(&(Finding, Case), &(Finding, Case)) -> bool;

/// The findings of the merged run, found out while its cases are read in their order.
pub struct MergedFindings<'a> {
    same_bug: &'a SameBug,
    /// The findings that stand for their bugs, in order of discovery.
    first: Vec<(Finding, Case)>,
    /// By the name of a finding in its shard, the name of the one that stands for its bug.
    names: BTreeMap<String, String>,
    /// The folders of the findings that stand for their bugs, in the shards whose cases showed these first.
    sources: BTreeSet<PathBuf>,
}

impl<'a> MergedFindings<'a> {
    pub const fn new(same_bug: &'a SameBug) -> Self {
        Self { same_bug, first: Vec::new(), names: BTreeMap::new(), sources: BTreeSet::new() }
    }

    /// The record of a case with the names that findings of `folder` have in the merged run.
    pub fn renamed(&mut self, folder: &Path, mut record: CaseRecord) -> CaseRecord {
        let mut findings: Vec<String> = Vec::new();
        for name in &record.findings {
            let name = self.name(folder, name);
            if !findings.contains(&name) {
                findings.push(name);
            }
        }
        for mask in &mut record.masks {
            mask.finding = self.name(folder, &mask.finding);
        }
        for reduced in &mut record.reduced {
            reduced.finding = self.name(folder, &reduced.finding);
        }
        CaseRecord { findings, ..record }
    }

    /// The name in the merged run of the finding in `folder` that is called `name` there.
    fn name(&mut self, folder: &Path, name: &str) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        // what cannot be compared, as the model of an unknown operator, stands for itself
        let path = Some(folder.join(name)).filter(|path| path.file_name() == Some(OsStr::new(name)));
        let found =
            path.as_ref().and_then(|path| read_finding(path).ok().flatten().zip(read_case(path).ok()));
        let first = found.as_ref().and_then(|found| {
            let first = self.first.iter().find(|first| (self.same_bug)(first, found))?;
            Some(first.0.signature.slug())
        });
        let known = first.unwrap_or_else(|| {
            self.first.extend(found);
            self.sources.extend(path);
            name.to_owned()
        });
        self.names.insert(name.to_owned(), known.clone());
        known
    }

    /// Copies findings from the folders `shards` to the folder `to`: for each bug, the finding that the first case showed, with every variant and
    /// version in which a shard saw the bug.
    pub fn adopt(&self, shards: &[PathBuf], to: &Path) -> Result<(), StoreError> {
        for source in self.sources.iter().filter(|source| has_finding(source)) {
            adopt_by_name(source, to)?;
        }
        for shard in shards.iter().filter(|shard| shard.is_dir()) {
            for folder in FindingsFolder::at(shard).folders()? {
                if has_finding(&folder) && !self.sources.contains(&folder) {
                    self.adopt_other(&folder, to)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the finding in `folder` to the one in `to` that stands for its bug, if there is one.
    fn adopt_other(&self, folder: &Path, to: &Path) -> Result<(), StoreError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        match (self.names.get(&*name).filter(|known| **known != name), read_finding(folder)?) {
            (Some(known), Some(finding)) => add_sightings(&to.join(known), finding).map(drop),
            _ => adopt_by_name(folder, to).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_json;
    use twinfer_case::FINDING_FORMAT;

    const CRASH: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";
    const LOGGED: &str = "ort-cuda-execute-error-logged-conv-float16-6669296c";

    /// A shard with the finding `name`, seen in `version`.
    fn shard(name: &str, version: &str) -> tempfile::TempDir {
        let golden_cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let findings = tempfile::tempdir().unwrap();
        let folder = adopt_by_name(&golden_cases.join(name), findings.path()).unwrap();
        assert_eq!(folder.file_name(), Some(OsStr::new(name)));
        let mut finding = read_finding(&folder).unwrap().unwrap();
        finding.seen_in.truncate(1);
        finding.seen_in[0].version = version.to_owned().into();
        write_json(&folder.join("finding.json"), &finding).unwrap();
        findings
    }

    /// The findings that shards have after merging, where their cases showed these in turn. All are the same bug.
    fn merged(shards: &[&tempfile::TempDir], shown: &[(usize, &str)]) -> Vec<Finding> {
        let mut findings = MergedFindings::new(&|_, _| true);
        for (shard, name) in shown {
            let record = serde_json::json!({
                "format": FINDING_FORMAT, "case": "0".repeat(64), "provenance": null, "variants": [], "findings": [name], "macs": 0,
            });
            let record = serde_json::from_value(record).unwrap();
            assert_eq!(findings.renamed(shards[*shard].path(), record).findings, [shown[0].1]);
        }
        let to = tempfile::tempdir().unwrap();
        let paths: Vec<_> = shards.iter().map(|shard| shard.path().to_owned()).collect();
        findings.adopt(&paths, to.path()).unwrap();
        FindingsFolder::at(to.path()).findings().unwrap()
    }

    fn versions(finding: &Finding) -> Vec<String> {
        finding.seen_in.iter().map(|seen| seen.version.to_string()).collect()
    }

    #[test]
    fn finding_is_that_of_the_first_case_with_what_all_shards_saw() {
        let (early, late) = (shard(CRASH, "1"), shard(LOGGED, "2"));
        let found = merged(&[&early, &late], &[(1, LOGGED), (0, CRASH)]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&*found[0].signature.slug(), versions(&found[0])),
            (LOGGED, vec!["2".to_owned(), "1".to_owned()])
        );
    }

    #[test]
    fn same_name_keeps_the_first_shown() {
        let (early, late) = (shard(CRASH, "1"), shard(CRASH, "2"));
        let found = merged(&[&early, &late], &[(1, CRASH), (0, CRASH)]);
        assert_eq!(found.iter().map(versions).collect::<Vec<_>>(), [["2", "1"]]);
    }
}
