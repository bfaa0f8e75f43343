use std::{collections::BTreeSet, path::Path};

use twinfer_case::{KnownFindings, RunInfo};

use crate::{StoreError, finding_folder::read_finding, findings_folder::findings_of_run};

/// Fails if the journal of a run, as far as it has been read, `named` findings that are neither in the folder of the run nor were known before: their
/// folders are lost, and what is new would pass for known.
pub fn check_findings<'a>(
    (run_directory, run): (&Path, &RunInfo),
    named: impl IntoIterator<Item = &'a str>,
) -> Result<(), StoreError> {
    let known = match &run.settings {
        Some(settings) => settings.known.as_slice(),
        // a check of a model that golden does not support names its own findings only
        None if run.checked.is_some() => &[],
        // runs of early versions do not say what was known
        None => return Ok(()),
    };
    let stored = names_in(run_directory)?;
    let absent = named.into_iter().filter(|name| !stored.contains(*name)).collect();
    let lost = without_known(absent, known);
    let Some(first) = lost.first() else { return Ok(()) };
    let others = match lost.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Err(StoreError::LostFindings { run: run_directory.to_owned(), findings: format!("{first}{others}") })
}

/// The names of the findings of a run: those of their folders, and those by which they call themselves.
fn names_in(run_directory: &Path) -> Result<BTreeSet<String>, StoreError> {
    let mut names = BTreeSet::new();
    for folder in findings_of_run(run_directory)? {
        names.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        names.extend(read_finding(&folder)?.map(|finding| finding.signature.slug()));
    }
    Ok(names)
}

/// The `absent` findings that were not known before the run. Runs of earlier versions record only how many were known, not which.
fn without_known<'a>(absent: Vec<&'a str>, known: &[KnownFindings]) -> Vec<&'a str> {
    let names: Option<Vec<&Vec<String>>> = known.iter().map(|folder| folder.names.as_ref()).collect();
    if let Some(names) = names {
        let names: BTreeSet<&str> = names.into_iter().flatten().map(String::as_str).collect();
        return absent.into_iter().filter(|name| !names.contains(name)).collect();
    }
    let most = known.iter().fold(0_u64, |sum, folder| sum.saturating_add(folder.findings));
    if absent.len() as u64 <= most { Vec::new() } else { absent }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(findings: u64, names: Option<&[&str]>) -> KnownFindings {
        let names = names.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        KnownFindings { folder: "known".into(), findings, checksum: String::new(), names }
    }

    #[test]
    fn what_was_not_known_before_is_lost() {
        assert_eq!(without_known(vec!["a"], &[]), ["a"]);
        let named = [known(2, Some(&["a", "b"])), known(1, Some(&["c"]))];
        assert_eq!(without_known(vec!["a", "c", "d"], &named), ["d"]);
    }

    #[test]
    fn earlier_versions_say_only_how_many_were_known() {
        let unnamed = [known(1, None), known(1, Some(&["c"]))];
        assert!(without_known(vec!["a", "b"], &unnamed).is_empty());
        assert_eq!(without_known(vec!["a", "b", "c"], &unnamed), ["a", "b", "c"]);
        let any = [known(u64::MAX, None), known(u64::MAX, None)];
        assert!(without_known(vec!["a"], &any).is_empty());
    }
}
