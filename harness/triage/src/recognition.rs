/// By what a case shows a known finding that nothing explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recognition {
    /// By the operators and attributes that are left in the finding's minimal case. That is right while findings are minimized: ever fewer of
    /// the cases are searched for another bug behind the finding.
    #[default]
    ByGraph,
    /// Not at all: such cases are investigated. Findings hold cases as they were found, and what two of these have in common says little.
    Never,
}
