use std::{collections::BTreeSet, path::Path};

use twinfer_case::{KnownFindings, RunInfo};

use crate::StoreError;

/// Fails if the journal of a run names findings that are neither `stored` nor were known before: their folders are lost, and what is new would pass
/// for known.
pub fn check_findings<'a>(
    (run_directory, run): (&Path, &RunInfo),
    named: impl IntoIterator<Item = &'a str>,
    stored: &BTreeSet<String>,
) -> Result<(), StoreError> {
    // runs of early versions do not say what was known
    let Some(settings) = &run.settings else { return Ok(()) };
    let absent: Vec<&str> = named.into_iter().filter(|name| !stored.contains(*name)).collect();
    let lost = without_known(absent, &settings.known);
    let Some(first) = lost.first() else { return Ok(()) };
    let others = match lost.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Err(StoreError::LostFindings { run: run_directory.to_owned(), findings: format!("{first}{others}") })
}

/// Those of the `absent` findings that were not known before the run. Runs of earlier versions say only how many were.
fn without_known<'a>(absent: Vec<&'a str>, known: &[KnownFindings]) -> Vec<&'a str> {
    let names: Option<Vec<&Vec<String>>> = known.iter().map(|folder| folder.names.as_ref()).collect();
    match names {
        Some(names) => {
            let names: BTreeSet<&str> = names.into_iter().flatten().map(String::as_str).collect();
            absent.into_iter().filter(|name| !names.contains(name)).collect()
        }
        None if absent.len() as u64 <= known.iter().map(|folder| folder.findings).sum() => Vec::new(),
        None => absent,
    }
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
    }
}
