//! Families of cases: valid by construction, or invalid by exactly one named rule.
