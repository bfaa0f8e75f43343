//! Reporters: they consume events and compute nothing about the run.
