use std::collections::BTreeSet;

use twinfer_case::RunInfo;

/// A run as the site lists it.
pub struct SiteRun {
    /// Its name, such as its path.
    pub name: String,
    /// Its report as a page, as an address from the site's pages; `None` if there is none.
    pub report: Option<String>,
    /// What it says of itself.
    pub run: RunInfo,
    /// Cases with a verdict.
    pub cases: u64,
    /// Cases that are in no row of the support map.
    pub unplaced: u64,
    /// The folder names of its findings.
    pub findings: Vec<String>,
    /// The folder names of those that cases show, those that were known before included.
    pub seen: BTreeSet<String>,
}
