//! The places that vouch for variants, so that no code of a file runs by mistake.

use syn::{
    ExprPath,
    visit::{self, Visit},
};

use crate::{
    crates::{Crate, crates},
    sources::sources,
};

/// Where `TrustedVariant::vouch` may be called, and on what. All other code checks variants with `Trust::admit`.
const VOUCHING: &[&str] = &[
    // `--backends`
    "cli/src/backends.rs",
    // the default of `--backends`, without paths
    "cli/src/machine.rs",
    // libraries that the user installed
    "cli/src/command/backends/doctor.rs",
    // the command line of `bench`
    "cli/src/command/bench.rs",
    "bench/src/end_to_end.rs",
    "bench/src/parts.rs",
    // texts in the user's own tests
    "facade/src/conformance.rs",
];

/// Finds the path of the constructor, whether it is called or passed on.
#[derive(Default)]
struct Search {
    vouches: bool,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_expr_path(&mut self, expression: &'ast ExprPath) {
        self.vouches |= expression.path.segments.last().is_some_and(|segment| segment.ident == "vouch");
        visit::visit_expr_path(self, expression);
    }
}

fn vouches(syntax: &syn::File) -> bool {
    let mut search = Search::default();
    search.visit_file(syntax);
    search.vouches
}

#[test]
fn only_named_places_vouch_for_variants() {
    let mut found = Vec::new();
    for Crate { name, folder, .. } in crates() {
        let vouching = sources(&folder).into_iter().filter(|source| vouches(&source.syntax));
        found.extend(vouching.map(|source| format!("{name}/src/{}", source.file)));
    }
    found.sort();
    let mut named = VOUCHING.to_vec();
    named.sort_unstable();
    assert_eq!(
        found, named,
        "check variants of files with Trust::admit, or name the place in tests/architecture/trust.rs"
    );
}

#[test]
fn a_constructor_is_found_as_call_and_as_value() {
    let found = |code: &str| vouches(&syn::parse_file(&format!("fn f() {{ {code}; }}")).unwrap());
    assert!(found("TrustedVariant::vouch(variant)"));
    assert!(found("variants.map(TrustedVariant::vouch)"));
    assert!(!found("trust.admit(variant)"));
}
