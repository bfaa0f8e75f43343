//! Reference semantics of the operators twinfer knows, and their error bounds.
