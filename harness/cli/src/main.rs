//! The `twinfer` command.

fn main() {}
