use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_case::{Case, Finding, KnownFindings, Sighting};

use crate::{
    Disk, LocalDisk, Recording, RunDirectory, StoreError, StoredFinding,
    adopt::check_finding,
    case_folder::{has_case, read_case},
    disk::{sync_file, sync_parent, sync_tree},
    files::{is_unfinished, read_json_in, remove_unfinished, unfinished, write_json_durably},
    finding_folder::{has_finding, read_finding},
    names::{FINDING, FINDINGS, RUN, SNAPSHOT},
    recording::{has_recording, path_beside},
};

/// The digits of the checksum over a folder of findings.
const CHECKSUM_DIGITS: usize = 32;

/// A folder with one folder per finding, named by the signature.
pub struct FindingsFolder {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    /// The folder names in the journal of a resumed run. These folders are the run's own, complete or not.
    named: BTreeSet<String>,
}

impl FindingsFolder {
    /// The findings of the run in `run_directory`.
    pub fn of_run(run_directory: &RunDirectory) -> Self {
        let path = run_directory.path().join(FINDINGS);
        Self { path, disk: run_directory.disk(), named: BTreeSet::new() }
    }

    /// Takes up the findings of a resumed run again, which have these folder names. Removes what the run left incomplete when it was killed, and
    /// nothing else.
    pub fn resume(&mut self, named: BTreeSet<String>) -> Result<(), StoreError> {
        fs::create_dir_all(&self.path).map_err(StoreError::writing(&self.path))?;
        if self.path.is_symlink() {
            return Err(StoreError::Obstructed(self.path.clone()));
        }
        self.named = named;
        remove_unfinished(&self.path)?;
        let folders = self.folders()?;
        folders.iter().filter(|folder| self.is_named(folder)).try_for_each(|folder| remove_unfinished(folder))
    }

    /// The folder of findings at `path`.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), disk: Arc::new(LocalDisk), named: BTreeSet::new() }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the finding with the folder name `slug`.
    pub fn finding(&self, slug: &str) -> PathBuf {
        self.path.join(slug)
    }

    /// Adds a finding of the run, whose folder `write` fills: completely or not at all, and never over something that is not this
    /// run's. A folder that the run wrote before it was killed is replaced. The finding is on disk when this returns.
    pub fn add(
        &self,
        finding: &Finding,
        write: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let folder = self.finding(&finding.signature.slug());
        let disk = &*self.disk;
        if fs::symlink_metadata(&folder).is_ok() && !self.is_own(&folder, finding) {
            return Err(StoreError::Obstructed(folder));
        }
        let incomplete = unfinished(&folder);
        write(&incomplete)?;
        sync_tree(disk, &incomplete)?;
        sync_recording(disk, &incomplete)?;
        if folder.exists() {
            remove_finding(&folder)?;
        }
        let observed = path_beside(&incomplete);
        if observed.is_file() {
            let beside = path_beside(&folder);
            fs::rename(observed, &beside).map_err(StoreError::writing(beside))?;
        }
        fs::rename(&incomplete, &folder).map_err(StoreError::writing(&folder))?;
        sync_parent(disk, &folder)
    }

    /// Where an earlier part of the run saw a finding that is about to be added again; nothing if it added none.
    pub fn earlier_sightings(&self, finding: &Finding) -> Vec<Sighting> {
        let folder = self.finding(&finding.signature.slug());
        let earlier = read_finding(&folder).ok().flatten().filter(|_| self.is_own(&folder, finding));
        let is_same = |earlier: &Finding| {
            (earlier.case, earlier.seen_in.first()) == (finding.case, finding.seen_in.first())
        };
        earlier.filter(is_same).map(|earlier| earlier.seen_in).unwrap_or_default()
    }

    /// Writes a finding of the run in place of an earlier version. It is on disk when this returns.
    pub fn update(&self, finding: &Finding) -> Result<(), StoreError> {
        let folder = self.finding(&finding.signature.slug());
        write_json_durably(&*self.disk, &folder.join(FINDING), finding)
    }

