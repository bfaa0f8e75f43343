//! Checks: one comparison each over the observations of a case.
