//! The findings of a merged run: shards may reach the same bug by different cases, and then the first of them stands for it.

use std::{collections::BTreeMap, ffi::OsStr, path::Path};

use twinfer_case::{Case, CaseRecord, Finding};

use crate::{FindingsFolder, StoreError, adopt_by_name, case_folder::read_case, has_finding, read_finding};

/// Whether two findings, each with its minimal case, are the same bug.
pub type SameBug = dyn Fn(&(Finding, Case), &(Finding, Case)) -> bool;

/// The findings of the merged run, found out while its cases are read in their order.
pub struct MergedFindings<'a> {
    same_bug: &'a SameBug,
    /// The findings that stand for their bugs, in order of discovery.
    first: Vec<(Finding, Case)>,
    /// By the name of a finding in its shard, the name of the one that stands for its bug.
    names: BTreeMap<String, String>,
}

impl<'a> MergedFindings<'a> {
    pub const fn new(same_bug: &'a SameBug) -> Self {
        Self { same_bug, first: Vec::new(), names: BTreeMap::new() }
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
        let found = path.and_then(|path| read_finding(&path).ok().flatten().zip(read_case(&path).ok()));
        let first = found.as_ref().and_then(|found| {
            let first = self.first.iter().find(|first| (self.same_bug)(first, found))?;
            Some(first.0.signature.slug())
        });
        let known = first.unwrap_or_else(|| {
            self.first.extend(found);
            name.to_owned()
        });
        self.names.insert(name.to_owned(), known.clone());
        known
    }

    /// Copies the findings in `from` to the folder `to`; of those for which another finding stands only where they were seen.
    pub fn adopt(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        if !from.is_dir() {
            return Ok(());
        }
        for folder in FindingsFolder::at(from).folders()?.iter().filter(|folder| has_finding(folder)) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            match self.names.get(&*name).filter(|known| **known != name) {
                None => drop(adopt_by_name(folder, to)?),
                Some(known) => add_sightings(&to.join(known), read_finding(folder)?)?,
            }
        }
        Ok(())
    }
}

/// Adds where `other` was seen to the finding in `folder`.
fn add_sightings(folder: &Path, other: Option<Finding>) -> Result<(), StoreError> {
    let (Some(mut finding), Some(other)) = (read_finding(folder)?, other) else { return Ok(()) };
    let mut has_new = false;
    for sighting in other.seen_in {
        has_new |= finding.add_sighting(sighting);
    }
    match folder.parent().filter(|_| has_new) {
        Some(findings) => FindingsFolder::at(findings).update(&finding),
        None => Ok(()),
    }
}