    /// Whether the folder holds the finding named `slug` with everything that belongs to it. What leads out of the folder is no name.
    pub fn is_whole(&self, slug: &str) -> bool {
        let folder = self.finding(slug);
        let is_within = folder.parent() == Some(&*self.path) && folder.file_name() == Some(OsStr::new(slug));
        let finding = read_finding(&folder).ok().flatten().filter(|_| is_within);
        finding.is_some_and(|finding| {
            finding.signature.slug() == slug
                && check_finding(&folder, &finding).is_ok()
                && Recording::read_beside(&folder).is_ok()
        })
    }

    /// What is on disk of the finding named `slug`.
    pub fn stored(&self, slug: &str) -> StoredFinding {
        if !self.is_whole(slug) {
            return StoredFinding::Lost;
        }
        match read_finding(&self.finding(slug)) {
            Ok(Some(finding)) if finding.is_unfinished() => StoredFinding::Unfinished,
            _ => StoredFinding::Whole,
        }
    }

    /// Removes the finding named `slug`, which the journal of the resumed run names and which is unfinished.
    pub fn remove(&self, slug: &str) -> Result<(), StoreError> {
        let folder = self.finding(slug);
        if !self.is_named(&folder) || self.stored(slug) != StoredFinding::Unfinished {
            return Ok(());
        }
        remove_finding(&folder)
    }

    /// The findings that the journal of the resumed run names and that are whole, each with its minimal case, sorted by folder name.
    pub fn load_named(&self) -> Result<Vec<(Finding, Case)>, StoreError> {
        let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.load_if(|folder| self.is_named(folder) && self.is_whole(&name(folder)))
    }

    /// The folders of findings that a run which knows these findings does not recognize, since the finding or its case is missing there.
    pub fn incomplete(&self) -> Result<Vec<PathBuf>, StoreError> {
        Ok(self.folders()?.into_iter().filter(|folder| is_incomplete(folder)).collect())
    }

    /// The folders of findings that were written completely, also those without a case, sorted by name.
    fn complete(&self) -> Result<impl Iterator<Item = PathBuf>, StoreError> {
        let is_complete = |folder: &PathBuf| has_finding(folder) && !is_incomplete(folder);
        Ok(self.folders()?.into_iter().filter(is_complete))
    }

    /// What a run records of the findings in this folder, if it knows them from the start.
    pub fn describe(&self) -> Result<KnownFindings, StoreError> {
        let folder = fs::canonicalize(&self.path).map_err(StoreError::file(&self.path))?;
        let (mut names, mut hasher) = (Vec::new(), blake3::Hasher::new());
        for path in self.complete()? {
            let finding: Finding = read_json_in(&path, FINDING)?;
            hasher.update(&recognized_by(&finding).map_err(StoreError::format(path.join(FINDING)))?);
            names.push(finding.signature.slug());
        }
        let checksum = hasher.finalize().to_hex()[..CHECKSUM_DIGITS].to_owned();
        Ok(KnownFindings { folder, findings: names.len() as u64, checksum, names: Some(names) })
    }

    /// Every finding that was written completely, also those without a case, sorted by folder name.
    pub fn findings(&self) -> Result<Vec<Finding>, StoreError> {
        self.complete()?.map(|folder| read_json_in(&folder, FINDING)).collect()
    }

    /// Every finding with a case that was written completely, with that case, sorted by folder name.
    pub fn load(&self) -> Result<Vec<(Finding, Case)>, StoreError> {
        self.load_if(|_| true)
    }

    fn load_if(&self, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<(Finding, Case)>, StoreError> {
        let folders = self.folders()?;
        let wanted =
            folders.iter().filter(|folder| is_wanted(folder) && has_finding(folder) && has_case(folder));
        wanted.map(|folder| Ok((read_json_in(folder, FINDING)?, read_case(folder)?))).collect()
    }

    /// Whether the run wrote `folder` before it was killed: its journal names it, or it holds the same finding of the same seed.
    fn is_own(&self, folder: &Path, finding: &Finding) -> bool {
        let seed = |finding: &Finding| finding.provenance.as_ref().map(|provenance| provenance.seed);
        let is_same = |found: &Finding| found.signature == finding.signature && seed(found) == seed(finding);
        let holds_it = || read_finding(folder).is_ok_and(|found| found.as_ref().is_some_and(is_same));
        folder.is_dir() && !folder.is_symlink() && (self.is_named(folder) || holds_it())
    }

    fn is_named(&self, folder: &Path) -> bool {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.named.contains(name))
    }

