//! The names of files on disk, which only `harness/store` knows.

use std::{fs, path::Path};

use syn::{
    Expr, Item, Lit, LitStr,
    visit::{self, Visit},
};

use crate::{
    crates::{Crate, crates},
    sources::sources,
};

/// The crate that owns the names.
const OWNER: &str = "store";

/// The names of files and folders that the store declares.
fn names() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/store/src/names.rs");
    let syntax = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    let constant = |item: &Item| match item {
        Item::Const(item) => match &*item.expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(name) => Some(name.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    syntax.items.iter().filter_map(constant).collect()
}

/// Collects the string literals of a file that are or hold one of the names.
struct Search<'a> {
    names: &'a [String],
    found: Vec<String>,
}

impl Search<'_> {
    /// A name with a dot or an underscore is a file's wherever it stands. Other names, such as `findings`, are words too: they
    /// count as a path, before a slash or as the argument of `join`.
    fn check(&mut self, text: &str, is_joined: bool) {
        let is_used = |name: &String| {
            if name.contains(['.', '_']) {
                text.contains(name.as_str())
            } else {
                text.contains(&format!("{name}/")) || is_joined && text == name
            }
        };
        self.found.extend(self.names.iter().any(is_used).then(|| format!("{text:?}")));
    }

    fn check_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut is_joined = false;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) if is_joined => {
                    if let Ok(argument) = syn::parse2::<LitStr>(group.stream()) {
                        self.check(&argument.value(), true);
                    } else {
                        self.check_tokens(group.stream());
                    }
                }
                proc_macro2::TokenTree::Group(group) => self.check_tokens(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.check(&text.value(), false);
                    }
                }
                proc_macro2::TokenTree::Ident(ident) => {
                    is_joined = ident == "join";
                    continue;
                }
                proc_macro2::TokenTree::Punct(_) => {}
            }
            is_joined = false;
        }
    }
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "join"
            && let Some(Expr::Lit(argument)) = call.args.first()
            && let Lit::Str(text) = &argument.lit
        {
            self.check(&text.value(), true);
            return self.visit_expr(&call.receiver);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_lit_str(&mut self, literal: &'ast LitStr) {
        self.check(&literal.value(), false);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.check_tokens(call.tokens.clone());
    }
}

#[test]
fn only_the_store_names_files_on_disk() {
    let names = names();
    assert!(names.len() > 10, "the names of the store were not found: {names:?}");
    let mut lines = Vec::new();
    for Crate { name, folder, .. } in crates().into_iter().filter(|one| one.name != OWNER) {
        for source in sources(&folder) {
            let mut search = Search { names: &names, found: Vec::new() };
            search.visit_file(&source.syntax);
            lines.extend(search.found.iter().map(|text| format!("{name}/src/{}: {text}", source.file)));
        }
    }
    assert!(lines.is_empty(), "let harness/store read, write or name these files:\n{}", lines.join("\n"));
}

#[test]
fn names_are_found_in_literals_paths_and_macros() {
    let names = ["run.json", "findings"].map(str::to_owned);
    let found = |code: &str| {
        let mut search = Search { names: &names, found: Vec::new() };
        search.visit_file(&syn::parse_file(&format!("fn f() {{ {code}; }}")).unwrap());
        search.found.len()
    };
    assert_eq!(found(r#"read(folder.join("run.json"))"#), 1);
    assert_eq!(found(r#"line!("see {}/run.json", folder)"#), 1);
    assert_eq!(found(r#"folder.join("findings")"#), 1);
    assert_eq!(found(r#"panic!("{}", folder.join("findings").display())"#), 1);
    assert_eq!(found(r#"read("findings/a")"#), 1);
    assert_eq!(found(r#"counted("finding", "findings")"#), 0);
}
