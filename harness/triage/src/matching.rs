/// Which cases count for a known finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Also by what they have in common with the finding's minimal case: its operators and attributes, or the trigger. That is right while findings
    /// are minimized and cases are many: ever fewer of these are searched for another bug behind the finding.
    #[default]
    Similar,
    /// By the mistake alone: what explains them, or the error. Wrong values that nothing explains are investigated. Findings hold cases as they
    /// were found, and what two of these have in common says little.
    Exact,
}