    /// The folders of findings, sorted by name. Links are left out, and what a killed process left unfinished.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = fs::read_dir(&self.path).map_err(StoreError::file(&self.path))?;
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let is_folder = |path: &PathBuf| path.is_dir() && !path.is_symlink() && !is_unfinished(path);
        let mut folders: Vec<_> = paths.filter(is_folder).collect();
        folders.sort();
        Ok(folders)
    }
}

/// What tells by which cases a run recognizes the finding if it knows it, as text.
fn recognized_by(finding: &Finding) -> serde_json::Result<Vec<u8>> {
    let Finding { signature, kind, case, diagnosis, refuted, trigger, outcomes, .. } = finding;
    serde_json::to_vec(&(signature, kind, case, diagnosis, refuted, trigger, outcomes))
}

/// Whether a folder looks like that of a finding, and lacks the finding or its case. Findings of models that golden does not support have neither a
/// case nor a recording.
fn is_incomplete(folder: &Path) -> bool {
    has_recording(folder) && !has_case(folder) || folder.join(SNAPSHOT).is_file() && !has_finding(folder)
}

/// Removes the folder of a finding and its recording. A process that is killed meanwhile leaves no part of it under its own name.
fn remove_finding(folder: &Path) -> Result<(), StoreError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let removed = unfinished(&folder.with_file_name(format!("removed-{name}")));
    let recording = path_beside(folder);
    fs::rename(folder, &removed).map_err(StoreError::writing(folder))?;
    fs::remove_dir_all(&removed).map_err(StoreError::writing(&removed))?;
    match fs::remove_file(&recording) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::writing(recording)(error)),
        _ => Ok(()),
    }
}

/// Syncs the recording beside a finding's folder; a finding of a model that golden does not support has none.
fn sync_recording(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let recording = path_beside(folder);
    if recording.is_file() { sync_file(disk, &recording) } else { Ok(()) }
}

/// The folder of the findings of the run in the directory `run`.
pub fn findings_of(run: &Path) -> PathBuf {
    run.join(FINDINGS)
}

/// The directory of the run to which the finding in `folder` belongs; `None` if it belongs to no run.
pub fn run_of_finding(folder: &Path) -> Option<PathBuf> {
    let run = folder.canonicalize().ok()?.parent()?.parent()?.to_owned();
    let is_its_run = run.join(RUN).is_file() && folder.canonicalize().ok()?.starts_with(findings_of(&run));
    is_its_run.then_some(run)
}

/// The folders of the findings of the run in `run_directory`, sorted by name.
pub fn findings_of_run(run_directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = &findings_of(run_directory);
    // a run without findings may lack the folder
    let folders = if folder.is_dir() { FindingsFolder::at(folder).folders()? } else { Vec::new() };
    Ok(folders.into_iter().filter(|folder| has_finding(folder)).collect())
}

