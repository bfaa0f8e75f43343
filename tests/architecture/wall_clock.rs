//! The places that read the clock of the machine, which can be set back. Deadlines, budgets and durations are measured by
//! `Instant`, which never goes back.

use syn::{
    Ident,
    visit::{self, Visit},
};

use crate::{
    crates::{Crate, crates},
    sources::sources,
};

/// Where `SystemTime`, or `Utc` of chrono, may be used, and for what.
const READING: &[&str] = &[
    // whether a known issue is due for review
    "configuration/src/file.rs",
    // whether a file was changed so long ago that its digest may be kept
    "libraries/src/digest_cache.rs",
    // when a run was started, and part of its id
    "store/src/run.rs",
];

/// Finds the types, wherever they are named.
#[derive(Default)]
struct Search {
    reads: bool,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.reads |= ident == "SystemTime" || ident == "Utc";
        visit::visit_ident(self, ident);
    }
}

fn reads_wall_clock(syntax: &syn::File) -> bool {
    let mut search = Search::default();
    search.visit_file(syntax);
    search.reads
}

#[test]
fn only_named_places_read_the_wall_clock() {
    let mut found = Vec::new();
    for Crate { name, folder, .. } in crates() {
        let reading = sources(&folder).into_iter().filter(|source| reads_wall_clock(&source.syntax));
        found.extend(reading.map(|source| format!("{name}/src/{}", source.file)));
    }
    found.sort();
    assert_eq!(
        found, READING,
        "measure time with Instant, or name the place in tests/architecture/wall_clock.rs"
    );
}

#[test]
fn the_wall_clock_is_found_in_imports_and_paths() {
    let found = |code: &str| reads_wall_clock(&syn::parse_file(code).unwrap());
    assert!(found("use std::time::{Duration, SystemTime};"));
    assert!(found("fn f() { std::time::SystemTime::now(); }"));
    assert!(!found("fn f() { std::time::Instant::now(); }"));
}