/// The folder of findings that `folder` means: that of the run if `folder` is a run directory, or else `folder` itself, which may be empty.
///
/// # Errors
///
/// If there is no such folder, if it is a finding itself, or if it has folders of which none is one.
pub fn known_findings(folder: &Path) -> Result<PathBuf, StoreError> {
    let wrong = |reason| Err(StoreError::NoFindings { folder: folder.to_owned(), reason });
    if !folder.is_dir() {
        return wrong("no such folder: give a folder of findings");
    }
    if has_finding(folder) {
        return wrong("it is one finding: give its parent folder");
    }
    let findings = if folder.join(RUN).is_file() { findings_of(folder) } else { folder.to_owned() };
    let paths = fs::read_dir(&findings).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders: Vec<_> = paths.filter(|path| path.is_dir() && !is_unfinished(path)).collect();
    if !folders.is_empty() && !folders.iter().any(|folder| has_finding(folder)) {
        return wrong("none of its folders is a finding: give a folder of findings, or a run");
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt;

    fn golden_cases() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases")
    }

    /// The folder of a finding.
    fn stored() -> PathBuf {
        golden_cases().join("ort-cpu-parse-crash-convtranspose-0c8bd0e2")
    }

    #[test]
    fn finding_that_is_added_again_keeps_where_it_was_seen() {
        let out = tempfile::tempdir().unwrap();
        let folder = FindingsFolder::at(out.path());
        let adopted = adopt(&stored(), out.path()).unwrap();
        let finding = read_finding(&adopted).unwrap().unwrap();
        let mut seen_again = finding.clone();
        let version = "another".to_owned().into();
        assert!(seen_again.add_sighting(Sighting { version, ..finding.seen_in[0].clone() }));
        folder.update(&seen_again).unwrap();
        assert_eq!(folder.earlier_sightings(&finding), seen_again.seen_in);
        let other = Finding { seen_in: seen_again.seen_in[1..].to_vec(), ..finding };
        assert_eq!(folder.earlier_sightings(&other), [], "it was found otherwise");
    }

    /// Some were named before signatures had the condition that a parser names.
    #[test]
    fn known_findings_are_described_by_the_names_of_their_folders() {
        let folder = FindingsFolder::at(&golden_cases());
        let names = folder.describe().unwrap().names.unwrap();
        assert!(names.len() > 20 && names.iter().all(|name| folder.finding(name).is_dir()), "{names:?}");
    }

    /// As after `explain`, which writes into the folder of the finding.
    #[test]
    fn known_findings_that_are_recognized_otherwise_have_another_checksum() {
        let out = tempfile::tempdir().unwrap();
        let folder = FindingsFolder::at(out.path());
        let finding = read_finding(&adopt(&stored(), out.path()).unwrap()).unwrap().unwrap();
        let checksum = || folder.describe().unwrap().checksum;
        let before = checksum();
        folder.update(&Finding { cut_short: true, ..finding.clone() }).unwrap();
        assert_eq!(checksum(), before);
        folder.update(&Finding { refuted: vec!["conv-bias-negated".to_owned()], ..finding }).unwrap();
        assert_ne!(checksum(), before);
    }

    #[test]
    fn finding_without_its_case_is_incomplete() {
        assert_eq!(FindingsFolder::at(&golden_cases()).incomplete().unwrap(), [""; 0].map(PathBuf::from));
        let out = tempfile::tempdir().unwrap();
        for missing in [FINDING, "case.json"] {
            let adopted = adopt(&stored(), out.path()).unwrap();
            fs::remove_file(adopted.join(missing)).unwrap();
            let incomplete = FindingsFolder::at(out.path()).incomplete().unwrap();
            assert_eq!(incomplete, std::slice::from_ref(&adopted), "{missing}");
            fs::remove_dir_all(adopted).unwrap();
        }
    }

    #[test]
    fn folder_of_known_findings_may_be_empty() {
        let out = tempfile::tempdir().unwrap();
        let known = || known_findings(out.path());
        assert!(known().is_ok());
        fs::write(out.path().join(".gitkeep"), "").unwrap();
        fs::create_dir(unfinished(&out.path().join("finding"))).unwrap();
        assert!(known().is_ok());
        fs::create_dir(out.path().join("something")).unwrap();
        assert!(matches!(known(), Err(StoreError::NoFindings { .. })));
    }

    #[test]
    fn finding_that_is_added_again_keeps_no_file_of_the_one_before() {
        let out = tempfile::tempdir().unwrap();
        let folder = FindingsFolder::at(out.path());
        let adopted = adopt(&stored(), out.path()).unwrap();
        let finding = read_finding(&adopted).unwrap().unwrap();
        let stray = adopted.join("test_data_set_1");
        fs::create_dir(&stray).unwrap();
        let write = |folder: &Path| {
            fs::create_dir(folder).map_err(StoreError::writing(folder))?;
            write_json_durably(&LocalDisk, &folder.join(FINDING), &finding)
        };
        folder.add(&finding, write).unwrap();
        assert!(!stray.exists() && !path_beside(&adopted).exists() && has_finding(&adopted));
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    }
}
